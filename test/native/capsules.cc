// Capsules made and looked into with the public kit, as any addon does it, and values that only look like capsules:
// their pointers lead to a page that cannot be touched, so whoever believes them without a valid tag faults.
#include <sys/mman.h>

#include <cstdlib>

#include "lab.h"
#include "node_dlpack.h"

namespace lab {
namespace {

void* UntouchablePage() {
  static void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page;
}

Napi::Value Fail(Napi::Env env, const char* message) {
  Napi::Error::New(env, message).ThrowAsJavaScriptException();
  return env.Undefined();
}

// A record as a later version of the contract may have it: it grows at its end.
struct GrownRecord {
  node_dlpack_capsule record;
  uint64_t more[4];
};

void FreeGrownRecord(napi_env, void* data, void*) {
  auto* grown = static_cast<GrownRecord*>(data);
  void* managed = node_dlpack_record_take(&grown->record);
  node_dlpack_delete(managed, grown->record.kind);
  free(grown);
}

void FreeRecord(napi_env, void* data, void*) {
  free(data);
}

// An External with the right tag over a record of our own filling. The record goes with it; what it points to does not.
Napi::Value TaggedRecord(Napi::Env env, uint32_t abi, uint32_t kind, void* managed) {
  auto* record = static_cast<node_dlpack_capsule*>(malloc(sizeof(node_dlpack_capsule)));
  if (record == nullptr) return Fail(env, "no memory");
  record->abi = abi;
  record->kind = kind;
  record->managed = managed;
  napi_value external = nullptr;
  if (napi_create_external(env, record, FreeRecord, nullptr, &external) != napi_ok ||
      napi_type_tag_object(env, external, &node_dlpack_capsule_tag) != napi_ok) {
    return Fail(env, "no External");
  }
  return Napi::Value(env, external);
}

}  // namespace

// makeCapsule(id) -> a capsule that owns the struct.
Napi::Value MakeCapsule(const Napi::CallbackInfo& info) {
  Made made;
  if (!FindMade(info[0].As<Napi::Number>().Uint32Value(), &made)) return Fail(info.Env(), "no such struct");
  napi_value capsule = nullptr;
  const uint32_t kind = made.versioned ? NODE_DLPACK_KIND_VERSIONED : NODE_DLPACK_KIND_LEGACY;
  if (node_dlpack_capsule_make(info.Env(), made.managed, kind, &capsule) != napi_ok)
    return Fail(info.Env(), "no capsule");
  return Napi::Value(info.Env(), capsule);
}

// makeNullCapsule(versioned) -> a capsule whose managed pointer was NULL from the start.
Napi::Value MakeNullCapsule(const Napi::CallbackInfo& info) {
  const bool versioned = info[0].ToBoolean().Value();
  return TaggedRecord(info.Env(), NODE_DLPACK_CAPSULE_ABI,
                      versioned ? NODE_DLPACK_KIND_VERSIONED : NODE_DLPACK_KIND_LEGACY, nullptr);
}

// makeForeignRecord(abi, kind) -> a capsule of another contract: its managed pointer must not be believed.
Napi::Value MakeForeignRecord(const Napi::CallbackInfo& info) {
  return TaggedRecord(info.Env(), static_cast<uint32_t>(Bits(info[0])), static_cast<uint32_t>(Bits(info[1])),
                      UntouchablePage());
}

// makeGrownCapsule(id, abi, more) -> a capsule that owns the struct, with a record of a later version: four more words,
// which are `more` and must stay so.
Napi::Value MakeGrownCapsule(const Napi::CallbackInfo& info) {
  Made made;
  if (!FindMade(info[0].As<Napi::Number>().Uint32Value(), &made)) return Fail(info.Env(), "no such struct");
  auto* grown = static_cast<GrownRecord*>(malloc(sizeof(GrownRecord)));
  if (grown == nullptr) return Fail(info.Env(), "no memory");
  grown->record.abi = static_cast<uint32_t>(Bits(info[1]));
  grown->record.kind = made.versioned ? NODE_DLPACK_KIND_VERSIONED : NODE_DLPACK_KIND_LEGACY;
  grown->record.managed = made.managed;
  for (uint64_t& word : grown->more) word = Bits(info[2]);
  napi_value external = nullptr;
  if (napi_create_external(info.Env(), grown, FreeGrownRecord, nullptr, &external) != napi_ok ||
      napi_type_tag_object(info.Env(), external, &node_dlpack_capsule_tag) != napi_ok) {
    return Fail(info.Env(), "no External");
  }
  return Napi::Value(info.Env(), external);
}

// grownRecord(capsule) -> { used, more }: what has become of it.
Napi::Value LookAtGrownRecord(const Napi::CallbackInfo& info) {
  void* pointer = nullptr;
  if (node_dlpack_tagged_external(info.Env(), info[0], &node_dlpack_capsule_tag, &pointer) != napi_ok) {
    return Fail(info.Env(), "not a capsule");
  }
  const auto* grown = static_cast<const GrownRecord*>(pointer);
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("used", Napi::Boolean::New(info.Env(), node_dlpack_record_used(&grown->record) != 0));
  Napi::Array more = Napi::Array::New(info.Env(), 4);
  for (uint32_t i = 0; i < 4; ++i) more.Set(i, Napi::BigInt::New(info.Env(), grown->more[i]));
  result.Set("more", more);
  return result;
}

// lookIntoCapsule(value) -> { address, versioned, used, name }, or undefined when it is no capsule.
Napi::Value LookIntoCapsule(const Napi::CallbackInfo& info) {
  node_dlpack_capsule* record = nullptr;
  if (node_dlpack_capsule_find(info.Env(), info[0], &record) != napi_ok) return info.Env().Undefined();
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("address", Address(info.Env(), record->managed));
  result.Set("versioned", Napi::Boolean::New(info.Env(), record->kind == NODE_DLPACK_KIND_VERSIONED));
  result.Set("used", Napi::Boolean::New(info.Env(), node_dlpack_record_used(record) != 0));
  result.Set("name", Napi::String::New(info.Env(), node_dlpack_record_name(record)));
  return result;
}

Napi::Value MakeUntaggedExternal(const Napi::CallbackInfo& info) {
  napi_value external = nullptr;
  if (napi_create_external(info.Env(), UntouchablePage(), nullptr, nullptr, &external) != napi_ok)
    return Fail(info.Env(), "no External");
  return Napi::Value(info.Env(), external);
}

// With the tag of somebody else, which shares the lower half with the capsule's.
Napi::Value MakeWronglyTaggedExternal(const Napi::CallbackInfo& info) {
  static const napi_type_tag kOtherTag = {node_dlpack_capsule_tag.lower, ~node_dlpack_capsule_tag.upper};
  const Napi::Value external = MakeUntaggedExternal(info);
  if (napi_type_tag_object(info.Env(), external, &kOtherTag) != napi_ok) return Fail(info.Env(), "no tag");
  return external;
}

// makeTaggedObject() -> a plain object that carries the capsule's tag but is no External.
Napi::Value MakeTaggedObject(const Napi::CallbackInfo& info) {
  const Napi::Object object = Napi::Object::New(info.Env());
  if (napi_type_tag_object(info.Env(), object, &node_dlpack_capsule_tag) != napi_ok) return Fail(info.Env(), "no tag");
  return object;
}

// takeCapsule(capsule) -> id of what is held now. As a consumer in C takes it.
Napi::Value TakeCapsule(const Napi::CallbackInfo& info) {
  void* managed = nullptr;
  uint32_t kind = 0;
  if (node_dlpack_capsule_take(info.Env(), info[0], &managed, &kind) != napi_ok)
    return Fail(info.Env(), "not a capsule");
  if (managed == nullptr) return Fail(info.Env(), "the capsule was used already");
  return Napi::Number::New(info.Env(), Hold(managed, kind == NODE_DLPACK_KIND_VERSIONED));
}

// takeVersioned(capsule) -> id of what is held now, a legacy struct wrapped in a versioned one by the kit.
Napi::Value TakeVersioned(const Napi::CallbackInfo& info) {
  DLManagedTensorVersioned* managed = nullptr;
  if (node_dlpack_take(info.Env(), info[0], &managed) != napi_ok) return Fail(info.Env(), "not a capsule");
  if (managed == nullptr) return Fail(info.Env(), "the capsule was used already");
  return Napi::Number::New(info.Env(), Hold(managed, true));
}

}  // namespace lab
