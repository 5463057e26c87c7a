#include "tokens.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <utility>
#include <vector>

#include "account.h"
#include "counters.h"
#include "harness.h"
#include "memory.h"
#include "random.h"
#include "support.h"

using namespace node_dlpack;
using support::Float32;

namespace {

constexpr int64_t kLong = 60000;

BlockRef Allocate(size_t bytes, Account* account = nullptr) {
  BlockRef block;
  CHECK_OK(Block::Allocate(bytes, account, AliasKind::kTensor, &block));
  return block;
}

Parcel ParcelOf(const BlockRef& block) {
  Parcel parcel;
  parcel.alias = block.NewAlias(AliasKind::kTensor);
  parcel.origin = block->data();
  parcel.layout = support::Make({2, 3}, Float32());
  parcel.dtype = Float32();
  return parcel;
}

struct Token {
  TokenText text = {};
  size_t length() const { return std::strlen(text); }
};

Token Offer(const BlockRef& block, TokenKind kind = TokenKind::kShared, int64_t ttl_ms = kLong) {
  Token token;
  CHECK_OK(OfferToken(kind, ParcelOf(block), ttl_ms, &token.text));
  return token;
}

Fault ClaimAndSpend(const Token& token, Wanted wanted = Wanted::kAny) {
  TokenClaim claim;
  Fault fault = claim.Take(token.text, token.length(), wanted);
  if (fault.ok()) claim.Spend();
  return fault;
}

void Sleep(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

bool NoneIsOut() {
  return g_first_token_expiry.load() == INT64_MAX && g_counters.tokens == 0;
}

}  // namespace

TEST("a token is a prefix and 32 hexadecimal digits") {
  const BlockRef block = Allocate(24);
  const Token token = Offer(block);
  CHECK_EQUAL(token.length(), static_cast<size_t>(kTokenLength));
  CHECK(std::strncmp(token.text, "dlpack-", 7) == 0);
  CHECK_EQUAL(std::strspn(token.text + 7, "0123456789abcdef"), size_t{32});
  CHECK_OK(RevokeToken(token.text, token.length()));
}

TEST("two tokens are never the same") {
  const BlockRef block = Allocate(24);
  std::vector<Token> tokens;
  tokens.reserve(200);
  for (int i = 0; i < 200; ++i) tokens.push_back(Offer(block));
  for (size_t i = 0; i < tokens.size(); ++i) {
    for (size_t j = 0; j < i; ++j) CHECK(std::strcmp(tokens[i].text, tokens[j].text) != 0);
  }
  for (const Token& token : tokens) CHECK_OK(RevokeToken(token.text, token.length()));
  CHECK(NoneIsOut());
}

TEST("a token is one alias of its block, counted as a token, until it is claimed") {
  const BlockRef block = Allocate(24);
  const Token token = Offer(block);
  CHECK_EQUAL(block->Aliases().tensors, 1);
  CHECK_EQUAL(block->Aliases().tokens, 1);
  CHECK_EQUAL(block->Aliases().exports, 0);
  CHECK_EQUAL(g_counters.tokens.load(), 1);
  CHECK(!block->IsUnique());
  CHECK_OK(ClaimAndSpend(token));
  CHECK(block->IsUnique());
  CHECK(NoneIsOut());
}

TEST("a claim gives out everything that was offered") {
  const BlockRef block = Allocate(64);
  Parcel parcel;
  parcel.alias = block.NewAlias(AliasKind::kTensor);
  parcel.origin = block->data() + 8;
  parcel.byte_offset = 3;
  parcel.layout = support::Make({2, 1, 2, 1, 3}, {6, 9, 3, 9, -1}, Float32());
  parcel.dtype = Float32();
  parcel.read_only = false;
  parcel.as_cpu = true;
  Token token;
  CHECK_OK(OfferToken(TokenKind::kTransfer, std::move(parcel), kLong, &token.text));
  TokenClaim claim;
  CHECK_OK(claim.Take(token.text, token.length(), Wanted::kTransfer));
  CHECK(claim.kind() == TokenKind::kTransfer);
  const Parcel& got = claim.parcel();
  CHECK(got.alias.get() == block.get());
  CHECK(got.alias.kind() == AliasKind::kToken);
  CHECK(got.origin == block->data() + 8);
  CHECK_EQUAL(got.byte_offset, uint64_t{3});
  CHECK(support::SameLayout(got.layout, support::Make({2, 1, 2, 1, 3}, {6, 9, 3, 9, -1}, Float32())));
  CHECK(got.dtype == Float32());
  CHECK(!got.read_only);
  CHECK(got.as_cpu);
  claim.Spend();
}

TEST("a token keeps the memory when nothing else does") {
  Token token;
  {
    const BlockRef block = Allocate(24);
    block->data()[5] = 77;
    token = Offer(block);
  }
  CHECK_EQUAL(g_counters.blocks.load(), 1);
  TokenClaim claim;
  CHECK_OK(claim.Take(token.text, token.length(), Wanted::kShared));
  CHECK_EQUAL(claim.parcel().alias->data()[5], 77);
  claim.Spend();
  CHECK_EQUAL(g_counters.blocks.load(), 0);
}

TEST("a token is good for one claim") {
  const BlockRef block = Allocate(24);
  const Token token = Offer(block);
  CHECK_OK(ClaimAndSpend(token));
  CHECK_FAULT(ClaimAndSpend(token), kToken, 0, 0, 0);
  CHECK_FAULT(RevokeToken(token.text, token.length()), kToken, 0, 0, 0);
}

TEST("while one claimant holds a token nobody else can have it; not spent, it is there again") {
  const BlockRef block = Allocate(24);
  const Token token = Offer(block);
  {
    TokenClaim first;
    CHECK_OK(first.Take(token.text, token.length(), Wanted::kAny));
    CHECK_EQUAL(ClaimAndSpend(token).code, FaultCode::kToken);
    CHECK_EQUAL(block->Aliases().tokens, 1);
  }
  CHECK_OK(ClaimAndSpend(token));
  CHECK(NoneIsOut());
}

TEST("a claim of something else than the token is says what it is and leaves it") {
  const BlockRef block = Allocate(24);
  const Token shared = Offer(block);
  const Token transfer = Offer(block, TokenKind::kTransfer);
  CHECK_FAULT(ClaimAndSpend(shared, Wanted::kTransfer), kToken, 0, 1, 0);
  CHECK_FAULT(ClaimAndSpend(shared, Wanted::kWritable), kToken, 0, 1, 0);
  CHECK_FAULT(ClaimAndSpend(transfer, Wanted::kShared), kToken, 0, 2, 0);
  CHECK_EQUAL(block->Aliases().tokens, 2);
  CHECK_OK(ClaimAndSpend(shared, Wanted::kShared));
  CHECK_OK(ClaimAndSpend(transfer, Wanted::kWritable));
  Parcel loan = ParcelOf(block);
  loan.read_only = false;
  Token writable;
  CHECK_OK(OfferToken(TokenKind::kShared, std::move(loan), kLong, &writable.text));
  CHECK_OK(ClaimAndSpend(writable, Wanted::kWritable));
}

TEST("text that is no token, or was guessed, claims nothing") {
  const BlockRef block = Allocate(24);
  const Token token = Offer(block);
  const auto refused = [](const char* text, size_t length) {
    TokenClaim claim;
    CHECK_FAULT(claim.Take(text, length, Wanted::kAny), kToken, 0, 0, 0);
    CHECK_EQUAL(RevokeToken(text, length).code, FaultCode::kToken);
  };
  refused("", 0);
  refused("dlpack-", 7);
  refused(token.text, token.length() - 1);
  Token changed = token;
  changed.text[kTokenLength - 1] = changed.text[kTokenLength - 1] == '0' ? '1' : '0';
  refused(changed.text, changed.length());
  changed = token;
  changed.text[0] = 'D';
  refused(changed.text, changed.length());
  changed = token;
  changed.text[20] = 'g';
  refused(changed.text, changed.length());
  changed = token;
  changed.text[20] = '\0';
  refused(changed.text, kTokenLength);
  char longer[kTokenLength + 2];
  std::memcpy(longer, token.text, kTokenLength);
  longer[kTokenLength] = '0';
  refused(longer, kTokenLength + 1);
  // Digits have one spelling: with two, a token could be claimed under a name that was never given out.
  bool has_letter = false;
  changed = token;
  for (char* digit = changed.text + 7; *digit != '\0'; ++digit) {
    if (*digit < 'a') continue;
    *digit = static_cast<char>(*digit - 'a' + 'A');
    has_letter = true;
  }
  if (has_letter) refused(changed.text, changed.length());
  CHECK_OK(ClaimAndSpend(token));
}

TEST("an expired token cannot be claimed, and goes at the next sweep") {
  const BlockRef block = Allocate(24);
  const Token token = Offer(block, TokenKind::kShared, 1);
  Sleep(3);
  CHECK_EQUAL(ClaimAndSpend(token).code, FaultCode::kToken);
  CHECK_EQUAL(block->Aliases().tokens, 1);
  SweepExpiredTokens();
  CHECK(block->IsUnique());
  CHECK(NoneIsOut());
}

TEST("a sweep drops what has expired and nothing else, whatever the order of offers") {
  const BlockRef block = Allocate(24);
  std::vector<Token> kept;
  std::vector<Token> gone;
  for (int i = 0; i < 40; ++i) {
    kept.push_back(Offer(block, TokenKind::kShared, kLong - int64_t{100} * (i % 7)));
    gone.push_back(Offer(block, TokenKind::kShared, 1 + i % 3));
  }
  Sleep(6);
  SweepExpiredTokens();
  CHECK_EQUAL(g_counters.tokens.load(), 40);
  for (const Token& token : gone) CHECK_EQUAL(ClaimAndSpend(token).code, FaultCode::kToken);
  for (const Token& token : kept) CHECK_OK(ClaimAndSpend(token));
  CHECK(NoneIsOut());
}

TEST("a token that is put back after its expiry goes at the next sweep") {
  const BlockRef block = Allocate(24);
  const Token token = Offer(block, TokenKind::kShared, 20);
  {
    TokenClaim claim;
    CHECK_OK(claim.Take(token.text, token.length(), Wanted::kAny));
    CHECK_EQUAL(g_first_token_expiry.load(), INT64_MAX);
    Sleep(25);
    SweepExpiredTokens();
    CHECK_EQUAL(block->Aliases().tokens, 1);
  }
  SweepExpiredTokens();
  CHECK(block->IsUnique());
}

TEST("the longest time to live is longer than any clock runs") {
  const BlockRef block = Allocate(24);
  const Token token = Offer(block, TokenKind::kShared, INT64_MAX);
  SweepExpiredTokens();
  CHECK_OK(ClaimAndSpend(token));
}

TEST("the first expiry is that of the tokens that are out") {
  const BlockRef block = Allocate(24);
  CHECK(NoneIsOut());
  const Token late = Offer(block, TokenKind::kShared, kLong);
  const int64_t of_late = g_first_token_expiry.load();
  const Token early = Offer(block, TokenKind::kShared, kLong / 2);
  CHECK(g_first_token_expiry.load() < of_late);
  CHECK_OK(ClaimAndSpend(early));
  CHECK_EQUAL(g_first_token_expiry.load(), of_late);
  CHECK_OK(ClaimAndSpend(late));
  CHECK_EQUAL(g_first_token_expiry.load(), INT64_MAX);
}

TEST("a deleter that runs in a sweep may use tokens") {
  struct Context {
    BlockRef block;
    Token token;
    Fault claimed;
    int released = 0;
  } context;
  context.block = Allocate(24);
  context.token = Offer(context.block);
  uint8_t memory[4];
  BlockRef wrapped;
  CHECK_OK(Block::Wrap(
      memory, sizeof(memory),
      [](void* data) {
        auto* at = static_cast<Context*>(data);
        ++at->released;
        SweepExpiredTokens();
        at->claimed = ClaimAndSpend(at->token);
        const Token another = Offer(at->block);
        CHECK_OK(RevokeToken(another.text, another.length()));
      },
      &context, BlockTraits(), nullptr, AliasKind::kTensor, &wrapped));
  Token last;
  Parcel parcel;
  parcel.alias = std::move(wrapped);
  CHECK_OK(OfferToken(TokenKind::kShared, std::move(parcel), 1, &last.text));
  Sleep(3);
  SweepExpiredTokens();
  CHECK_EQUAL(context.released, 1);
  CHECK_OK(context.claimed);
}

TEST("of threads that claim one token exactly one gets it, of those that revoke it too") {
  constexpr int kThreads = 4;
  constexpr int kRounds = 300;
  const BlockRef block = Allocate(24);
  std::vector<Token> tokens;
  tokens.reserve(kRounds);
  for (int i = 0; i < kRounds; ++i) tokens.push_back(Offer(block));
  std::atomic<int> won{0};
  std::atomic<int> lost{0};
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      ready.fetch_add(1);
      while (ready.load() < kThreads) std::this_thread::yield();
      for (const Token& token : tokens) {
        const Fault fault = thread == 0 ? RevokeToken(token.text, token.length()) : ClaimAndSpend(token);
        (fault.ok() ? won : lost).fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(won.load(), kRounds);
  CHECK_EQUAL(lost.load(), kRounds * (kThreads - 1));
  CHECK(block->IsUnique());
  CHECK(NoneIsOut());
}

TEST("threads offer, claim, revoke and sweep at once, and nothing is left or lost") {
  constexpr int kThreads = 4;
  const BlockRef block = Allocate(24);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 500; ++i) {
        const bool brief = (i + thread) % 5 == 0;
        const Token token = Offer(block, TokenKind::kShared, brief ? 1 : kLong);
        SweepExpiredTokens();
        if (brief) continue;
        const Fault fault = i % 2 == 0 ? ClaimAndSpend(token) : RevokeToken(token.text, token.length());
        if (!fault.ok()) failures.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(failures.load(), 0);
  Sleep(3);
  SweepExpiredTokens();
  CHECK(block->IsUnique());
  CHECK(NoneIsOut());
}

TEST("an offer that gets no memory drops its alias and leaves nothing out") {
  const BlockRef block = Allocate(24);
  const int64_t live = LiveAllocations();
  FailAllocation(0);
  Token token;
  const Fault fault = OfferToken(TokenKind::kShared, ParcelOf(block), kLong, &token.text);
  CHECK(AllocationFailed());
  FailAllocation(-1);
  CHECK_EQUAL(fault.code, FaultCode::kOutOfMemory);
  CHECK_EQUAL(LiveAllocations(), live);
  CHECK(block->IsUnique());
  CHECK(NoneIsOut());
}

TEST("the memory's new holder can be made to answer for it, once, wherever it was before") {
  Account* first = Account::Create();
  Account* second = Account::Create();
  if (!CHECK(first != nullptr) || !CHECK(second != nullptr)) return;
  {
    const BlockRef block = Allocate(1000, first);
    block->MoveToAccount(second);
    CHECK_EQUAL(first->bytes(), 0);
    CHECK_EQUAL(second->bytes(), 1000);
    block->MoveToAccount(second);
    CHECK_EQUAL(second->bytes(), 1000);
    block->MoveToAccount(nullptr);
    CHECK_EQUAL(second->bytes(), 0);
    block->MoveToAccount(first);
    CHECK_EQUAL(first->bytes(), 1000);
  }
  CHECK_EQUAL(first->bytes(), 0);
  first->Release();
  second->Release();
}

TEST("random bytes differ") {
  uint64_t words[4] = {};
  CHECK(RandomBytes(words, sizeof(words)));
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < i; ++j) CHECK(words[i] != words[j]);
  }
}
