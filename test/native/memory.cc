// Raw memory: what a consumer in C does with an address. Nothing is checked; the tests know what they ask for.
#include <sys/mman.h>

#include <cstring>

#include "lab.h"

namespace lab {

uint64_t Bits(const Napi::Value& value) {
  if (value.IsBigInt()) {
    bool lossless = false;
    return value.As<Napi::BigInt>().Uint64Value(&lossless);  // modulo 2^64, so negative values keep their bits
  }
  if (value.IsNumber()) return static_cast<uint64_t>(value.As<Napi::Number>().Int64Value());
  Napi::TypeError::New(value.Env(), "the laboratory needs a number or a bigint here").ThrowAsJavaScriptException();
  return 0;
}

Napi::Value Address(Napi::Env env, const void* pointer) {
  return Napi::BigInt::New(env, static_cast<uint64_t>(reinterpret_cast<uintptr_t>(pointer)));
}

void* Pointer(const Napi::Value& value) {
  if (value.IsUndefined() || value.IsNull()) return nullptr;
  return reinterpret_cast<void*>(static_cast<uintptr_t>(Bits(value)));
}

// peek(address, length) -> a Uint8Array with a copy of the bytes there.
Napi::Value Peek(const Napi::CallbackInfo& info) {
  const size_t length = static_cast<size_t>(Bits(info[1]));
  Napi::Uint8Array bytes = Napi::Uint8Array::New(info.Env(), length);
  if (length != 0) std::memcpy(bytes.Data(), Pointer(info[0]), length);
  return bytes;
}

// poke(address, bytes): writes them there.
Napi::Value Poke(const Napi::CallbackInfo& info) {
  const Napi::Uint8Array bytes = info[1].As<Napi::Uint8Array>();
  if (bytes.ByteLength() != 0) std::memcpy(Pointer(info[0]), bytes.Data(), bytes.ByteLength());
  return info.Env().Undefined();
}

// mapMemory(bytes, untouchable?) -> address of zeroed pages that cost nothing until they are touched, or that may not
// be touched at all.
Napi::Value MapMemory(const Napi::CallbackInfo& info) {
  const size_t bytes = static_cast<size_t>(Bits(info[0]));
  const int protection = info[1].ToBoolean().Value() ? PROT_NONE : PROT_READ | PROT_WRITE;
  void* mapped = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    Napi::Error::New(info.Env(), "mmap failed").ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  return Address(info.Env(), mapped);
}

Napi::Value UnmapMemory(const Napi::CallbackInfo& info) {
  munmap(Pointer(info[0]), static_cast<size_t>(Bits(info[1])));
  return info.Env().Undefined();
}

// addressOf(typedArray) -> where its first byte lies, as the engine says.
Napi::Value AddressOfView(const Napi::CallbackInfo& info) {
  void* data = nullptr;
  if (napi_get_typedarray_info(info.Env(), info[0], nullptr, nullptr, &data, nullptr, nullptr) != napi_ok) {
    Napi::TypeError::New(info.Env(), "a typed array is needed").ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  return Address(info.Env(), data);
}

}  // namespace lab
