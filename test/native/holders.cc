// A consumer in C: it takes a managed tensor, keeps it, may scribble over what the struct says, and calls the deleter
// when and where it likes: on this thread, on a thread that knows nothing of JavaScript, after its environment is gone,
// at exit, or never.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "lab.h"
#include "node_dlpack.h"

namespace lab {
namespace {

struct Held {
  void* managed = nullptr;
  bool versioned = true;
};

struct Holders {
  std::mutex mutex;
  std::map<uint32_t, Held> by_id;
  uint32_t next_id = 1;
  std::vector<Held> at_exit;
  std::atomic<int> pending{0};
};

Holders& TheHolders() {
  static Holders* holders = new Holders;  // never destroyed: threads may outlive every destructor
  return *holders;
}

void CallDeleter(const Held& held) {
  if (held.versioned) {
    auto* managed = static_cast<DLManagedTensorVersioned*>(held.managed);
    if (managed->deleter != nullptr) managed->deleter(managed);
  } else {
    auto* managed = static_cast<DLManagedTensor*>(held.managed);
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
}

// Removes what is held from the table: from here on the caller owes the deleter call.
bool LetGo(const Napi::CallbackInfo& info, Held* out) {
  const std::lock_guard<std::mutex> lock(TheHolders().mutex);
  const auto found = TheHolders().by_id.find(info[0].As<Napi::Number>().Uint32Value());
  if (found == TheHolders().by_id.end()) {
    Napi::Error::New(info.Env(), "the laboratory holds no such struct").ThrowAsJavaScriptException();
    return false;
  }
  *out = found->second;
  TheHolders().by_id.erase(found);
  return true;
}

void ReleaseAfter(Held held, int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  CallDeleter(held);
  TheHolders().pending.fetch_sub(1);
}

struct Ending {
  std::atomic<bool> ended{false};
};

void ReleaseWhenEnded(Held held, Ending* ending, int milliseconds) {
  while (!ending->ended.load()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  delete ending;
  ReleaseAfter(held, milliseconds);
}

void ReleaseAllAtExit() {
  const std::vector<Held> all = TheHolders().at_exit;
  for (const Held& held : all) CallDeleter(held);
}

}  // namespace

uint32_t Hold(void* managed, bool versioned) {
  const std::lock_guard<std::mutex> lock(TheHolders().mutex);
  const uint32_t id = TheHolders().next_id++;
  TheHolders().by_id[id] = Held{managed, versioned};
  return id;
}

// holdAddress(address, versioned) -> id: holds a struct that came by its address.
Napi::Value HoldAddress(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), Hold(Pointer(info[0]), info[1].ToBoolean().Value()));
}

// lookAtHeld(id) -> { address, versioned }
Napi::Value LookAtHeld(const Napi::CallbackInfo& info) {
  const std::lock_guard<std::mutex> lock(TheHolders().mutex);
  const auto found = TheHolders().by_id.find(info[0].As<Napi::Number>().Uint32Value());
  if (found == TheHolders().by_id.end()) return info.Env().Undefined();
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("address", Address(info.Env(), found->second.managed));
  result.Set("versioned", Napi::Boolean::New(info.Env(), found->second.versioned));
  return result;
}

// capsuleOfHeld(id) -> a fresh capsule, which owns the struct from here on.
Napi::Value CapsuleOfHeld(const Napi::CallbackInfo& info) {
  Held held;
  if (!LetGo(info, &held)) return info.Env().Undefined();
  napi_value capsule = nullptr;
  const uint32_t kind = held.versioned ? NODE_DLPACK_KIND_VERSIONED : NODE_DLPACK_KIND_LEGACY;
  if (node_dlpack_capsule_make(info.Env(), held.managed, kind, &capsule) != napi_ok) {
    Napi::Error::New(info.Env(), "no capsule").ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  return Napi::Value(info.Env(), capsule);
}

// scrambleHeld(id): overwrites everything but the deleter (a consumer may use the struct as it likes), numbers and
// pointers alike.
Napi::Value ScrambleHeld(const Napi::CallbackInfo& info) {
  const std::lock_guard<std::mutex> lock(TheHolders().mutex);
  const auto found = TheHolders().by_id.find(info[0].As<Napi::Number>().Uint32Value());
  if (found == TheHolders().by_id.end()) return info.Env().Undefined();
  void* managed = found->second.managed;
  if (found->second.versioned) {
    auto* versioned = static_cast<DLManagedTensorVersioned*>(managed);
    auto* deleter = versioned->deleter;
    std::memset(managed, 0x5A, sizeof *versioned);
    versioned->deleter = deleter;
  } else {
    auto* legacy = static_cast<DLManagedTensor*>(managed);
    auto* deleter = legacy->deleter;
    std::memset(managed, 0x5A, sizeof *legacy);
    legacy->deleter = deleter;
  }
  return info.Env().Undefined();
}

Napi::Value ReleaseHeld(const Napi::CallbackInfo& info) {
  Held held;
  if (LetGo(info, &held)) CallDeleter(held);
  return info.Env().Undefined();
}

// releaseHeldOnThread(id): on a plain thread; returns when it is done.
Napi::Value ReleaseHeldOnThread(const Napi::CallbackInfo& info) {
  Held held;
  if (LetGo(info, &held)) std::thread(CallDeleter, held).join();
  return info.Env().Undefined();
}

// releaseHeldLater(id, milliseconds): on a plain thread, while this one goes on.
Napi::Value ReleaseHeldLater(const Napi::CallbackInfo& info) {
  Held held;
  if (!LetGo(info, &held)) return info.Env().Undefined();
  TheHolders().pending.fetch_add(1);
  std::thread(ReleaseAfter, held, info[1].As<Napi::Number>().Int32Value()).detach();
  return info.Env().Undefined();
}

// releaseHeldAfterEnvironment(id, milliseconds): on a plain thread, that long after this environment ran its cleanup
// hooks.
Napi::Value ReleaseHeldAfterEnvironment(const Napi::CallbackInfo& info) {
  Held held;
  if (!LetGo(info, &held)) return info.Env().Undefined();
  auto* ending = new Ending;
  TheHolders().pending.fetch_add(1);
  napi_add_env_cleanup_hook(info.Env(), [](void* data) { static_cast<Ending*>(data)->ended.store(true); }, ending);
  std::thread(ReleaseWhenEnded, held, ending, info[1].As<Napi::Number>().Int32Value()).detach();
  return info.Env().Undefined();
}

// releaseHeldAtExit(id): from an exit handler of the process.
Napi::Value ReleaseHeldAtExit(const Napi::CallbackInfo& info) {
  Held held;
  if (!LetGo(info, &held)) return info.Env().Undefined();
  if (TheHolders().at_exit.empty() && std::atexit(ReleaseAllAtExit) != 0) {
    Napi::Error::New(info.Env(), "no room for an exit handler").ThrowAsJavaScriptException();
  }
  TheHolders().at_exit.push_back(held);
  return info.Env().Undefined();
}

// releaseHeldWithPendingException(id, error): the deleter runs while `error` is pending, which then reaches the caller.
Napi::Value ReleaseHeldWithPendingException(const Napi::CallbackInfo& info) {
  Held held;
  if (!LetGo(info, &held)) return info.Env().Undefined();
  napi_throw(info.Env(), info[1]);
  CallDeleter(held);
  return info.Env().Undefined();
}

// pendingReleases() -> threads that have not released yet.
Napi::Value PendingReleases(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), TheHolders().pending.load());
}

}  // namespace lab
