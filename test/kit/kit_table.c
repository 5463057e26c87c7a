/* The exchange table, function by function, and what its calls cost. Tables travel as addresses. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#endif
#include <time.h>

#include "kit_lab.h"

static const node_dlpack_exchange_api* table_from_js(napi_env env, napi_value value) {
  return (const node_dlpack_exchange_api*)address_from_js(env, value);
}

/* tableOf(value) -> address; 0n: none */
static napi_value table_of(napi_env env, napi_callback_info info) {
  napi_value argument;
  const node_dlpack_exchange_api* api;
  arguments_of(env, info, 1, &argument);
  const int error = node_dlpack_exchange_find(env, argument, &api);
  return error == NODE_DLPACK_OK ? address_to_js(env, api) : node_dlpack_throw(env, error, "tableOf(x)");
}

/* tableOfClass(class) */
static napi_value table_of_class(napi_env env, napi_callback_info info) {
  napi_value argument;
  const node_dlpack_exchange_api* api;
  arguments_of(env, info, 1, &argument);
  const int error = node_dlpack_exchange_of_class(env, argument, &api);
  return error == NODE_DLPACK_OK ? address_to_js(env, api) : node_dlpack_throw(env, error, "tableOfClass(x)");
}

/* tableHeader(table) -> [major, minor, address of prev_api] */
static napi_value table_header(napi_env env, napi_callback_info info) {
  napi_value argument, result = NULL;
  arguments_of(env, info, 1, &argument);
  const node_dlpack_exchange_api* api = table_from_js(env, argument);
  (void)napi_create_array(env, &result);
  (void)napi_set_element(env, result, 0, number_to_js(env, api->header.version.major));
  (void)napi_set_element(env, result, 1, number_to_js(env, api->header.version.minor));
  (void)napi_set_element(env, result, 2, address_to_js(env, api->header.prev_api));
  return result;
}

/* A table of a later major version, whose prev_api is the table given: what a consumer of tomorrow's library meets. */
static node_dlpack_exchange_api later;

static napi_value later_table(napi_env env, napi_callback_info info) {
  napi_value argument, external = NULL;
  arguments_of(env, info, 1, &argument);
  const node_dlpack_exchange_api* api = table_from_js(env, argument);
  later.header.version.major = DLPACK_MAJOR_VERSION + 1;
  later.header.prev_api = (DLPackExchangeAPIHeader*)(uintptr_t)api;
  (void)napi_create_external(env, &later, NULL, NULL, &external);
  (void)napi_type_tag_object(env, external, &node_dlpack_exchange_tag);
  return external;
}

/* tableTake(table, value) -> address, or the code */
static napi_value table_take(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  DLManagedTensorVersioned* managed;
  arguments_of(env, info, 2, arguments);
  const node_dlpack_exchange_api* api = table_from_js(env, arguments[0]);
  const int error = api->managed_tensor_from_value(env, api->context, arguments[1], &managed);
  if (error == NODE_DLPACK_ERROR_EXCEPTION) return NULL;
  return error == NODE_DLPACK_OK ? address_to_js(env, managed) : number_to_js(env, error);
}

/* tableBorrow(table, value) -> what it says, or the code */
static napi_value table_borrow(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  DLTensor tensor;
  uint64_t flags;
  arguments_of(env, info, 2, arguments);
  const node_dlpack_exchange_api* api = table_from_js(env, arguments[0]);
  const int error = api->dltensor_from_value(env, api->context, arguments[1], &tensor, &flags);
  if (error == NODE_DLPACK_ERROR_EXCEPTION) return NULL;
  return error == NODE_DLPACK_OK ? picture(env, &tensor, flags, false) : number_to_js(env, error);
}

/* tableToValue(table, address) -> capsule, or the code */
static napi_value table_to_value(napi_env env, napi_callback_info info) {
  napi_value arguments[2], value;
  arguments_of(env, info, 2, arguments);
  const node_dlpack_exchange_api* api = table_from_js(env, arguments[0]);
  const int error = api->managed_tensor_to_value(env, api->context,
                                                 (DLManagedTensorVersioned*)address_from_js(env, arguments[1]), &value);
  return error == NODE_DLPACK_OK ? value : number_to_js(env, error);
}

