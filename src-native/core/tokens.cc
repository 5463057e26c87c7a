#include "tokens.h"

#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "counters.h"
#include "memory.h"
#include "random.h"

namespace node_dlpack {

struct TokenKey {
  uint64_t words[2];
  bool operator==(const TokenKey& other) const { return words[0] == other.words[0] && words[1] == other.words[1]; }
};

struct TokenEntry {
  TokenKey key;
  TokenKind kind;
  int64_t expiry;
  Parcel parcel;
  TokenEntry* next = nullptr;     // in its bucket
  TokenEntry* earlier = nullptr;  // by expiry
  TokenEntry* later = nullptr;
};

std::atomic<int64_t> g_first_token_expiry{INT64_MAX};

namespace {

constexpr char kPrefix[] = "dlpack-";
constexpr size_t kPrefixLength = sizeof(kPrefix) - 1;
constexpr size_t kBuckets = 1024;
constexpr int64_t kNanosecondsInMs = 1000000;

std::atomic_flag g_locked = ATOMIC_FLAG_INIT;
TokenEntry* g_buckets[kBuckets];
TokenEntry* g_earliest;
TokenEntry* g_latest;

// Held for a few pointer writes. No std::mutex: a static of one may have a destructor, and this module is used after
// exit handlers have run.
class Lock {
 public:
  Lock() {
    while (g_locked.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  ~Lock() { g_locked.clear(std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

int64_t Now() {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  return duration_cast<nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int64_t ExpiryAfter(int64_t ttl_ms) {
  const int64_t now = Now();
  return ttl_ms > (INT64_MAX - 1 - now) / kNanosecondsInMs ? INT64_MAX - 1 : now + ttl_ms * kNanosecondsInMs;
}

// --- text ------------------------------------------------------------------------------------------------------------

int HexValue(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

bool Parse(const char* text, size_t length, TokenKey* key) {
  if (length != static_cast<size_t>(kTokenLength) || std::memcmp(text, kPrefix, kPrefixLength) != 0) return false;
  const char* digit = text + kPrefixLength;
  for (uint64_t& word : key->words) {
    word = 0;
    for (int i = 0; i < 16; ++i, ++digit) {
      const int value = HexValue(*digit);
      if (value < 0) return false;
      word = word << 4 | static_cast<uint64_t>(value);
    }
  }
  return true;
}

void Write(const TokenKey& key, TokenText* text) {
  std::memcpy(*text, kPrefix, kPrefixLength);
  char* digit = *text + kPrefixLength;
  for (const uint64_t word : key.words) {
    for (int shift = 60; shift >= 0; shift -= 4, ++digit) *digit = "0123456789abcdef"[word >> shift & 15];
  }
  *digit = '\0';
}

// --- the table; the caller holds the lock ----------------------------------------------------------------------------

// Keys are random: the low bits of one are as good as any hash.
TokenEntry** BucketOf(const TokenKey& key) {
  return &g_buckets[key.words[0] % kBuckets];
}

void PublishFirstExpiry() {
  g_first_token_expiry.store(g_earliest == nullptr ? INT64_MAX : g_earliest->expiry, std::memory_order_relaxed);
}

TokenEntry* Find(const TokenKey& key) {
  TokenEntry* entry = *BucketOf(key);
  while (entry != nullptr && !(entry->key == key)) entry = entry->next;
  return entry;
}

void Insert(TokenEntry* entry) {
  TokenEntry** bucket = BucketOf(entry->key);
  entry->next = *bucket;
  *bucket = entry;
  // From the latest backwards: with one ttl for all, the place is at the end.
  TokenEntry* before = g_latest;
  while (before != nullptr && before->expiry > entry->expiry) before = before->earlier;
  entry->earlier = before;
  entry->later = before == nullptr ? g_earliest : before->later;
  (entry->earlier == nullptr ? g_earliest : entry->earlier->later) = entry;
  (entry->later == nullptr ? g_latest : entry->later->earlier) = entry;
  PublishFirstExpiry();
}

void Remove(TokenEntry* entry) {
  TokenEntry** link = BucketOf(entry->key);
  while (*link != entry) link = &(*link)->next;
  *link = entry->next;
  (entry->earlier == nullptr ? g_earliest : entry->earlier->later) = entry->later;
  (entry->later == nullptr ? g_latest : entry->later->earlier) = entry->earlier;
  PublishFirstExpiry();
}

bool IsWanted(const TokenEntry& entry, Wanted wanted) {
  if (wanted == Wanted::kAny) return true;
  if (entry.kind == TokenKind::kTransfer) return wanted != Wanted::kShared;
  return wanted == Wanted::kShared || (wanted == Wanted::kWritable && !entry.parcel.read_only);
}

// --- without the lock ------------------------------------------------------------------------------------------------

void Destroy(TokenEntry* entry) {
  entry->~TokenEntry();
  FreeBytes(entry);
  g_counters.tokens.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

Fault OfferToken(TokenKind kind, Parcel parcel, int64_t ttl_ms, TokenText* text) {
  TokenKey key;
  if (!RandomBytes(key.words, sizeof(key.words))) return FaultCode::kRandomness;
  void* memory = AllocateBytes(sizeof(TokenEntry));
  if (memory == nullptr) return Fault(FaultCode::kOutOfMemory, 0, sizeof(TokenEntry));
  static_assert(alignof(TokenEntry) <= kAllocationAlignment, "plain allocation");
  auto* entry = new (memory) TokenEntry{key, kind, ExpiryAfter(ttl_ms), static_cast<Parcel&&>(parcel)};
  entry->parcel.alias.ChangeKind(AliasKind::kToken);
  g_counters.tokens.fetch_add(1, std::memory_order_relaxed);
  Write(key, text);
  const Lock lock;
  Insert(entry);
  return Fault();
}

Fault RevokeToken(const char* text, size_t length) {
  TokenClaim claim;
  if (Fault fault = claim.Take(text, length, Wanted::kAny); !fault.ok()) return fault;
  claim.Spend();
  return Fault();
}

TokenClaim::~TokenClaim() {
  if (entry_ == nullptr) return;
  const Lock lock;
  Insert(entry_);
}

Fault TokenClaim::Take(const char* text, size_t length, Wanted wanted) {
  TokenKey key;
  if (!Parse(text, length, &key)) return FaultCode::kToken;
  const int64_t now = Now();
  const Lock lock;
  TokenEntry* entry = Find(key);
  if (entry == nullptr || entry->expiry <= now) return FaultCode::kToken;
  if (!IsWanted(*entry, wanted)) return Fault(FaultCode::kToken, 0, static_cast<int64_t>(entry->kind));
  Remove(entry);
  entry_ = entry;
  return Fault();
}

TokenKind TokenClaim::kind() const {
  return entry_->kind;
}

const Parcel& TokenClaim::parcel() const {
  return entry_->parcel;
}

void TokenClaim::Spend() {
  TokenEntry* entry = entry_;
  entry_ = nullptr;
  Destroy(entry);
}

bool FirstTokenHasExpired() {
  return g_first_token_expiry.load(std::memory_order_relaxed) <= Now();
}

void SweepTokens() {
  const int64_t now = Now();
  TokenEntry* expired = nullptr;
  {
    const Lock lock;
    while (g_earliest != nullptr && g_earliest->expiry <= now) {
      TokenEntry* entry = g_earliest;
      Remove(entry);
      entry->next = expired;
      expired = entry;
    }
  }
  while (expired != nullptr) {
    TokenEntry* entry = expired;
    expired = entry->next;
    Destroy(entry);
  }
}

}  // namespace node_dlpack
