/*
 * A producer: a JavaScript object with __dlpack__ and __dlpack_device__ over native memory. Whatever a consumer may ask
 * of __dlpack__ (stream, max_version, dl_device, copy) is read and judged here, as DLPack and the array API standard
 * have it; what is left to you is one function that makes a fresh struct.
 */
#ifndef NODE_DLPACK_PRODUCER_H_
#define NODE_DLPACK_PRODUCER_H_

#include <node_api.h>
#include <stdint.h>
#include <stdlib.h>

#include "../dlpack/dlpack.h"
#include "capsule.h"
#include "errors.h"
#include "exchange.h"
#include "produce.h"
#include "take.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `copy` of the protocol. */
#define NODE_DLPACK_COPY_NULL (-1) /* a copy only where it must be */
#define NODE_DLPACK_COPY_FALSE 0   /* never */
#define NODE_DLPACK_COPY_TRUE 1    /* always: fresh memory, and IS_COPIED says so */

/*
 * Makes a fresh struct over the producer's memory, or over a copy of it. NULL: it cannot be, as asked or at all; the
 * consumer gets a BufferError. Called on the producer's own thread; it may not run JavaScript.
 */
typedef DLManagedTensorVersioned* (*node_dlpack_export_function)(void* context, int copy);

typedef struct node_dlpack_producer {
  DLDevice device;
  node_dlpack_export_function export_function;
  void (*release)(void* context);
  void* context;
  int functions; /* that still exist: the last one to be collected ends it */
} node_dlpack_producer;

/* What a consumer asked. */
typedef struct node_dlpack_request {
  int versioned; /* it understands the versioned struct */
  int copy;      /* NODE_DLPACK_COPY_* */
  int has_device;
  int32_t device_type, device_id;
} node_dlpack_request;

static inline int node_dlpack_is_nothing(napi_valuetype type) {
  return type == napi_undefined || type == napi_null;
}

/* max_version, dl_device: nothing, or two integers. 1: it is there. */
static inline int node_dlpack_read_pair(napi_env env, napi_value options, const char* name, int* there, int32_t* first,
                                        int32_t* second) {
  napi_value value;
  napi_valuetype type;
  const int error = node_dlpack_read_property(env, options, name, &value, &type);
  *there = 0;
  if (error != NODE_DLPACK_OK || node_dlpack_is_nothing(type)) return error;
  *there = 1;
  return node_dlpack_is_pair(env, value, first, second) ? NODE_DLPACK_OK : NODE_DLPACK_ERROR_OPTIONS;
}

/* The options of __dlpack__. Names that are not known are ignored, so that tomorrow's consumers need no second try. */
static inline int node_dlpack_read_request(napi_env env, napi_value options, node_dlpack_request* request) {
  napi_value value;
  napi_valuetype type;
  bool flag = false, is_array = false;
  int has_version, error;
  int32_t major = 0, minor = 0;
  request->versioned = 0;
  request->copy = NODE_DLPACK_COPY_NULL;
  request->has_device = 0;
  if (napi_typeof(env, options, &type) != napi_ok) return NODE_DLPACK_ERROR_NODE_API;
  if (type == napi_undefined) return NODE_DLPACK_OK;
  if (type != napi_object || napi_is_array(env, options, &is_array) != napi_ok || is_array) {
    return NODE_DLPACK_ERROR_OPTIONS;
  }
  error = node_dlpack_read_property(env, options, "stream", &value, &type);
  if (error != NODE_DLPACK_OK) return error;
  if (!node_dlpack_is_nothing(type)) return NODE_DLPACK_ERROR_STREAM;
  error = node_dlpack_read_pair(env, options, "max_version", &has_version, &major, &minor);
  if (error != NODE_DLPACK_OK) return error;
  if (major < 0 || minor < 0) return NODE_DLPACK_ERROR_OPTIONS;
  request->versioned = has_version && major >= 1;
  error = node_dlpack_read_pair(env, options, "dl_device", &request->has_device, &request->device_type,
                                &request->device_id);
  if (error != NODE_DLPACK_OK) return error;
  error = node_dlpack_read_property(env, options, "copy", &value, &type);
  if (error != NODE_DLPACK_OK || node_dlpack_is_nothing(type)) return error;
  if (type != napi_boolean || napi_get_value_bool(env, value, &flag) != napi_ok) return NODE_DLPACK_ERROR_OPTIONS;
  request->copy = flag ? NODE_DLPACK_COPY_TRUE : NODE_DLPACK_COPY_FALSE;
  return NODE_DLPACK_OK;
}

