#include "managed_tensor.h"

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "counters.h"
#include "foreign.h"
#include "memory.h"

namespace node_dlpack {

namespace {

// "dlpack", and an odd byte so that it is no address.
constexpr uint64_t kSeal = 0x646c7061636b00c5;

// One allocation: this, then shape and strides. Everything that the deleter believes lies before the struct, where no
// consumer has business.
template <typename Managed>
struct Box {
  Block* block;    // the alias of kind kExport that this box holds
  uint64_t flags;  // those the struct was made with
  uint64_t note;   // TensorView's
  uint64_t
      seal;  // kSeal and the address of the struct: that of a struct copied elsewhere, or of another kind, does not fit
  Managed managed;

  int64_t* dims() { return reinterpret_cast<int64_t*>(this + 1); }
};

template <typename Managed>
uint64_t SealFor(const Managed* managed) {
  return kSeal ^ reinterpret_cast<uintptr_t>(managed) ^ uint64_t { sizeof(Managed) } << 56;
}

template <typename Managed>
Box<Managed>* BoxOf(const Managed* managed) {
  static_assert(std::is_standard_layout_v<Box<Managed>>, "offsetof");
  static_assert(sizeof(Box<Managed>) % alignof(int64_t) == 0, "shape and strides follow");
  static_assert(alignof(Box<Managed>) <= kAllocationAlignment, "plain allocation");
  // Through a number: seen as a pointer to the member alone, nothing lies before it.
  const auto address = reinterpret_cast<uintptr_t>(managed) - offsetof(Box<Managed>, managed);
  return reinterpret_cast<Box<Managed>*>(address);
}

// Ends the box of a struct of ours and returns the alias it held.
template <typename Managed>
BlockRef Open(Managed* managed) {
  Box<Managed>* box = BoxOf(managed);
  BlockRef alias = BlockRef::Attach(box->block, AliasKind::kExport);
  // So that a second call may find it broken. volatile: compilers drop writes to memory that is about to be freed.
  *const_cast<volatile uint64_t*>(&box->seal) = 0;
  FreeBytes(box);
  g_counters.exports.fetch_sub(1, std::memory_order_relaxed);
  return alias;
}

// A consumer that calls our deleter with a copy of the struct loses the memory it was to release, and damages nothing.
template <typename Managed>
void DeleteOwn(Managed* self) {
  if (self != nullptr && BoxOf(self)->seal == SealFor(self)) Open(self).Reset();
}

// The two deleters. Their addresses are how our own structs are known.
extern "C" {
static void DeleteOwnLegacy(DLManagedTensor* self) {
  DeleteOwn(self);
}

static void DeleteOwnVersioned(DLManagedTensorVersioned* self) {
  DeleteOwn(self);
}
}

void Describe(DLManagedTensor* managed, uint64_t) {
  managed->deleter = DeleteOwnLegacy;
}

void Describe(DLManagedTensorVersioned* managed, uint64_t flags) {
  managed->version = DLPackVersion{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed->deleter = DeleteOwnVersioned;
  managed->flags = flags;
}

template <typename Managed>
Fault Make(BlockRef export_alias, const TensorView& view, ManagedKind kind, uint64_t flags, ManagedGuard* out) {
  const Layout& layout = *view.layout;
  const auto ndim = static_cast<size_t>(layout.ndim());
  constexpr size_t kFewDims = 2 * size_t{Layout::kInlineNdim} * sizeof(int64_t);
  const size_t dims = ndim <= Layout::kInlineNdim ? kFewDims : 2 * ndim * sizeof(int64_t);
  const size_t bytes = sizeof(Box<Managed>) + dims;
  // Counted before the struct is written: an atomic step waits until all that was written before it is out, and here
  // that is least (it is a third of the whole).
  g_counters.exports.fetch_add(1, std::memory_order_relaxed);
  void* memory = AllocateBytes(bytes);
  if (memory == nullptr) {
    g_counters.exports.fetch_sub(1, std::memory_order_relaxed);
    return Fault(FaultCode::kOutOfMemory, 0, static_cast<int64_t>(bytes));
  }

  auto* box = new (memory) Box<Managed>;  // every field is written below
  Managed* managed = &box->managed;
  managed->manager_ctx = box;  // for debuggers; never read back
  Describe(managed, flags);
  DLTensor& tensor = managed->dl_tensor;
  tensor.data = layout.empty() ? nullptr : view.origin;
  tensor.byte_offset = layout.empty() ? 0 : view.byte_offset;
  tensor.device = export_alias->device();
  if (view.as_cpu && IsHostReadable(tensor.device.device_type)) tensor.device = DLDevice{kDLCPU, 0};
  tensor.dtype = view.dtype.raw();
  tensor.ndim = layout.ndim();
  tensor.shape = ndim > 0 ? box->dims() : nullptr;
  tensor.strides = ndim > 0 ? box->dims() + ndim : nullptr;
  // Of a constant size where it can be: such a copy is a few instructions, the other one a call.
  if (ndim <= Layout::kInlineNdim) {
    std::memcpy(box->dims(), layout.dims(), kFewDims);
  } else {
    std::memcpy(box->dims(), layout.dims(), dims);
  }
  box->flags = flags;
  box->note = view.note;
  box->seal = SealFor(managed);
  box->block = export_alias.Detach();
  *out = ManagedGuard(managed, kind);
  return Fault();
}

template <typename Managed>
Block* FindBlock(const Managed* managed, void (*own_deleter)(Managed*), uint64_t* made_with_flags, uint64_t* note) {
  if (ReadOnce(managed->deleter) != own_deleter) return nullptr;
  const Box<Managed>* box = BoxOf(managed);
  if (box->seal != SealFor(managed)) return nullptr;
  if (made_with_flags != nullptr) *made_with_flags = box->flags;
  if (note != nullptr) *note = box->note;
  return box->block;
}

}  // namespace

ManagedGuard& ManagedGuard::operator=(ManagedGuard&& other) noexcept {
  if (this == &other) return *this;
  Reset();
  kind_ = other.kind_;
  managed_ = other.Detach();
  return *this;
}

void DeleteManaged(void* managed, ManagedKind kind) {
  if (managed == nullptr) return;
  if (kind == ManagedKind::kLegacy) {
    auto* legacy = static_cast<DLManagedTensor*>(managed);
    if (auto* deleter = ReadOnce(legacy->deleter); deleter != nullptr) deleter(legacy);
  } else {
    auto* versioned = static_cast<DLManagedTensorVersioned*>(managed);
    if (auto* deleter = ReadOnce(versioned->deleter); deleter != nullptr) deleter(versioned);
  }
}

Fault MakeManaged(BlockRef export_alias, const TensorView& view, ManagedKind kind, uint64_t flags, ManagedGuard* out) {
  export_alias.ChangeKind(AliasKind::kExport);
  if (kind == ManagedKind::kLegacy) {
    if (view.dtype.padded()) return Fault(FaultCode::kDTypeBits, view.dtype.code(), view.dtype.bits());
    return Make<DLManagedTensor>(static_cast<BlockRef&&>(export_alias), view, kind, 0, out);
  }
  if (view.dtype.padded()) flags |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  return Make<DLManagedTensorVersioned>(static_cast<BlockRef&&>(export_alias), view, kind, flags, out);
}

Block* BlockOfOwn(const void* managed, ManagedKind kind, uint64_t* made_with_flags, uint64_t* note) {
  if (managed == nullptr) return nullptr;
  if (kind == ManagedKind::kLegacy) {
    return FindBlock(static_cast<const DLManagedTensor*>(managed), DeleteOwnLegacy, made_with_flags, note);
  }
  return FindBlock(static_cast<const DLManagedTensorVersioned*>(managed), DeleteOwnVersioned, made_with_flags, note);
}

BlockRef UnwrapOwn(ManagedGuard managed) {
  if (managed.kind() == ManagedKind::kLegacy) return Open(static_cast<DLManagedTensor*>(managed.Detach()));
  return Open(static_cast<DLManagedTensorVersioned*>(managed.Detach()));
}

}  // namespace node_dlpack
