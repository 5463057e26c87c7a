/*
 * DLPack 1.3: one tensor, described so that any library in the process can use it where it lies.
 *
 * An ABI is a list of names, values and offsets. This file states those of DLPack 1.3 in node-dlpack's own words; it
 * uses the standard's names and its include guard, so a program may include this header or the one that dmlc publishes,
 * whichever its compiler finds first, and compiles to the same. Plain C11 and C++17; nothing beyond stdint.h and
 * stddef.h.
 *
 * Two structs carry a tensor across a border, both owned through their `deleter`:
 *   DLManagedTensor           "legacy": a tensor and how to let go of it. It has no version and cannot say that it is
 * read-only. DLManagedTensorVersioned  the same with a version and flags, and what new code should speak.
 */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define DLPACK_EXTERN_C extern "C"
#else
#define DLPACK_EXTERN_C
#endif

/* The version of the ABI stated here: what a producer that is built with this header writes into DLPackVersion. */
#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 3

/* For libraries that export DLPack functions from a DLL. Nothing in this header needs it. */
#ifdef _WIN32
#ifdef DLPACK_EXPORTS
#define DLPACK_DLL __declspec(dllexport)
#else
#define DLPACK_DLL __declspec(dllimport)
#endif
#else
#define DLPACK_DLL
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The ABI that a versioned struct was written to.
 * Another major: nothing past DLManagedTensorVersioned.flags can be relied on; call the deleter and touch nothing else.
 * A higher minor: same layout; there may be codes and flags that this header does not know.
 */
typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

/* Where the memory is. 32 bits wide in C++ by declaration, in C by what compilers do for these values. */
#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
  kDLCPU = 1,          /* host memory */
  kDLCUDA = 2,         /* NVIDIA device memory */
  kDLCUDAHost = 3,     /* host memory pinned by CUDA: the CPU may read it in place */
  kDLOpenCL = 4,       /* OpenCL: data is a buffer handle */
  kDLVulkan = 7,       /* Vulkan buffer */
  kDLMetal = 8,        /* Apple Metal */
  kDLVPI = 9,          /* Verilog simulator */
  kDLROCM = 10,        /* AMD device memory */
  kDLROCMHost = 11,    /* host memory pinned by ROCm: the CPU may read it in place */
  kDLExtDev = 12,      /* free for trying out a device that has no code yet */
  kDLCUDAManaged = 13, /* CUDA unified memory, moved between host and device on demand */
  kDLOneAPI = 14,      /* oneAPI unified shared memory, on any kind of device */
  kDLWebGPU = 15,      /* WebGPU buffer */
  kDLHexagon = 16,     /* Qualcomm Hexagon DSP */
  kDLMAIA = 17,        /* Microsoft MAIA */
  kDLTrn = 18          /* AWS Trainium */
} DLDeviceType;

/* One device: its kind, and which of that kind. device_id is 0 where there is only one: host, pinned and managed
 * memory. */
typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

/*
 * What a number is. Together with DLDataType.bits it names a dtype: kDLFloat with 32 bits is float32.
 * In the names of small floats, eXmY gives exponent and mantissa bits, bN an unusual exponent bias, and the ending what
 * the format can say besides finite numbers: fn, no infinity; uz, no negative zero; no ending, infinities and NaNs as
 * in IEEE 754.
 */
typedef enum {
  kDLInt = 0U,          /* two's complement */
  kDLUInt = 1U,         /* unsigned */
  kDLFloat = 2U,        /* IEEE 754 binary */
  kDLOpaqueHandle = 3U, /* not a number: a value that only its two ends understand */
  kDLBfloat = 4U,       /* the upper half of a float32 */
  kDLComplex = 5U,      /* real part, then imaginary part; bits counts both */
  kDLBool = 6U,         /* 8 bits, 0 or 1 */
  kDLFloat8_e3m4 = 7U,
  kDLFloat8_e4m3 = 8U,
  kDLFloat8_e4m3b11fnuz = 9U,
  kDLFloat8_e4m3fn = 10U,
  kDLFloat8_e4m3fnuz = 11U,
  kDLFloat8_e5m2 = 12U,
  kDLFloat8_e5m2fnuz = 13U,
  kDLFloat8_e8m0fnu = 14U, /* an unsigned power of two: the scale of a block of numbers */
  kDLFloat6_e2m3fn = 15U,  /* 6 bits */
  kDLFloat6_e3m2fn = 16U,  /* 6 bits */
  kDLFloat4_e2m1fn = 17U   /* 4 bits */
} DLDataTypeCode;

