// The laboratory's table of functions. test/support/lab.ts is its typed face and says what each does.
#include "lab.h"

namespace lab {
namespace {

// headerLayout() -> sizes and offsets as this compiler finds them in the public header.
Napi::Value HeaderLayout(const Napi::CallbackInfo& info) {
  Napi::Object layout = Napi::Object::New(info.Env());
  const auto set = [&](const char* name, size_t value) {
    layout.Set(name, Napi::Number::New(info.Env(), static_cast<double>(value)));
  };
  set("DLPackVersion", sizeof(DLPackVersion));
  set("DLDevice", sizeof(DLDevice));
  set("DLDataType", sizeof(DLDataType));
  set("DLTensor", sizeof(DLTensor));
  set("DLTensor.data", offsetof(DLTensor, data));
  set("DLTensor.device", offsetof(DLTensor, device));
  set("DLTensor.ndim", offsetof(DLTensor, ndim));
  set("DLTensor.dtype", offsetof(DLTensor, dtype));
  set("DLTensor.shape", offsetof(DLTensor, shape));
  set("DLTensor.strides", offsetof(DLTensor, strides));
  set("DLTensor.byte_offset", offsetof(DLTensor, byte_offset));
  set("DLManagedTensor", sizeof(DLManagedTensor));
  set("DLManagedTensor.dl_tensor", offsetof(DLManagedTensor, dl_tensor));
  set("DLManagedTensor.manager_ctx", offsetof(DLManagedTensor, manager_ctx));
  set("DLManagedTensor.deleter", offsetof(DLManagedTensor, deleter));
  set("DLManagedTensorVersioned", sizeof(DLManagedTensorVersioned));
  set("DLManagedTensorVersioned.version", offsetof(DLManagedTensorVersioned, version));
  set("DLManagedTensorVersioned.manager_ctx", offsetof(DLManagedTensorVersioned, manager_ctx));
  set("DLManagedTensorVersioned.deleter", offsetof(DLManagedTensorVersioned, deleter));
  set("DLManagedTensorVersioned.flags", offsetof(DLManagedTensorVersioned, flags));
  set("DLManagedTensorVersioned.dl_tensor", offsetof(DLManagedTensorVersioned, dl_tensor));
  return layout;
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    exports.Set(name, Napi::Function::New(env, function, name));
  };
  add("headerLayout", HeaderLayout);
  add("makeStruct", MakeStruct);
  add("structState", StructState);
  add("forgetStruct", ForgetStruct);
  add("strayDeleterCalls", StrayDeleterCalls);
  add("peek", Peek);
  add("poke", Poke);
  add("mapMemory", MapMemory);
  add("unmapMemory", UnmapMemory);
  add("addressOf", AddressOfView);
  add("makeCallingStruct", MakeCallingStruct);
  add("makeCapsule", MakeCapsule);
  add("makeNullCapsule", MakeNullCapsule);
  add("makeForeignRecord", MakeForeignRecord);
  add("makeGrownCapsule", MakeGrownCapsule);
  add("grownRecord", LookAtGrownRecord);
  add("lookIntoCapsule", LookIntoCapsule);
  add("makeUntaggedExternal", MakeUntaggedExternal);
  add("makeWronglyTaggedExternal", MakeWronglyTaggedExternal);
  add("makeTaggedObject", MakeTaggedObject);
  add("takeCapsule", TakeCapsule);
  add("takeVersioned", TakeVersioned);
  add("holdAddress", HoldAddress);
  add("lookAtHeld", LookAtHeld);
  add("capsuleOfHeld", CapsuleOfHeld);
  add("scrambleHeld", ScrambleHeld);
  add("releaseHeld", ReleaseHeld);
  add("releaseHeldOnThread", ReleaseHeldOnThread);
  add("releaseHeldLater", ReleaseHeldLater);
  add("releaseHeldAfterEnvironment", ReleaseHeldAfterEnvironment);
  add("releaseHeldAtExit", ReleaseHeldAtExit);
  add("releaseHeldWithPendingException", ReleaseHeldWithPendingException);
  add("pendingReleases", PendingReleases);
  add("raceThreads", RaceThreads);
  add("startRacer", StartRacer);
  add("finishRacer", FinishRacer);
  add("watchReads", WatchReads);
  add("stopWatching", StopWatching);
  add("openTokens", OpenTokens);
  add("claimToken", ClaimToken);
  add("claimTokenOnThread", ClaimTokenOnThread);
  add("raceForToken", RaceForToken);
  add("offerToken", OfferToken);
  add("revokeNatively", RevokeNatively);
  add("exportHeld", ExportHeld);
  add("tokenError", TokenError);
  add("lastTokenError", LastTokenError);
  add("refuseMemory", RefuseMemory);
  add("memoryRefused", MemoryRefused);
  add("refuseThreads", RefuseThreads);
  add("threadsRefused", ThreadsRefused);
  return exports;
}

NODE_API_MODULE(struct_lab, Init)

}  // namespace
}  // namespace lab
