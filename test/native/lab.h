// What the files of the laboratory share. Each file registers its functions in module.cc; all state is of the process,
// so that several workers see the same structs, and nothing here has a destructor that could run while a thread of ours
// is still at work.
#ifndef STRUCT_LAB_LAB_H_
#define STRUCT_LAB_LAB_H_

#include <napi.h>

#include <cstdint>

#include "dlpack/dlpack.h"

namespace lab {

// A number or a bigint, as 64 bits; anything else is a mistake of the test and answers 0 with an exception pending.
uint64_t Bits(const Napi::Value& value);
Napi::Value Address(Napi::Env env, const void* pointer);
void* Pointer(const Napi::Value& value);

// --- structs.cc: structs of our making
// ---------------------------------------------------------------------------------------------------
struct Made {
  void* managed;
  bool versioned;
};
// false: no such struct.
bool FindMade(uint32_t id, Made* out);
Napi::Value MakeStruct(const Napi::CallbackInfo& info);
Napi::Value StructState(const Napi::CallbackInfo& info);
Napi::Value ForgetStruct(const Napi::CallbackInfo& info);
Napi::Value StrayDeleterCalls(const Napi::CallbackInfo& info);

// --- calling_deleter.cc: a struct whose deleter calls JavaScript
Napi::Value MakeCallingStruct(const Napi::CallbackInfo& info);

// --- memory.cc: raw memory
// ----------------------------------------------------------------------------------------------------------------
Napi::Value Peek(const Napi::CallbackInfo& info);
Napi::Value Poke(const Napi::CallbackInfo& info);
Napi::Value MapMemory(const Napi::CallbackInfo& info);
Napi::Value UnmapMemory(const Napi::CallbackInfo& info);
Napi::Value AddressOfView(const Napi::CallbackInfo& info);

// --- capsules.cc: capsules through the public record, and values that only look like capsules
// -------------------------------------------
Napi::Value MakeCapsule(const Napi::CallbackInfo& info);
Napi::Value MakeNullCapsule(const Napi::CallbackInfo& info);
Napi::Value MakeForeignRecord(const Napi::CallbackInfo& info);
Napi::Value MakeGrownCapsule(const Napi::CallbackInfo& info);
Napi::Value LookAtGrownRecord(const Napi::CallbackInfo& info);
Napi::Value LookIntoCapsule(const Napi::CallbackInfo& info);
Napi::Value MakeUntaggedExternal(const Napi::CallbackInfo& info);
Napi::Value MakeWronglyTaggedExternal(const Napi::CallbackInfo& info);
Napi::Value MakeTaggedObject(const Napi::CallbackInfo& info);
Napi::Value TakeCapsule(const Napi::CallbackInfo& info);
Napi::Value TakeVersioned(const Napi::CallbackInfo& info);

// --- holders.cc: a consumer that keeps what it took
// --------------------------------------------------------------------------------------- Keeps a managed tensor that
// was taken; answers its id.
uint32_t Hold(void* managed, bool versioned);
Napi::Value HoldAddress(const Napi::CallbackInfo& info);
Napi::Value LookAtHeld(const Napi::CallbackInfo& info);
Napi::Value CapsuleOfHeld(const Napi::CallbackInfo& info);
Napi::Value ScrambleHeld(const Napi::CallbackInfo& info);
Napi::Value ReleaseHeld(const Napi::CallbackInfo& info);
Napi::Value ReleaseHeldOnThread(const Napi::CallbackInfo& info);
Napi::Value ReleaseHeldLater(const Napi::CallbackInfo& info);
Napi::Value ReleaseHeldAfterEnvironment(const Napi::CallbackInfo& info);
Napi::Value ReleaseHeldAtExit(const Napi::CallbackInfo& info);
Napi::Value ReleaseHeldWithPendingException(const Napi::CallbackInfo& info);
Napi::Value PendingReleases(const Napi::CallbackInfo& info);

// --- race.cc: threads that reach for one capsule
// ----------------------------------------------------------------------------------------
Napi::Value RaceThreads(const Napi::CallbackInfo& info);
Napi::Value StartRacer(const Napi::CallbackInfo& info);
Napi::Value FinishRacer(const Napi::CallbackInfo& info);

// --- watched_reads.cc: fields that change once they were read
Napi::Value WatchReads(const Napi::CallbackInfo& info);
Napi::Value StopWatching(const Napi::CallbackInfo& info);

// --- token_calls.cc: a library of another language, which knows the addon's binary by its path
Napi::Value OpenTokens(const Napi::CallbackInfo& info);
Napi::Value ClaimToken(const Napi::CallbackInfo& info);
Napi::Value ClaimTokenOnThread(const Napi::CallbackInfo& info);
Napi::Value RaceForToken(const Napi::CallbackInfo& info);
Napi::Value OfferToken(const Napi::CallbackInfo& info);
Napi::Value RevokeNatively(const Napi::CallbackInfo& info);
Napi::Value ExportHeld(const Napi::CallbackInfo& info);
Napi::Value TokenError(const Napi::CallbackInfo& info);
Napi::Value LastTokenError(const Napi::CallbackInfo& info);

// --- failing.cc: an addon that gets no memory
Napi::Value RefuseMemory(const Napi::CallbackInfo& info);
Napi::Value MemoryRefused(const Napi::CallbackInfo& info);
Napi::Value RefuseThreads(const Napi::CallbackInfo& info);
Napi::Value ThreadsRefused(const Napi::CallbackInfo& info);

}  // namespace lab

#endif  // STRUCT_LAB_LAB_H_
