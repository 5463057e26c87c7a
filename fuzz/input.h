// What a target makes of the fuzzer's bytes. Numbers come from the front; when nothing is left they are 0, so every
// input means something, and a shorter one is a simpler one.
#ifndef NODE_DLPACK_FUZZ_INPUT_H_
#define NODE_DLPACK_FUZZ_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "support.h"

namespace fuzz {

class Input {
 public:
  Input(const uint8_t* bytes, size_t size) : bytes_(bytes), left_(size) {}

  bool done() const { return left_ == 0; }
  size_t left() const { return left_; }

  template <typename T>
  T Any() {
    T value{};
    const size_t size = left_ < sizeof(T) ? left_ : sizeof(T);
    std::memcpy(&value, bytes_, size);
    Skip(size);
    return value;
  }
  bool Bool() { return (Any<uint8_t>() & 1) != 0; }
  // least and most included; at most 256 numbers apart.
  int64_t Between(int64_t least, int64_t most) { return least + Any<uint8_t>() % (most - least + 1); }
  // Small numbers mostly, those around the ends of every width, and any at all: what a size or a step may be.
  int64_t Number() {
    const uint8_t kind = Any<uint8_t>();
    if (kind < 128) return kind % 16 - 3;
    if (kind < 160) return int64_t{1} << (kind % 32 + 31);
    if (kind < 176) return -(int64_t{1} << (kind % 16 + 47));
    if (kind < 192) return (int64_t{1} << (kind % 16 + 47)) - 1;
    if (kind < 200) return INT64_MAX - (kind - 192);
    if (kind < 208) return INT64_MIN + (kind - 200);
    if (kind < 232) return Any<int16_t>();
    return Any<int64_t>();
  }
  node_dlpack::DType DType() { return support::DTypeAt(static_cast<int>(Between(0, support::kDTypeCount - 1))); }
  // The rest, as bytes.
  const uint8_t* Rest(size_t* size) {
    const uint8_t* rest = bytes_;
    *size = left_;
    Skip(left_);
    return rest;
  }

 private:
  void Skip(size_t size) {
    bytes_ += size;
    left_ -= size;
  }

  const uint8_t* bytes_;
  size_t left_;
};

// 0 to 5 axes whose elements are at most `most`. Extents of 0 and 1 among them.
void SmallShape(Input* input, int64_t most, int64_t* shape, int32_t* ndim);
// A layout of that shape in which no element lies twice: axes of memory in any order, spaced, forwards or backwards.
node_dlpack::Layout Apart(Input* input, const int64_t* shape, int32_t ndim, node_dlpack::DType dtype);
// A layout of that shape with steps of -7 to 7, which may meet.
node_dlpack::Layout Anyhow(Input* input, const int64_t* shape, int32_t ndim, node_dlpack::DType dtype);

}  // namespace fuzz

// Each target is this function in a file of its own. Whatever CHECK finds, and counters that do not come back, end the
// process: that is what the fuzzer looks for.
void RunOne(fuzz::Input* input);

#endif  // NODE_DLPACK_FUZZ_INPUT_H_
