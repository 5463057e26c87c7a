// Tokens: offers, claims that are carried out or given up, revocations and texts of any kind, in any order, against a
// list of what is out. The text is the one thing in the core that is parsed.
#include "tokens.h"

#include <cstring>
#include <utility>

#include "counters.h"
#include "input.h"

using namespace node_dlpack;

namespace {

constexpr int kMost = 8;
constexpr int64_t kAnHour = 3600000;

struct Out {
  TokenText text = {};
  TokenKind kind = TokenKind::kShared;
  bool read_only = true;
  bool is_out = false;
};

bool IsWanted(const Out& token, Wanted wanted) {
  switch (wanted) {
    case Wanted::kShared:
      return token.kind == TokenKind::kShared;
    case Wanted::kTransfer:
      return token.kind == TokenKind::kTransfer;
    case Wanted::kWritable:
      return token.kind == TokenKind::kTransfer || !token.read_only;
    default:
      return true;
  }
}

void Offer(fuzz::Input* input, const BlockRef& block, Out* token) {
  if (token->is_out) return;
  token->kind = input->Bool() ? TokenKind::kTransfer : TokenKind::kShared;
  token->read_only = input->Bool();
  Parcel parcel;
  parcel.alias = block.NewAlias(AliasKind::kTensor);
  parcel.origin = block->data();
  parcel.layout = support::Make({2, 3}, support::Float32());
  parcel.dtype = support::Float32();
  parcel.read_only = token->read_only;
  const uint8_t how = input->Any<uint8_t>() % 4;
  const int64_t ttl = how == 0 ? INT64_MAX : how == 1 ? INT64_MAX / 1000000 : how == 2 ? 0 : kAnHour;
  CHECK_OK(OfferToken(token->kind, std::move(parcel), ttl, &token->text));
  CHECK_EQUAL(std::strlen(token->text), static_cast<size_t>(kTokenLength));
  token->is_out = ttl != 0;
}

void Claim(fuzz::Input* input, Out* token) {
  const auto wanted = static_cast<Wanted>(input->Any<uint8_t>() % 4);
  const bool spend = input->Bool();
  TokenClaim claim;
  const Fault fault = claim.Take(token->text, std::strlen(token->text), wanted);
  CHECK_EQUAL(fault.ok(), token->is_out && IsWanted(*token, wanted));
  if (!fault.ok()) {
    CHECK_EQUAL(fault.code, FaultCode::kToken);
    CHECK_EQUAL(fault.value, token->is_out ? static_cast<int64_t>(token->kind) : 0);
    return;
  }
  CHECK_EQUAL(claim.kind(), token->kind);
  CHECK_EQUAL(claim.parcel().layout.size(), 6);
  // Nobody else can have it meanwhile.
  TokenClaim second;
  CHECK(!second.Take(token->text, std::strlen(token->text), Wanted::kAny).ok());
  if (!spend) return;
  claim.Spend();
  token->is_out = false;
}

// One bit of a good text turned around, or any bytes at all: never a token.
void Mangled(fuzz::Input* input, const Out& token) {
  char text[96];
  size_t length = 0;
  if (input->Bool()) {
    length = std::strlen(token.text);
    std::memcpy(text, token.text, length);
    if (length == 0) return;
    text[input->Any<uint8_t>() % length] ^= static_cast<char>(1 << input->Between(0, 7));
  } else {
    length = static_cast<size_t>(input->Between(0, 95));
    for (size_t i = 0; i < length; ++i) text[i] = input->Any<char>();
    if (input->Bool() && length >= 7) std::memcpy(text, "dlpack-", 7);
  }
  TokenClaim claim;
  CHECK_EQUAL(claim.Take(text, length, Wanted::kAny).code, FaultCode::kToken);
  CHECK_EQUAL(RevokeToken(text, length).code, FaultCode::kToken);
}

}  // namespace

void RunOne(fuzz::Input* input) {
  BlockRef block;
  CHECK_OK(Block::Allocate(24, nullptr, AliasKind::kTensor, &block));
  Out tokens[kMost];
  while (!input->done()) {
    const uint8_t what = input->Any<uint8_t>();
    Out* token = &tokens[what % kMost];
    switch (what / kMost % 5) {
      case 0:
        Offer(input, block, token);
        break;
      case 1:
        Claim(input, token);
        break;
      case 2:
        CHECK_EQUAL(RevokeToken(token->text, std::strlen(token->text)).ok(), token->is_out);
        token->is_out = false;
        break;
      case 3:
        Mangled(input, *token);
        break;
      default:
        SweepExpiredTokens();
    }
    int64_t out = 0;
    for (const Out& each : tokens) out += each.is_out ? 1 : 0;
    SweepTokens();
    CHECK_EQUAL(g_counters.tokens.load(), out);
    CHECK_EQUAL(block->Aliases().tokens, out);
  }
  for (const Out& token : tokens) {
    if (token.is_out) CHECK_OK(RevokeToken(token.text, std::strlen(token.text)));
  }
  CHECK(block->IsUnique());
}
