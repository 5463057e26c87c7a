/*
 * What went wrong, as a number, and the JavaScript error that says it. The functions of the kit answer NODE_DLPACK_OK
 * or one of these and never leave an exception pending, but for NODE_DLPACK_ERROR_EXCEPTION: then the producer's own
 * code threw, and its error must reach the caller as it is. node_dlpack_throw does the right thing for each.
 *
 * Numbers below 200 are those of node-dlpack itself, whose exchange table answers with them too; it may answer with
 * some that are not named here. Numbers are only ever added.
 */
#ifndef NODE_DLPACK_ERRORS_H_
#define NODE_DLPACK_ERRORS_H_

#include <node_api.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NODE_DLPACK_OK 0
/* faults of a managed tensor */
#define NODE_DLPACK_ERROR_MANAGED_NULL 1
#define NODE_DLPACK_ERROR_VERSION 2 /* version.major is not 1; the deleter has run */
#define NODE_DLPACK_ERROR_NDIM 3    /* ndim is not 0 to 64 */
#define NODE_DLPACK_ERROR_SHAPE_NULL 4
#define NODE_DLPACK_ERROR_EXTENT 5    /* an extent is negative */
#define NODE_DLPACK_ERROR_SIZE 7      /* the number of elements or bytes does not fit into 64 bits */
#define NODE_DLPACK_ERROR_SPAN 8      /* strides lead to elements further away than addresses reach */
#define NODE_DLPACK_ERROR_DATA_NULL 9 /* no data, but elements are promised */
#define NODE_DLPACK_ERROR_BYTE_OFFSET 10
#define NODE_DLPACK_ERROR_DEVICE 11 /* no device of DLPack 1.3 */
#define NODE_DLPACK_ERROR_DTYPE 12  /* not the dtype asked for, or none that the consumer knows */
#define NODE_DLPACK_ERROR_DTYPE_BITS 13
#define NODE_DLPACK_ERROR_LANES 14      /* elements are vectors */
#define NODE_DLPACK_ERROR_MISALIGNED 15 /* data is not aligned to its element */
#define NODE_DLPACK_ERROR_CONTIGUOUS 36 /* asked for one run of memory */
/* memory and ownership */
#define NODE_DLPACK_ERROR_MEMORY 50     /* no memory */
#define NODE_DLPACK_ERROR_READ_ONLY 55  /* asked to write, and the tensor is read-only */
#define NODE_DLPACK_ERROR_OPAQUE 57     /* asked for the bytes, and the host cannot read them */
#define NODE_DLPACK_ERROR_IN_USE 58     /* a withView() of the OwnedTensor has not ended */
#define NODE_DLPACK_ERROR_LENT 59       /* the OwnedTensor is lent, and the loan has not ended */
#define NODE_DLPACK_ERROR_MOVED_AWAY 60 /* the bytes of the OwnedTensor were transferred elsewhere */
/* capsules */
#define NODE_DLPACK_ERROR_NOT_A_CAPSULE 80
#define NODE_DLPACK_ERROR_CAPSULE_USED 81
#define NODE_DLPACK_ERROR_CAPSULE_ABI 82 /* a capsule of a later contract */
#define NODE_DLPACK_ERROR_ARGUMENT 87    /* NULL, or a number that there is not, where the kit was called */
/* the engine */
#define NODE_DLPACK_ERROR_ENDING 100   /* the environment is ending, or has ended */
#define NODE_DLPACK_ERROR_NODE_API 101 /* Node-API refused something that it should not */
/* the kit's own */
#define NODE_DLPACK_ERROR_NOT_OURS 200      /* no tensor of the table that was asked */
#define NODE_DLPACK_ERROR_NOT_A_TENSOR 201  /* neither a capsule nor an object with __dlpack__ and __dlpack_device__ */
#define NODE_DLPACK_ERROR_DEVICE_ANSWER 202 /* __dlpack_device__() returned something else than two integers */
#define NODE_DLPACK_ERROR_ANSWER 203        /* __dlpack__() returned something else than a capsule */
#define NODE_DLPACK_ERROR_EXCEPTION 204     /* an exception is pending: the producer's own */
#define NODE_DLPACK_ERROR_CONSUMED 205      /* a tensor whose memory moved on */
#define NODE_DLPACK_ERROR_DISPOSED 206      /* a tensor that was disposed */
#define NODE_DLPACK_ERROR_LEGACY 207        /* a legacy struct was asked for, which cannot say what it would have to */
#define NODE_DLPACK_ERROR_COPY 208          /* copy was asked for or refused, and it cannot be so */
#define NODE_DLPACK_ERROR_OPTIONS 209       /* malformed options of __dlpack__ */
#define NODE_DLPACK_ERROR_STREAM 210        /* a stream, and host memory has none */
#define NODE_DLPACK_ERROR_OTHER_DEVICE 211  /* dl_device is not where the tensor is */
#define NODE_DLPACK_ERROR_EXPORT 212        /* the producer could not make a struct */

#define NODE_DLPACK_ERROR_AXES 213 /* not the number of axes that was expected */

