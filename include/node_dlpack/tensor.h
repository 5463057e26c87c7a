/*
 * What a DLTensor says, checked. A struct from outside is a claim: node_dlpack_check holds it against itself before an
 * element is touched. Nothing here writes to a tensor, and nothing needs Node.
 */
#ifndef NODE_DLPACK_TENSOR_H_
#define NODE_DLPACK_TENSOR_H_

#include <stddef.h>
#include <stdint.h>

#include "../dlpack/dlpack.h"
#include "errors.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NODE_DLPACK_MAX_NDIM 64

/* The address of the first logical element: data + byte_offset. NULL when data is. */
static inline void* node_dlpack_data(const DLTensor* tensor) {
  return tensor->data == NULL ? NULL : (void*)((char*)tensor->data + tensor->byte_offset);
}

/* Elements from one index to the next along an axis. Before DLPack 1.2, no strides meant row-major. */
static inline int64_t node_dlpack_stride(const DLTensor* tensor, int32_t axis) {
  int64_t step = 1;
  int32_t i;
  if (tensor->strides != NULL) return tensor->strides[axis];
  for (i = tensor->ndim - 1; i > axis; i--) step *= tensor->shape[i];
  return step;
}

/* Can the host read it in place? */
static inline int node_dlpack_is_host(const DLTensor* tensor) {
  const int32_t type = (int32_t)tensor->device.device_type;
  return type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost;
}

/* Row-major without gaps? Axes of extent 1 do not matter; an empty tensor is contiguous. Of a checked tensor. */
static inline int node_dlpack_is_contiguous(const DLTensor* tensor) {
  int64_t step = 1;
  int32_t axis;
  for (axis = 0; axis < tensor->ndim; axis++) {
    if (tensor->shape[axis] == 0) return 1;
  }
  if (tensor->strides == NULL) return 1;
  for (axis = tensor->ndim - 1; axis >= 0; axis--) {
    if (tensor->shape[axis] != 1 && tensor->strides[axis] != step) return 0;
    step *= tensor->shape[axis];
  }
  return 1;
}

static inline int node_dlpack_same_dtype(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

/* What a checked tensor covers. */
typedef struct node_dlpack_reach {
  int64_t size; /* elements */
  /* Bytes from the first logical element: every element lies in [lowest, highest). lowest <= 0. Both 0 when empty. */
  int64_t lowest;
  int64_t highest;
} node_dlpack_reach;

/* *out = a * b; 0 when that does not fit. b >= 0. */
static inline int node_dlpack_multiply(int64_t a, int64_t b, int64_t* out) {
  if (b != 0 && (a > INT64_MAX / b || a < INT64_MIN / b)) return 0;
  *out = a * b;
  return 1;
}

/* *out = a + b; 0 when that does not fit. */
static inline int node_dlpack_add(int64_t a, int64_t b, int64_t* out) {
  if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return 0;
  *out = a + b;
  return 1;
}

/* Bits from the first element to the least and the greatest one, and the size. */
static inline int node_dlpack_measure(const DLTensor* tensor, int64_t* size, int64_t* least, int64_t* greatest) {
  int64_t compact = 1, reach;
  int32_t axis;
  *size = 1;
  *least = 0;
  *greatest = 0;
  for (axis = 0; axis < tensor->ndim; axis++) {
    if (tensor->shape[axis] < 0) return NODE_DLPACK_ERROR_EXTENT;
    if (tensor->shape[axis] == 0) *size = 0;
  }
  if (*size == 0) return NODE_DLPACK_OK;
  for (axis = 0; axis < tensor->ndim; axis++) {
    if (!node_dlpack_multiply(*size, tensor->shape[axis], size)) return NODE_DLPACK_ERROR_SIZE;
  }
  if (!node_dlpack_multiply(*size, tensor->dtype.bits, &compact)) return NODE_DLPACK_ERROR_SIZE;
  for (axis = 0; axis < tensor->ndim; axis++) {
    if (tensor->shape[axis] == 1) continue;
    if (!node_dlpack_multiply(node_dlpack_stride(tensor, axis), tensor->shape[axis] - 1, &reach) ||
        !node_dlpack_add(reach < 0 ? *least : *greatest, reach, reach < 0 ? least : greatest)) {
      return NODE_DLPACK_ERROR_SPAN;
    }
  }
  if (!node_dlpack_multiply(*least, tensor->dtype.bits, least) ||
      !node_dlpack_multiply(*greatest, tensor->dtype.bits, greatest) || *greatest > INT64_MAX - 512) {
    return NODE_DLPACK_ERROR_SPAN;
  }
  return NODE_DLPACK_OK;
}

/*
 * Holds a tensor in host memory against itself: ndim, shape, products, strides, dtype, data, addresses, alignment. On
 * success every element lies in the bytes of *reach around node_dlpack_data. Strides may be NULL, negative or 0; read
 * them with node_dlpack_stride. Elements narrower than a byte are measured as packed, so a struct that says
 * DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED needs eyes of your own. Which dtypes, shapes and layouts you can use is
 * yours to decide.
 */
static inline int node_dlpack_check(const DLTensor* tensor, node_dlpack_reach* reach) {
  int64_t least, greatest;
  uintptr_t first, alignment;
  int error;
  reach->size = reach->lowest = reach->highest = 0;
  if (!node_dlpack_is_host(tensor)) {
    const int32_t type = (int32_t)tensor->device.device_type;
    return type < kDLCPU || type > kDLTrn || type == 5 || type == 6 ? NODE_DLPACK_ERROR_DEVICE
                                                                    : NODE_DLPACK_ERROR_OPAQUE;
  }
  if (tensor->dtype.lanes != 1) return NODE_DLPACK_ERROR_LANES;
  if (tensor->dtype.bits == 0 || (tensor->dtype.bits % 8 != 0 && tensor->dtype.bits > 8)) {
    return NODE_DLPACK_ERROR_DTYPE_BITS;
  }
  if (tensor->ndim < 0 || tensor->ndim > NODE_DLPACK_MAX_NDIM) return NODE_DLPACK_ERROR_NDIM;
  if (tensor->ndim > 0 && tensor->shape == NULL) return NODE_DLPACK_ERROR_SHAPE_NULL;
  error = node_dlpack_measure(tensor, &reach->size, &least, &greatest);
  if (error != NODE_DLPACK_OK || reach->size == 0) return error; /* what has no elements has no addresses */
  if (tensor->data == NULL) return NODE_DLPACK_ERROR_DATA_NULL;
  if (tensor->byte_offset > UINTPTR_MAX - (uintptr_t)tensor->data) return NODE_DLPACK_ERROR_BYTE_OFFSET;
  first = (uintptr_t)node_dlpack_data(tensor);
  reach->lowest = least / 8 - (least % 8 != 0);
  reach->highest = (greatest + tensor->dtype.bits + 7) / 8;
  if ((uintptr_t)-reach->lowest > first || (uintptr_t)reach->highest > UINTPTR_MAX - first) {
    return NODE_DLPACK_ERROR_SPAN;
  }
  alignment = tensor->dtype.bits / 8u / (tensor->dtype.code == kDLComplex ? 2u : 1u);
  if ((alignment & (alignment - 1)) != 0) alignment = 1; /* no power of two: no machine type */
  if (alignment > 1 && first % alignment != 0) return NODE_DLPACK_ERROR_MISALIGNED;
  return NODE_DLPACK_OK;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NODE_DLPACK_TENSOR_H_ */
