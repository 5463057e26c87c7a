/*
 * A tensor addon in C, complete: makeTensor() hands memory of its own to whoever wants it, takeTensor(x) works on the
 * memory of others, and nothing is copied. It knows node-dlpack by its headers alone.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "node_dlpack.h"

enum { ROWS = 2, COLUMNS = 3 };

/* Matrices that somebody still holds. Consumers end them on any thread. */
static atomic_int held;

static void release_elements(void* elements) {
  free(elements);
  atomic_fetch_sub(&held, 1);
}

/* makeTensor(): a float32 matrix, in a capsule that owns it. */
static napi_value make_tensor(napi_env env, napi_callback_info info) {
  static const int64_t shape[] = {ROWS, COLUMNS};
  static const DLDataType float32 = {kDLFloat, 32, 1};
  float* elements = (float*)malloc((size_t)ROWS * COLUMNS * sizeof(float));
  DLManagedTensorVersioned* tensor;
  napi_value capsule;
  (void)info;
  if (elements == NULL) return node_dlpack_throw(env, NODE_DLPACK_ERROR_MEMORY, "makeTensor()");
  for (int i = 0; i < ROWS * COLUMNS; i++) elements[i] = (float)i;

  /* IS_COPIED: nobody else uses this memory, so its consumer may write to it. */
  tensor =
      node_dlpack_wrap(elements, float32, 2, shape, NULL, DLPACK_FLAG_BITMASK_IS_COPIED, release_elements, elements);
  atomic_fetch_add(&held, 1);
  if (tensor == NULL) {
    release_elements(elements);
    return node_dlpack_throw(env, NODE_DLPACK_ERROR_MEMORY, "makeTensor()");
  }
  const int error = node_dlpack_make(env, tensor, &capsule);
  return error == NODE_DLPACK_OK ? capsule : node_dlpack_throw(env, error, "makeTensor()");
}

/* What this addon can work on: float32, any shape and strides. */
static int check(const DLTensor* tensor, node_dlpack_reach* reach) {
  static const DLDataType float32 = {kDLFloat, 32, 1};
  const int error = node_dlpack_check(tensor, reach);
  if (error != NODE_DLPACK_OK) return error;
  return node_dlpack_same_dtype(tensor->dtype, float32) ? NODE_DLPACK_OK : NODE_DLPACK_ERROR_DTYPE;
}

/* Of all elements from this axis on. */
static double sum_axis(const DLTensor* tensor, int32_t axis, const float* at) {
  double sum = 0;
  if (axis == tensor->ndim) return (double)*at;
  const int64_t stride = node_dlpack_stride(tensor, axis);
  for (int64_t i = 0; i < tensor->shape[axis]; i++) sum += sum_axis(tensor, axis + 1, at + i * stride);
  return sum;
}

/* { sum, address, flags }: what was seen. */
static napi_value answer(napi_env env, double sum, const void* first, uint64_t flags) {
  napi_value result, sum_value, address_value, flags_value;
  const bool ok = napi_create_object(env, &result) == napi_ok && napi_create_double(env, sum, &sum_value) == napi_ok &&
                  napi_create_bigint_uint64(env, (uint64_t)(uintptr_t)first, &address_value) == napi_ok &&
                  napi_create_double(env, (double)flags, &flags_value) == napi_ok &&
                  napi_set_named_property(env, result, "sum", sum_value) == napi_ok &&
                  napi_set_named_property(env, result, "address", address_value) == napi_ok &&
                  napi_set_named_property(env, result, "flags", flags_value) == napi_ok;
  return ok ? result : node_dlpack_throw(env, NODE_DLPACK_ERROR_NODE_API, "takeTensor(x)");
}

/* takeTensor(x): the sum of any float32 tensor: a capsule, a tensor of node-dlpack, anything with __dlpack__. */
static napi_value take_tensor(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value x;
  DLManagedTensorVersioned* tensor;
  node_dlpack_reach reach;
  if (napi_get_cb_info(env, info, &count, &x, NULL, NULL) != napi_ok) return NULL;
  int error = node_dlpack_take(env, x, &tensor);
  if (error != NODE_DLPACK_OK) return node_dlpack_throw(env, error, "takeTensor(x)");

  /* From here on it is ours, and every way out leads over node_dlpack_release. */
  error = check(&tensor->dl_tensor, &reach);
  const float* first = (const float*)node_dlpack_data(&tensor->dl_tensor);
  const double sum = error == NODE_DLPACK_OK && reach.size > 0 ? sum_axis(&tensor->dl_tensor, 0, first) : 0;
  const uint64_t flags = tensor->flags;
  node_dlpack_release(tensor);
  return error == NODE_DLPACK_OK ? answer(env, sum, first, flags) : node_dlpack_throw(env, error, "takeTensor(x)");
}

/* scale(x, factor): multiplies the elements where they lie. An OwnedTensor stays its owner's: it is only borrowed. */
static napi_value scale(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2];
  double factor;
  node_dlpack_borrowed borrowed;
  node_dlpack_reach reach;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok) return NULL;
  if (napi_get_value_double(env, arguments[1], &factor) != napi_ok) {
    return node_dlpack_throw_words(env, 'T', "ERR_INVALID_ARG_TYPE", "scale(x, factor): factor must be a number");
  }
  int error = node_dlpack_borrow(env, arguments[0], &borrowed);
  if (error != NODE_DLPACK_OK) return node_dlpack_throw(env, error, "scale(x, factor)");

  /* No JavaScript runs from here to node_dlpack_give_back. */
  error = check(&borrowed.tensor, &reach);
  if (error == NODE_DLPACK_OK && (borrowed.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0)
    error = NODE_DLPACK_ERROR_READ_ONLY;
  if (error == NODE_DLPACK_OK && !node_dlpack_is_contiguous(&borrowed.tensor)) error = NODE_DLPACK_ERROR_CONTIGUOUS;
  if (error == NODE_DLPACK_OK) {
    float* elements = (float*)node_dlpack_data(&borrowed.tensor);
    for (int64_t i = 0; i < reach.size; i++) elements[i] = (float)(elements[i] * factor);
  }
  node_dlpack_give_back(&borrowed);
  return error == NODE_DLPACK_OK ? NULL : node_dlpack_throw(env, error, "scale(x, factor)");
}

/* held() */
static napi_value count_held(napi_env env, napi_callback_info info) {
  napi_value count;
  (void)info;
  return napi_create_int32(env, atomic_load(&held), &count) == napi_ok ? count : NULL;
}

static napi_status define(napi_env env, napi_value exports, const char* name, napi_callback callback) {
  napi_value function;
  const napi_status status = napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, NULL, &function);
  return status == napi_ok ? napi_set_named_property(env, exports, name, function) : status;
}

NAPI_MODULE_INIT() {
  /* Deleters of ours may be called when the last thread that loaded this addon is gone. */
  if (!node_dlpack_pin()) return node_dlpack_throw_words(env, 'B', "ERR_DLPACK_BUFFER", "the addon cannot stay mapped");
  if (define(env, exports, "makeTensor", make_tensor) != napi_ok) return NULL;
  if (define(env, exports, "takeTensor", take_tensor) != napi_ok) return NULL;
  if (define(env, exports, "scale", scale) != napi_ok) return NULL;
  if (define(env, exports, "held", count_held) != napi_ok) return NULL;
  return exports;
}
