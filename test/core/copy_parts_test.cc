#include "copy_parts.h"

#include <atomic>
#include <cstring>
#include <vector>

#include "convert.h"
#include "copy_threads.h"
#include "harness.h"
#include "memory.h"
#include "strided_copy.h"
#include "support.h"

using namespace node_dlpack;
using support::Make;
using support::TypeOf;

namespace {

class WithThreads {
 public:
  explicit WithThreads(int32_t count) { SetCopyThreads(count); }
  ~WithThreads() { SetCopyThreads(1); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;
};

std::vector<uint8_t> RandomBytes(int64_t count, harness::Random* random) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  for (size_t i = 0; i < bytes.size(); i += 8) {
    const uint64_t word = random->Next();
    std::memcpy(&bytes[i], &word, bytes.size() - i < 8 ? bytes.size() - i : 8);
  }
  return bytes;
}

struct Case {
  Layout target;
  Layout source;
  DType dtype;
};

// The origin of a layout whose span lies in the bytes from the first on.
uint8_t* OriginIn(std::vector<uint8_t>* bytes, const Layout& layout, DType dtype) {
  return bytes->data() - layout.byte_span(dtype).lowest;
}

// With several numbers of threads as with one, every byte between the elements included.
void CheckCopy(const Case& test, harness::Random* random) {
  std::vector<uint8_t> source = RandomBytes(test.source.byte_span(test.dtype).size(), random);
  const std::vector<uint8_t> before = RandomBytes(test.target.byte_span(test.dtype).size(), random);
  std::vector<uint8_t> expected = before;
  const uint8_t* from = OriginIn(&source, test.source, test.dtype);
  StridedCopy(OriginIn(&expected, test.target, test.dtype), test.target, from, test.source, test.dtype);
  for (const int32_t count : {2, 3, 7}) {
    const WithThreads threads(count);
    std::vector<uint8_t> target = before;
    StridedCopy(OriginIn(&target, test.target, test.dtype), test.target, from, test.source, test.dtype);
    CHECK(target == expected);
  }
}

}  // namespace

TEST("every part is done exactly once, the last one by the caller, and all are done when it returns") {
  for (const int32_t parts : {1, 2, 5, kMostCopyThreads}) {
    std::atomic<int32_t> done[kMostCopyThreads] = {};
    RunInParts(
        parts, [](void* context, int32_t part) { static_cast<std::atomic<int32_t>*>(context)[part].fetch_add(1); },
        done);
    for (int32_t part = 0; part < kMostCopyThreads; ++part) CHECK_EQUAL(done[part].load(), part < parts ? 1 : 0);
  }
}

TEST("one thread unless told otherwise; a default does not overrule what was said") {
  CHECK_EQUAL(CopyThreads(), 1);
  SetCopyThreads(3);
  SetCopyThreadsByDefault(5);
  CHECK_EQUAL(CopyThreads(), 3);
  SetCopyThreads(1);
  CHECK_EQUAL(CopyThreads(), 1);
}

TEST("small copies, packed elements and a single axis that must stay whole are not divided") {
  const DType f32 = support::Float32();
  const Layout small = Make({1023, 1024}, f32);
  CHECK_EQUAL(CopyParts(small, f32, small, f32, CopyParts::kNoAxis, 8).count(), 1);
  const Layout large = Make({2048, 1024}, f32);
  CHECK_EQUAL(CopyParts(large, f32, large, f32, CopyParts::kNoAxis, 1).count(), 1);
  CHECK_EQUAL(CopyParts(large, f32, large, f32, CopyParts::kNoAxis, 8).count(), 4);
  CHECK_EQUAL(CopyParts(large, f32, large, f32, 0, 8).count(), 4);
  const Layout line = Make({int64_t{1} << 21}, f32);
  CHECK_EQUAL(CopyParts(line, f32, line, f32, 0, 8).count(), 1);
  const DType bits = TypeOf(kDLFloat4_e2m1fn, 4);
  const Layout packed = Make({4096, 4096}, bits);
  CHECK_EQUAL(CopyParts(packed, bits, packed, bits, CopyParts::kNoAxis, 8).count(), 1);
  const Layout scalar = Make({1}, f32);
  CHECK_EQUAL(CopyParts(scalar, f32, scalar, f32, CopyParts::kNoAxis, 8).count(), 1);
}

