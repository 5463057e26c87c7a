// The functions of node_dlpack_tokens.h, which the binary exports: tokens without Node, for every language in the
// process. What each of them owes is written there. Their answers are fault codes, which are append-only; since these
// callers have no TypeScript that words an error, the words are in token_errors.cc.
#if defined(_WIN32)
#define NODE_DLPACK_TOKENS_EXPORT __declspec(dllexport)
#else
#define NODE_DLPACK_TOKENS_EXPORT __attribute__((visibility("default")))
#endif

#include <cstring>

#include "foreign.h"
#include "managed_tensor.h"
#include "node_dlpack_tokens.h"
#include "provenance.h"
#include "strided_copy.h"
#include "token_errors.h"
#include "tokens.h"

namespace node_dlpack {

namespace {

static_assert(NODE_DLPACK_ERROR_MEMORY == static_cast<int>(FaultCode::kOutOfMemory));
static_assert(NODE_DLPACK_ERROR_SHARED == static_cast<int>(FaultCode::kNotUnique));
static_assert(NODE_DLPACK_ERROR_NEVER_SOLE == static_cast<int>(FaultCode::kNeverUnique));
static_assert(NODE_DLPACK_ERROR_READ_ONLY == static_cast<int>(FaultCode::kReadOnly));
static_assert(NODE_DLPACK_ERROR_OPAQUE == static_cast<int>(FaultCode::kOpaqueDevice));
static_assert(NODE_DLPACK_ERROR_ARGUMENT == static_cast<int>(FaultCode::kArgument));
static_assert(NODE_DLPACK_ERROR_TOKEN == static_cast<int>(FaultCode::kToken));
static_assert(NODE_DLPACK_ERROR_BOUND == static_cast<int>(FaultCode::kBoundToEnvironment));
static_assert(NODE_DLPACK_ERROR_RANDOM == static_cast<int>(FaultCode::kRandomness));
static_assert(NODE_DLPACK_TOKEN_SHARED == static_cast<unsigned>(TokenKind::kShared));
static_assert(NODE_DLPACK_TOKEN_TRANSFER == static_cast<unsigned>(TokenKind::kTransfer));
static_assert(NODE_DLPACK_KIND_LEGACY == static_cast<unsigned>(ManagedKind::kLegacy));
static_assert(NODE_DLPACK_KIND_VERSIONED == static_cast<unsigned>(ManagedKind::kVersioned));
static_assert(sizeof(TokenText) <= NODE_DLPACK_TOKEN_SIZE);

// Of this thread, for node_dlpack_last_error. Trivial, so that nothing runs when a thread ends.
thread_local Fault t_last_fault;

int Answer(const Fault& fault) {
  if (!fault.ok()) t_last_fault = fault;
  return static_cast<int>(fault.code);
}

// Of a token's text; one longer than any token can be, when it is that long.
size_t LengthOf(const char* token) {
  const void* end = std::memchr(token, '\0', kTokenLength + 1);
  return end == nullptr ? kTokenLength + 1 : static_cast<size_t>(static_cast<const char*>(end) - token);
}

// --- out -------------------------------------------------------------------------------------------------------------

// `alias`, of any kind, is consumed.
Fault MakeStruct(BlockRef alias, const Parcel& parcel, ManagedKind kind, uint64_t flags, ManagedGuard* out) {
  TensorView view;
  view.origin = parcel.origin;
  view.layout = &parcel.layout;
  view.dtype = parcel.dtype;
  view.byte_offset = parcel.byte_offset;
  view.as_cpu = parcel.as_cpu;
  return MakeManaged(static_cast<BlockRef&&>(alias), view, kind, flags, out);
}

Fault Claim(const char* token, ManagedKind kind, void** out) {
  if (out == nullptr) return FaultCode::kArgument;
  *out = nullptr;
  if (token == nullptr) return FaultCode::kArgument;
  SweepExpiredTokens();
  TokenClaim claim;
  const Wanted wanted = kind == ManagedKind::kLegacy ? Wanted::kWritable : Wanted::kAny;
  Fault taken = claim.Take(token, LengthOf(token), wanted);
  if (taken.code == FaultCode::kToken && taken.value != 0) return FaultCode::kReadOnly;
  if (!taken.ok()) return taken;
  const Parcel& parcel = claim.parcel();
  const bool sole = claim.kind() == TokenKind::kTransfer;
  const bool read_only = !sole && parcel.read_only;
  const uint64_t flags = sole ? DLPACK_FLAG_BITMASK_IS_COPIED : read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  ManagedGuard managed;
  if (Fault fault = MakeStruct(parcel.alias.NewAlias(AliasKind::kExport), parcel, kind, flags, &managed); !fault.ok()) {
    return fault;
  }
  claim.Spend();
  *out = managed.Detach();
  return Fault();
}

// --- in --------------------------------------------------------------------------------------------------------------

// The elements, row-major, in memory of their own, which replaces what the parcel held. Nobody's account: it will be
// that of whoever claims them.
Fault CopyInto(const CheckedTensor& checked, Parcel* out) {
  const Layout& layout = checked.layout();
  const DType dtype = checked.dtype();
  BlockRef fresh;
  if (Fault fault = Layout::RowMajor(layout.shape(), layout.ndim(), dtype, &out->layout); !fault.ok()) return fault;
  const auto bytes = static_cast<size_t>(out->layout.compact_bytes(dtype));
  // Zeroed: the last bits of packed elements may stay unwritten, and nothing accidental is handed out.
  if (Fault fault = Block::Allocate(bytes, nullptr, AliasKind::kTensor, &fresh); !fault.ok()) return fault;
  fresh->set_made_by_copy();
  if (!layout.empty()) StridedCopy(fresh->data(), out->layout, checked.origin(), layout, dtype);
  out->origin = fresh->data();
  out->byte_offset = 0;
  out->dtype = dtype;
  out->read_only = true;
  out->as_cpu = false;
  out->alias = static_cast<BlockRef&&>(fresh);
  return Fault();
}

void TakeOver(CheckedTensor* checked, Parcel* out) {
  out->origin = checked->origin();
  out->byte_offset = checked->byte_offset();
  out->dtype = checked->dtype();
  out->layout = checked->TakeLayout();
}

// The elements by another name: the same bits at the same places.
Fault Relabel(const DLDataType* dtype, Parcel* out) {
  if (dtype == nullptr) return Fault();
  DType other;
  if (Fault fault = DType::Check(*dtype, out->dtype.padded(), &other); !fault.ok()) return fault;
  if (other.bits() != out->dtype.bits() || other.alignment() != out->dtype.alignment()) {
    return Fault(FaultCode::kDTypeBits, other.code(), other.bits());
  }
  out->dtype = other;
  return Fault();
}

// A struct becomes what a token stands for. Consumed on every path. sole: does it hand over memory that nobody else
// has, and that may be written?
Fault Receive(ManagedGuard managed, Parcel* out, Fault* sole) {
  CheckedTensor checked;
  if (Fault fault = CheckedTensor::Check(managed.get(), managed.kind(), &checked); !fault.ok()) return fault;
  uint64_t flags = checked.flags();
  const Block* own = BlockOfOwn(managed.get(), managed.kind(), &flags);
  const bool writable = checked.host_readable() && !checked.layout().MayOverlap();
  *sole = IsSoleCopy(checked.versioned(), flags) && writable ? Fault() : FaultCode::kNeverUnique;
  if (own != nullptr) {
    if (Fault fault = CheckAgainst(*own, checked); !fault.ok()) return fault;
    if (own->traits().bound_to_environment) return FaultCode::kBoundToEnvironment;
    out->read_only = IsOwnReadOnly(*own, checked.versioned(), flags);
    out->as_cpu = checked.host_readable() && checked.device().device_type != own->device().device_type;
    out->alias = UnwrapOwn(static_cast<ManagedGuard&&>(managed));
    out->alias.ChangeKind(AliasKind::kTensor);
    // What our own struct said when it was made is believed only as far as the counts bear it out.
    if (sole->ok() && !out->alias->IsUnique()) *sole = FaultCode::kNotUnique;
  }
  if (checked.misaligned()) return CopyInto(checked, out);
  if (own == nullptr) {
    out->read_only = !IsWritableLoan(checked.versioned(), flags);
    const ManagedKind kind = managed.kind();
    Fault fault = Block::AdoptManaged(managed.Detach(), kind, checked.lowest(), checked.span_bytes(), checked.device(),
                                      ForeignTraits(checked), nullptr, AliasKind::kTensor, &out->alias);
    if (!fault.ok()) return fault;
  }
  TakeOver(&checked, out);
  return Fault();
}

struct OfferOptions {
  uint32_t token_kind;
  int64_t ttl_ms;
  const DLDataType* dtype = nullptr;
};

Fault Offer(ManagedGuard managed, const OfferOptions& options, char* token) {
  if (token == nullptr) return FaultCode::kArgument;
  *token = '\0';
  if (options.ttl_ms < 0 || managed.get() == nullptr) return FaultCode::kArgument;
  const bool transfer = options.token_kind == NODE_DLPACK_TOKEN_TRANSFER;
  if (!transfer && options.token_kind != NODE_DLPACK_TOKEN_SHARED) return FaultCode::kArgument;
  SweepExpiredTokens();
  Parcel parcel;
  Fault sole;
  if (Fault fault = Receive(static_cast<ManagedGuard&&>(managed), &parcel, &sole); !fault.ok()) return fault;
  if (transfer && !sole.ok()) return sole;
  if (Fault fault = Relabel(options.dtype, &parcel); !fault.ok()) return fault;
  const int64_t ttl_ms = options.ttl_ms == 0 ? NODE_DLPACK_TOKEN_TTL : options.ttl_ms;
  TokenText text;
  Fault fault =
      OfferToken(transfer ? TokenKind::kTransfer : TokenKind::kShared, static_cast<Parcel&&>(parcel), ttl_ms, &text);
  if (fault.ok()) std::memcpy(token, text, sizeof(text));
  return fault;
}

// --- one more of our own ---------------------------------------------------------------------------------------------

Fault Export(const DLManagedTensorVersioned* held, uint32_t kind_number, int copy, void** out) {
  if (out == nullptr) return FaultCode::kArgument;
  *out = nullptr;
  if (kind_number != NODE_DLPACK_KIND_LEGACY && kind_number != NODE_DLPACK_KIND_VERSIONED) return FaultCode::kArgument;
  const auto kind = static_cast<ManagedKind>(kind_number);
  const bool legacy = kind == ManagedKind::kLegacy;
  uint64_t flags = 0;
  Block* block = BlockOfOwn(held, ManagedKind::kVersioned, &flags);
  if (block == nullptr) return FaultCode::kArgument;
  SweepExpiredTokens();
  CheckedTensor checked;
  if (Fault fault = CheckedTensor::Check(held, ManagedKind::kVersioned, &checked); !fault.ok()) return fault;
  if (Fault fault = CheckAgainst(*block, checked); !fault.ok()) return fault;

  const bool sole = IsSoleCopy(true, flags);
  const bool read_only = !sole && !IsWritableLoan(true, flags);
  if (legacy && read_only && copy == NODE_DLPACK_COPY_FALSE) return FaultCode::kReadOnly;
  const bool must_copy = !sole && (copy == NODE_DLPACK_COPY_TRUE || (legacy && read_only));
  Parcel parcel;
  ManagedGuard managed;
  if (must_copy) {
    if (!checked.host_readable()) return FaultCode::kOpaqueDevice;
    if (Fault fault = CopyInto(checked, &parcel); !fault.ok()) return fault;
    flags = DLPACK_FLAG_BITMASK_IS_COPIED;
  } else {
    // From held's own alias, which stays where it is.
    BlockRef alias_of_held = BlockRef::Attach(block, AliasKind::kExport);
    parcel.alias = alias_of_held.NewAlias(AliasKind::kExport);
    static_cast<void>(alias_of_held.Detach());
    parcel.as_cpu = checked.host_readable() && checked.device().device_type != block->device().device_type;
    TakeOver(&checked, &parcel);
    if (sole && copy == NODE_DLPACK_COPY_FALSE) flags = 0;
  }
  Fault fault = MakeStruct(static_cast<BlockRef&&>(parcel.alias), parcel, kind, flags, &managed);
  if (fault.ok()) *out = managed.Detach();
  return fault;
}

}  // namespace

}  // namespace node_dlpack