/* tableAllocate(table, device, dtype, shape or null, ndim) -> address, or the code */
static napi_value table_allocate(napi_env env, napi_callback_info info) {
  napi_value arguments[5];
  int64_t device[NODE_DLPACK_MAX_NDIM], dtype[NODE_DLPACK_MAX_NDIM], shape[NODE_DLPACK_MAX_NDIM];
  napi_valuetype type;
  DLTensor prototype;
  DLManagedTensorVersioned* managed;
  arguments_of(env, info, 5, arguments);
  const node_dlpack_exchange_api* api = table_from_js(env, arguments[0]);
  (void)numbers_from_js(env, arguments[1], device);
  (void)numbers_from_js(env, arguments[2], dtype);
  (void)numbers_from_js(env, arguments[3], shape);
  (void)napi_typeof(env, arguments[3], &type);
  prototype.data = NULL;
  prototype.device.device_type = (DLDeviceType)device[0];
  prototype.device.device_id = (int32_t)device[1];
  prototype.ndim = (int32_t)number_from_js(env, arguments[4]);
  prototype.dtype.code = (uint8_t)dtype[0];
  prototype.dtype.bits = (uint8_t)dtype[1];
  prototype.dtype.lanes = (uint16_t)dtype[2];
  prototype.shape = type == napi_null ? NULL : shape;
  prototype.strides = NULL;
  prototype.byte_offset = 0;
  const int error = api->managed_tensor_allocate(env, api->context, &prototype, &managed);
  return error == NODE_DLPACK_OK ? address_to_js(env, managed) : number_to_js(env, error);
}

/* tableStream(table, device type) -> address, or the code */
static napi_value table_stream(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  void* stream = &later;
  arguments_of(env, info, 2, arguments);
  const node_dlpack_exchange_api* api = table_from_js(env, arguments[0]);
  const int error =
      api->current_work_stream(env, api->context, (DLDeviceType)(int)number_from_js(env, arguments[1]), 0, &stream);
  return error == NODE_DLPACK_OK ? address_to_js(env, stream) : number_to_js(env, error);
}

/* tableEndCodes(table) -> what its functions answer to a value that is none, with a NULL env: for a table whose
 * environment is gone, since nothing else would survive that. */
static napi_value table_end_codes(napi_env env, napi_callback_info info) {
  napi_value argument, value, result = NULL;
  DLManagedTensorVersioned* managed = NULL;
  DLTensor tensor;
  uint64_t flags;
  arguments_of(env, info, 1, &argument);
  const node_dlpack_exchange_api* api = table_from_js(env, argument);
  (void)napi_create_array(env, &result);
  const int codes[] = {api->managed_tensor_from_value(NULL, api->context, NULL, &managed),
                       api->dltensor_from_value(NULL, api->context, NULL, &tensor, &flags),
                       api->managed_tensor_to_value(NULL, api->context, NULL, &value)};
  for (uint32_t i = 0; i < 3; i++) (void)napi_set_element(env, result, i, number_to_js(env, codes[i]));
  return result;
}

/* --- what it costs: nanoseconds a call -------------------------------------------------------------------------------
 */

static double seconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* measure(what, value, table, count): 0 reading a string-keyed property, 1 borrow with the table, 2 borrow without,
 * 3 take and release with the table, 4 without, 5 by the protocol, 6 the bare table call (borrow) */
static napi_value measure(napi_env env, napi_callback_info info) {
  napi_value arguments[4], out;
  arguments_of(env, info, 4, arguments);
  const int what = (int)number_from_js(env, arguments[0]);
  const node_dlpack_exchange_api* api = table_from_js(env, arguments[2]);
  const int count = (int)number_from_js(env, arguments[3]);
  int errors = 0;
  const double start = seconds();
  for (int i = 0; i < count; i++) {
    node_dlpack_borrowed borrowed;
    DLManagedTensorVersioned* managed = NULL;
    napi_handle_scope scope;
    (void)napi_open_handle_scope(env, &scope);
    switch (what) {
      case 0:
        errors += napi_get_named_property(env, arguments[1], "ndim", &out) != napi_ok;
        break;
      case 1:
      case 2:
        errors += node_dlpack_borrow_with(env, what == 1 ? api : NULL, arguments[1], &borrowed) != NODE_DLPACK_OK;
        node_dlpack_give_back(&borrowed);
        break;
      case 3:
      case 4:
        errors += node_dlpack_take_with(env, what == 3 ? api : NULL, arguments[1], &managed) != NODE_DLPACK_OK;
        node_dlpack_release(managed);
        break;
      case 5:
        errors += node_dlpack_take_produced(env, arguments[1], &managed) != NODE_DLPACK_OK;
        node_dlpack_release(managed);
        break;
      default:
        errors += api->dltensor_from_value(env, api->context, arguments[1], &borrowed.tensor, &borrowed.flags) !=
                  NODE_DLPACK_OK;
    }
    (void)napi_close_handle_scope(env, scope);
  }
  const double nanoseconds = (seconds() - start) * 1e9 / count;
  return number_to_js(env, errors == 0 ? nanoseconds : -errors);
}

void register_table(napi_env env, napi_value exports) {
  define(env, exports, "tableOf", table_of);
  define(env, exports, "tableOfClass", table_of_class);
  define(env, exports, "tableHeader", table_header);
  define(env, exports, "laterTable", later_table);
  define(env, exports, "tableTake", table_take);
  define(env, exports, "tableBorrow", table_borrow);
  define(env, exports, "tableToValue", table_to_value);
  define(env, exports, "tableAllocate", table_allocate);
  define(env, exports, "tableStream", table_stream);
  define(env, exports, "tableEndCodes", table_end_codes);
  define(env, exports, "measure", measure);
}
