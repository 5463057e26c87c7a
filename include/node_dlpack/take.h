/*
 * Taking: any value that stands for a tensor becomes a managed tensor that is yours.
 *
 * The rules of the protocol for consumers are kept here: the value's members are looked up once and called once, their
 * errors reach the caller as they are, nothing is tried twice; the managed pointer is taken first and looked at
 * afterwards; on every path its deleter runs exactly once.
 */
#ifndef NODE_DLPACK_TAKE_H_
#define NODE_DLPACK_TAKE_H_

#include <node_api.h>
#include <stdlib.h>

#include "../dlpack/dlpack.h"
#include "capsule.h"
#include "errors.h"
#include "exchange.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A versioned struct around a legacy one, for consumers that want to know one kind only. */
typedef struct node_dlpack_upgraded {
  DLManagedTensorVersioned versioned;
  DLManagedTensor* legacy;
} node_dlpack_upgraded;

static inline void node_dlpack_upgraded_delete(DLManagedTensorVersioned* self) {
  /* The struct is the first member. What a consumer may have overwritten in it is not looked at. */
  node_dlpack_upgraded* upgraded = (node_dlpack_upgraded*)self;
  node_dlpack_delete(upgraded->legacy, NODE_DLPACK_KIND_LEGACY);
  free(upgraded);
}

/*
 * A legacy struct as a versioned one: wrapped, not copied, and marked READ_ONLY, since it cannot say whether it may be
 * written. NULL without memory: its deleter has run.
 */
static inline DLManagedTensorVersioned* node_dlpack_upgrade(DLManagedTensor* legacy) {
  node_dlpack_upgraded* upgraded = (node_dlpack_upgraded*)malloc(sizeof *upgraded);
  if (upgraded == NULL) {
    node_dlpack_delete(legacy, NODE_DLPACK_KIND_LEGACY);
    return NULL;
  }
  upgraded->legacy = legacy;
  upgraded->versioned.version.major = DLPACK_MAJOR_VERSION;
  upgraded->versioned.version.minor = DLPACK_MINOR_VERSION;
  upgraded->versioned.manager_ctx = NULL;
  upgraded->versioned.deleter = node_dlpack_upgraded_delete;
  upgraded->versioned.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  upgraded->versioned.dl_tensor = legacy->dl_tensor;
  return &upgraded->versioned;
}

/* node_dlpack_take of a capsule alone. Other errors: NODE_DLPACK_ERROR_NOT_A_CAPSULE for anything else. */
static inline int node_dlpack_take_capsule(napi_env env, napi_value capsule, DLManagedTensorVersioned** out) {
  void* managed;
  uint32_t kind;
  DLManagedTensorVersioned* versioned;
  const int error = node_dlpack_capsule_take(env, capsule, &managed, &kind);
  *out = NULL;
  if (error != NODE_DLPACK_OK) return error;
  if (kind == NODE_DLPACK_KIND_LEGACY) {
    *out = node_dlpack_upgrade((DLManagedTensor*)managed);
    return *out == NULL ? NODE_DLPACK_ERROR_MEMORY : NODE_DLPACK_OK;
  }
  versioned = (DLManagedTensorVersioned*)managed;
  if (versioned->version.major != DLPACK_MAJOR_VERSION) { /* then nothing but the deleter may be touched */
    node_dlpack_release(versioned);
    return NODE_DLPACK_ERROR_VERSION;
  }
  *out = versioned;
  return NODE_DLPACK_OK;
}

/* Two integers in an array? */
static inline int node_dlpack_is_pair(napi_env env, napi_value value, int32_t* first, int32_t* second) {
  bool is_array = false;
  uint32_t length = 0, i;
  if (napi_is_array(env, value, &is_array) != napi_ok || !is_array) return 0;
  if (napi_get_array_length(env, value, &length) != napi_ok || length != 2) return 0;
  for (i = 0; i < 2; i++) {
    napi_value element;
    double number = 0.5;
    if (napi_get_element(env, value, i, &element) != napi_ok) return 0;
    if (napi_get_value_double(env, element, &number) != napi_ok) return 0;
    if (!(number >= INT32_MIN && number <= INT32_MAX) || number != (double)(int32_t)number) return 0;
    *(i == 0 ? first : second) = (int32_t)number;
  }
  return 1;
}

static inline int node_dlpack_call(napi_env env, napi_value object, napi_value function, size_t count,
                                   const napi_value* arguments, napi_value* out) {
  const napi_status status = napi_call_function(env, object, function, count, arguments, out);
  if (status == napi_ok) return NODE_DLPACK_OK;
  return status == napi_pending_exception ? NODE_DLPACK_ERROR_EXCEPTION : NODE_DLPACK_ERROR_NODE_API;
}

