#include "convert_blocks.h"

#include <cstring>

namespace node_dlpack {

namespace {

constexpr int64_t kBlock = 1024;  // elements of one channel
constexpr int64_t kMostChannels = 4;
constexpr int64_t kMostBytes = 4;  // of an element, on either side
constexpr int64_t kLine = 64;
// As in strided_copy.cc: from here on the caches do not hold what is written.
constexpr int64_t kStreamFrom = int64_t{8} << 20;

struct Axis {
  int64_t extent, target, source, channel;  // steps in bytes; of numbers
};

Axis InBytes(const WalkAxis& axis) {
  return Axis{axis.extent, axis.target / 8, axis.source / 8, axis.channel};
}

bool IsFloat32(DType dtype) {
  return dtype.code() == kDLFloat && dtype.bits() == 32;
}

class Conversion {
 public:
  Conversion(const ConvertKernels& convert, const CopyKernels& copy, DType target, DType source, const Affine& affine)
      : copy_(copy), affine_(affine) {
    load_ = convert.LoadFor(source);
    store_ = convert.StoreFor(target);
    known_ = load_ != nullptr && (store_ != nullptr || IsFloat32(target));
    reads_floats_ = IsFloat32(source);
    target_bytes_ = target.itemsize();
    source_bytes_ = source.itemsize();
    has_affine_ = affine.scale != nullptr || affine.offset != nullptr;
  }

  bool Run(const Walk& walk, uint8_t* target, const uint8_t* source) {
    if (!known_ || !Plan(walk)) return false;
    stream_ = bytes_ >= kStreamFrom;
    int64_t index[kMaxNdim] = {};
    int64_t to = walk.start().target / 8;
    int64_t from = walk.start().source / 8;
    int64_t channel = walk.start().channel;
    for (;;) {
      Row(target + to, source + from, channel);
      int32_t left = ndim_;
      for (; left > 0; --left) {
        const Axis& axis = axes_[left - 1];
        if (++index[left - 1] < axis.extent) {
          to += axis.target;
          from += axis.source;
          channel += axis.channel;
          break;
        }
        index[left - 1] = 0;
        to -= axis.target * (axis.extent - 1);
        from -= axis.source * (axis.extent - 1);
        channel -= axis.channel * (axis.extent - 1);
      }
      if (left <= 0) break;
    }
    if (stream_) copy_.finish();
    return true;
  }

 private:
  // Which axis holds the pixels, and which the channels, if channels lie next to each other on one of the two sides.
  bool Plan(const Walk& walk) {
    const Axis run = InBytes(walk.run());
    ndim_ = walk.ndim();
    bytes_ = run.extent * target_bytes_;
    for (int32_t place = 0; place < ndim_; ++place) {
      axes_[place] = InBytes(walk.axis(place));
      bytes_ *= axes_[place].extent;
    }
    if (run.extent > 1 && run.target != target_bytes_) return false;
    pixels_ = run;
    channels_ = Axis{1, 0, 0, 0};
    if (run.source == source_bytes_ || run.extent == 1) return ConstantAlong(pixels_);
    for (int32_t place = 0; place < ndim_; ++place) {
      const Axis axis = axes_[place];
      if (axis.source != source_bytes_) continue;
      source_channels_ = run.source / source_bytes_;
      const bool apart = run.source == source_channels_ * source_bytes_ && source_channels_ >= 2 &&
                         source_channels_ <= kMostChannels &&
                         (axis.extent == source_channels_ || (axis.extent == 3 && source_channels_ == 4));
      const bool together = run.extent >= 2 && run.extent <= kMostChannels && axis.target == run.extent * target_bytes_;
      if (!apart && !together) return false;
      if (apart) {
        channels_ = axis;
      } else {
        pixels_ = axis;
        channels_ = run;
      }
      apart_ = apart;
      together_ = !apart;
      --ndim_;
      for (; place < ndim_; ++place) axes_[place] = axes_[place + 1];
      return ConstantAlong(pixels_);
    }
    return false;
  }