TEST("copies divided among threads are those of one thread, for every kind of copy") {
  harness::Random random(81);
  const DType u8 = support::Uint8();
  const DType f32 = support::Float32();
  const DType f64 = TypeOf(kDLFloat, 64);
  CheckCopy({Make({1501, 1503}, f32), Make({1501, 1503}, {1, 1501}, f32), f32}, &random);
  CheckCopy({Make({2, 3, 1025, 1023}, u8), Make({2, 3, 1025, 1023}, {3 * 1025 * 1023, 1, 3 * 1023, 3}, u8), u8},
            &random);
  CheckCopy({Make({3001, 1024, 3}, u8), Make({3001, 1024, 3}, {1024, 1, 3001 * 1024}, u8), u8}, &random);
  CheckCopy({Make({1024, 1031}, f64), Make({1024, 1031}, {-1031, -1}, f64), f64}, &random);
  CheckCopy({Make({1100, 1024}, f32), Make({1100, 1024}, {2050, 2}, f32), f32}, &random);
  CheckCopy({Make({1100, 1024}, {1030, 1}, f32), Make({1100, 1024}, {0, 1}, f32), f32}, &random);
  CheckCopy({Make({3, 700001}, {-700005, 1}, f32), Make({3, 700001}, {1, 3}, f32), f32}, &random);
  CheckCopy({Make({1500007}, f32), Make({1500007}, {-1}, f32), f32}, &random);
  CheckCopy({Make({9, 11, 13, 17, 63}, f32), Make({9, 11, 13, 17, 63}, {1, 9, 99, 1287, 21879}, f32), f32}, &random);
}

TEST("conversions divided among threads are those of one thread, and numbers stay with their channels") {
  harness::Random random(82);
  const DType from = support::Uint8();
  const DType to = support::Float32();
  constexpr int64_t kRows = 901;
  constexpr int64_t kColumns = 1003;
  const std::vector<uint8_t> source = RandomBytes(3 * kRows * kColumns, &random);
  const Layout planes = Make({3, kRows, kColumns}, {1, 3 * kColumns, 3}, from);
  const Layout target = Make({3, kRows, kColumns}, to);
  const double scale[3] = {0.5, 0.25, 3};
  const double offset[3] = {-1, 7, 0.125};
  const Affine affine{scale, offset, 3, 3, 0};
  const auto bytes = static_cast<size_t>(target.compact_bytes(to));
  std::vector<uint8_t> expected(bytes);
  CHECK_OK(ConvertStrided(expected.data(), target, to, source.data(), planes, from, affine));
  const WithThreads threads(3);
  std::vector<uint8_t> converted(bytes);
  CHECK_OK(ConvertStrided(converted.data(), target, to, source.data(), planes, from, affine));
  CHECK(converted == expected);
  // What is wrong with the numbers is said once, and nothing is written.
  std::vector<uint8_t> untouched(bytes, 0x5a);
  const Affine wrong{scale, nullptr, 2, 0, 0};
  CHECK_FAULT(ConvertStrided(untouched.data(), target, to, source.data(), planes, from, wrong), kIndexCount, 0, 2, 3);
  CHECK(untouched == std::vector<uint8_t>(bytes, 0x5a));
}

TEST("where there is no memory to describe a part, the calling thread copies all of it") {
  harness::Random random(83);
  const DType f32 = support::Float32();
  const Layout target = Make({9, 11, 13, 17, 63}, f32);
  const Layout layout = Make({9, 11, 13, 17, 63}, {1, 9, 99, 1287, 21879}, f32);
  const std::vector<uint8_t> source = RandomBytes(layout.byte_span(f32).size(), &random);
  std::vector<uint8_t> expected(source.size());
  StridedCopy(expected.data(), target, source.data(), layout, f32);
  const WithThreads threads(2);
  std::vector<uint8_t> copied(source.size());
  FailAllocation(0);
  StridedCopy(copied.data(), target, source.data(), layout, f32);
  CHECK(AllocationFailed());
  FailAllocation(-1);
  CHECK(copied == expected);
}
