// The whole test framework of the core: TEST("a rule, in words") { CHECK(...); }. Every test must leave nothing behind:
// counters at zero and each allocation given back, which is checked after each.
#ifndef NODE_DLPACK_TEST_CORE_HARNESS_H_
#define NODE_DLPACK_TEST_CORE_HARNESS_H_

#include <cstdint>
#include <cstdio>
#include <type_traits>

#include "fault.h"

namespace harness {

struct Test {
  const char* rule;
  const char* file;
  void (*body)();
  Test* next = nullptr;

  Test(const char* rule, const char* file, void (*body)());
};

// Prints the first few of a test, counts all.
void Fail(const char* file, int line, const char* what);

template <typename T>
void Describe(char* text, size_t size, const T& value) {
  if constexpr (std::is_pointer_v<T>) {
    static_cast<void>(std::snprintf(text, size, "%p", static_cast<const void*>(value)));
  } else if constexpr (std::is_same_v<T, node_dlpack::FaultCode>) {
    static_cast<void>(std::snprintf(text, size, "fault %d", static_cast<int>(value)));
  } else if constexpr (std::is_enum_v<T>) {
    static_cast<void>(std::snprintf(text, size, "enum %lld", static_cast<long long>(value)));
  } else if constexpr (std::is_floating_point_v<T>) {
    static_cast<void>(std::snprintf(text, size, "%.17g", static_cast<double>(value)));
  } else if constexpr (std::is_signed_v<T>) {
    static_cast<void>(std::snprintf(text, size, "%lld", static_cast<long long>(value)));
  } else {
    static_cast<void>(std::snprintf(text, size, "%llu (0x%llx)", static_cast<unsigned long long>(value),
                                    static_cast<unsigned long long>(value)));
  }
}

template <typename A, typename B>
bool CheckEqual(const A& actual, const B& expected, const char* file, int line, const char* expression) {
  if (actual == expected) return true;
  char left[64];
  char right[64];
  char text[512];
  Describe(left, sizeof(left), actual);
  Describe(right, sizeof(right), expected);
  static_cast<void>(std::snprintf(text, sizeof(text), "%s is %s, not %s", expression, left, right));
  Fail(file, line, text);
  return false;
}

// The same numbers in every run.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
  uint64_t Next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dU;
  }
  // least and most included.
  int64_t Between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>((Next() >> 11) % static_cast<uint64_t>(most - least + 1));
  }

 private:
  uint64_t state_;
};

}  // namespace harness

#define HARNESS_JOIN_(a, b) a##b
#define HARNESS_JOIN(a, b) HARNESS_JOIN_(a, b)
#define TEST(rule)                                                                                       \
  static void HARNESS_JOIN(TestBody, __LINE__)();                                                        \
  static harness::Test HARNESS_JOIN(g_test, __LINE__)(rule, __FILE__, HARNESS_JOIN(TestBody, __LINE__)); \
  static void HARNESS_JOIN(TestBody, __LINE__)()

#define CHECK(condition) ((condition) ? true : (harness::Fail(__FILE__, __LINE__, #condition), false))
#define CHECK_EQUAL(actual, expected) harness::CheckEqual((actual), (expected), __FILE__, __LINE__, #actual)
#define CHECK_OK(fault) CHECK_EQUAL((fault).code, node_dlpack::FaultCode::kNone)
// A fault's code and the numbers that travel with it.
#define CHECK_FAULT(expression, code_, index_, value_, limit_)               \
  do {                                                                       \
    const node_dlpack::Fault checked_fault = (expression);                   \
    CHECK_EQUAL(checked_fault.code, node_dlpack::FaultCode::code_);          \
    CHECK_EQUAL(static_cast<int64_t>(checked_fault.index), int64_t{index_}); \
    CHECK_EQUAL(checked_fault.value, static_cast<int64_t>(value_));          \
    CHECK_EQUAL(checked_fault.limit, static_cast<int64_t>(limit_));          \
  } while (false)

#endif  // NODE_DLPACK_TEST_CORE_HARNESS_H_
