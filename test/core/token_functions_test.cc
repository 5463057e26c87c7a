// The exported functions, as C code of any language calls them.
#include <atomic>
#include <chrono>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <utility>
#include <vector>

#include "block.h"
#include "counters.h"
#include "harness.h"
#include "layout.h"
#include "managed_tensor.h"
#include "memory.h"
#include "node_dlpack_tokens.h"
#include "support.h"
#include "tokens.h"

using namespace node_dlpack;
using support::Float32;
using support::Foreign;

namespace {

constexpr uint64_t kReadOnly = DLPACK_FLAG_BITMASK_READ_ONLY;
constexpr uint64_t kCopied = DLPACK_FLAG_BITMASK_IS_COPIED;

using Versioned = DLManagedTensorVersioned;

struct Token {
  char text[NODE_DLPACK_TOKEN_SIZE];
  Token() { std::memset(text, 'x', sizeof(text)); }
};

// As JavaScript shares or transfers memory of its own.
Token MakeToken(const BlockRef& block, TokenKind kind, bool read_only = true, DType dtype = Float32()) {
  Parcel parcel;
  parcel.alias = block.NewAlias(AliasKind::kTensor);
  parcel.origin = block->data();
  parcel.layout = support::Make({2, 3}, dtype);
  parcel.dtype = dtype;
  parcel.read_only = read_only;
  TokenText text;
  CHECK_OK(OfferToken(kind, std::move(parcel), 60000, &text));
  Token token;
  std::memcpy(token.text, text, sizeof(text));
  return token;
}

BlockRef Allocate() {
  BlockRef block;
  CHECK_OK(Block::Allocate(24, nullptr, AliasKind::kTensor, &block));
  for (int i = 0; i < 6; ++i) reinterpret_cast<float*>(block->data())[i] = static_cast<float>(i);
  return block;
}

Token OfferForeign(Foreign* foreign, uint64_t flags, uint32_t kind = NODE_DLPACK_TOKEN_SHARED) {
  foreign->versioned.flags = flags;
  Token token;
  CHECK_EQUAL(node_dlpack_offer(&foreign->versioned, kind, 0, token.text), NODE_DLPACK_OK);
  return token;
}

Versioned* Claim(const Token& token) {
  Versioned* managed = nullptr;
  CHECK_EQUAL(node_dlpack_claim(token.text, &managed), NODE_DLPACK_OK);
  return managed;
}

void Delete(Versioned* managed) {
  if (managed != nullptr) managed->deleter(managed);
}

// What a fault leaves: no token, no memory, and the struct deleted.
void CheckRefused(Foreign* foreign, int answer, int expected, const Token& token) {
  CHECK_EQUAL(answer, expected);
  CHECK_EQUAL(foreign->deleted, 1);
  CHECK(token.text[0] == '\0');
  CHECK_EQUAL(g_counters.tokens.load(), 0);
  CHECK_EQUAL(g_counters.blocks.load(), 0);
}

}  // namespace

TEST("a shared token is claimed as a read-only struct over the same memory") {
  BlockRef block = Allocate();
  const Token token = MakeToken(block, TokenKind::kShared);
  Versioned* managed = Claim(token);
  if (!CHECK(managed != nullptr)) return;
  CHECK_EQUAL(managed->flags, kReadOnly);
  CHECK_EQUAL(managed->version.major, 1U);
  CHECK(managed->dl_tensor.data == block->data());
  CHECK_EQUAL(managed->dl_tensor.ndim, 2);
  CHECK_EQUAL(managed->dl_tensor.shape[1], 3);
  CHECK_EQUAL(managed->dl_tensor.strides[0], 3);
  CHECK_EQUAL(block->Aliases().exports, 1);
  CHECK_EQUAL(block->Aliases().tokens, 0);
  block.Reset();
  CHECK_EQUAL(static_cast<float*>(managed->dl_tensor.data)[5], 5.0F);
  Delete(managed);
  CHECK_EQUAL(g_counters.blocks.load(), 0);
}

