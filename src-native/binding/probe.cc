#include "probe.h"

#include <atomic>
#include <cstring>
#include <new>

#include "../core/memory.h"
#include "../core/system_thread.h"
#include "bytes_argument.h"
#include "call.h"
#include "capsule.h"

namespace node_dlpack::binding {

namespace {

// What a struct is filled with once its deleter has run: late readers find nonsense.
constexpr uint8_t kPoison = 0xA5;

// Bits of makeProbe's last argument: which pointers of the image lead to the probe's own memory, instead of standing as
// they are.
constexpr int32_t kOwnData = 1;  // the elements, plus what the image says
constexpr int32_t kOwnShape = 2;
constexpr int32_t kOwnStrides = 4;
constexpr int32_t kDeleter = 8;
constexpr int32_t kAllBits = kOwnData | kOwnShape | kOwnStrides | kDeleter;

union Managed {
  DLManagedTensor legacy;
  DLManagedTensorVersioned versioned;
};

struct Probe {
  Probe* next;
  int32_t id;
  ManagedKind kind;
  Managed managed;
  Managed picture;  // as it was made
  uint8_t* dims = nullptr;
  uint8_t* dims_picture = nullptr;
  size_t dims_bytes = 0;
  uint8_t* elements = nullptr;
  uint8_t* elements_picture = nullptr;
  size_t elements_bytes = 0;
  std::atomic<int32_t> deleter_calls{0};
  std::atomic<bool> struct_changed{false};
  std::atomic<bool> elements_changed{false};

