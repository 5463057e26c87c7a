// What the tests of the exported functions share: tokens as JavaScript makes them, offers of foreign structs, and what
// a refusal leaves.
#ifndef NODE_DLPACK_TEST_CORE_TOKEN_SUPPORT_H_
#define NODE_DLPACK_TEST_CORE_TOKEN_SUPPORT_H_

#include <cstring>
#include <utility>

#include "block.h"
#include "counters.h"
#include "harness.h"
#include "layout.h"
#include "managed_tensor.h"
#include "node_dlpack_tokens.h"
#include "support.h"
#include "tokens.h"

namespace support {

inline constexpr uint64_t kReadOnly = DLPACK_FLAG_BITMASK_READ_ONLY;
inline constexpr uint64_t kCopied = DLPACK_FLAG_BITMASK_IS_COPIED;

using Versioned = DLManagedTensorVersioned;

struct Token {
  char text[NODE_DLPACK_TOKEN_SIZE];
  Token() { std::memset(text, 'x', sizeof(text)); }
};

// As JavaScript shares or transfers memory of its own.
inline Token MakeToken(const node_dlpack::BlockRef& block, node_dlpack::TokenKind kind, bool read_only = true,
                       node_dlpack::DType dtype = Float32()) {
  node_dlpack::Parcel parcel;
  parcel.alias = block.NewAlias(node_dlpack::AliasKind::kTensor);
  parcel.origin = block->data();
  parcel.layout = Make({2, 3}, dtype);
  parcel.dtype = dtype;
  parcel.read_only = read_only;
  node_dlpack::TokenText text;
  CHECK_OK(node_dlpack::OfferToken(kind, std::move(parcel), 60000, &text));
  Token token;
  std::memcpy(token.text, text, sizeof(text));
  return token;
}

inline node_dlpack::BlockRef Allocate() {
  node_dlpack::BlockRef block;
  CHECK_OK(node_dlpack::Block::Allocate(24, nullptr, node_dlpack::AliasKind::kTensor, &block));
  for (int i = 0; i < 6; ++i) reinterpret_cast<float*>(block->data())[i] = static_cast<float>(i);
  return block;
}

inline Token OfferForeign(Foreign* foreign, uint64_t flags, uint32_t kind = NODE_DLPACK_TOKEN_SHARED) {
  foreign->versioned.flags = flags;
  Token token;
  CHECK_EQUAL(node_dlpack_offer(&foreign->versioned, kind, 0, token.text), NODE_DLPACK_OK);
  return token;
}

inline Versioned* Claim(const Token& token) {
  Versioned* managed = nullptr;
  CHECK_EQUAL(node_dlpack_claim(token.text, &managed), NODE_DLPACK_OK);
  return managed;
}

inline void Delete(Versioned* managed) {
  if (managed != nullptr) managed->deleter(managed);
}

// What a fault leaves: no token, no memory, and the struct deleted.
inline void CheckRefused(Foreign* foreign, int answer, int expected, const Token& token) {
  CHECK_EQUAL(answer, expected);
  CHECK_EQUAL(foreign->deleted, 1);
  CHECK(token.text[0] == '\0');
  CHECK_EQUAL(node_dlpack::g_counters.tokens.load(), 0);
  CHECK_EQUAL(node_dlpack::g_counters.blocks.load(), 0);
}

}  // namespace support

#endif  // NODE_DLPACK_TEST_CORE_TOKEN_SUPPORT_H_