/* The class of a JavaScript error, its code, and what it says. */
typedef struct node_dlpack_words {
  int error;
  char kind; /* 'B'ufferError, 'S'tate error, 'T'ypeError, 'R'angeError */
  const char* code;
  const char* text;
} node_dlpack_words;

/* The words of an error. In static storage; never NULL. */
static inline const node_dlpack_words* node_dlpack_words_of(int error) {
  static const node_dlpack_words words[] = {
      {NODE_DLPACK_ERROR_MANAGED_NULL, 'B', "ERR_DLPACK_BUFFER",
       "the managed tensor is NULL; there is nothing to take"},
      {NODE_DLPACK_ERROR_VERSION, 'B', "ERR_DLPACK_BUFFER",
       "version.major is not 1; only DLPack 1 can be read. Ask the producer for max_version [1, 3]"},
      {NODE_DLPACK_ERROR_NDIM, 'B', "ERR_DLPACK_BUFFER", "ndim must be 0 to 64"},
      {NODE_DLPACK_ERROR_SHAPE_NULL, 'B', "ERR_DLPACK_BUFFER", "shape is NULL; only a 0-d tensor may have no shape"},
      {NODE_DLPACK_ERROR_EXTENT, 'B', "ERR_DLPACK_BUFFER", "an extent is negative; extents must be >= 0"},
      {NODE_DLPACK_ERROR_SIZE, 'B', "ERR_DLPACK_BUFFER", "shape is too large: its elements pass what 64 bits count"},
      {NODE_DLPACK_ERROR_SPAN, 'B', "ERR_DLPACK_BUFFER", "strides lead to elements further away than addresses reach"},
      {NODE_DLPACK_ERROR_DATA_NULL, 'B', "ERR_DLPACK_BUFFER",
       "data is NULL, but shape promises elements; only an empty tensor may have no data"},
      {NODE_DLPACK_ERROR_BYTE_OFFSET, 'B', "ERR_DLPACK_BUFFER",
       "byte_offset takes data past the end of the address space"},
      {NODE_DLPACK_ERROR_DEVICE, 'B', "ERR_DLPACK_BUFFER", "device.device_type is none of DLPack 1.3"},
      {NODE_DLPACK_ERROR_DTYPE, 'B', "ERR_DLPACK_BUFFER", "the dtype is another one than can be used here"},
      {NODE_DLPACK_ERROR_DTYPE_BITS, 'B', "ERR_DLPACK_BUFFER", "dtype.bits is no width of an element"},
      {NODE_DLPACK_ERROR_LANES, 'B', "ERR_DLPACK_BUFFER", "dtype.lanes is not 1; only scalar elements can be used"},
      {NODE_DLPACK_ERROR_MISALIGNED, 'B', "ERR_DLPACK_BUFFER", "data is not aligned to its element; copy it first"},
      {NODE_DLPACK_ERROR_CONTIGUOUS, 'B', "ERR_DLPACK_BUFFER",
       "the elements do not lie in one run of memory; send contiguous()"},
      {NODE_DLPACK_ERROR_MEMORY, 'R', "ERR_DLPACK_MEMORY", "no memory"},
      {NODE_DLPACK_ERROR_READ_ONLY, 'B', "ERR_DLPACK_BUFFER",
       "the tensor is read-only, and it would be written; send an OwnedTensor or a copy"},
      {NODE_DLPACK_ERROR_OPAQUE, 'B', "ERR_DLPACK_BUFFER",
       "the tensor is on a device that the host cannot read; bring it to the CPU first"},
      {NODE_DLPACK_ERROR_IN_USE, 'B', "ERR_DLPACK_BUFFER", "withView() uses the memory; wait until it ends"},
      {NODE_DLPACK_ERROR_LENT, 'B', "ERR_DLPACK_BUFFER", "the OwnedTensor is lent; wait until lend() has ended"},
      {NODE_DLPACK_ERROR_MOVED_AWAY, 'B', "ERR_DLPACK_BUFFER",
       "the ArrayBuffer of the tensor was transferred elsewhere, and the memory went with it"},
      {NODE_DLPACK_ERROR_NOT_A_CAPSULE, 'T', "ERR_INVALID_ARG_TYPE", "this is no DLPack capsule"},
      {NODE_DLPACK_ERROR_CAPSULE_USED, 'S', "ERR_DLPACK_CONSUMED", "Capsule already consumed"},
      {NODE_DLPACK_ERROR_CAPSULE_ABI, 'B', "ERR_DLPACK_BUFFER",
       "the capsule is of a later contract than this addon knows; build the addon anew with the present node-dlpack"},
      {NODE_DLPACK_ERROR_ARGUMENT, 'T', "ERR_INVALID_ARG_TYPE", "an argument cannot be"},
      {NODE_DLPACK_ERROR_ENDING, 'B', "ERR_DLPACK_BUFFER", "the thread is ending"},
      {NODE_DLPACK_ERROR_NOT_OURS, 'T', "ERR_INVALID_ARG_TYPE", "this is no tensor of this copy of node-dlpack"},
      {NODE_DLPACK_ERROR_NOT_A_TENSOR, 'T', "ERR_INVALID_ARG_TYPE",
       "a tensor was expected: a DLPack capsule, or an object with __dlpack__ and __dlpack_device__"},
      {NODE_DLPACK_ERROR_DEVICE_ANSWER, 'T', "ERR_INVALID_ARG_TYPE",
       "__dlpack_device__() must return two integers, [device type, device id]"},
      {NODE_DLPACK_ERROR_ANSWER, 'T', "ERR_INVALID_ARG_TYPE", "__dlpack__() must return a DLPack capsule"},
      {NODE_DLPACK_ERROR_CONSUMED, 'S', "ERR_DLPACK_CONSUMED", "Tensor already consumed"},
      {NODE_DLPACK_ERROR_DISPOSED, 'S', "ERR_DLPACK_DISPOSED", "Tensor already disposed"},
      {NODE_DLPACK_ERROR_LEGACY, 'B', "ERR_DLPACK_BUFFER",
       "a legacy struct (max_version null or [0, n]) cannot say that its memory is read-only or padded. Ask for "
       "max_version [1, 0] or later"},
      {NODE_DLPACK_ERROR_COPY, 'B', "ERR_DLPACK_BUFFER", "copy cannot be kept: this producer has one way to export"},
      {NODE_DLPACK_ERROR_OPTIONS, 'T', "ERR_INVALID_ARG_TYPE",
       "__dlpack__ takes one object of options: max_version null or two integers >= 0, dl_device null or two integers, "
       "copy true, false or null"},
      {NODE_DLPACK_ERROR_STREAM, 'R', "ERR_OUT_OF_RANGE", "stream must be null: host memory has no streams"},
      {NODE_DLPACK_ERROR_OTHER_DEVICE, 'B', "ERR_DLPACK_BUFFER",
       "dl_device is not where the tensor is, and it cannot be brought elsewhere. Use null"},
      {NODE_DLPACK_ERROR_EXPORT, 'B', "ERR_DLPACK_BUFFER", "the tensor cannot be exported"},
      {NODE_DLPACK_ERROR_AXES, 'B', "ERR_DLPACK_BUFFER", "the tensor has another number of axes than can be used here"},
      /* Last: any other. */
      {NODE_DLPACK_ERROR_NODE_API, 'B', "ERR_DLPACK_BUFFER", "Node-API refused a call"},
  };
  const size_t last = sizeof words / sizeof words[0] - 1;
  size_t i = 0;
  while (i < last && words[i].error != error) i++;
  return &words[i];
}

