// Structs of others, and of ours, that C code of any language offers as tokens.
#include <chrono>
#include <thread>

#include "token_support.h"

using namespace node_dlpack;
using namespace support;

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