  bool StructChanged() const {
    // Every byte counts, padding too: nobody has business there.
    const auto* now = reinterpret_cast<const uint8_t*>(&managed);
    const auto* made = reinterpret_cast<const uint8_t*>(&picture);
    return std::memcmp(now, made, sizeof managed) != 0 || std::memcmp(dims, dims_picture, dims_bytes) != 0;
  }
  bool ElementsChanged() const { return std::memcmp(elements, elements_picture, elements_bytes) != 0; }
};

std::atomic<Probe*> g_probes{nullptr};
std::atomic<int32_t> g_last_id{0};

Probe* Find(const void* managed) {
  Probe* probe = g_probes.load(std::memory_order_acquire);
  while (probe != nullptr && static_cast<const void*>(&probe->managed) != managed) probe = probe->next;
  return probe;
}

Probe* Find(int32_t id) {
  Probe* probe = g_probes.load(std::memory_order_acquire);
  while (probe != nullptr && probe->id != id) probe = probe->next;
  return probe;
}

void OnDeleted(const void* managed) {
  Probe* probe = Find(managed);
  if (probe == nullptr || probe->deleter_calls.fetch_add(1) != 0) return;
  probe->struct_changed.store(probe->StructChanged());
  probe->elements_changed.store(probe->ElementsChanged());
  // All but the deleter, whose second call is to be counted.
  if (probe->kind == ManagedKind::kLegacy) {
    auto* const deleter = probe->picture.legacy.deleter;
    std::memset(&probe->managed, kPoison, sizeof(DLManagedTensor));
    probe->managed.legacy.deleter = deleter;
  } else {
    auto* const deleter = probe->picture.versioned.deleter;
    std::memset(&probe->managed, kPoison, sizeof(DLManagedTensorVersioned));
    probe->managed.versioned.deleter = deleter;
  }
  std::memset(probe->dims, kPoison, probe->dims_bytes);
  std::memset(probe->elements, kPoison, probe->elements_bytes);
}

extern "C" {
static void DeleteLegacyProbe(DLManagedTensor* self) {
  OnDeleted(self);
}
static void DeleteVersionedProbe(DLManagedTensorVersioned* self) {
  OnDeleted(self);
}
}

// Two copies: one to show, one to compare with.
bool Copy(const BytesArgument& source, uint8_t** memory, uint8_t** picture, size_t* bytes) {
  *bytes = source.bytes;
  *memory = static_cast<uint8_t*>(AllocateBytes(source.bytes + 1));
  *picture = static_cast<uint8_t*>(AllocateBytes(source.bytes + 1));
  if (*memory == nullptr || *picture == nullptr) return false;
  if (source.bytes != 0) {
    std::memcpy(*memory, source.data, source.bytes);
    std::memcpy(*picture, source.data, source.bytes);
  }
  return true;
}

void Complete(Probe* probe, int32_t bits) {
  const bool legacy = probe->kind == ManagedKind::kLegacy;
  DLTensor& tensor = legacy ? probe->managed.legacy.dl_tensor : probe->managed.versioned.dl_tensor;
  auto* dims = reinterpret_cast<int64_t*>(probe->dims);
  if ((bits & kOwnData) != 0) tensor.data = probe->elements + reinterpret_cast<uintptr_t>(tensor.data);
  if ((bits & kOwnShape) != 0) tensor.shape = dims;
  if ((bits & kOwnStrides) != 0) tensor.strides = dims + probe->dims_bytes / sizeof(int64_t) / 2;
  if ((bits & kDeleter) != 0 && legacy) probe->managed.legacy.deleter = DeleteLegacyProbe;
  if ((bits & kDeleter) != 0 && !legacy) probe->managed.versioned.deleter = DeleteVersionedProbe;
  std::memcpy(&probe->picture, &probe->managed, sizeof probe->managed);
}

// makeProbe(kind, image, dims, elements, bits) -> id
napi_value MakeProbe(Call& call) {
  int32_t kind = 0;
  int32_t bits = 0;
  BytesArgument image;
  BytesArgument dims;
  BytesArgument elements;
  if (Fault fault = call.Int(0, &kind); !fault.ok()) return call.Fail(fault);
  if (Fault fault = BytesArgument::Read(call, 1, &image); !fault.ok()) return call.Fail(fault);
  if (Fault fault = BytesArgument::Read(call, 2, &dims); !fault.ok()) return call.Fail(fault);
  if (Fault fault = BytesArgument::Read(call, 3, &elements); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Int(4, &bits); !fault.ok()) return call.Fail(fault);
  const bool legacy = kind == static_cast<int32_t>(ManagedKind::kLegacy);
  if (!legacy && kind != static_cast<int32_t>(ManagedKind::kVersioned))
    return call.Fail(Fault(FaultCode::kArgument, 0, kind));
  if (image.bytes != (legacy ? sizeof(DLManagedTensor) : sizeof(DLManagedTensorVersioned))) {
    return call.Fail(Fault(FaultCode::kArgument, 1, static_cast<int64_t>(image.bytes)));
  }
  if ((bits & ~kAllBits) != 0) return call.Fail(Fault(FaultCode::kArgument, 4, bits));

  auto* probe = new (std::nothrow) Probe();
  if (probe == nullptr) return call.Fail(Fault(FaultCode::kOutOfMemory, 0, sizeof(Probe)));
  if (!Copy(dims, &probe->dims, &probe->dims_picture, &probe->dims_bytes) ||
      !Copy(elements, &probe->elements, &probe->elements_picture, &probe->elements_bytes)) {
    for (uint8_t* memory : {probe->dims, probe->dims_picture, probe->elements, probe->elements_picture})
      FreeBytes(memory);
    delete probe;
    return call.Fail(Fault(FaultCode::kOutOfMemory, 0, static_cast<int64_t>(dims.bytes + elements.bytes)));
  }
  probe->kind = static_cast<ManagedKind>(kind);
  probe->id = g_last_id.fetch_add(1) + 1;
  std::memset(&probe->managed, 0, sizeof probe->managed);
  std::memcpy(&probe->managed, image.data, image.bytes);
  Complete(probe, bits);
  probe->next = g_probes.load(std::memory_order_relaxed);
  while (!g_probes.compare_exchange_weak(probe->next, probe, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return call.Double(probe->id);
}

Fault ProbeArgument(const Call& call, Probe** out) {
  int32_t id = 0;
  if (Fault fault = call.Int(0, &id); !fault.ok()) return fault;
  *out = Find(id);
  return *out == nullptr ? Fault(FaultCode::kArgument, 0, id) : Fault();
}

// Element: deleter calls; struct changed; elements changed (both when the deleter ran, or now); address of the struct.
napi_value ProbeState(Call& call) {
  Probe* probe = nullptr;
  if (Fault fault = ProbeArgument(call, &probe); !fault.ok()) return call.Fail(fault);
  const int32_t calls = probe->deleter_calls.load();
  call.scratch().set_number(slot::kElement, calls);
  call.scratch().set_number(slot::kElement + 1, calls > 0 ? probe->struct_changed.load() : probe->StructChanged());
  call.scratch().set_number(slot::kElement + 2, calls > 0 ? probe->elements_changed.load() : probe->ElementsChanged());
  call.scratch().set_bits(slot::kElement + 3, static_cast<int64_t>(reinterpret_cast<uintptr_t>(&probe->managed)));
  return call.Ok();
}

// An External of nobody's: without the capsule's tag, over an address that must not be read.
napi_value MakeStrangeExternal(Call& call) {
  napi_value external = nullptr;
  const napi_status status =
      napi_create_external(call.env(), reinterpret_cast<void*>(uintptr_t{64}), nullptr, nullptr, &external);
  return status == napi_ok ? external : call.Fail(Fault(FaultCode::kNodeApi, 0, status));
}

void DeleteOnThisThread(void* context) {
  // Leaves the scope at once, and so calls the deleter.
  const ManagedGuard managed(static_cast<ManagedGuard&&>(*static_cast<ManagedGuard*>(context)));
}

// Element: the address of a managed tensor, whose deleter is called on a thread that knows nothing of JavaScript. Where
// the system has no thread, it is not called.
napi_value DeleteOnThread(Call& call) {
  int32_t kind = 0;
  if (Fault fault = call.Int(0, &kind); !fault.ok()) return call.Fail(fault);
  auto* managed = reinterpret_cast<void*>(static_cast<uintptr_t>(call.scratch().bits(slot::kElement)));
  if (managed == nullptr) return call.Fail(FaultCode::kNullAddress);
  ManagedGuard guard(
      managed, kind == static_cast<int32_t>(ManagedKind::kLegacy) ? ManagedKind::kLegacy : ManagedKind::kVersioned);
  const ThreadWork work{DeleteOnThisThread, &guard};
  SystemThread thread;
  if (!thread.Start(&work)) {
    static_cast<void>(guard.Detach());
    return call.Fail(FaultCode::kNoThread);
  }
  thread.Join();
  return call.Ok();
}

}  // namespace

void RegisterProbe(Registration& registration) {
  registration.Function("makeProbe", Entry<MakeProbe, 5>);
  registration.Function("probeState", Entry<ProbeState, 1>);
  registration.Function("makeStrangeExternal", Entry<MakeStrangeExternal, 0>);
  registration.Function("deleteOnThread", Entry<DeleteOnThread, 1>);
}

}  // namespace node_dlpack::binding
