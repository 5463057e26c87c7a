/* The ABI as numbers: sizes and offsets of every struct on a 64-bit machine, and the width of what is stored. That this
   compiles, as C and as C++, is the test; dlpack_layout.c and dlpack_layout.cc are part of the addon's build, so no
   binary exists without it. */
#include <assert.h>
#include <stddef.h>

#include "dlpack/dlpack.h"

#define HAS_SIZE(type, size) static_assert(sizeof(type) == (size), #type " has size " #size)
#define AT(type, field, offset) static_assert(offsetof(type, field) == (offset), #type "." #field " is at " #offset)
#define IS(name, value) static_assert((name) == (value), #name " is " #value)

static_assert(sizeof(void*) == 8, "DLPack's offsets are stated for 64 bits");

IS(DLPACK_MAJOR_VERSION, 1);
IS(DLPACK_MINOR_VERSION, 3);
IS(DLPACK_FLAG_BITMASK_READ_ONLY, 1);
IS(DLPACK_FLAG_BITMASK_IS_COPIED, 2);
IS(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, 4);

HAS_SIZE(DLPackVersion, 8);
AT(DLPackVersion, major, 0);
AT(DLPackVersion, minor, 4);

HAS_SIZE(DLDeviceType, 4);
HAS_SIZE(DLDevice, 8);
AT(DLDevice, device_type, 0);
AT(DLDevice, device_id, 4);

HAS_SIZE(DLDataType, 4);
AT(DLDataType, code, 0);
AT(DLDataType, bits, 1);
AT(DLDataType, lanes, 2);

HAS_SIZE(DLTensor, 48);
AT(DLTensor, data, 0);
AT(DLTensor, device, 8);
AT(DLTensor, ndim, 16);
AT(DLTensor, dtype, 20);
AT(DLTensor, shape, 24);
AT(DLTensor, strides, 32);
AT(DLTensor, byte_offset, 40);

HAS_SIZE(DLManagedTensor, 64);
AT(DLManagedTensor, dl_tensor, 0);
AT(DLManagedTensor, manager_ctx, 48);
AT(DLManagedTensor, deleter, 56);

HAS_SIZE(DLManagedTensorVersioned, 80);
AT(DLManagedTensorVersioned, version, 0);
AT(DLManagedTensorVersioned, manager_ctx, 8);
AT(DLManagedTensorVersioned, deleter, 16);
AT(DLManagedTensorVersioned, flags, 24);
AT(DLManagedTensorVersioned, dl_tensor, 32);

HAS_SIZE(DLPackExchangeAPIHeader, 16);
AT(DLPackExchangeAPIHeader, version, 0);
AT(DLPackExchangeAPIHeader, prev_api, 8);

HAS_SIZE(DLPackExchangeAPI, 56);
AT(DLPackExchangeAPI, header, 0);
AT(DLPackExchangeAPI, managed_tensor_allocator, 16);
AT(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync, 24);
AT(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync, 32);
AT(DLPackExchangeAPI, dltensor_from_py_object_no_sync, 40);
AT(DLPackExchangeAPI, current_work_stream, 48);

IS(kDLCPU, 1);
IS(kDLCUDA, 2);
IS(kDLCUDAHost, 3);
IS(kDLOpenCL, 4);
IS(kDLVulkan, 7);
IS(kDLMetal, 8);
IS(kDLVPI, 9);
IS(kDLROCM, 10);
IS(kDLROCMHost, 11);
IS(kDLExtDev, 12);
IS(kDLCUDAManaged, 13);
IS(kDLOneAPI, 14);
IS(kDLWebGPU, 15);
IS(kDLHexagon, 16);
IS(kDLMAIA, 17);
IS(kDLTrn, 18);

IS(kDLInt, 0);
IS(kDLUInt, 1);
IS(kDLFloat, 2);
IS(kDLOpaqueHandle, 3);
IS(kDLBfloat, 4);
IS(kDLComplex, 5);
IS(kDLBool, 6);
IS(kDLFloat8_e3m4, 7);
IS(kDLFloat8_e4m3, 8);
IS(kDLFloat8_e4m3b11fnuz, 9);
IS(kDLFloat8_e4m3fn, 10);
IS(kDLFloat8_e4m3fnuz, 11);
IS(kDLFloat8_e5m2, 12);
IS(kDLFloat8_e5m2fnuz, 13);
IS(kDLFloat8_e8m0fnu, 14);
IS(kDLFloat6_e2m3fn, 15);
IS(kDLFloat6_e3m2fn, 16);
IS(kDLFloat4_e2m1fn, 17);

/* What the table's functions take and give: assignable only when the types are exactly these. */
static inline void dlpack_exchange_signatures(const DLPackExchangeAPI* table) {
  int (*allocator)(DLTensor*, DLManagedTensorVersioned**, void*, void (*)(void*, const char*, const char*)) =
      table->managed_tensor_allocator;
  int (*from_object)(void*, DLManagedTensorVersioned**) = table->managed_tensor_from_py_object_no_sync;
  int (*to_object)(DLManagedTensorVersioned*, void**) = table->managed_tensor_to_py_object_no_sync;
  int (*borrow)(void*, DLTensor*) = table->dltensor_from_py_object_no_sync;
  int (*stream)(DLDeviceType, int32_t, void**) = table->current_work_stream;
  (void)allocator;
  (void)from_object;
  (void)to_object;
  (void)borrow;
  (void)stream;
}

#undef HAS_SIZE
#undef AT
#undef IS
