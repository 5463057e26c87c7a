/* The kit is header-only, in C: these are the functions of it that Rust calls. */
#include "node_dlpack.h"

int kit_take(napi_env env, napi_value value, DLManagedTensorVersioned** out) {
  return node_dlpack_take(env, value, out);
}

int kit_make(napi_env env, DLManagedTensorVersioned* managed, napi_value* out) {
  return node_dlpack_make(env, managed, out);
}

int kit_check(const DLTensor* tensor) {
  node_dlpack_reach reach;
  return node_dlpack_check(tensor, &reach);
}

void kit_throw(napi_env env, int error, const char* what) {
  (void)node_dlpack_throw(env, error, what);
}

int kit_pin(void) {
  return node_dlpack_pin();
}