/* { max_version: [1, 3] } */
static inline napi_status node_dlpack_options(napi_env env, napi_value* out) {
  napi_value version, number;
  napi_status status = napi_create_object(env, out);
  if (status == napi_ok) status = napi_create_array_with_length(env, 2, &version);
  if (status == napi_ok) status = napi_create_uint32(env, DLPACK_MAJOR_VERSION, &number);
  if (status == napi_ok) status = napi_set_element(env, version, 0, number);
  if (status == napi_ok) status = napi_create_uint32(env, DLPACK_MINOR_VERSION, &number);
  if (status == napi_ok) status = napi_set_element(env, version, 1, number);
  if (status == napi_ok) status = napi_set_named_property(env, *out, "max_version", version);
  return status;
}

/* The protocol: both members are looked up once and called once. */
static inline int node_dlpack_take_produced(napi_env env, napi_value producer, DLManagedTensorVersioned** out) {
  napi_value produce, locate, answer, options;
  napi_valuetype type;
  int32_t device_type, device_id;
  int error = node_dlpack_read_property(env, producer, "__dlpack__", &produce, &type);
  if (error != NODE_DLPACK_OK) return error;
  if (type != napi_function) return NODE_DLPACK_ERROR_NOT_A_TENSOR;
  error = node_dlpack_read_property(env, producer, "__dlpack_device__", &locate, &type);
  if (error != NODE_DLPACK_OK) return error;
  if (type != napi_function) return NODE_DLPACK_ERROR_NOT_A_TENSOR;
  error = node_dlpack_call(env, producer, locate, 0, NULL, &answer);
  if (error != NODE_DLPACK_OK) return error;
  if (!node_dlpack_is_pair(env, answer, &device_type, &device_id)) {
    bool pending = false;
    if (napi_is_exception_pending(env, &pending) == napi_ok && pending) return NODE_DLPACK_ERROR_EXCEPTION;
    return NODE_DLPACK_ERROR_DEVICE_ANSWER;
  }
  if (node_dlpack_options(env, &options) != napi_ok) return NODE_DLPACK_ERROR_NODE_API;
  error = node_dlpack_call(env, producer, produce, 1, &options, &answer);
  if (error != NODE_DLPACK_OK) return error;
  error = node_dlpack_take_capsule(env, answer, out);
  return error == NODE_DLPACK_ERROR_NOT_A_CAPSULE ? NODE_DLPACK_ERROR_ANSWER : error;
}

/*
 * The managed tensor of a value: a capsule, a tensor object of node-dlpack, or anything with __dlpack__ and
 * __dlpack_device__ (which is asked for max_version [1, 3]). It is yours: you owe one node_dlpack_release, which may be
 * on any thread. Always a versioned struct of major version 1; a legacy one is wrapped and marked READ_ONLY. Nothing
 * else of it was looked at: node_dlpack_check before you touch an element, and honour READ_ONLY.
 *
 * It consumes: a capsule is used afterwards, an OwnedTensor a tombstone. node_dlpack_borrow leaves an OwnedTensor
 * alive. On an error there is nothing to release.
 *
 * api: the table of an earlier call's value (node_dlpack_exchange_find), kept per environment, which saves looking it
 * up; any value may follow. NULL: none.
 */
static inline int node_dlpack_take_with(napi_env env, const node_dlpack_exchange_api* api, napi_value value,
                                        DLManagedTensorVersioned** out) {
  const node_dlpack_exchange_api* own;
  napi_handle_scope scope;
  napi_valuetype type;
  int error;
  *out = NULL;
  if (api != NULL) {
    error = api->managed_tensor_from_value(env, api->context, value, out);
    if (error != NODE_DLPACK_ERROR_NOT_OURS) return error;
  }
  if (napi_typeof(env, value, &type) != napi_ok) return NODE_DLPACK_ERROR_NODE_API;
  if (type == napi_external) {
    error = node_dlpack_take_capsule(env, value, out);
    return error == NODE_DLPACK_ERROR_NOT_A_CAPSULE ? NODE_DLPACK_ERROR_NOT_A_TENSOR : error;
  }
  if (type != napi_object && type != napi_function) return NODE_DLPACK_ERROR_NOT_A_TENSOR;
  if (napi_open_handle_scope(env, &scope) != napi_ok) return NODE_DLPACK_ERROR_NODE_API;
  error = node_dlpack_exchange_find(env, value, &own);
  if (error == NODE_DLPACK_OK) {
    error = own == NULL ? NODE_DLPACK_ERROR_NOT_OURS : own->managed_tensor_from_value(env, own->context, value, out);
  }
  if (error == NODE_DLPACK_ERROR_NOT_OURS) error = node_dlpack_take_produced(env, value, out);
  (void)napi_close_handle_scope(env, scope);
  return error;
}

/* The same without a table at hand. */
static inline int node_dlpack_take(napi_env env, napi_value value, DLManagedTensorVersioned** out) {
  return node_dlpack_take_with(env, NULL, value, out);
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NODE_DLPACK_TAKE_H_ */