/*
 * The type of one element. code: a DLDataTypeCode; bits: the width of one lane; lanes: 1, or more where an element is a
 * short vector. Types narrower than a byte lie packed, the first element in the lowest bits, unless
 * DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED says that each has a byte of its own.
 */
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

/*
 * A tensor in memory that someone else owns. Nothing in it says for how long it is good: that is the business of the
 * managed structs below, or of a call that lends it.
 */
typedef struct {
  /*
   * Start of the memory; on some devices a handle instead of an address. The first logical element is byte_offset bytes
   * further, also where a negative stride makes it the one that lies last. NULL when the tensor has no elements. Do not
   * rely on any alignment beyond what the element needs.
   */
  void* data;
  DLDevice device;
  /* Number of axes, 0 for a scalar. */
  int32_t ndim;
  DLDataType dtype;
  /* ndim extents. May be NULL when ndim is 0. */
  int64_t* shape;
  /*
   * ndim steps, in elements, not bytes. Since 1.2 required when ndim is not 0; before that, NULL meant row-major and
   * compact, and such structs are still about.
   */
  int64_t* strides;
  /* Bytes from data to the first logical element. */
  uint64_t byte_offset;
} DLTensor;

/* A tensor with an owner, without version and flags. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  /* The producer's own; a consumer passes it along unseen. May be NULL. */
  void* manager_ctx;
  /*
   * Ends the consumer's use: lets go of the memory and frees this struct itself. Called at most once, with the struct
   * it was found in. May be NULL: nothing to do then.
   */
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;

/* Bits of DLManagedTensorVersioned.flags. */
/* The memory must not be written through this struct. */
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
/* The memory was made for this exchange: until the deleter is called, whoever holds the struct is the only one to use
 * it. */
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
/* An element narrower than a byte takes a whole byte. */
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)

/*
 * A tensor with an owner, version and flags. Everything up to and including flags keeps its place in every major
 * version, so that the deleter can be called even by a consumer that must not read the rest.
 */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  /* As in DLManagedTensor. */
  void* manager_ctx;
  /* As in DLManagedTensor. */
  void (*deleter)(struct DLManagedTensorVersioned* self);
  /* DLPACK_FLAG_BITMASK_*; 0: shared, and the holder may write. */
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

/*
 * The C exchange table: the same exchange without a call into the host language. A tensor type offers it as an
 * attribute
 * `__dlpack_c_exchange_api__` of the type (not of the value), a capsule named "dlpack_exchange_api" over a
 * DLPackExchangeAPI that lives as long as the process. The functions return 0 for success and -1 for failure; where no
 * SetError is given, the failure is told in the host language's own way. "NoSync": none of them makes one stream wait
 * for another; that remains the caller's task. "PyObject" is in the names because Python came first: the pointer is
 * whatever handle the host language has for a value.
 */

/*
 * Allocates a tensor like prototype, of which device, dtype, ndim and shape are read; *out is then the caller's. A
 * failure is told through SetError(error_ctx, kind, message), kind being the name of an error class.
 */
typedef int (*DLPackManagedTensorAllocator)(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
                                            void (*SetError)(void* error_ctx, const char* kind, const char* message));

/* A managed tensor over the memory of a host-language tensor; *out is the caller's, who owes one deleter call. */
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(void* py_object, DLManagedTensorVersioned** out);

/* Fills in a description of a host-language tensor. It owns nothing: good for as long as the caller keeps that tensor
 * unchanged. */
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void* py_object, DLTensor* out);

/* The stream that work on this device should be queued on now; NULL on the CPU. */
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type, int32_t device_id, void** out_current_stream);

/* A host-language tensor over a managed tensor, which it takes; *out_py_object is a new reference. */
typedef int (*DLPackManagedTensorToPyObjectNoSync)(DLManagedTensorVersioned* tensor, void** out_py_object);

/*
 * The beginning of every exchange table, in every major version. prev_api leads to a table of an earlier major version,
 * or is NULL: a consumer walks it until it meets a major that it knows.
 */
typedef struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  struct DLPackExchangeAPIHeader* prev_api;
} DLPackExchangeAPIHeader;

/* The table of major version 1. A minor may append functions. dltensor_from_py_object_no_sync may be NULL. */
typedef struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  DLPackManagedTensorAllocator managed_tensor_allocator;
  DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
  DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
  DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync;
  DLPackCurrentWorkStream current_work_stream;
} DLPackExchangeAPI;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DLPACK_DLPACK_H_ */
