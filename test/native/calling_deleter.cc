// A struct whose deleter calls JavaScript on the spot, as that of a library bound through a foreign-function interface
// may. Whoever calls a deleter must have its own house in order by then.
#include <cstdlib>

#include "lab.h"
#include "node_dlpack.h"

namespace lab {
namespace {

struct Calling {
  DLManagedTensorVersioned managed;
  int64_t shape[1];
  int64_t strides[1];
  alignas(16) float elements[4];
  napi_env env;
  napi_ref function;
};

void Delete(DLManagedTensorVersioned* self) {
  auto* calling = static_cast<Calling*>(self->manager_ctx);
  napi_env env = calling->env;
  napi_handle_scope scope = nullptr;
  napi_value function = nullptr;
  napi_value undefined = nullptr;
  if (napi_open_handle_scope(env, &scope) == napi_ok) {
    if (napi_get_reference_value(env, calling->function, &function) == napi_ok &&
        napi_get_undefined(env, &undefined) == napi_ok) {
      napi_call_function(env, undefined, function, 0, nullptr, nullptr);
    }
    napi_close_handle_scope(env, scope);
  }
  napi_delete_reference(env, calling->function);
  free(calling);
}

}  // namespace

// makeCallingStruct(byteOffset, flags, f) -> a capsule over the float32 elements 0, 1, 2 at that offset; its deleter
// calls f.
Napi::Value MakeCallingStruct(const Napi::CallbackInfo& info) {
  auto* calling = static_cast<Calling*>(calloc(1, sizeof(Calling)));
  if (calling == nullptr) return info.Env().Undefined();
  for (int i = 0; i < 3; ++i) calling->elements[i] = static_cast<float>(i);
  calling->shape[0] = 3;
  calling->strides[0] = 1;
  calling->env = info.Env();
  DLManagedTensorVersioned& managed = calling->managed;
  managed.version = DLPackVersion{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed.manager_ctx = calling;
  managed.deleter = Delete;
  managed.flags = info[1].As<Napi::Number>().Uint32Value();
  managed.dl_tensor.data = calling->elements;
  managed.dl_tensor.device = DLDevice{kDLCPU, 0};
  managed.dl_tensor.ndim = 1;
  managed.dl_tensor.dtype = DLDataType{kDLFloat, 32, 1};
  managed.dl_tensor.shape = calling->shape;
  managed.dl_tensor.strides = calling->strides;
  managed.dl_tensor.byte_offset = info[0].As<Napi::Number>().Uint32Value();
  napi_value capsule = nullptr;
  if (napi_create_reference(info.Env(), info[2], 1, &calling->function) != napi_ok ||
      node_dlpack_capsule_make(info.Env(), &managed, NODE_DLPACK_KIND_VERSIONED, &capsule) != napi_ok) {
    free(calling);
    return info.Env().Undefined();
  }
  return Napi::Value(info.Env(), capsule);
}

}  // namespace lab
