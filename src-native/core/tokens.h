// Tokens: references in transit. A token is a string that anything can carry (a message, a command line, another
// language's variable) and that stands for one alias of a block until it is claimed, once, by any thread of the
// process; or revoked; or found expired.
//
// Rules, and what breaks without them:
// - 128 random bits: a token is a capability. A counter could be guessed, and a guess would take the memory from
//   the one it was meant for.
// - The table is process-wide and needs no environment: the sender may have ended before the claim.
// - A claim takes the entry out of the table under the lock, so of two claimants one gets the memory and the other a
//   fault. A claim that cannot be carried out (no memory for a handle or a struct) puts it back: a reference must not
//   be lost to a failure that another attempt would survive.
// - No deleter runs under the lock: the last alias of foreign memory may lead back here.
// - Expired entries are swept at later calls, never by a timer: nothing here keeps a process alive or needs a thread.
//   Entries stand in the order of their expiry, so that a sweep looks at nothing that stays.
#ifndef NODE_DLPACK_CORE_TOKENS_H_
#define NODE_DLPACK_CORE_TOKENS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "block.h"
#include "dtype.h"
#include "fault.h"
#include "layout.h"

namespace node_dlpack {

enum class TokenKind : uint8_t {
  kShared = 1,    // one more holder of the memory
  kTransfer = 2,  // its one holder
};

// What a token stands for: everything that a tensor is, without an environment.
struct Parcel {
  BlockRef alias;             // of kind kToken while in transit
  uint8_t* origin = nullptr;  // first logical element
  uint64_t byte_offset = 0;   // opaque memory only: from there to the first logical element
  Layout layout;
  DType dtype;
  bool read_only = true;  // of kShared: the tensor that comes of it
  bool as_cpu = false;    // host memory of another device type, exchanged as the CPU's
};

// "dlpack-" and 32 hexadecimal digits; the text has a terminating zero.
constexpr int kTokenLength = 7 + 32;
using TokenText = char[kTokenLength + 1];

// Takes the parcel over and writes its token. ttl_ms: milliseconds until it may be swept. kOutOfMemory, kRandomness:
// the parcel's alias has been dropped.
Fault OfferToken(TokenKind kind, Parcel parcel, int64_t ttl_ms, TokenText* text);

// Drops the reference. kToken when there is none under this name (any more).
Fault RevokeToken(const char* text, size_t length);

// What a claimant can use.
enum class Wanted : uint8_t {
  kAny,
  kShared,
  kTransfer,
  kWritable,  // whatever may be written: a transfer, or a writable loan
};

struct TokenEntry;

// One claimant's hold on a token that left the table: nobody else can have it. Unless it is spent, it goes back.
class TokenClaim {
 public:
  TokenClaim() = default;
  TokenClaim(const TokenClaim&) = delete;
  TokenClaim& operator=(const TokenClaim&) = delete;
  ~TokenClaim();

  // kToken when the text is malformed, unknown, spent or expired; with its kind as the value when it is not what was
  // wanted: it was not touched then, and others can have it.
  Fault Take(const char* text, size_t length, Wanted wanted);

  TokenKind kind() const;
  const Parcel& parcel() const;
  // The claim was carried out: the token's alias is dropped.
  void Spend();

 private:
  TokenEntry* entry_ = nullptr;
};

// Steady clock, nanoseconds: when the first token expires. INT64_MAX while none is out.
extern std::atomic<int64_t> g_first_token_expiry;
bool FirstTokenHasExpired();
// Drops what has expired.
void SweepTokens();

// To be asked at the beginning of every call of the library. Costs one relaxed read while no token is out.
inline bool AnyTokenHasExpired() {
  return g_first_token_expiry.load(std::memory_order_relaxed) != INT64_MAX && FirstTokenHasExpired();
}

inline void SweepExpiredTokens() {
  if (AnyTokenHasExpired()) SweepTokens();
}

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_TOKENS_H_
