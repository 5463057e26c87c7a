/*
 * Making: memory of yours becomes a managed tensor, a managed tensor becomes a capsule, and an object that speaks the
 * protocol hands out a fresh one at every call.
 */
#ifndef NODE_DLPACK_PRODUCE_H_
#define NODE_DLPACK_PRODUCE_H_

#include <node_api.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../dlpack/dlpack.h"
#include "capsule.h"
#include "errors.h"
#include "take.h"
#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One allocation: the struct, what the deleter needs, shape and strides. */
typedef struct node_dlpack_wrapped {
  DLManagedTensorVersioned managed; /* first: the deleter is called with its address */
  void (*release)(void* context);
  void* context;
} node_dlpack_wrapped;

static inline void node_dlpack_wrapped_delete(DLManagedTensorVersioned* self) {
  /* A consumer may have overwritten every field of the struct, manager_ctx included: only what lies behind it counts.
   */
  node_dlpack_wrapped* wrapped = (node_dlpack_wrapped*)self;
  void (*release)(void*) = wrapped->release;
  void* context = wrapped->context;
  free(wrapped);
  if (release != NULL) release(context);
}

/*
 * A managed tensor over memory of yours: in host memory, with the first logical element at `data`.
 *
 * strides: in elements; NULL: row-major. flags: DLPACK_FLAG_BITMASK_*; 0 lends the memory as writable, and you may go
 * on using it; READ_ONLY lends it for reading; IS_COPIED gives it away: until release is called nobody else uses it.
 * release(context) is called once, when the last consumer is done, on any thread, also after your environment ended:
 * it must not call Node-API. May be NULL, for memory that stays for the life of the process.
 *
 * NULL without memory, or for an ndim that cannot be; then release was not called and the memory is still yours.
 */
static inline DLManagedTensorVersioned* node_dlpack_wrap(void* data, DLDataType dtype, int32_t ndim,
                                                         const int64_t* shape, const int64_t* strides, uint64_t flags,
                                                         void (*release)(void* context), void* context) {
  node_dlpack_wrapped* wrapped;
  DLTensor* tensor;
  int64_t *dims, step = 1;
  int32_t axis;
  if (ndim < 0 || ndim > NODE_DLPACK_MAX_NDIM) return NULL;
  wrapped = (node_dlpack_wrapped*)calloc(1, sizeof *wrapped + 2 * (size_t)ndim * sizeof(int64_t));
  if (wrapped == NULL) return NULL;
  wrapped->release = release;
  wrapped->context = context;
  wrapped->managed.version.major = DLPACK_MAJOR_VERSION;
  wrapped->managed.version.minor = DLPACK_MINOR_VERSION;
  wrapped->managed.deleter = node_dlpack_wrapped_delete;
  wrapped->managed.flags = flags;
  tensor = &wrapped->managed.dl_tensor;
  tensor->data = data;
  tensor->device.device_type = kDLCPU;
  tensor->ndim = ndim;
  tensor->dtype = dtype;
  if (ndim == 0) return &wrapped->managed;
  dims = (int64_t*)(wrapped + 1);
  tensor->shape = dims;
  tensor->strides = dims + ndim; /* never NULL: required since DLPack 1.2 */
  memcpy(tensor->shape, shape, (size_t)ndim * sizeof(int64_t));
  for (axis = ndim - 1; axis >= 0; axis--) {
    tensor->strides[axis] = strides != NULL ? strides[axis] : step;
    step = (int64_t)((uint64_t)step * (uint64_t)shape[axis]);
    if (shape[axis] == 0) tensor->data = NULL; /* an empty tensor has no data */
  }
  return &wrapped->managed;
}

/*
 * A fresh capsule over a managed tensor, which belongs to the capsule from here on. On an error its deleter has run.
 * A capsule that nobody takes runs the deleter when it is collected.
 */
static inline int node_dlpack_make(napi_env env, DLManagedTensorVersioned* managed, napi_value* out) {
  const int error = node_dlpack_capsule_make(env, managed, NODE_DLPACK_KIND_VERSIONED, out);
  if (error != NODE_DLPACK_OK) node_dlpack_release(managed);
  return error;
}

/* The same for the legacy struct, for consumers that know no other. */
static inline int node_dlpack_make_legacy(napi_env env, DLManagedTensor* managed, napi_value* out) {
  const int error = node_dlpack_capsule_make(env, managed, NODE_DLPACK_KIND_LEGACY, out);
  if (error != NODE_DLPACK_OK) node_dlpack_delete(managed, NODE_DLPACK_KIND_LEGACY);
  return error;
}

/* A legacy struct around a versioned one. */
typedef struct node_dlpack_downgraded {
  DLManagedTensor legacy;
  DLManagedTensorVersioned* versioned;
} node_dlpack_downgraded;

static inline void node_dlpack_downgraded_delete(DLManagedTensor* self) {
  node_dlpack_downgraded* downgraded = (node_dlpack_downgraded*)self;
  node_dlpack_release(downgraded->versioned);
  free(downgraded);
}

/*
 * A versioned struct of your own as a legacy one, for consumers that ask for no version. It cannot say that the memory
 * is read-only, or that sub-byte elements are padded: NODE_DLPACK_ERROR_LEGACY for such a struct. The struct is taken
 * on every path; on an error its deleter has run.
 */
static inline int node_dlpack_downgrade(DLManagedTensorVersioned* versioned, DLManagedTensor** out) {
  const uint64_t unsayable = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  node_dlpack_downgraded* downgraded = NULL;
  int error = NODE_DLPACK_OK;
  *out = NULL;
  if ((versioned->flags & unsayable) != 0) error = NODE_DLPACK_ERROR_LEGACY;
  if (error == NODE_DLPACK_OK) {
    downgraded = (node_dlpack_downgraded*)malloc(sizeof *downgraded);
    if (downgraded == NULL) error = NODE_DLPACK_ERROR_MEMORY;
  }
  if (error != NODE_DLPACK_OK) {
    node_dlpack_release(versioned);
    return error;
  }
  downgraded->versioned = versioned;
  downgraded->legacy.dl_tensor = versioned->dl_tensor;
  downgraded->legacy.manager_ctx = NULL;
  downgraded->legacy.deleter = node_dlpack_downgraded_delete;
  *out = &downgraded->legacy;
  return NODE_DLPACK_OK;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NODE_DLPACK_PRODUCE_H_ */
