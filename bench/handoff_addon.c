/*
 * Node's side of the hand-off bench in C: what a bare Node-API addon pays, and calls of the exchange table from C. The
 * loops run here, so that what is timed is the call and nothing of JavaScript.
 */
#include <math.h>
#include <node_api.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "node_dlpack.h"

/* How many values are made before their handles are given back: an addon's call does not return for each. */
enum { kHandlesAtOnce = 64 };

static const node_dlpack_exchange_api* g_table;
static char g_memory[4096];

static double Now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void Finalize(napi_env env, void* data, void* hint) {
  (void)env;
  (void)data;
  (void)hint;
}

/* noop() */
static napi_value Noop(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  return NULL;
}

/* buffer(bytes): an external ArrayBuffer, with the finalizer that such a buffer needs. */
static napi_value Buffer(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  napi_value result = NULL;
  double bytes = 0;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  napi_get_value_double(env, argument, &bytes);
  napi_create_external_arraybuffer(env, g_memory, (size_t)bytes, Finalize, NULL, &result);
  return result;
}

/* detach(buffer) */
static napi_value Detach(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  napi_detach_arraybuffer(env, argument);
  return NULL;
}

/* external(): an External without a finalizer, type-tagged. */
static napi_value External(napi_env env, napi_callback_info info) {
  napi_value result = NULL;
  (void)info;
  napi_create_external(env, g_memory, NULL, NULL, &result);
  napi_type_tag_object(env, result, &node_dlpack_capsule_tag);
  return result;
}

/* allocated(): bytes that the process has from its allocator; NaN where that is not known. */
static napi_value Allocated(napi_env env, napi_callback_info info) {
  napi_value result = NULL;
  (void)info;
#ifdef __GLIBC__
  const struct mallinfo2 all = mallinfo2();
  napi_create_double(env, (double)(all.uordblks + all.hblkhd), &result);
#else
  napi_create_double(env, NAN, &result);
#endif
  return result;
}

typedef int (*Body)(napi_env env, napi_value value, napi_value key);

static int Borrow(napi_env env, napi_value value, napi_value key) {
  DLTensor tensor;
  uint64_t flags;
  (void)key;
  return g_table->dltensor_from_value(env, g_table->context, value, &tensor, &flags);
}

static int Manage(napi_env env, napi_value value, napi_value key) {
  DLManagedTensorVersioned* managed;
  const int error = g_table->managed_tensor_from_value(env, g_table->context, value, &managed);
  (void)key;
  if (error == NODE_DLPACK_OK) node_dlpack_release(managed);
  return error;
}

static int ReadProperty(napi_env env, napi_value value, napi_value key) {
  napi_value property;
  return napi_get_property(env, value, key, &property) != napi_ok;
}

/* loop(value, key, iterations): nanoseconds of all together. */
static napi_value Loop(napi_env env, napi_callback_info info) {
  size_t count = 3;
  napi_value arguments[3];
  napi_value result = NULL;
  napi_handle_scope scope;
  void* data;
  Body body;
  double iterations = 0;
  double begin;
  long i;
  napi_get_cb_info(env, info, &count, arguments, NULL, &data);
  napi_get_value_double(env, arguments[2], &iterations);
  body = *(Body*)data;
  begin = Now();
  for (i = 0; i < (long)iterations; i += kHandlesAtOnce) {
    int j;
    napi_open_handle_scope(env, &scope);
    for (j = 0; j < kHandlesAtOnce; ++j) {
      if (body(env, arguments[0], arguments[1]) != 0) {
        napi_throw_error(env, NULL, "a call of the loop failed");
        return NULL;
      }
    }
    napi_close_handle_scope(env, scope);
  }
  napi_create_double(env, Now() - begin, &result);
  return result;
}

/* useTable(tensor): whose exchange table the loops use. */
static napi_value UseTable(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  if (node_dlpack_exchange_find(env, argument, &g_table) != NODE_DLPACK_OK || g_table == NULL) {
    napi_throw_error(env, NULL, "no exchange table");
  }
  return NULL;
}

static Body g_borrow = Borrow;
static Body g_manage = Manage;
static Body g_property = ReadProperty;

static void Export(napi_env env, napi_value exports, const char* name, napi_callback callback, void* data) {
  napi_value function;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, data, &function);
  napi_set_named_property(env, exports, name, function);
}

NAPI_MODULE_INIT() {
  Export(env, exports, "noop", Noop, NULL);
  Export(env, exports, "buffer", Buffer, NULL);
  Export(env, exports, "detach", Detach, NULL);
  Export(env, exports, "external", External, NULL);
  Export(env, exports, "allocated", Allocated, NULL);
  Export(env, exports, "useTable", UseTable, NULL);
  Export(env, exports, "borrow", Loop, (void*)&g_borrow);
  Export(env, exports, "manage", Loop, (void*)&g_manage);
  Export(env, exports, "property", Loop, (void*)&g_property);
  return exports;
}