/* A capsule as requested. */
static inline int node_dlpack_answer_request(napi_env env, const node_dlpack_producer* producer,
                                             const node_dlpack_request* request, napi_value* out) {
  const DLDevice device = producer->device;
  const uint64_t copied = DLPACK_FLAG_BITMASK_IS_COPIED;
  DLManagedTensorVersioned* managed;
  DLManagedTensor* legacy;
  int error;
  if (request->has_device &&
      (request->device_type != (int32_t)device.device_type || request->device_id != device.device_id)) {
    return NODE_DLPACK_ERROR_OTHER_DEVICE;
  }
  managed = producer->export_function(producer->context, request->copy);
  if (managed == NULL) return NODE_DLPACK_ERROR_EXPORT;
  if (request->copy == NODE_DLPACK_COPY_TRUE && (managed->flags & copied) == 0) {
    node_dlpack_release(managed);
    return NODE_DLPACK_ERROR_COPY;
  }
  /* Whoever forbids a copy is told of none; sole ownership may be handed over all the same. */
  if (request->copy == NODE_DLPACK_COPY_FALSE) managed->flags &= ~copied;
  if (request->versioned) return node_dlpack_make(env, managed, out);
  error = node_dlpack_downgrade(managed, &legacy);
  return error != NODE_DLPACK_OK ? error : node_dlpack_make_legacy(env, legacy, out);
}

static inline napi_value node_dlpack_producer_export(napi_env env, napi_callback_info info) {
  napi_value options, capsule;
  size_t count = 1;
  void* data;
  node_dlpack_request request;
  int error;
  if (napi_get_cb_info(env, info, &count, &options, NULL, &data) != napi_ok) return NULL;
  error = node_dlpack_read_request(env, options, &request);
  if (error == NODE_DLPACK_OK) {
    error = node_dlpack_answer_request(env, (const node_dlpack_producer*)data, &request, &capsule);
  }
  return error == NODE_DLPACK_OK ? capsule : node_dlpack_throw(env, error, "__dlpack__");
}

static inline napi_value node_dlpack_producer_device(napi_env env, napi_callback_info info) {
  napi_value pair, number;
  size_t count = 0;
  void* data;
  const node_dlpack_producer* producer;
  if (napi_get_cb_info(env, info, &count, NULL, NULL, &data) != napi_ok) return NULL;
  producer = (const node_dlpack_producer*)data;
  if (napi_create_array_with_length(env, 2, &pair) != napi_ok) return NULL;
  if (napi_create_int32(env, (int32_t)producer->device.device_type, &number) != napi_ok) return NULL;
  if (napi_set_element(env, pair, 0, number) != napi_ok) return NULL;
  if (napi_create_int32(env, producer->device.device_id, &number) != napi_ok) return NULL;
  return napi_set_element(env, pair, 1, number) == napi_ok ? pair : NULL;
}

static inline void node_dlpack_producer_finalize(napi_env env, void* data, void* hint) {
  node_dlpack_producer* producer = (node_dlpack_producer*)data;
  (void)env;
  (void)hint;
  if (--producer->functions > 0) return;
  if (producer->release != NULL) producer->release(producer->context);
  free(producer);
}

/* One of the two functions; each may be kept by itself, so each holds the producer. */
static inline napi_status node_dlpack_producer_function(napi_env env, node_dlpack_producer* producer, napi_value object,
                                                        const char* name, napi_callback callback) {
  napi_value function;
  napi_status status = napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, producer, &function);
  if (status != napi_ok) return status;
  status = napi_add_finalizer(env, function, producer, node_dlpack_producer_finalize, NULL, NULL);
  if (status != napi_ok) return status;
  producer->functions++;
  return napi_set_named_property(env, object, name, function);
}

/*
 * A fresh producer. device: where every struct of export_function will be; {kDLCPU, 0} for host memory.
 * release(context) is called once, on this thread, when the object and its functions are collected, or the environment
 * ends, also when the producer could not be made: what structs still need then must be counted by you.
 */
static inline int node_dlpack_producer_make(napi_env env, DLDevice device, node_dlpack_export_function export_function,
                                            void (*release)(void* context), void* context, napi_value* out) {
  node_dlpack_producer* producer = (node_dlpack_producer*)calloc(1, sizeof *producer);
  napi_status status;
  if (producer == NULL) {
    if (release != NULL) release(context);
    return NODE_DLPACK_ERROR_MEMORY;
  }
  producer->device = device;
  producer->export_function = export_function;
  producer->release = release;
  producer->context = context;
  status = napi_create_object(env, out);
  if (status == napi_ok) {
    status = node_dlpack_producer_function(env, producer, *out, "__dlpack__", node_dlpack_producer_export);
  }
  if (status == napi_ok) {
    status = node_dlpack_producer_function(env, producer, *out, "__dlpack_device__", node_dlpack_producer_device);
  }
  if (status == napi_ok) return NODE_DLPACK_OK;
  /* A function that exists already ends it when it is collected. */
  if (producer->functions == 0) {
    producer->functions = 1;
    node_dlpack_producer_finalize(env, producer, NULL);
  }
  return NODE_DLPACK_ERROR_NODE_API;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NODE_DLPACK_PRODUCER_H_ */