TEST("a transferred token is claimed as a sole copy, in either struct") {
  {
    Versioned* managed = Claim(MakeToken(Allocate(), TokenKind::kTransfer));
    CHECK_EQUAL(managed->flags, kCopied);
    Delete(managed);
  }
  DLManagedTensor* legacy = nullptr;
  const Token token = MakeToken(Allocate(), TokenKind::kTransfer);
  CHECK_EQUAL(node_dlpack_claim_legacy(token.text, &legacy), NODE_DLPACK_OK);
  CHECK_EQUAL(static_cast<float*>(legacy->dl_tensor.data)[4], 4.0F);
  legacy->deleter(legacy);
  CHECK_EQUAL(g_counters.blocks.load(), 0);
}

TEST("padded elements are said to be padded; a legacy struct, which cannot say it, leaves the token") {
  const DType padded = support::TypeOf(kDLFloat4_e2m1fn, 4, true);
  DLManagedTensor* legacy = nullptr;
  const Token token = MakeToken(Allocate(), TokenKind::kTransfer, true, padded);
  CHECK_EQUAL(node_dlpack_claim_legacy(token.text, &legacy), static_cast<int>(FaultCode::kDTypeBits));
  CHECK(legacy == nullptr);
  Versioned* managed = Claim(token);
  CHECK_EQUAL(managed->flags, kCopied | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
  Delete(managed);
}

TEST("a legacy struct cannot say read-only: the token stays for who can") {
  const BlockRef block = Allocate();
  const Token token = MakeToken(block, TokenKind::kShared);
  auto* legacy = reinterpret_cast<DLManagedTensor*>(16);
  CHECK_EQUAL(node_dlpack_claim_legacy(token.text, &legacy), NODE_DLPACK_ERROR_READ_ONLY);
  CHECK(legacy == nullptr);
  Delete(Claim(token));
}

TEST("a writable loan is claimed without a flag, in either struct") {
  const BlockRef block = Allocate();
  Versioned* managed = Claim(MakeToken(block, TokenKind::kShared, false));
  CHECK_EQUAL(managed->flags, uint64_t{0});
  Delete(managed);
  DLManagedTensor* legacy = nullptr;
  const Token token = MakeToken(block, TokenKind::kShared, false);
  CHECK_EQUAL(node_dlpack_claim_legacy(token.text, &legacy), NODE_DLPACK_OK);
  legacy->deleter(legacy);
}

TEST("a claim under a name that is not out is a fault and gives nothing") {
  const BlockRef block = Allocate();
  const Token token = MakeToken(block, TokenKind::kShared);
  Delete(Claim(token));
  for (const char* text :
       {static_cast<const char*>(token.text), "", "dlpack-", "dlpack-0123456789abcdef0123456789abcdef",
        "dlpack-0123456789abcdef0123456789abcdef and much more that is no token"}) {
    auto* managed = reinterpret_cast<Versioned*>(16);
    CHECK_EQUAL(node_dlpack_claim(text, &managed), NODE_DLPACK_ERROR_TOKEN);
    CHECK(managed == nullptr);
    CHECK_EQUAL(node_dlpack_revoke(text), NODE_DLPACK_ERROR_TOKEN);
  }
}

TEST("a revoked token is gone") {
  const BlockRef block = Allocate();
  const Token token = MakeToken(block, TokenKind::kShared);
  CHECK_EQUAL(node_dlpack_revoke(token.text), NODE_DLPACK_OK);
  CHECK(block->IsUnique());
  CHECK_EQUAL(node_dlpack_revoke(token.text), NODE_DLPACK_ERROR_TOKEN);
}

TEST("NULL is an argument that is wrong, never a crash") {
  const BlockRef block = Allocate();
  const Token token = MakeToken(block, TokenKind::kShared);
  auto* managed = reinterpret_cast<Versioned*>(16);
  void* out = nullptr;
  CHECK_EQUAL(node_dlpack_claim(nullptr, &managed), NODE_DLPACK_ERROR_ARGUMENT);
  CHECK(managed == nullptr);
  CHECK_EQUAL(node_dlpack_claim(token.text, nullptr), NODE_DLPACK_ERROR_ARGUMENT);
  CHECK_EQUAL(node_dlpack_claim_legacy(token.text, nullptr), NODE_DLPACK_ERROR_ARGUMENT);
  CHECK_EQUAL(node_dlpack_revoke(nullptr), NODE_DLPACK_ERROR_ARGUMENT);
  Token refused;
  CHECK_EQUAL(node_dlpack_offer(nullptr, NODE_DLPACK_TOKEN_SHARED, 0, refused.text), NODE_DLPACK_ERROR_ARGUMENT);
  CHECK_EQUAL(node_dlpack_offer_legacy(nullptr, 0, refused.text), NODE_DLPACK_ERROR_ARGUMENT);
  CHECK_EQUAL(node_dlpack_export(nullptr, NODE_DLPACK_KIND_VERSIONED, NODE_DLPACK_COPY_NULL, &out),
              NODE_DLPACK_ERROR_ARGUMENT);
  Foreign foreign;
  CHECK_EQUAL(node_dlpack_offer(&foreign.versioned, NODE_DLPACK_TOKEN_SHARED, 0, nullptr), NODE_DLPACK_ERROR_ARGUMENT);
  CHECK_EQUAL(foreign.deleted, 1);
  Delete(Claim(token));
}

TEST("a token kind or a time to live that cannot be is refused, and the struct deleted") {
  for (uint32_t kind : {0U, 3U}) {
    Foreign foreign;
    Token token;
    const int answer = node_dlpack_offer(&foreign.versioned, kind, 0, token.text);
    CheckRefused(&foreign, answer, NODE_DLPACK_ERROR_ARGUMENT, token);
  }
  Foreign foreign;
  Token token;
  const int answer = node_dlpack_offer_legacy(&foreign.legacy, -1, token.text);
  CheckRefused(&foreign, answer, NODE_DLPACK_ERROR_ARGUMENT, token);
}

TEST("what is offered is kept as it is, and its deleter runs once, with the last that holds it") {
  for (uint64_t flags : {uint64_t{0}, kReadOnly, kCopied}) {
    Foreign foreign;
    const Token token = OfferForeign(&foreign, flags);
    CHECK_EQUAL(foreign.deleted, 0);
    Versioned* managed = Claim(token);
    CHECK_EQUAL(managed->flags, flags == 0 ? 0 : kReadOnly);
    CHECK(managed->dl_tensor.data == foreign.memory);
    CHECK_EQUAL(foreign.deleted, 0);
    Delete(managed);
    CHECK_EQUAL(foreign.deleted, 1);
  }
  Foreign legacy;
  Token token;
  CHECK_EQUAL(node_dlpack_offer_legacy(&legacy.legacy, 1000, token.text), NODE_DLPACK_OK);
  Versioned* managed = Claim(token);
  CHECK_EQUAL(managed->flags, kReadOnly);
  Delete(managed);
  CHECK_EQUAL(legacy.deleted, 1);
}

TEST("an offer that is revoked or expires is deleted once") {
  Foreign revoked;
  const Token token = OfferForeign(&revoked, 0);
  CHECK_EQUAL(node_dlpack_revoke(token.text), NODE_DLPACK_OK);
  CHECK_EQUAL(revoked.deleted, 1);

  Foreign expired;
  Token brief;
  CHECK_EQUAL(node_dlpack_offer(&expired.versioned, NODE_DLPACK_TOKEN_SHARED, 1, brief.text), NODE_DLPACK_OK);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  CHECK_EQUAL(expired.deleted, 0);
  Foreign next;
  const Token swept_by = OfferForeign(&next, 0);
  CHECK_EQUAL(expired.deleted, 1);
  CHECK_EQUAL(node_dlpack_revoke(swept_by.text), NODE_DLPACK_OK);
}

TEST("a transfer takes sole copies alone") {
  Foreign sole;
  Versioned* managed = Claim(OfferForeign(&sole, kCopied, NODE_DLPACK_TOKEN_TRANSFER));
  CHECK_EQUAL(managed->flags, kCopied);
  Delete(managed);
  CHECK_EQUAL(sole.deleted, 1);

  for (uint64_t flags : {uint64_t{0}, kReadOnly, kReadOnly | kCopied}) {
    Foreign foreign;
    foreign.versioned.flags = flags;
    Token token;
    const int answer = node_dlpack_offer(&foreign.versioned, NODE_DLPACK_TOKEN_TRANSFER, 0, token.text);
    CheckRefused(&foreign, answer, NODE_DLPACK_ERROR_NEVER_SOLE, token);
  }
  Foreign overlapping;
  overlapping.strides[0] = 0;
  overlapping.versioned.flags = kCopied;
  Token token;
  int answer = node_dlpack_offer(&overlapping.versioned, NODE_DLPACK_TOKEN_TRANSFER, 0, token.text);
  CheckRefused(&overlapping, answer, NODE_DLPACK_ERROR_NEVER_SOLE, token);
  Foreign opaque;
  opaque.tensor.device = DLDevice{kDLCUDA, 1};
  opaque.Fill();
  opaque.versioned.flags = kCopied;
  answer = node_dlpack_offer(&opaque.versioned, NODE_DLPACK_TOKEN_TRANSFER, 0, token.text);
  CheckRefused(&opaque, answer, NODE_DLPACK_ERROR_NEVER_SOLE, token);
}

TEST("a malformed struct is refused by name, deleted once, and leaves nothing") {
  const auto refused = [](int expected, auto spoil) {
    for (bool versioned : {true, false}) {
      Foreign foreign;
      spoil(&foreign);
      foreign.Fill();
      Token token;
      const int answer = versioned ? node_dlpack_offer(&foreign.versioned, NODE_DLPACK_TOKEN_SHARED, 0, token.text)
                                   : node_dlpack_offer_legacy(&foreign.legacy, 0, token.text);
      CheckRefused(&foreign, answer, expected, token);
    }
  };
  refused(3, [](Foreign* f) { f->tensor.ndim = 65; });
  refused(4, [](Foreign* f) { f->tensor.shape = nullptr; });
  refused(5, [](Foreign* f) { f->shape[1] = -3; });
  refused(7, [](Foreign* f) { f->shape[0] = f->shape[1] = int64_t{1} << 40; });
  refused(9, [](Foreign* f) { f->tensor.data = nullptr; });
  refused(11, [](Foreign* f) {
    const int32_t unknown = 99;
    std::memcpy(&f->tensor.device.device_type, &unknown, sizeof(unknown));
  });
  refused(12, [](Foreign* f) { f->tensor.dtype.code = 200; });
  refused(14, [](Foreign* f) { f->tensor.dtype.lanes = 4; });
  Foreign major;
  major.versioned.version.major = 2;
  Token token;
  const int answer = node_dlpack_offer(&major.versioned, NODE_DLPACK_TOKEN_SHARED, 0, token.text);
  CheckRefused(&major, answer, 2, token);
}

TEST("data that is not aligned to its element is copied, and the struct deleted at once") {
  Foreign foreign;
  foreign.tensor.data = foreign.memory + 1;
  const float seven = 7;
  std::memcpy(foreign.memory + 1 + 5 * sizeof(float), &seven, sizeof(seven));
  foreign.Fill();
  const Token token = OfferForeign(&foreign, 0);
  CHECK_EQUAL(foreign.deleted, 1);
  Versioned* managed = Claim(token);
  CHECK_EQUAL(managed->flags, kReadOnly);
  CHECK_EQUAL(static_cast<float*>(managed->dl_tensor.data)[5], 7.0F);
  CHECK_EQUAL(reinterpret_cast<uintptr_t>(managed->dl_tensor.data) % 256, uintptr_t{0});
  Delete(managed);
}

TEST("memory of another device goes through with its handle and its offset") {
  Foreign foreign;
  foreign.tensor.device = DLDevice{kDLCUDA, 1};
  foreign.tensor.data = reinterpret_cast<void*>(0x1003);
  foreign.tensor.byte_offset = 8;
  foreign.Fill();
  Versioned* managed = Claim(OfferForeign(&foreign, 0));
  CHECK_EQUAL(static_cast<int>(managed->dl_tensor.device.device_type), static_cast<int>(kDLCUDA));
  CHECK_EQUAL(managed->dl_tensor.device.device_id, 1);
  CHECK(managed->dl_tensor.data == reinterpret_cast<void*>(0x1003));
  CHECK_EQUAL(managed->dl_tensor.byte_offset, uint64_t{8});
  void* out = nullptr;
  CHECK_EQUAL(node_dlpack_export(managed, NODE_DLPACK_KIND_VERSIONED, NODE_DLPACK_COPY_TRUE, &out),
              NODE_DLPACK_ERROR_OPAQUE);
  Delete(managed);
  CHECK_EQUAL(foreign.deleted, 1);
}

TEST("a struct of ours that is offered is its block again, not a chain of structs") {
  BlockRef block = Allocate();
  Versioned* managed = Claim(MakeToken(block, TokenKind::kShared));
  Token token;
  CHECK_EQUAL(node_dlpack_offer(managed, NODE_DLPACK_TOKEN_SHARED, 0, token.text), NODE_DLPACK_OK);
  CHECK_EQUAL(block->Aliases().exports, 0);
  CHECK_EQUAL(block->Aliases().tokens, 1);
  CHECK_EQUAL(g_counters.blocks.load(), 1);
  managed = Claim(token);
  CHECK_EQUAL(managed->flags, kReadOnly);
  CHECK(managed->dl_tensor.data == block->data());
  Delete(managed);
}

TEST("a sole copy of ours is transferred on while it is alone, and no longer") {
  Versioned* managed = Claim(MakeToken(Allocate(), TokenKind::kTransfer));
  Token token;
  CHECK_EQUAL(node_dlpack_offer(managed, NODE_DLPACK_TOKEN_TRANSFER, 0, token.text), NODE_DLPACK_OK);
  managed = Claim(token);
  CHECK_EQUAL(managed->flags, kCopied);
  void* second = nullptr;
  CHECK_EQUAL(node_dlpack_export(managed, NODE_DLPACK_KIND_VERSIONED, NODE_DLPACK_COPY_NULL, &second), NODE_DLPACK_OK);
  CHECK_EQUAL(node_dlpack_offer(managed, NODE_DLPACK_TOKEN_TRANSFER, 0, token.text), NODE_DLPACK_ERROR_SHARED);
  Delete(static_cast<Versioned*>(second));
  CHECK_EQUAL(g_counters.blocks.load(), 0);
}

TEST("a struct of ours whose fields were overwritten does not reach beyond its block") {
  const BlockRef block = Allocate();
  Versioned* managed = Claim(MakeToken(block, TokenKind::kShared));
  managed->dl_tensor.shape[0] = 300;
  Token token;
  void* out = nullptr;
  CHECK_EQUAL(node_dlpack_export(managed, NODE_DLPACK_KIND_VERSIONED, NODE_DLPACK_COPY_NULL, &out),
              static_cast<int>(FaultCode::kOutsideBlock));
  CHECK_EQUAL(node_dlpack_offer(managed, NODE_DLPACK_TOKEN_SHARED, 0, token.text),
              static_cast<int>(FaultCode::kOutsideBlock));
  CHECK(block->IsUnique());
}

TEST("memory of JavaScript does not leave its thread by an offer either") {
  int released = 0;
  uint8_t memory[24];
  BlockTraits traits;
  traits.bound_to_environment = true;
  BlockRef block;
  CHECK_OK(Block::Wrap(
      memory, sizeof(memory), [](void* context) { ++*static_cast<int*>(context); }, &released, traits, nullptr,
      AliasKind::kTensor, &block));
  const Layout layout = support::Make({2, 3}, Float32());
  TensorView view;
  view.origin = memory;
  view.layout = &layout;
  view.dtype = Float32();
  ManagedGuard managed;
  CHECK_OK(MakeManaged(block.NewAlias(AliasKind::kExport), view, ManagedKind::kVersioned, kReadOnly, &managed));
  Token token;
  CHECK_EQUAL(node_dlpack_offer(static_cast<Versioned*>(managed.Detach()), NODE_DLPACK_TOKEN_SHARED, 0, token.text),
              NODE_DLPACK_ERROR_BOUND);
  CHECK(block->IsUnique());
  block.Reset();
  CHECK_EQUAL(released, 1);
}

TEST("elements can be offered under another name of the same width") {
  Foreign foreign(support::TypeOf(kDLUInt, 16));
  Token token;
  CHECK_EQUAL(node_dlpack_offer_as(&foreign.versioned, NODE_DLPACK_KIND_VERSIONED, DLDataType{kDLBfloat, 16, 1},
                                   NODE_DLPACK_TOKEN_SHARED, 0, token.text),
              NODE_DLPACK_OK);
  Versioned* managed = Claim(token);
  CHECK_EQUAL(static_cast<int>(managed->dl_tensor.dtype.code), static_cast<int>(kDLBfloat));
  CHECK_EQUAL(static_cast<int>(managed->dl_tensor.dtype.bits), 16);
  Delete(managed);
  CHECK_EQUAL(foreign.deleted, 1);

  const auto refused = [](DLDataType dtype, int expected) {
    Foreign source(support::TypeOf(kDLUInt, 64));
    Token none;
    const int answer =
        node_dlpack_offer_as(&source.legacy, NODE_DLPACK_KIND_LEGACY, dtype, NODE_DLPACK_TOKEN_SHARED, 0, none.text);
    CheckRefused(&source, answer, expected, none);
  };
  refused(DLDataType{kDLFloat, 32, 1}, 13);
  refused(DLDataType{kDLComplex, 64, 1}, 13);  // aligned to 4 bytes, where a uint64 is to 8: another layout of memory
  refused(DLDataType{kDLFloat, 64, 2}, 14);
  refused(DLDataType{99, 64, 1}, 12);
  Foreign unknown;
  CHECK_EQUAL(
      node_dlpack_offer_as(&unknown.versioned, 7, DLDataType{kDLFloat, 32, 1}, NODE_DLPACK_TOKEN_SHARED, 0, token.text),
      NODE_DLPACK_ERROR_ARGUMENT);
  CHECK_EQUAL(unknown.deleted, 0);
}

TEST("what is held can be exported again, by the tables of __dlpack__") {
  enum class Memory { kSame, kFresh };
  struct Row {
    TokenKind kind;
    bool read_only;
    uint32_t struct_kind;
    int copy;
    int answer;
    Memory memory;
    uint64_t flags;
  };
  constexpr uint32_t kOld = NODE_DLPACK_KIND_LEGACY;
  constexpr uint32_t kNew = NODE_DLPACK_KIND_VERSIONED;
  constexpr TokenKind kShared = TokenKind::kShared;
  constexpr TokenKind kTransfer = TokenKind::kTransfer;
  const Row rows[] = {
      {kShared, true, kNew, -1, 0, Memory::kSame, kReadOnly},
      {kShared, true, kNew, 0, 0, Memory::kSame, kReadOnly},
      {kShared, true, kNew, 1, 0, Memory::kFresh, kCopied},
      {kShared, true, kOld, -1, 0, Memory::kFresh, 0},
      {kShared, true, kOld, 0, NODE_DLPACK_ERROR_READ_ONLY, Memory::kSame, 0},
      {kShared, true, kOld, 1, 0, Memory::kFresh, 0},
      {kShared, false, kNew, -1, 0, Memory::kSame, 0},
      {kShared, false, kNew, 0, 0, Memory::kSame, 0},
      {kShared, false, kNew, 1, 0, Memory::kFresh, kCopied},
      {kShared, false, kOld, -1, 0, Memory::kSame, 0},
      {kShared, false, kOld, 0, 0, Memory::kSame, 0},
      {kShared, false, kOld, 1, 0, Memory::kFresh, 0},
      {kTransfer, true, kNew, -1, 0, Memory::kSame, kCopied},
      {kTransfer, true, kNew, 0, 0, Memory::kSame, 0},
      {kTransfer, true, kNew, 1, 0, Memory::kSame, kCopied},
      {kTransfer, true, kOld, -1, 0, Memory::kSame, 0},
      {kTransfer, true, kOld, 0, 0, Memory::kSame, 0},
      {kTransfer, true, kOld, 1, 0, Memory::kSame, 0},
  };
  for (const Row& row : rows) {
    // A loan is lent by its owner while this goes on.
    BlockRef block = Allocate();
    if (!row.read_only) block->set_loan(Block::Loan::kWritable);
    Versioned* held = Claim(MakeToken(block, row.kind, row.read_only));
    void* out = nullptr;
    CHECK_EQUAL(node_dlpack_export(held, row.struct_kind, row.copy, &out), row.answer);
    CHECK_EQUAL(out != nullptr, row.answer == 0);
    ManagedGuard made(out, static_cast<ManagedKind>(row.struct_kind));
    if (out != nullptr) {
      const bool versioned = row.struct_kind == kNew;
      const DLTensor& tensor =
          versioned ? static_cast<Versioned*>(out)->dl_tensor : static_cast<DLManagedTensor*>(out)->dl_tensor;
      if (versioned) CHECK_EQUAL(static_cast<Versioned*>(out)->flags, row.flags);
      CHECK_EQUAL(tensor.data == block->data(), row.memory == Memory::kSame);
      Delete(held);
      held = nullptr;
      block.Reset();
      CHECK_EQUAL(static_cast<float*>(tensor.data)[5], 5.0F);
    }
    Delete(held);
  }
}

TEST("an export of a struct that is not ours, or of a kind that there is not, is refused") {
  Foreign foreign;
  void* out = &foreign;
  CHECK_EQUAL(node_dlpack_export(&foreign.versioned, NODE_DLPACK_KIND_VERSIONED, NODE_DLPACK_COPY_NULL, &out),
              NODE_DLPACK_ERROR_ARGUMENT);
  CHECK(out == nullptr);
  CHECK_EQUAL(foreign.deleted, 0);
  Versioned* held = Claim(MakeToken(Allocate(), TokenKind::kShared));
  CHECK_EQUAL(node_dlpack_export(held, 3, NODE_DLPACK_COPY_NULL, &out), NODE_DLPACK_ERROR_ARGUMENT);
  CHECK_EQUAL(node_dlpack_export(held, NODE_DLPACK_KIND_VERSIONED, NODE_DLPACK_COPY_NULL, nullptr),
              NODE_DLPACK_ERROR_ARGUMENT);
  Delete(held);
}

TEST("of native threads that claim one token exactly one gets it") {
  constexpr int kThreads = 4;
  for (int round = 0; round < 100; ++round) {
    const Token token = MakeToken(Allocate(), TokenKind::kTransfer);
    std::atomic<int> ready{0};
    std::atomic<int> won{0};
    std::atomic<int> lost{0};
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&] {
        ready.fetch_add(1);
        while (ready.load() < kThreads) std::this_thread::yield();
        Versioned* managed = nullptr;
        const int answer = node_dlpack_claim(token.text, &managed);
        if (answer == NODE_DLPACK_OK) won.fetch_add(1);
        if (answer == NODE_DLPACK_ERROR_TOKEN && managed == nullptr) lost.fetch_add(1);
        Delete(managed);
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_EQUAL(won.load(), 1);
    CHECK_EQUAL(lost.load(), kThreads - 1);
  }
  CHECK_EQUAL(g_counters.blocks.load(), 0);
}

TEST("each allocation of an offer fails in turn: no token, and the struct is deleted once") {
  for (bool misaligned : {false, true}) {
    const int64_t live = LiveAllocations();
    for (int site = 0;; ++site) {
      Foreign foreign;
      if (misaligned) foreign.tensor.data = foreign.memory + 1;
      foreign.Fill();
      Token token;
      FailAllocation(site);
      const int answer = node_dlpack_offer(&foreign.versioned, NODE_DLPACK_TOKEN_SHARED, 0, token.text);
      const bool failed = AllocationFailed();
      FailAllocation(-1);
      if (!failed) {
        CHECK_EQUAL(answer, NODE_DLPACK_OK);
        CHECK_EQUAL(site, 2);
        CHECK_EQUAL(node_dlpack_revoke(token.text), NODE_DLPACK_OK);
        break;
      }
      CheckRefused(&foreign, answer, NODE_DLPACK_ERROR_MEMORY, token);
      CHECK_EQUAL(LiveAllocations(), live);
    }
    CHECK_EQUAL(LiveAllocations(), live);
  }
}

TEST("a claim that gets no memory for its struct leaves the token to the next") {
  const BlockRef block = Allocate();
  const Token token = MakeToken(block, TokenKind::kShared);
  const int64_t live = LiveAllocations();
  Versioned* managed = nullptr;
  FailAllocation(0);
  CHECK_EQUAL(node_dlpack_claim(token.text, &managed), NODE_DLPACK_ERROR_MEMORY);
  FailAllocation(-1);
  CHECK(managed == nullptr);
  CHECK_EQUAL(LiveAllocations(), live);
  CHECK_EQUAL(block->Aliases().tokens, 1);
  CHECK_EQUAL(block->Aliases().exports, 0);
  Delete(Claim(token));
}

TEST("every answer has words of its own, and what is no answer has some too") {
  const int codes[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,  12,
                       13, 14, 16, 50, 53, 54, 55, 57, 87, 89, 90, 103, 12345};
  for (const int code : codes) {
    for (const int other : codes) {
      const bool same = std::strcmp(node_dlpack_error(code), node_dlpack_error(other)) == 0;
      CHECK_EQUAL(same, code == other);
    }
  }
  CHECK(std::strcmp(node_dlpack_error(-1), node_dlpack_error(12345)) == 0);
  CHECK(std::strncmp(node_dlpack_error(NODE_DLPACK_ERROR_TOKEN), "ERR_DLPACK_TOKEN: ", 18) == 0);
}

TEST("the last error of a thread has the numbers that were found, and is the thread's own") {
  Foreign foreign;
  foreign.shape[1] = -3;
  Token token;
  CHECK_EQUAL(node_dlpack_offer(&foreign.versioned, NODE_DLPACK_TOKEN_SHARED, 0, token.text), 5);
  const auto is = [](const char* text) { return std::strcmp(node_dlpack_last_error(), text) == 0; };
  const char* expected = "ERR_DLPACK_BUFFER: an extent of shape is negative (shape[1] is -3)";
  CHECK(is(expected));
  std::thread([] {
    Versioned* managed = nullptr;
    CHECK_EQUAL(node_dlpack_claim("", &managed), NODE_DLPACK_ERROR_TOKEN);
    CHECK(std::strcmp(node_dlpack_last_error(), node_dlpack_error(NODE_DLPACK_ERROR_TOKEN)) == 0);
  }).join();
  CHECK(is(expected));
  Foreign lanes;
  lanes.tensor.dtype.lanes = 4;
  lanes.Fill();
  CHECK_EQUAL(node_dlpack_offer_legacy(&lanes.legacy, 0, token.text), 14);
  CHECK(is("ERR_DLPACK_BUFFER: dtype.lanes is not 1; only scalar elements can be held (lanes is 4)"));
}

TEST("the binary says how far its functions go") {
  CHECK_EQUAL(node_dlpack_tokens_version(), NODE_DLPACK_TOKENS_VERSION);
}
