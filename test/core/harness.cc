#include "harness.h"

#include <cstring>

#include "counters.h"
#include "memory.h"

namespace harness {

namespace {

Test* g_first = nullptr;
Test* g_last = nullptr;
const Test* g_running = nullptr;
int g_failures_of_test = 0;

void CheckNothingLeft() {
  const node_dlpack::Counters& counters = node_dlpack::g_counters;
  const struct {
    const char* name;
    int64_t value;
  } left[] = {
      {"tensors", counters.tensors},
      {"exports", counters.exports},
      {"views", counters.views},
      {"tokens", counters.tokens},
      {"blocks", counters.blocks},
      {"bytes", counters.bytes},
      {"allocations", node_dlpack::LiveAllocations()},
  };
  for (const auto& entry : left) {
    if (entry.value == 0) continue;
    char text[128];
    static_cast<void>(
        std::snprintf(text, sizeof(text), "the test leaves %lld %s", static_cast<long long>(entry.value), entry.name));
    Fail(g_running->file, 0, text);
  }
}

}  // namespace

Test::Test(const char* rule, const char* file, void (*body)()) : rule(rule), file(file), body(body) {
  if (g_last == nullptr) {
    g_first = this;
  } else {
    g_last->next = this;
  }
  g_last = this;
}

void Fail(const char* file, int line, const char* what) {
  if (g_failures_of_test == 0) std::printf("FAIL %s\n", g_running->rule);
  if (++g_failures_of_test <= 5) std::printf("  %s:%d: %s\n", file, line, what);
}

}  // namespace harness

// With an argument: only the tests whose rule or file contains it.
int main(int argc, char** argv) {
  int passed = 0;
  int failed = 0;
  for (const harness::Test* test = harness::g_first; test != nullptr; test = test->next) {
    if (argc > 1 && std::strstr(test->rule, argv[1]) == nullptr && std::strstr(test->file, argv[1]) == nullptr)
      continue;
    harness::g_running = test;
    harness::g_failures_of_test = 0;
    test->body();
    harness::CheckNothingLeft();
    if (harness::g_failures_of_test > 5) std::printf("  and %d more\n", harness::g_failures_of_test - 5);
    ++(harness::g_failures_of_test == 0 ? passed : failed);
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
