#include "tensors.h"

#include <stdlib.h>

DLManagedTensorVersioned* take_tensor(napi_env env, napi_value capsule, const char* name) {
  DLManagedTensorVersioned* managed = NULL;
  const napi_status status = node_dlpack_take(env, capsule, &managed);
  if (status == napi_invalid_arg) {
    napi_throw_type_error(env, "ERR_INVALID_ARG_TYPE", name);
    return NULL;
  }
  if (status != napi_ok) {
    napi_throw_error(env, NULL, "the capsule could not be read");
    return NULL;
  }
  if (managed == NULL) {
    napi_throw_error(env, NULL, "the capsule was used before");
    return NULL;
  }
  /* Of another major version nothing but the deleter may be touched. */
  if (managed->version.major != DLPACK_MAJOR_VERSION) {
    let_go(managed);
    napi_throw_range_error(env, NULL, "the tensor is of another major version of DLPack");
    return NULL;
  }
  return managed;
}

void let_go(DLManagedTensorVersioned* managed) {
  node_dlpack_release(managed);
}

napi_value hand_on(napi_env env, DLManagedTensorVersioned* managed) {
  napi_value capsule = NULL;
  if (node_dlpack_capsule_make(env, managed, NODE_DLPACK_KIND_VERSIONED, &capsule) == napi_ok) return capsule;
  let_go(managed);
  napi_throw_error(env, NULL, "no capsule could be made");
  return NULL;
}

void* first_element(const DLTensor* tensor) {
  return tensor->data == NULL ? NULL : (uint8_t*)tensor->data + tensor->byte_offset;
}

/* Since DLPack 1.2 strides are always there; before, none meant row-major. */
static void strides_of(const DLTensor* tensor, int64_t* strides) {
  int64_t step = 1;
  for (int32_t axis = tensor->ndim - 1; axis >= 0; axis--) {
    strides[axis] = tensor->strides != NULL ? tensor->strides[axis] : step;
    step *= tensor->shape[axis];
  }
}

static bool has_form(const DLTensor* tensor, int32_t ndim, uint8_t code, uint8_t bits) {
  if (tensor->device.device_type != kDLCPU || tensor->ndim != ndim || tensor->shape == NULL) return false;
  if (tensor->dtype.code != code || tensor->dtype.bits != bits || tensor->dtype.lanes != 1) return false;
  for (int32_t axis = 0; axis < ndim; axis++) {
    if (tensor->shape[axis] < 1 || tensor->shape[axis] > INT32_MAX) return false;
  }
  return tensor->data != NULL;
}

static bool may_write(const DLManagedTensorVersioned* managed) {
  return (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0;
}

bool as_text_map(napi_env env, const DLManagedTensorVersioned* managed, struct text_map* map) {
  const DLTensor* tensor = &managed->dl_tensor;
  int64_t strides[2];
  const bool aligned = (uintptr_t)first_element(tensor) % sizeof(float) == 0;
  if (!has_form(tensor, 2, kDLFloat, 32) || !aligned) {
    napi_throw_range_error(env, NULL, "the map must be [height, width] float32 in host memory, aligned and not empty");
    return false;
  }
  if (!may_write(managed)) {
    napi_throw_range_error(env, NULL, "the map is read-only; it is written to in place");
    return false;
  }
  strides_of(tensor, strides);
  *map = (struct text_map){(float*)first_element(tensor), tensor->shape[0], tensor->shape[1], strides[0], strides[1]};
  return true;
}

bool as_pixels(napi_env env, const DLManagedTensorVersioned* managed, bool writable, const char* name,
               struct pixels* pixels) {
  const DLTensor* tensor = &managed->dl_tensor;
  if (!has_form(tensor, 3, kDLUInt, 8) || tensor->shape[2] > MAX_CHANNELS || (writable && !may_write(managed))) {
    napi_throw_range_error(env, NULL, name);
    return false;
  }
  pixels->data = (uint8_t*)first_element(tensor);
  for (int axis = 0; axis < 3; axis++) pixels->shape[axis] = tensor->shape[axis];
  strides_of(tensor, pixels->strides);
  return true;
}

/* One allocation for the struct and what it points to. The deleter goes by `lines`: a consumer may have changed the
 * rest. */
struct line_tensor {
  DLManagedTensorVersioned managed; /* first: the deleter is called with its address */
  int64_t shape[2];
  int64_t strides[2];
  struct text_line* lines;
};

static void delete_line_tensor(DLManagedTensorVersioned* managed) {
  struct line_tensor* self = (struct line_tensor*)(void*)managed;
  free(self->lines);
  free(self);
}

DLManagedTensorVersioned* lines_as_tensor(struct line_list* lines) {
  struct line_tensor* self = (struct line_tensor*)malloc(sizeof *self);
  if (self == NULL) return NULL;
  self->shape[0] = (int64_t)lines->count;
  self->shape[1] = TEXT_LINE_FIELDS;
  self->strides[0] = TEXT_LINE_FIELDS;
  self->strides[1] = 1;
  self->lines = lines->items;
  self->managed = (DLManagedTensorVersioned){
      .version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
      .manager_ctx = NULL,
      .deleter = delete_line_tensor,
      .flags = 0,
      .dl_tensor = {.data = lines->items,
                    .device = {kDLCPU, 0},
                    .ndim = 2,
                    .dtype = {kDLFloat, 32, 1},
                    .shape = self->shape,
                    .strides = self->strides,
                    .byte_offset = 0},
  };
  *lines = (struct line_list){NULL, 0, 0};
  return &self->managed;
}
