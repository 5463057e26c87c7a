/* The kit, function by function, as a C addon uses it. test/support/kit-lab.ts is the typed face of all this. */
#include "kit_lab.h"

#include <stdlib.h>
#include <string.h>

void arguments_of(napi_env env, napi_callback_info info, size_t count, napi_value* arguments) {
  (void)napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
}

napi_value address_to_js(napi_env env, const void* pointer) {
  napi_value value = NULL;
  (void)napi_create_bigint_uint64(env, (uint64_t)(uintptr_t)pointer, &value);
  return value;
}

void* address_from_js(napi_env env, napi_value value) {
  uint64_t address = 0;
  bool lossless;
  (void)napi_get_value_bigint_uint64(env, value, &address, &lossless);
  return (void*)(uintptr_t)address;
}

napi_value number_to_js(napi_env env, double number) {
  napi_value value = NULL;
  (void)napi_create_double(env, number, &value);
  return value;
}

double number_from_js(napi_env env, napi_value value) {
  double number = 0;
  (void)napi_get_value_double(env, value, &number);
  return number;
}

void set(napi_env env, napi_value object, const char* name, napi_value value) {
  (void)napi_set_named_property(env, object, name, value);
}

void define(napi_env env, napi_value exports, const char* name, napi_callback callback) {
  napi_value function;
  if (napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, NULL, &function) == napi_ok)
    set(env, exports, name, function);
}

static napi_value numbers_to_js(napi_env env, const int64_t* numbers, int32_t count) {
  napi_value array = NULL;
  if (numbers == NULL) {
    (void)napi_get_null(env, &array);
    return array;
  }
  (void)napi_create_array(env, &array);
  for (int32_t i = 0; i < count; i++)
    (void)napi_set_element(env, array, (uint32_t)i, number_to_js(env, (double)numbers[i]));
  return array;
}

int32_t numbers_from_js(napi_env env, napi_value array, int64_t* out) {
  uint32_t length = 0;
  napi_value element;
  if (napi_get_array_length(env, array, &length) != napi_ok) return 0;
  if (length > NODE_DLPACK_MAX_NDIM) length = NODE_DLPACK_MAX_NDIM;
  for (uint32_t i = 0; i < length; i++) {
    (void)napi_get_element(env, array, i, &element);
    (void)napi_get_value_int64(env, element, &out[i]);
  }
  return (int32_t)length;
}

napi_value picture(napi_env env, const DLTensor* tensor, uint64_t flags, bool held) {
  napi_value object = NULL, flag = NULL;
  const int64_t dtype[] = {tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes};
  const int64_t device[] = {(int64_t)tensor->device.device_type, tensor->device.device_id};
  (void)napi_create_object(env, &object);
  (void)napi_get_boolean(env, held, &flag);
  set(env, object, "data", address_to_js(env, tensor->data));
  set(env, object, "byteOffset", number_to_js(env, (double)tensor->byte_offset));
  set(env, object, "flags", number_to_js(env, (double)flags));
  set(env, object, "shape", numbers_to_js(env, tensor->shape, tensor->ndim));
  set(env, object, "strides", numbers_to_js(env, tensor->strides, tensor->ndim));
  set(env, object, "dtype", numbers_to_js(env, dtype, 3));
  set(env, object, "device", numbers_to_js(env, device, 2));
  set(env, object, "held", flag);
  return object;
}

/* take(value, table?) -> address of the managed tensor, which the caller owes a release() */
static napi_value take(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  DLManagedTensorVersioned* managed;
  arguments_of(env, info, 2, arguments);
  const int error = node_dlpack_take_with(env, (const node_dlpack_exchange_api*)address_from_js(env, arguments[1]),
                                          arguments[0], &managed);
  return error == NODE_DLPACK_OK ? address_to_js(env, managed) : node_dlpack_throw(env, error, "take(x)");
}

