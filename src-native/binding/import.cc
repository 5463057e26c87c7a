#include "import.h"

#include "../core/foreign.h"
#include "../core/managed_tensor.h"
#include "../core/provenance.h"
#include "capsule.h"
#include "host_access.h"
#include "new_tensor.h"

// Plain C Node-API throughout: this is the hand-off path.

namespace node_dlpack::binding {

namespace {

// Whatever keeps the source alive while it is copied: the struct, or the alias that a struct of ours stood for.
struct Source {
  ManagedGuard managed;
  BlockRef alias;
  // Of a struct of ours, which its deleter tells, read once: its block, and what it was made with and from.
  const Block* own = nullptr;
  uint64_t made_with_flags = 0;
  uint64_t made_from = 0;
};

void Describe(CheckedTensor* checked, NewTensor* out) {
  out->origin = checked->origin();
  out->byte_offset = checked->byte_offset();
  out->dtype = checked->dtype();
  out->layout = checked->TakeLayout();
}

// A struct of ours came back: its alias is the new tensor's.
void Unwrap(BlockRef alias, CheckedTensor* checked, uint64_t made_with_flags, NewTensor* out) {
  out->alias = static_cast<BlockRef&&>(alias);
  const Block& block = *out->alias.get();
  out->as_cpu = checked->host_readable() && checked->device().device_type != block.device().device_type;
  out->read_only = IsOwnReadOnly(block, checked->versioned(), made_with_flags);
  Describe(checked, out);
}

Fault Adopt(Environment& environment, ManagedGuard managed, CheckedTensor* checked, NewTensor* out) {
  const ManagedKind kind = managed.kind();
  // Memory of another device is none of the engine's: reporting it would provoke collections that free nothing here.
  Account* account = checked->host_readable() ? environment.account() : nullptr;
  Fault fault = Block::AdoptManaged(managed.Detach(), kind, checked->lowest(), checked->span_bytes(), checked->device(),
                                    ForeignTraits(*checked), account, AliasKind::kTensor, &out->alias);
  if (!fault.ok()) return fault;
  out->new_memory = true;
  out->read_only = !IsWritableLoan(checked->versioned(), checked->flags());
  Describe(checked, out);
  return Fault();
}

// From the taken struct to what the new tensor is made of. Whatever is left in *source is not needed any more. *copied:
// why the bytes were copied, or 0.
Fault Import(Environment& environment, ImportMode mode, Source* source, NewTensor* out, int32_t* copied) {
  CheckedTensor checked;
  Fault fault = CheckedTensor::Check(source->managed.get(), source->managed.kind(), &checked);
  if (!fault.ok()) return fault;
  const Block* own = source->own;
  const uint64_t flags = own != nullptr ? source->made_with_flags : checked.flags();
  if (own != nullptr) {
    fault = CheckAgainst(*own, checked);
    if (!fault.ok()) return fault;
    source->alias = UnwrapOwn(static_cast<ManagedGuard&&>(source->managed));
    source->alias.ChangeKind(AliasKind::kTensor);
  }

  bool copy = checked.misaligned();
  if (mode == ImportMode::kOwned) {
    if (!checked.host_readable()) {
      return Fault(FaultCode::kOpaqueDevice, checked.device().device_id, checked.device().device_type);
    }
    out->kind = SlotKind::kOwner;
    copy = copy || !IsSoleCopy(checked.versioned(), flags) || checked.layout().MayOverlap();
    // What our own struct said when it was made is believed only as far as the counts bear it out.
    if (own != nullptr) copy = copy || !own->traits().may_be_unique || !own->IsUnique();
  } else if (copy && mode == ImportMode::kNoCopy) {
    return Fault(FaultCode::kCopyRefused, static_cast<int32_t>(checked.misalignment()),
                 static_cast<int64_t>(CopyReason::kMisaligned), checked.dtype().alignment());
  }
  if (copy) {
    *copied = static_cast<int32_t>(checked.misaligned() ? CopyReason::kMisaligned : CopyReason::kNotCopied);
    return CopyFresh(environment, checked.origin(), checked.layout(), checked.dtype(), out);
  }
  if (own == nullptr) return Adopt(environment, static_cast<ManagedGuard&&>(source->managed), &checked, out);
  Unwrap(static_cast<BlockRef&&>(source->alias), &checked, flags, out);
  return Fault();
}

// A tensor over the memory of `from`, with its layout; the alias and what it says of writing are the caller's to give.
[[gnu::always_inline]] inline Fault MakeLike(Environment& environment, const Slot& from, Slot** out) {
  // Same layout, same block, so nothing has to be computed again.
  Slot* made = nullptr;
  if (Fault fault = environment.handles.Make(SlotKind::kTensor, &made); !fault.ok()) return fault;
  if (Fault fault = from.layout.CopyTo(&made->layout); !fault.ok()) {
    environment.handles.Free(made);
    return fault;
  }
  made->origin = from.origin;
  made->byte_offset = from.byte_offset;
  made->dtype = from.dtype;
  made->as_cpu = from.as_cpu;
  made->flags = from.flags & ~tensor_flag::kLoan;
  *out = made;
  return Fault();
}

// Does the struct describe exactly what the tensor is? Plain memory with elements; where it is not, no is good enough.
bool Describes(const DLTensor& tensor, const Slot& slot) {
  const Layout& layout = slot.layout;
  const DLDevice device = slot.alias->device();
  const DLDataType dtype = slot.dtype.raw();
  const int32_t ndim = layout.ndim();
  if (slot.origin == nullptr || slot.as_cpu || slot.has(tensor_flag::kOpaque) || slot.dtype.sub_byte()) return false;
  if (tensor.data != slot.origin || tensor.byte_offset != 0 || tensor.ndim != ndim) return false;
  if (tensor.device.device_type != device.device_type || tensor.device.device_id != device.device_id) return false;
  if (tensor.dtype.code != dtype.code || tensor.dtype.bits != dtype.bits || tensor.dtype.lanes != 1) return false;
  const int64_t* shape = ReadOnce(tensor.shape);
  const int64_t* strides = ReadOnce(tensor.strides);
  if (ndim > 0 && (shape == nullptr || strides == nullptr)) return false;
  for (int32_t axis = 0; axis < ndim; ++axis) {
    if (shape[axis] != layout.shape()[axis] || strides[axis] != layout.strides()[axis]) return false;
  }
  return true;
}

// The tensor that a struct was made from, if both are as they were: the way from our own __dlpack__ to our own
// fromDLPack. What the long way would find out about the struct is known of that tensor, whose handle the struct has
// kept where no consumer writes. nullptr: the long way. (Nothing is taken from the struct, it is only compared, so it
// may change meanwhile. A handle of another thread's may be that of a tensor here: over the same memory and with the
// same layout it is as good.)
const Slot* MadeFrom(const Environment& environment, const Source& source) {
  if (source.own == nullptr || source.managed.kind() != ManagedKind::kVersioned) return nullptr;
  if (source.own->loan() != Block::Loan::kNone) return nullptr;
  const Slot* slot = environment.handles.Find(static_cast<double>(source.made_from));
  if (slot == nullptr || !slot->is_tensor() || slot->alias.get() != source.own) return nullptr;
  const auto& versioned = *static_cast<const DLManagedTensorVersioned*>(source.managed.get());
  if (versioned.version.major != DLPACK_MAJOR_VERSION) return nullptr;
  return Describes(versioned.dl_tensor, *slot) ? slot : nullptr;
}

double ImportLike(Call& call, const Slot& from, ManagedGuard managed) {
  Slot* made = nullptr;
  const Fault fault = MakeLike(call.environment, from, &made);
  if (!fault.ok()) {
    managed.Reset();
    return call.Failed(fault);
  }
  made->alias = UnwrapOwn(static_cast<ManagedGuard&&>(managed));
  made->alias.ChangeKind(AliasKind::kTensor);
  made->flags |= tensor_flag::kReadOnly;
  call.scratch().set_number(slot::kFaultIndex, 0);
  return PublishSlot(call, *made, 0);
}

// mode: of ImportMode, checked.
double TakeAndImport(Call& call, ImportMode mode) {
  Source source;
  if (Fault fault = TakeCapsule(call.env(), call.argument(0), &source.managed); !fault.ok()) return call.Failed(fault);
  source.own = BlockOfOwn(source.managed.get(), source.managed.kind(), &source.made_with_flags, &source.made_from);
  if (mode != ImportMode::kOwned) {
    const Slot* from = MadeFrom(call.environment, source);
    if (from != nullptr) return ImportLike(call, *from, static_cast<ManagedGuard&&>(source.managed));
  }
  NewTensor tensor;
  int32_t copied = 0;
  const Fault fault = Import(call.environment, mode, &source, &tensor, &copied);
  // At once: the producer's memory is not needed any more. And before anything is answered: a deleter may be anything,
  // code that calls this library again included, and the scratch memory must be this call's when it ends.
  source.managed.Reset();
  source.alias.Reset();
  if (!fault.ok()) return call.Failed(fault);
  call.scratch().set_number(slot::kFaultIndex, copied);  // for the diagnostics: read after a success
  return PublishNewTensor(call, static_cast<NewTensor&&>(tensor));
}

double ImportHot(Call& call, double mode, napi_value*) {
  for (const ImportMode known : {ImportMode::kAny, ImportMode::kOwned, ImportMode::kNoCopy}) {
    if (mode == static_cast<double>(known)) return TakeAndImport(call, known);
  }
  return call.Failed(Fault(FaultCode::kArgument, 1));
}

napi_value ImportCapsule(Call& call) {
  ImportMode mode = ImportMode::kAny;
  if (Fault fault = call.Choice(1, ImportMode::kNoCopy, &mode); !fault.ok()) return call.Fail(fault);
  return call.Double(TakeAndImport(call, mode));
}

// The exchange of our own tensor as exportTensor (versioned) and importCapsule would do it. The metadata is written
// only where the flags differ: it is that of the tensor otherwise.
double ShareHandle(Call& call, double handle, napi_value*) {
  Slot* from = nullptr;
  if (Fault fault = call.TensorOf(handle, 0, &from); !fault.ok()) return call.Failed(fault);
  Slot* made = nullptr;
  if (Fault fault = MakeLike(call.environment, *from, &made); !fault.ok()) return call.Failed(fault);
  made->alias = from->alias.NewAlias(AliasKind::kTensor);
  const Block::Loan loan = made->alias->loan();
  if (loan != Block::Loan::kWritable) made->flags |= tensor_flag::kReadOnly;
  if (loan != Block::Loan::kNone) call.environment.loans.OnNewHandle(*made);
  if (made->flags == from->flags) {
    call.scratch().set_number(slot::kFlags, made->flags);
    return PublishHandle(call, *made, 0);
  }
  return PublishSlot(call, *made, 0);
}

napi_value ImportTensor(Call& call) {
  double handle = 0;
  Slot* from = nullptr;
  ImportMode mode = ImportMode::kAny;
  if (Fault fault = call.Tensor(0, &from); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Choice(1, ImportMode::kNoCopy, &mode); !fault.ok()) return call.Fail(fault);
  if (mode != ImportMode::kOwned) {
    handle = ShareHandle(call, Handles::HandleOf(*from), nullptr);
    if (handle > 0) WriteMetadata(call.scratch(), *call.environment.handles.Find(handle));
    return call.Double(handle);
  }
  if (Fault fault = CheckReadable(*from); !fault.ok()) return call.Fail(fault);
  NewTensor fresh;
  if (Fault fault = CopyFresh(call.environment, from->origin, from->layout, from->dtype, &fresh); !fault.ok())
    return call.Fail(fault);
  fresh.kind = SlotKind::kOwner;
  return ReturnNewTensor(call, static_cast<NewTensor&&>(fresh));
}

}  // namespace

void RegisterImport(Registration& registration) {
  registration.Function("importCapsule", Entry<ImportCapsule, 2, Makes::kHandle>);
  registration.Function("importTensor", Entry<ImportTensor, 2, Makes::kHandle>);
  registration.Function("importHot", Hot<ImportHot, 1, Makes::kHandle>);
  registration.Function("shareHot", Hot<ShareHandle, 0, Makes::kHandle>);
}

}  // namespace node_dlpack::binding
