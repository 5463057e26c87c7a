// A library of another language in the process: it knows node-dlpack's binary by its path alone, opens it, looks the
// functions of node_dlpack_tokens.h up by name, and calls them on this thread or on threads that know no JavaScript.
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "lab.h"
#include "node_dlpack_tokens.h"

namespace lab {
namespace {

struct Functions {
  decltype(&node_dlpack_tokens_version) version = nullptr;
  decltype(&node_dlpack_error) error = nullptr;
  decltype(&node_dlpack_last_error) last_error = nullptr;
  decltype(&node_dlpack_claim) claim = nullptr;
  decltype(&node_dlpack_claim_legacy) claim_legacy = nullptr;
  decltype(&node_dlpack_offer) offer = nullptr;
  decltype(&node_dlpack_offer_legacy) offer_legacy = nullptr;
  decltype(&node_dlpack_offer_as) offer_as = nullptr;
  decltype(&node_dlpack_revoke) revoke = nullptr;
  decltype(&node_dlpack_export) export_again = nullptr;
};

// The same in every environment, and looked up again by each.
Functions g_functions;

template <typename Function>
bool LookUp(void* module, const char* name, Function* out) {
  *out = reinterpret_cast<Function>(dlsym(module, name));
  return *out != nullptr;
}

uint32_t Unsigned(const Napi::Value& value) {
  return value.As<Napi::Number>().Uint32Value();
}

std::string Text(const Napi::Value& value) {
  return value.As<Napi::String>().Utf8Value();
}

// A struct's address, or the code of a fault as a number.
Napi::Value AddressOrCode(Napi::Env env, int answer, const void* managed) {
  if (answer == NODE_DLPACK_OK) return Address(env, managed);
  return Napi::Number::New(env, answer);
}

Napi::Value TextOrCode(Napi::Env env, int answer, const char* token) {
  if (answer == NODE_DLPACK_OK) return Napi::String::New(env, token);
  return Napi::Number::New(env, answer);
}

int Claim(const std::string& token, bool legacy, void** out) {
  if (!legacy) return g_functions.claim(token.c_str(), reinterpret_cast<DLManagedTensorVersioned**>(out));
  return g_functions.claim_legacy(token.c_str(), reinterpret_cast<DLManagedTensor**>(out));
}

}  // namespace

// openTokens(path) -> the version of the functions.
Napi::Value OpenTokens(const Napi::CallbackInfo& info) {
  void* module = dlopen(Text(info[0]).c_str(), RTLD_LAZY | RTLD_NOLOAD);
  Functions& f = g_functions;
  const bool found =
      module != nullptr && LookUp(module, "node_dlpack_tokens_version", &f.version) &&
      LookUp(module, "node_dlpack_error", &f.error) && LookUp(module, "node_dlpack_last_error", &f.last_error) &&
      LookUp(module, "node_dlpack_claim", &f.claim) && LookUp(module, "node_dlpack_claim_legacy", &f.claim_legacy) &&
      LookUp(module, "node_dlpack_offer", &f.offer) && LookUp(module, "node_dlpack_offer_legacy", &f.offer_legacy) &&
      LookUp(module, "node_dlpack_offer_as", &f.offer_as) && LookUp(module, "node_dlpack_revoke", &f.revoke) &&
      LookUp(module, "node_dlpack_export", &f.export_again);
  if (!found) {
    Napi::Error::New(info.Env(), "the module is not loaded, or lacks a function").ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  return Napi::Number::New(info.Env(), f.version());
}

// claimToken(token, legacy) -> the address of the struct, or a code.
Napi::Value ClaimToken(const Napi::CallbackInfo& info) {
  void* managed = nullptr;
  const int answer = Claim(Text(info[0]), info[1].ToBoolean().Value(), &managed);
  return AddressOrCode(info.Env(), answer, managed);
}

// claimTokenOnThread(token): the same on a plain thread.
Napi::Value ClaimTokenOnThread(const Napi::CallbackInfo& info) {
  const std::string token = Text(info[0]);
  void* managed = nullptr;
  int answer = 0;
  std::thread([&] { answer = Claim(token, false, &managed); }).join();
  return AddressOrCode(info.Env(), answer, managed);
}

// raceForToken(token, threads) -> the addresses of what the threads got: the length is how many claimed it.
Napi::Value RaceForToken(const Napi::CallbackInfo& info) {
  const std::string token = Text(info[0]);
  const size_t count = Unsigned(info[1]);
  std::atomic<size_t> ready{0};
  std::vector<void*> got(count, nullptr);
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (void*& mine : got) {
    threads.emplace_back([&token, &ready, &mine, count] {
      ready.fetch_add(1);
      while (ready.load() < count) std::this_thread::yield();
      static_cast<void>(Claim(token, false, &mine));
    });
  }
  for (std::thread& thread : threads) thread.join();
  Napi::Array addresses = Napi::Array::New(info.Env());
  for (const void* managed : got) {
    if (managed != nullptr) addresses.Set(addresses.Length(), Address(info.Env(), managed));
  }
  return addresses;
}

// offerToken(address, versioned, tokenKind, ttl, [code, bits, lanes] or undefined) -> the token, or a code.
Napi::Value OfferToken(const Napi::CallbackInfo& info) {
  void* managed = Pointer(info[0]);
  const bool versioned = info[1].ToBoolean().Value();
  const uint32_t token_kind = Unsigned(info[2]);
  const int64_t ttl = info[3].As<Napi::Number>().Int64Value();
  char token[NODE_DLPACK_TOKEN_SIZE];
  std::memset(token, 'x', sizeof token);
  int answer = 0;
  if (info[4].IsArray()) {
    const Napi::Array dtype = info[4].As<Napi::Array>();
    const DLDataType as = {static_cast<uint8_t>(Unsigned(dtype.Get(0u))), static_cast<uint8_t>(Unsigned(dtype.Get(1u))),
                           static_cast<uint16_t>(Unsigned(dtype.Get(2u)))};
    const uint32_t kind = versioned ? NODE_DLPACK_KIND_VERSIONED : NODE_DLPACK_KIND_LEGACY;
    answer = g_functions.offer_as(managed, kind, as, token_kind, ttl, token);
  } else if (versioned) {
    answer = g_functions.offer(static_cast<DLManagedTensorVersioned*>(managed), token_kind, ttl, token);
  } else {
    answer = g_functions.offer_legacy(static_cast<DLManagedTensor*>(managed), ttl, token);
  }
  return TextOrCode(info.Env(), answer, token);
}

// revokeNatively(token) -> a code.
Napi::Value RevokeNatively(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), g_functions.revoke(Text(info[0]).c_str()));
}

// exportHeld(address, kind, copy) -> the address of a fresh struct, or a code.
Napi::Value ExportHeld(const Napi::CallbackInfo& info) {
  void* managed = nullptr;
  const auto* held = static_cast<const DLManagedTensorVersioned*>(Pointer(info[0]));
  const int answer =
      g_functions.export_again(held, Unsigned(info[1]), info[2].As<Napi::Number>().Int32Value(), &managed);
  return AddressOrCode(info.Env(), answer, managed);
}

// tokenError(code) -> its words; lastTokenError() -> those of this thread's last fault.
Napi::Value TokenError(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), g_functions.error(info[0].As<Napi::Number>().Int32Value()));
}

Napi::Value LastTokenError(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), g_functions.last_error());
}

}  // namespace lab
