// The exported functions, as C code of any language calls them: claims, exports, answers.
#include <atomic>
#include <initializer_list>
#include <thread>
#include <vector>

#include "memory.h"
#include "token_support.h"

using namespace node_dlpack;
using namespace support;

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
