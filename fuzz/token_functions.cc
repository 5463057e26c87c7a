// The functions that the binary exports to other languages: structs with any fields are offered, claimed, exported
// again and revoked. Each deleter runs once, whatever the answers are, and an answer that is not 0 leaves no output.
#include <cstring>

#include "foreign.h"
#include "foreign_struct.h"
#include "input.h"
#include "node_dlpack_tokens.h"
#include "tokens.h"

using namespace node_dlpack;

namespace {

// A misaligned tensor is copied, so its elements must be there; everything else is only described.
bool MayBeOffered(fuzz::ForeignStruct* foreign) {
  CheckedTensor checked;
  if (!CheckedTensor::Check(foreign->managed(), foreign->kind(), &checked).ok()) return true;
  return foreign->Holds(checked.lowest(), checked.span_bytes()) && checked.layout().size() <= 4096;
}

int Offer(fuzz::Input* input, fuzz::ForeignStruct* foreign, char* token) {
  const uint8_t how = input->Any<uint8_t>();
  const int64_t ttl = (how & 48) == 48 ? input->Number() : 0;
  const uint32_t token_kind = (how & 12) == 12 ? input->Any<uint8_t>() : 1 + (how >> 2 & 1);
  if ((how & 3) == 0) {
    const DLDataType dtype = input->Bool()
                                 ? input->DType().raw()
                                 : DLDataType{input->Any<uint8_t>(), input->Any<uint8_t>(), input->Any<uint16_t>()};
    return node_dlpack_offer_as(foreign->managed(), static_cast<uint32_t>(foreign->kind()), dtype, token_kind, ttl,
                                token);
  }
  return foreign->kind() == ManagedKind::kVersioned ? node_dlpack_offer(&foreign->versioned, token_kind, ttl, token)
                                                    : node_dlpack_offer_legacy(&foreign->legacy, ttl, token);
}

void Export(fuzz::Input* input, const DLManagedTensorVersioned* held) {
  void* out = &out;
  const uint32_t kind = input->Any<uint8_t>() % 4;
  const int copy = static_cast<int>(input->Between(-2, 3));
  const int answer = node_dlpack_export(held, kind, copy, &out);
  CHECK_EQUAL(out != nullptr, answer == NODE_DLPACK_OK);
  if (out != nullptr) DeleteManaged(out, static_cast<ManagedKind>(kind));
}

// is_out: nobody has claimed or revoked it yet; then, and only then, somebody can.
void Use(fuzz::Input* input, const char* token, bool* is_out) {
  switch (input->Between(0, 3)) {
    case 0: {
      DLManagedTensor* legacy = nullptr;
      const int answer = node_dlpack_claim_legacy(token, &legacy);
      CHECK_EQUAL(legacy != nullptr, answer == NODE_DLPACK_OK);
      if (legacy == nullptr) break;
      CHECK(*is_out);
      *is_out = false;
      DeleteManaged(legacy, ManagedKind::kLegacy);
      break;
    }
    case 1:
      if (node_dlpack_revoke(token) != NODE_DLPACK_OK) break;
      CHECK(*is_out);
      *is_out = false;
      break;
    default: {
      DLManagedTensorVersioned* versioned = nullptr;
      const int answer = node_dlpack_claim(token, &versioned);
      CHECK_EQUAL(versioned != nullptr, answer == NODE_DLPACK_OK);
      if (versioned == nullptr) break;
      CHECK(*is_out);
      *is_out = false;
      for (int i = 0; i < 4 && !input->done(); ++i) Export(input, versioned);
      // As consumers do that write where they should not: only the deleter is believed.
      if (input->Bool()) {
        auto* deleter = versioned->deleter;
        std::memset(static_cast<void*>(versioned), input->Any<uint8_t>(), sizeof(*versioned));
        versioned->deleter = deleter;
        if (input->Bool()) versioned->version.major = 1;
        Export(input, versioned);
      }
      DeleteManaged(versioned, ManagedKind::kVersioned);
    }
  }
}

}  // namespace

void RunOne(fuzz::Input* input) {
  fuzz::ForeignStruct foreign(input);
  if (!MayBeOffered(&foreign)) return;
  char token[NODE_DLPACK_TOKEN_SIZE] = "?";
  const int answer = Offer(input, &foreign, token);
  CHECK_EQUAL(token[0] != '\0', answer == NODE_DLPACK_OK);
  if (answer != NODE_DLPACK_OK) {
    CHECK(std::strlen(node_dlpack_last_error()) > 0);
    CHECK(std::strlen(node_dlpack_error(answer)) > 0);
    CHECK_EQUAL(foreign.deleted, 1);
    return;
  }
  bool is_out = true;
  for (int i = 0; i < 4 && !input->done(); ++i) Use(input, token, &is_out);
  static_cast<void>(node_dlpack_revoke(token));
  // A token that expires between the sweep and the look at its time is there until the next call.
  SweepExpiredTokens();
  CHECK_EQUAL(foreign.deleted, 1);
}