static inline void node_dlpack_name_error(napi_env env, napi_value error, const char* name) {
  napi_value text;
  if (napi_create_string_utf8(env, name, NAPI_AUTO_LENGTH, &text) != napi_ok) return;
  (void)napi_set_named_property(env, error, "name", text);
}

/*
 * Throws an error of a kind ('B', 'S', 'T' or 'R', see node_dlpack_words) with node-dlpack's names and codes. The
 * classes are those of the caller's realm, so programs test the code, never the class. Does nothing while an exception
 * is pending. Always answers NULL, for `return node_dlpack_throw(...)`.
 */
static inline napi_value node_dlpack_throw_words(napi_env env, char kind, const char* code, const char* text) {
  bool pending = true;
  napi_value code_value, message, error;
  napi_status status;
  if (napi_is_exception_pending(env, &pending) != napi_ok || pending) return NULL;
  if (napi_create_string_utf8(env, code, NAPI_AUTO_LENGTH, &code_value) != napi_ok) return NULL;
  if (napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &message) != napi_ok) return NULL;
  switch (kind) {
    case 'T':
      status = napi_create_type_error(env, code_value, message, &error);
      break;
    case 'R':
      status = napi_create_range_error(env, code_value, message, &error);
      break;
    default:
      status = napi_create_error(env, code_value, message, &error);
  }
  if (status != napi_ok) return NULL;
  if (kind == 'B') node_dlpack_name_error(env, error, "BufferError");
  if (kind == 'S') node_dlpack_name_error(env, error, "DLPackStateError");
  (void)napi_throw(env, error);
  return NULL;
}

/*
 * Throws the JavaScript error of a code; the producer's own where that is pending already. `what` stands before the
 * text, for example the function and its argument ("resize(image)"); NULL: nothing. Always answers NULL.
 */
static inline napi_value node_dlpack_throw(napi_env env, int error, const char* what) {
  char text[400];
  const node_dlpack_words* words = node_dlpack_words_of(error);
  if (error == NODE_DLPACK_OK || error == NODE_DLPACK_ERROR_EXCEPTION) return NULL;
  if (what == NULL) return node_dlpack_throw_words(env, words->kind, words->code, words->text);
  (void)snprintf(text, sizeof text, "%s: %s", what, words->text);
  return node_dlpack_throw_words(env, words->kind, words->code, text);
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NODE_DLPACK_ERRORS_H_ */
