// What the preloaded allocator of failing_allocator.c is told and asked, where there is one.
#include <dlfcn.h>

#include "lab.h"

namespace lab {

namespace {

template <typename Function>
Function Preloaded(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

// refuseMemory(after) -> whether there is an allocator that does.
Napi::Value RefuseMemory(const Napi::CallbackInfo& info) {
  auto* refuse = Preloaded<int (*)(int64_t)>("failing_allocator_refuse");
  const int64_t after = info[0].As<Napi::Number>().Int64Value();
  return Napi::Boolean::New(info.Env(), refuse != nullptr && refuse(after) != 0);
}

// refuseThreads() -> whether there is something that does.
Napi::Value RefuseThreads(const Napi::CallbackInfo& info) {
  auto* refuse = Preloaded<int (*)()>("failing_allocator_refuse_threads");
  return Napi::Boolean::New(info.Env(), refuse != nullptr && refuse() != 0);
}

// threadsRefused() -> how many.
Napi::Value ThreadsRefused(const Napi::CallbackInfo& info) {
  auto* refused = Preloaded<int64_t (*)()>("failing_allocator_refused_threads");
  return Napi::Number::New(info.Env(), refused == nullptr ? 0 : static_cast<double>(refused()));
}

// memoryRefused() -> { refused, live }.
Napi::Value MemoryRefused(const Napi::CallbackInfo& info) {
  auto* refused = Preloaded<int (*)()>("failing_allocator_refused");
  auto* live = Preloaded<int64_t (*)()>("failing_allocator_live");
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("refused", Napi::Boolean::New(info.Env(), refused != nullptr && refused() != 0));
  result.Set("live", Napi::Number::New(info.Env(), live == nullptr ? 0 : static_cast<double>(live())));
  return result;
}

}  // namespace lab
