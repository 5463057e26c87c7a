#include "python_functions.h"

#include <new>

#include "fault.h"
#include "managed_tensor.h"
#include "memory.h"

namespace node_dlpack {

namespace {

// The names of DLPack's specification for Python, and one of our own. In static storage: a capsule keeps the address.
constexpr char kLegacyName[] = "dltensor";
constexpr char kVersionedName[] = "dltensor_versioned";
constexpr char kHeldName[] = "node_dlpack.held";
constexpr char kUsedLegacyName[] = "used_dltensor";
constexpr char kUsedVersionedName[] = "used_dltensor_versioned";

int Code(const Fault& fault) {
  return static_cast<int>(fault.code);
}

// Of a capsule that goes, with the interpreter's lock. Asking for validity sets no exception, and our own deleters do
// not touch Python, so one that is pending stays.
void DestroyCapsule(PyObject* capsule) {
  const PythonFunctions& python = Python();
  if (python.capsule_is_valid(capsule, kVersionedName) != 0) {
    DeleteManaged(python.capsule_get_pointer(capsule, kVersionedName), ManagedKind::kVersioned);
  } else if (python.capsule_is_valid(capsule, kHeldName) != 0) {
    DeleteManaged(python.capsule_get_pointer(capsule, kHeldName), ManagedKind::kVersioned);
  } else if (python.capsule_is_valid(capsule, kLegacyName) != 0) {
    DeleteManaged(python.capsule_get_pointer(capsule, kLegacyName), ManagedKind::kLegacy);
  }
}

// A struct of Python's inside one of ours.
template <typename Managed>
struct Guarded {
  Managed managed;  // first: its address is this struct's
  void* inner;
  PythonLife life;
};

template <typename Managed>
constexpr ManagedKind kKindOf = ManagedKind::kVersioned;
template <>
constexpr ManagedKind kKindOf<DLManagedTensor> = ManagedKind::kLegacy;

template <typename Managed>
void DeleteGuarded(Managed* managed) {
  auto* guarded = reinterpret_cast<Guarded<Managed>*>(managed);
  {
    const PythonLock lock(guarded->life);
    if (lock) DeleteManaged(guarded->inner, kKindOf<Managed>);
  }
  FreeBytes(guarded);
}

// What a struct of an unknown major version is said to hold.
constexpr DLTensor kNothing = {nullptr, {kDLCPU, 0}, 0, {0, 0, 0}, nullptr, nullptr, 0};

// Copies what may be read of the inner struct: of a major version that is not known, nothing behind the version.
void CopyTensor(const DLManagedTensor& inner, DLManagedTensor* out) {
  out->dl_tensor = inner.dl_tensor;
}

void CopyTensor(const DLManagedTensorVersioned& inner, DLManagedTensorVersioned* out) {
  const bool known = inner.version.major == DLPACK_MAJOR_VERSION;
  out->version = inner.version;
  out->flags = known ? inner.flags : 0;
  out->dl_tensor = known ? inner.dl_tensor : kNothing;
}

template <typename Managed>
int Guard(void* inner, void** out) {
  const PythonLife life = RunningPython();
  void* memory = AllocateBytes(sizeof(Guarded<Managed>));
  if (memory == nullptr) {
    const PythonLock lock(life);
    if (lock) DeleteManaged(inner, kKindOf<Managed>);
    return Code(Fault(FaultCode::kOutOfMemory, 0, sizeof(Guarded<Managed>)));
  }
  auto* guarded = new (memory) Guarded<Managed>;
  CopyTensor(*static_cast<const Managed*>(inner), &guarded->managed);
  guarded->managed.manager_ctx = nullptr;
  guarded->managed.deleter = DeleteGuarded<Managed>;
  guarded->inner = inner;
  guarded->life = life;
  *out = &guarded->managed;
  return 0;
}

}  // namespace

}  // namespace node_dlpack

// Outside of the namespace: inside, these would be other declarations than the exported ones of the header.
using namespace node_dlpack;

extern "C" {

uint32_t node_dlpack_python_version(void) {
  return 1;
}

int node_dlpack_python_start(const PythonFunctions* functions) {
  if (functions == nullptr || StartPython(*functions) == 0) return Code(FaultCode::kArgument);
  return 0;
}

void node_dlpack_python_stop(void) {
  StopPython();
}

PyObject* node_dlpack_python_capsule(void* managed, uint32_t purpose) {
  const char* name = purpose == NODE_DLPACK_PYTHON_LEGACY ? kLegacyName
                     : purpose == NODE_DLPACK_PYTHON_HELD ? kHeldName
                                                          : kVersionedName;
  PyObject* capsule = Python().capsule_new(managed, name, DestroyCapsule);
  if (capsule == nullptr) {
    DeleteManaged(managed, purpose == NODE_DLPACK_PYTHON_LEGACY ? ManagedKind::kLegacy : ManagedKind::kVersioned);
  }
  return capsule;
}

int node_dlpack_python_take(PyObject* object, void** managed, uint32_t* kind) {
  const PythonFunctions& python = Python();
  *managed = nullptr;
  const char* name = nullptr;
  const char* used_name = nullptr;
  if (python.capsule_is_valid(object, kVersionedName) != 0) {
    *kind = static_cast<uint32_t>(ManagedKind::kVersioned);
    name = kVersionedName;
    used_name = kUsedVersionedName;
  } else if (python.capsule_is_valid(object, kLegacyName) != 0) {
    *kind = static_cast<uint32_t>(ManagedKind::kLegacy);
    name = kLegacyName;
    used_name = kUsedLegacyName;
  } else {
    const bool used = python.capsule_is_valid(object, kUsedVersionedName) != 0 ||
                      python.capsule_is_valid(object, kUsedLegacyName) != 0;
    return Code(used ? FaultCode::kCapsuleUsed : FaultCode::kNotACapsule);
  }
  void* pointer = python.capsule_get_pointer(object, name);
  // Neither call can fail on a capsule that was just found valid; if the name stays, the capsule stays the owner.
  if (python.capsule_set_name(object, used_name) != 0) return Code(FaultCode::kNotACapsule);
  *managed = pointer;
  return 0;
}

int node_dlpack_python_guard(void* managed, uint32_t kind, void** out) {
  *out = nullptr;
  if (managed == nullptr) return Code(FaultCode::kManagedNull);
  const auto managed_kind = static_cast<ManagedKind>(kind);
  if (BlockOfOwn(managed, managed_kind, nullptr) != nullptr) {
    *out = managed;
    return 0;
  }
  return managed_kind == ManagedKind::kLegacy ? Guard<DLManagedTensor>(managed, out)
                                              : Guard<DLManagedTensorVersioned>(managed, out);
}

}  // extern "C"