/* takeCode(value) -> the code; what was taken is released */
static napi_value take_code(napi_env env, napi_callback_info info) {
  napi_value argument;
  DLManagedTensorVersioned* managed;
  arguments_of(env, info, 1, &argument);
  const int error = node_dlpack_take(env, argument, &managed);
  node_dlpack_release(managed);
  return number_to_js(env, error);
}

static napi_value release(napi_env env, napi_callback_info info) {
  napi_value argument;
  arguments_of(env, info, 1, &argument);
  node_dlpack_release((DLManagedTensorVersioned*)address_from_js(env, argument));
  return NULL;
}

/* look(address) -> what the managed tensor says */
static napi_value look(napi_env env, napi_callback_info info) {
  napi_value argument;
  arguments_of(env, info, 1, &argument);
  const DLManagedTensorVersioned* managed = (const DLManagedTensorVersioned*)address_from_js(env, argument);
  return picture(env, &managed->dl_tensor, managed->flags, true);
}

/* borrow(values, table?, byte?) -> what was borrowed; with a byte, every element is filled with it first */
static napi_value borrow(napi_env env, napi_callback_info info) {
  napi_value arguments[3], values[NODE_DLPACK_MAX_BORROWED + 1], result = NULL;
  node_dlpack_borrowed borrowed[NODE_DLPACK_MAX_BORROWED + 1];
  node_dlpack_reach reach;
  napi_valuetype type;
  uint32_t count = 0;
  arguments_of(env, info, 3, arguments);
  (void)napi_get_array_length(env, arguments[0], &count);
  for (uint32_t i = 0; i < count && i <= NODE_DLPACK_MAX_BORROWED; i++)
    (void)napi_get_element(env, arguments[0], i, &values[i]);
  (void)napi_typeof(env, arguments[2], &type);
  const double byte = number_from_js(env, arguments[2]);
  int error = node_dlpack_borrow_all(env, (const node_dlpack_exchange_api*)address_from_js(env, arguments[1]), count,
                                     values, borrowed);
  if (error != NODE_DLPACK_OK) return node_dlpack_throw(env, error, "borrow(x)");
  for (uint32_t i = 0; type == napi_number && error == NODE_DLPACK_OK && i < count; i++) {
    error = node_dlpack_check(&borrowed[i].tensor, &reach);
    if (error == NODE_DLPACK_OK && (borrowed[i].flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0)
      error = NODE_DLPACK_ERROR_READ_ONLY;
    if (error == NODE_DLPACK_OK && reach.size > 0) {
      memset((char*)node_dlpack_data(&borrowed[i].tensor) + reach.lowest, (int)byte,
             (size_t)(reach.highest - reach.lowest));
    }
  }
  (void)napi_create_array(env, &result);
  for (uint32_t i = 0; i < count; i++) {
    (void)napi_set_element(env, result, i,
                           picture(env, &borrowed[i].tensor, borrowed[i].flags, borrowed[i].held != NULL));
    node_dlpack_give_back(&borrowed[i]);
  }
  return error == NODE_DLPACK_OK ? result : node_dlpack_throw(env, error, "borrow(x)");
}

/* --- making ---------------------------------------------------------------------------------------------------------
 */

static int released; /* by memory of wrap() and producers of makeProducer() */

static void count_release(void* context) {
  free(context);
  released++;
}

/* releases() -> how often memory was released, since the last time this was asked */
static napi_value releases(napi_env env, napi_callback_info info) {
  const int count = released;
  (void)info;
  released = 0;
  return number_to_js(env, count);
}

/* wrap(shape, strides or null, flags) -> address of a managed tensor over fresh float32 memory, 0, 1, 2 ... */
static napi_value wrap(napi_env env, napi_callback_info info) {
  napi_value arguments[3];
  napi_valuetype type;
  int64_t shape[NODE_DLPACK_MAX_NDIM], strides[NODE_DLPACK_MAX_NDIM];
  const DLDataType float32 = {kDLFloat, 32, 1};
  arguments_of(env, info, 3, arguments);
  const int32_t ndim = numbers_from_js(env, arguments[0], shape);
  (void)napi_typeof(env, arguments[1], &type);
  const bool has_strides = type == napi_object;
  if (has_strides) (void)numbers_from_js(env, arguments[1], strides);
  float* data = (float*)malloc(4096 * sizeof(float));
  for (int i = 0; data != NULL && i < 4096; i++) data[i] = (float)i;
  return address_to_js(env, node_dlpack_wrap(data, float32, ndim, shape, has_strides ? strides : NULL,
                                             (uint64_t)number_from_js(env, arguments[2]), count_release, data));
}

static napi_value make(napi_env env, napi_callback_info info) {
  napi_value argument, capsule;
  arguments_of(env, info, 1, &argument);
  const int error = node_dlpack_make(env, (DLManagedTensorVersioned*)address_from_js(env, argument), &capsule);
  return error == NODE_DLPACK_OK ? capsule : node_dlpack_throw(env, error, NULL);
}

/* makeLegacy(address of a versioned struct) */
static napi_value make_legacy(napi_env env, napi_callback_info info) {
  napi_value argument, capsule;
  DLManagedTensor* legacy;
  arguments_of(env, info, 1, &argument);
  int error = node_dlpack_downgrade((DLManagedTensorVersioned*)address_from_js(env, argument), &legacy);
  if (error == NODE_DLPACK_OK) error = node_dlpack_make_legacy(env, legacy, &capsule);
  return error == NODE_DLPACK_OK ? capsule : node_dlpack_throw(env, error, NULL);
}

/* A producer over two float32 numbers. What it can do is its context's `can`. */
struct pair {
  float numbers[2];
  int can; /* 0: lend as writable; 1: read-only; 2: copy too; 3: nothing */
};

static DLManagedTensorVersioned* export_pair(void* context, int copy) {
  const struct pair* pair = (const struct pair*)context;
  const DLDataType float32 = {kDLFloat, 32, 1};
  const int64_t shape[] = {2};
  if (pair->can == 3) return NULL;
  if (pair->can == 2 && copy != NODE_DLPACK_COPY_FALSE) {
    float* fresh = (float*)malloc(sizeof pair->numbers);
    if (fresh == NULL) return NULL;
    memcpy(fresh, pair->numbers, sizeof pair->numbers);
    DLManagedTensorVersioned* made =
        node_dlpack_wrap(fresh, float32, 1, shape, NULL, DLPACK_FLAG_BITMASK_IS_COPIED, free, fresh);
    if (made == NULL) free(fresh);
    return made;
  }
  /* The test keeps the producer until all its structs have ended. */
  return node_dlpack_wrap((void*)(uintptr_t)pair->numbers, float32, 1, shape, NULL,
                          pair->can == 1 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0, NULL, NULL);
}

static napi_value make_producer(napi_env env, napi_callback_info info) {
  napi_value argument, producer;
  const DLDevice cpu = {kDLCPU, 0};
  struct pair* pair = (struct pair*)malloc(sizeof *pair);
  arguments_of(env, info, 1, &argument);
  if (pair == NULL) return NULL;
  pair->numbers[0] = 1.5f;
  pair->numbers[1] = -2;
  pair->can = (int)number_from_js(env, argument);
  const int error = node_dlpack_producer_make(env, cpu, export_pair, count_release, pair, &producer);
  return error == NODE_DLPACK_OK ? producer : node_dlpack_throw(env, error, NULL);
}

/* --- looking ---------------------------------------------------------------------------------------------------------
 */

/* check(spec) -> { error, size, lowest, highest } of a DLTensor with these fields; what is missing is a float32 [2, 3]
 */
static napi_value check(napi_env env, napi_callback_info info) {
  napi_value spec, field, result = NULL;
  napi_valuetype type;
  int64_t shape[NODE_DLPACK_MAX_NDIM] = {2, 3}, strides[NODE_DLPACK_MAX_NDIM],
          dtype[NODE_DLPACK_MAX_NDIM] = {kDLFloat, 32, 1}, device[NODE_DLPACK_MAX_NDIM] = {kDLCPU, 0};
  DLTensor tensor;
  node_dlpack_reach reach;
  memset(&tensor, 0, sizeof tensor);
  arguments_of(env, info, 1, &spec);
#define FIELD(name)                                                                                            \
  (napi_get_named_property(env, spec, name, &field) == napi_ok && napi_typeof(env, field, &type) == napi_ok && \
   type != napi_undefined)
  tensor.ndim = FIELD("shape") ? numbers_from_js(env, field, shape) : 2;
  tensor.shape = FIELD("shape") && type == napi_null ? NULL : shape;
  if (FIELD("strides") && type != napi_null) {
    (void)numbers_from_js(env, field, strides);
    tensor.strides = strides;
  }
  if (FIELD("ndim")) tensor.ndim = (int32_t)number_from_js(env, field);
  if (FIELD("dtype")) (void)numbers_from_js(env, field, dtype);
  if (FIELD("device")) (void)numbers_from_js(env, field, device);
  tensor.data = FIELD("data") ? address_from_js(env, field) : (void*)(uintptr_t)4096;
  tensor.byte_offset = FIELD("byteOffset") ? (uint64_t)(uintptr_t)address_from_js(env, field) : 0;
#undef FIELD
  tensor.dtype.code = (uint8_t)dtype[0];
  tensor.dtype.bits = (uint8_t)dtype[1];
  tensor.dtype.lanes = (uint16_t)dtype[2];
  tensor.device.device_type = (DLDeviceType)device[0];
  tensor.device.device_id = (int32_t)device[1];
  const int error = node_dlpack_check(&tensor, &reach);
  (void)napi_create_object(env, &result);
  set(env, result, "error", number_to_js(env, error));
  set(env, result, "size", number_to_js(env, (double)reach.size));
  set(env, result, "lowest", number_to_js(env, (double)reach.lowest));
  set(env, result, "highest", number_to_js(env, (double)reach.highest));
  return result;
}

/* isContiguous(address) */
static napi_value is_contiguous(napi_env env, napi_callback_info info) {
  napi_value argument, result = NULL;
  arguments_of(env, info, 1, &argument);
  const DLManagedTensorVersioned* managed = (const DLManagedTensorVersioned*)address_from_js(env, argument);
  (void)napi_get_boolean(env, node_dlpack_is_contiguous(&managed->dl_tensor) != 0, &result);
  return result;
}

/* throwCode(code, what?) */
static napi_value throw_code(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  char what[64];
  size_t length = 0;
  arguments_of(env, info, 2, arguments);
  const bool has_what = napi_get_value_string_utf8(env, arguments[1], what, sizeof what, &length) == napi_ok;
  return node_dlpack_throw(env, (int)number_from_js(env, arguments[0]), has_what ? what : NULL);
}

/* throwOver(error, code): `error` is pending already, and stays */
static napi_value throw_over(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  arguments_of(env, info, 2, arguments);
  const int code = (int)number_from_js(env, arguments[1]);
  (void)napi_throw(env, arguments[0]);
  return node_dlpack_throw(env, code, NULL);
}

NAPI_MODULE_INIT() {
  if (!node_dlpack_pin())
    return node_dlpack_throw_words(env, 'B', "ERR_DLPACK_BUFFER", "the kit laboratory cannot stay mapped");
  define(env, exports, "take", take);
  define(env, exports, "takeCode", take_code);
  define(env, exports, "release", release);
  define(env, exports, "look", look);
  define(env, exports, "borrow", borrow);
  define(env, exports, "releases", releases);
  define(env, exports, "wrap", wrap);
  define(env, exports, "make", make);
  define(env, exports, "makeLegacy", make_legacy);
  define(env, exports, "makeProducer", make_producer);
  define(env, exports, "check", check);
  define(env, exports, "isContiguous", is_contiguous);
  define(env, exports, "throwCode", throw_code);
  define(env, exports, "throwOver", throw_over);
  register_table(env, exports);
  register_cpp(env, exports);
  return exports;
}
