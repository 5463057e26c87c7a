#include "checked_math.h"

#include <initializer_list>
#include <limits>

#include "harness.h"

using namespace node_dlpack;

namespace {

__extension__ typedef __int128 Wide;  // the exact result

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

void CheckOutcome(bool fits, int64_t result, Wide exact) {
  constexpr int64_t kUntouched = 77;
  const bool expected = exact >= kLeast && exact <= kMost;
  CHECK_EQUAL(fits, expected);
  CHECK_EQUAL(result, expected ? static_cast<int64_t>(exact) : kUntouched);
}

void CheckPair(int64_t a, int64_t b) {
  int64_t result = 77;
  bool fits = CheckedAdd(a, b, &result);
  CheckOutcome(fits, result, static_cast<Wide>(a) + b);
  result = 77;
  fits = CheckedSubtract(a, b, &result);
  CheckOutcome(fits, result, static_cast<Wide>(a) - b);
  result = 77;
  fits = CheckedMultiply(a, b, &result);
  CheckOutcome(fits, result, static_cast<Wide>(a) * b);
}

}  // namespace

TEST("checked arithmetic says exactly when a result does not fit, and then leaves the target alone") {
  int64_t edges[256];
  int count = 0;
  for (int shift = 0; shift < 63; shift += 3) {
    for (int64_t delta = -1; delta <= 1; ++delta) {
      edges[count++] = (int64_t{1} << shift) + delta;
      edges[count++] = -(int64_t{1} << shift) + delta;
    }
  }
  for (int64_t edge : {kLeast, kLeast + 1, kMost, kMost - 1, int64_t{0}}) edges[count++] = edge;
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j) CheckPair(edges[i], edges[j]);
  }
  harness::Random random(1);
  for (int i = 0; i < 50000; ++i) {
    CheckPair(static_cast<int64_t>(random.Next()) >> random.Between(0, 62),
              static_cast<int64_t>(random.Next()) >> random.Between(0, 62));
  }
}

TEST("the magnitude of INT64_MIN is 2^63") {
  CHECK_EQUAL(Magnitude(kLeast), uint64_t{1} << 63);
  CHECK_EQUAL(Magnitude(-1), uint64_t{1});
  CHECK_EQUAL(Magnitude(kMost), uint64_t{0x7fffffffffffffff});
}

TEST("bits become bytes towards lower and towards higher addresses") {
  for (int64_t bits = -40; bits <= 40; ++bits) {
    const int64_t below = BytesBelow(bits);
    const int64_t above = BytesAbove(bits);
    CHECK(below * 8 <= bits && bits < below * 8 + 8);
    CHECK(above * 8 >= bits && bits > above * 8 - 8);
  }
  CHECK_EQUAL(BytesAbove(kMost), (kMost >> 3) + 1);
  CHECK_EQUAL(BytesBelow(kLeast), kLeast / 8);
}