  bool ConstantAlong(const Axis& axis) const {
    return axis.channel == 0 || axis.extent == 1 || !has_affine_ ||
           ((affine_.scale == nullptr || affine_.scale_count == 1) &&
            (affine_.offset == nullptr || affine_.offset_count == 1));
  }

  void Row(uint8_t* target, const uint8_t* source, int64_t channel) {
    int64_t count = kBlock;
    // The first block ends where a line of the target does, so that all others are made of whole ones.
    if (stream_ && !together_) {
      const auto head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(target) & static_cast<uintptr_t>(kLine - 1));
      if (head >= target_bytes_) count = head / target_bytes_;
    }
    for (int64_t done = 0; done < pixels_.extent; done += count) {
      if (done > 0) count = kBlock;
      if (count > pixels_.extent - done) count = pixels_.extent - done;
      Block(target + done * pixels_.target, source + done * pixels_.source, count, channel);
    }
  }

  void Block(uint8_t* target, const uint8_t* source, int64_t count, int64_t channel) {
    const int64_t kept = channels_.extent;
    if (apart_) {
      copy_.deinterleave(read_, kBlock * source_bytes_, source, source_bytes_, count,
                         static_cast<int>(source_channels_), static_cast<int>(kept), false);
    }
    for (int64_t i = 0; i < kept; ++i) {
      const uint8_t* from = apart_ ? read_ + i * kBlock * source_bytes_ : source + i * channels_.source;
      uint8_t* to = together_ ? written_ + i * kBlock * target_bytes_ : target + i * channels_.target;
      Convert(to, from, count, channel + i * channels_.channel, stream_ && !together_);
    }
    if (together_) {
      copy_.interleave(target, written_, kBlock * target_bytes_, target_bytes_, count, static_cast<int>(kept), stream_);
    }
  }

  void Convert(uint8_t* target, const uint8_t* source, int64_t count, int64_t channel, bool stream) {
    LinearMap map;
    if (affine_.scale != nullptr) map.scale = Number(affine_.scale, affine_.scale_count, channel);
    if (affine_.offset != nullptr) map.offset = Number(affine_.offset, affine_.offset_count, channel);
    const LinearMap* const mapped = has_affine_ ? &map : nullptr;
    uint8_t* const to = stream ? written_ : target;
    if (store_ == nullptr) {
      load_(source, count, mapped, to);
    } else if (reads_floats_ && mapped == nullptr) {
      store_(source, to, count);
    } else {
      load_(source, count, mapped, values_);
      store_(values_, to, count);
    }
    if (stream) copy_.copy(target, written_, count * target_bytes_, true);
  }

  static float Number(const double* numbers, int64_t count, int64_t channel) {
    return static_cast<float>(numbers[count == 1 ? 0 : channel]);
  }

  const CopyKernels& copy_;
  const Affine& affine_;
  ConvertKernels::Load load_ = nullptr;
  ConvertKernels::Store store_ = nullptr;  // nullptr: float32 still
  bool known_ = false;
  bool has_affine_ = false;
  bool reads_floats_ = false;
  bool stream_ = false;
  bool apart_ = false;
  bool together_ = false;
  int64_t target_bytes_ = 0;
  int64_t source_bytes_ = 0;
  int64_t source_channels_ = 1;
  int64_t bytes_ = 0;
  Axis pixels_{1, 0, 0, 0};
  Axis channels_{1, 0, 0, 0};
  Axis axes_[kMaxNdim];
  int32_t ndim_ = 0;
  alignas(kLine) uint8_t values_[kBlock * sizeof(float)];
  alignas(kLine) uint8_t read_[kMostChannels * kBlock * kMostBytes];
  // Channels on their way together, or one block of one on its way past the caches.
  alignas(kLine) uint8_t written_[kMostChannels * kBlock * kMostBytes];
};

}  // namespace

bool ConvertInBlocks(const ConvertKernels& convert, const CopyKernels& copy, const Walk& walk, uint8_t* target,
                     DType target_dtype, const uint8_t* source, DType source_dtype, const Affine& affine) {
  Conversion conversion(convert, copy, target_dtype, source_dtype, affine);
  return conversion.Run(walk, target, source);
}

}  // namespace node_dlpack