// At the top level: what the header says of a function (its visibility) holds for its declaration there alone.
using namespace node_dlpack;

uint32_t node_dlpack_tokens_version(void) {
  return NODE_DLPACK_TOKENS_VERSION;
}

const char* node_dlpack_error(int code) {
  return TokenErrorText(static_cast<FaultCode>(code));
}

const char* node_dlpack_last_error(void) {
  // As trivial as the fault.
  static thread_local char t_text[256];
  WordTokenFault(t_last_fault, t_text, sizeof(t_text));
  return t_text;
}

int node_dlpack_claim(const char* token, DLManagedTensorVersioned** out) {
  void* managed = nullptr;
  const int answer = Answer(Claim(token, ManagedKind::kVersioned, out == nullptr ? nullptr : &managed));
  if (out != nullptr) *out = static_cast<DLManagedTensorVersioned*>(managed);
  return answer;
}

int node_dlpack_claim_legacy(const char* token, DLManagedTensor** out) {
  void* managed = nullptr;
  const int answer = Answer(Claim(token, ManagedKind::kLegacy, out == nullptr ? nullptr : &managed));
  if (out != nullptr) *out = static_cast<DLManagedTensor*>(managed);
  return answer;
}

int node_dlpack_offer(DLManagedTensorVersioned* managed, uint32_t token_kind, int64_t ttl_ms, char* token) {
  return Answer(Offer(ManagedGuard(managed, ManagedKind::kVersioned), OfferOptions{token_kind, ttl_ms}, token));
}

int node_dlpack_offer_legacy(DLManagedTensor* managed, int64_t ttl_ms, char* token) {
  return Answer(
      Offer(ManagedGuard(managed, ManagedKind::kLegacy), OfferOptions{NODE_DLPACK_TOKEN_SHARED, ttl_ms}, token));
}

int node_dlpack_offer_as(void* managed, uint32_t kind, DLDataType dtype, uint32_t token_kind, int64_t ttl_ms,
                         char* token) {
  // Without its kind nobody knows where the deleter is: the struct stays the caller's.
  if (kind != NODE_DLPACK_KIND_LEGACY && kind != NODE_DLPACK_KIND_VERSIONED) return Answer(FaultCode::kArgument);
  return Answer(
      Offer(ManagedGuard(managed, static_cast<ManagedKind>(kind)), OfferOptions{token_kind, ttl_ms, &dtype}, token));
}

int node_dlpack_revoke(const char* token) {
  if (token == nullptr) return Answer(FaultCode::kArgument);
  SweepExpiredTokens();
  return Answer(RevokeToken(token, LengthOf(token)));
}

int node_dlpack_export(const DLManagedTensorVersioned* held, uint32_t kind, int copy, void** out) {
  return Answer(Export(held, kind, copy, out));
}
