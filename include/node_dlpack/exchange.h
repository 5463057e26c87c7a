/*
 * The exchange table of DLPack 1.3 in Node's terms: how native code reaches the memory of a tensor object without a
 * call into JavaScript. A tensor class offers it as a static property `__dlpack_c_exchange_api__`, an External whose
 * type tag is `node_dlpack_exchange_tag` and whose pointer leads to a node_dlpack_exchange_api. node_dlpack_take and
 * node_dlpack_borrow use it by themselves.
 *
 * THE CONTRACT, version 1
 *
 * The functions are static for the process. A table belongs to the JavaScript thread (more exactly, to the load of the
 *   class) that offers it, and is used on that thread only. It is never freed: once that thread has ended every
 *   function answers NODE_DLPACK_ERROR_ENDING, so an address that was kept is harmless. Keep it per environment
 *   (napi_set_instance_data), never in a static.
 * Each function is given the caller's own env and the table's `context`, for instance data looked up through another
 *   addon's env is that addon's. `context` means nothing to the caller.
 * They answer NODE_DLPACK_OK or a code of errors.h. On an error the outputs are NULL or zero. An exception is pending
 *   only after NODE_DLPACK_ERROR_EXCEPTION (a Proxy or a getter that somebody put in a tensor's place threw).
 * A tensor of another class, also of another copy of the package, is NODE_DLPACK_ERROR_NOT_OURS: ask its own table.
 * Functions are only ever appended, which raises header.version.minor; another major is another table. prev_api leads
 *   to a table of an earlier major, or is NULL; node_dlpack_exchange_find walks the chain.
 */
#ifndef NODE_DLPACK_EXCHANGE_H_
#define NODE_DLPACK_EXCHANGE_H_

#include <node_api.h>

#include "../dlpack/dlpack.h"
#include "capsule.h"
#include "errors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tag of every table. */
static const napi_type_tag node_dlpack_exchange_tag = {UINT64_C(0x6b17d4c93e5a4f80), UINT64_C(0xa2c80f67d1e94b35)};

typedef struct node_dlpack_exchange_api {
  /* version.major is 1. */
  DLPackExchangeAPIHeader header;
  /* The first argument but one of every function. */
  void* context;
  /*
   * Fresh memory, row-major, of which device (the CPU), dtype, ndim and shape of the prototype are read; contents
   * undefined. *out is the caller's, flags IS_COPIED: nobody else holds it. Aligned to 256 bytes.
   */
  int (*managed_tensor_allocate)(napi_env env, void* context, const DLTensor* prototype,
                                 DLManagedTensorVersioned** out);
  /*
   * What value.__dlpack__({ max_version: [1, 3] }) gives, without the capsule: never a copy, flags READ_ONLY for a
   * read-only tensor, 0 for a writable loan, IS_COPIED for an OwnedTensor, which is consumed. *out is the caller's.
   */
  int (*managed_tensor_from_value)(napi_env env, void* context, napi_value value, DLManagedTensorVersioned** out);
  /*
   * A capsule over a managed tensor, which belongs to the table on every path. JavaScript's fromDLPack() makes a tensor
   * of it. (No tensor object: several realms may share one table, each with a Tensor class of its own.) It costs a
   * third of node_dlpack_capsule_make, as it needs no finalizer.
   */
  int (*managed_tensor_to_value)(napi_env env, void* context, DLManagedTensorVersioned* managed, napi_value* out);
  /*
   * A description of a tensor that owns nothing and consumes nothing. It is good until anything runs JavaScript or
   * control returns to it, whichever is first; shape and strides must not be written. *flags as in
   * DLManagedTensorVersioned: 0, the caller may write, for an OwnedTensor and for a writable loan.
   */
  int (*dltensor_from_value)(napi_env env, void* context, napi_value value, DLTensor* out, uint64_t* flags);
  /* The stream that work on this device should be queued on now. NULL on the host. */
  int (*current_work_stream)(napi_env env, void* context, DLDeviceType device_type, int32_t device_id, void** out);
} node_dlpack_exchange_api;

/* A property that may be anything: its value, and its type. NODE_DLPACK_ERROR_EXCEPTION when reading it threw. */
static inline int node_dlpack_read_property(napi_env env, napi_value object, const char* name, napi_value* out,
                                            napi_valuetype* type) {
  const napi_status status = napi_get_named_property(env, object, name, out);
  if (status == napi_pending_exception) return NODE_DLPACK_ERROR_EXCEPTION;
  if (status != napi_ok || napi_typeof(env, *out, type) != napi_ok) return NODE_DLPACK_ERROR_NODE_API;
  return NODE_DLPACK_OK;
}

/* The table of a tensor class; *out is NULL for a class without one, or with one of another major version. */
static inline int node_dlpack_exchange_of_class(napi_env env, napi_value tensor_class,
                                                const node_dlpack_exchange_api** out) {
  napi_value external;
  napi_valuetype type;
  void* pointer;
  const DLPackExchangeAPIHeader* header;
  const int error = node_dlpack_read_property(env, tensor_class, "__dlpack_c_exchange_api__", &external, &type);
  *out = NULL;
  if (error != NODE_DLPACK_OK) return error;
  if (node_dlpack_tagged_external(env, external, &node_dlpack_exchange_tag, &pointer) != napi_ok) return NODE_DLPACK_OK;
  header = (const DLPackExchangeAPIHeader*)pointer;
  while (header != NULL && header->version.major != DLPACK_MAJOR_VERSION) header = header->prev_api;
  *out = (const node_dlpack_exchange_api*)header;
  return NODE_DLPACK_OK;
}

/* The table of a value's class. *out is NULL where there is none: anything but a tensor object. */
static inline int node_dlpack_exchange_find(napi_env env, napi_value value, const node_dlpack_exchange_api** out) {
  napi_value tensor_class;
  napi_valuetype type;
  int error;
  *out = NULL;
  if (napi_typeof(env, value, &type) != napi_ok) return NODE_DLPACK_ERROR_NODE_API;
  if (type != napi_object) return NODE_DLPACK_OK;
  error = node_dlpack_read_property(env, value, "constructor", &tensor_class, &type);
  if (error != NODE_DLPACK_OK || type != napi_function) return error;
  return node_dlpack_exchange_of_class(env, tensor_class, out);
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NODE_DLPACK_EXCHANGE_H_ */
