#include "token_calls.h"

#include "../core/tokens.h"
#include "new_tensor.h"

namespace node_dlpack::binding {

namespace {

// Milliseconds, of which JavaScript has checked that they are a whole number of at least 1.
Fault ReadTtl(const Call& call, int index, int64_t* out) {
  double ttl = 0;
  if (Fault fault = call.Number(index, &ttl); !fault.ok()) return fault;
  // Up to 2^53 - 1, what a number holds exactly.
  if (!(ttl >= 1 && ttl <= static_cast<double>(kMaxExtent))) return Fault(FaultCode::kArgument, index);
  *out = static_cast<int64_t>(ttl);
  return Fault();
}

// Room for more than a token, so that what is too long is seen to be: a character of the text has at most four bytes.
struct TextArgument {
  char text[kTokenLength + 8];
  size_t length = 0;
};

Fault ReadToken(const Call& call, int index, TextArgument* out) {
  if (napi_get_value_string_utf8(call.env(), call.argument(index), out->text, sizeof(out->text), &out->length) !=
      napi_ok) {
    return Fault(FaultCode::kArgument, index);
  }
  return Fault();
}

Fault OfferSlot(const Slot& from, TokenKind kind, int64_t ttl_ms, TokenText* text) {
  const BlockTraits& traits = from.alias->traits();
  if (traits.bound_to_environment) {
    return Fault(FaultCode::kBoundToEnvironment, 0, static_cast<int64_t>(traits.why_not));
  }
  Parcel parcel;
  if (Fault fault = from.layout.CopyTo(&parcel.layout); !fault.ok()) return fault;
  parcel.alias = from.alias.NewAlias(AliasKind::kToken);
  parcel.origin = from.origin;
  parcel.byte_offset = from.byte_offset;
  parcel.dtype = from.dtype;
  parcel.as_cpu = from.as_cpu;
  return OfferToken(kind, static_cast<Parcel&&>(parcel), ttl_ms, text);
}

// The text as a JavaScript string. Where none can be made, nobody will ever know the token.
Fault MakeString(const Call& call, const TokenText& text, napi_value* out) {
  const napi_status status = napi_create_string_latin1(call.env(), text, kTokenLength, out);
  if (status == napi_ok) return Fault();
  static_cast<void>(RevokeToken(text, kTokenLength));
  return Fault(FaultCode::kNodeApi, 0, status);
}

napi_value ShareToken(Call& call) {
  Slot* from = nullptr;
  int64_t ttl_ms = 0;
  TokenText text;
  napi_value token = nullptr;
  if (Fault fault = call.Tensor(0, &from); !fault.ok()) return call.Fail(fault);
  if (Fault fault = ReadTtl(call, 1, &ttl_ms); !fault.ok()) return call.Fail(fault);
  if (Fault fault = OfferSlot(*from, TokenKind::kShared, ttl_ms, &text); !fault.ok()) return call.Fail(fault);
  if (Fault fault = MakeString(call, text, &token); !fault.ok()) return call.Fail(fault);
  return token;
}

napi_value TransferToken(Call& call) {
  Slot* owner = nullptr;
  int64_t ttl_ms = 0;
  TokenText text;
  napi_value token = nullptr;
  if (Fault fault = call.FreeOwner(0, &owner); !fault.ok()) return call.Fail(fault);
  if (Fault fault = ReadTtl(call, 1, &ttl_ms); !fault.ok()) return call.Fail(fault);
  if (owner->windows > 0) return call.Fail(Fault(FaultCode::kInUse, 0, owner->windows));
  if (Fault fault = call.environment.views.CheckNotMovedAway(*owner); !fault.ok()) return call.Fail(fault);
  if (Fault fault = OfferSlot(*owner, TokenKind::kTransfer, ttl_ms, &text); !fault.ok()) return call.Fail(fault);
  if (Fault fault = MakeString(call, text, &token); !fault.ok()) return call.Fail(fault);
  call.environment.ReleaseSlot(owner);
  return token;
}

napi_value Claim(Call& call, TokenKind kind) {
  TextArgument token;
  TokenClaim claim;
  if (Fault fault = ReadToken(call, 0, &token); !fault.ok()) return call.Fail(fault);
  const bool shared = kind == TokenKind::kShared;
  if (Fault fault = claim.Take(token.text, token.length, shared ? Wanted::kShared : Wanted::kTransfer); !fault.ok()) {
    return call.Fail(fault);
  }
  const Parcel& parcel = claim.parcel();
  NewTensor tensor;
  tensor.kind = shared ? SlotKind::kTensor : SlotKind::kOwner;
  if (Fault fault = parcel.layout.CopyTo(&tensor.layout); !fault.ok()) return call.Fail(fault);
  tensor.alias = parcel.alias.NewAlias(AliasKind::kTensor);
  tensor.origin = parcel.origin;
  tensor.byte_offset = parcel.byte_offset;
  tensor.dtype = parcel.dtype;
  tensor.read_only = parcel.read_only;
  tensor.as_cpu = parcel.as_cpu;
  Slot* made = nullptr;
  if (Fault fault = MakeTensorSlot(call.environment, static_cast<NewTensor&&>(tensor), &made); !fault.ok()) {
    return call.Fail(fault);
  }
  // Nothing can fail any more.
  claim.Spend();
  if (!made->alias->IsUnique()) return ReturnSlot(call, *made, 0);
  made->alias->MoveToAccount(call.environment.account());
  return ReturnSlot(call, *made, made->alias->bytes());
}

napi_value ClaimShared(Call& call) {
  return Claim(call, TokenKind::kShared);
}

napi_value ClaimTransfer(Call& call) {
  return Claim(call, TokenKind::kTransfer);
}

napi_value Revoke(Call& call) {
  TextArgument token;
  if (Fault fault = ReadToken(call, 0, &token); !fault.ok()) return call.Fail(fault);
  return call.Answer(RevokeToken(token.text, token.length));
}

}  // namespace

void RegisterTokens(Registration& registration) {
  registration.Function("shareToken", Entry<ShareToken, 2>);
  registration.Function("transferToken", Entry<TransferToken, 2>);
  registration.Function("claimShared", Entry<ClaimShared, 1, Makes::kHandle>);
  registration.Function("claimTransfer", Entry<ClaimTransfer, 1, Makes::kHandle>);
  registration.Function("revokeToken", Entry<Revoke, 1>);
}

}  // namespace node_dlpack::binding
