// Shape and strides, and everything that can be said or derived without touching memory. Every size is checked for
// overflow, once, where a Layout is made; a Layout that exists is sound for its dtype.
#ifndef NODE_DLPACK_CORE_LAYOUT_H_
#define NODE_DLPACK_CORE_LAYOUT_H_

#include <cstdint>
#include <cstring>

#include "dtype.h"
#include "fault.h"

namespace node_dlpack {

constexpr int32_t kMaxNdim = 64;
constexpr int64_t kMaxExtent = (int64_t{1} << 53) - 1;  // what a JavaScript number holds exactly

// Offsets in bits from the first logical element: elements live in [lowest, highest). Both 0 when empty. lowest <= 0.
struct BitSpan {
  int64_t lowest = 0;
  int64_t highest = 0;
};

// Bytes from the first logical element: [lowest, highest), rounded outwards to whole bytes.
struct ByteSpan {
  int64_t lowest = 0;
  int64_t highest = 0;
  int64_t size() const { return highest - lowest; }
};

// One axis of a slice, already normalised: index drops the axis; range keeps extent elements from start by step.
struct AxisSlice {
  bool is_index = false;
  int64_t start = 0;
  int64_t extent = 0;
  int64_t step = 1;
};

class Layout {
 public:
  Layout() = default;  // 0-d, one element
  Layout(Layout&& other) noexcept { TakeFrom(other); }
  Layout& operator=(Layout&& other) noexcept {
    if (this == &other) return *this;
    if (dims_ != inline_) FreeDims();
    TakeFrom(other);
    return *this;
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() {
    if (dims_ != inline_) FreeDims();
  }
  // Becomes 0-d.
  void Clear() {
    if (dims_ != inline_) FreeDims();
    dims_ = inline_;
    ndim_ = 0;
    size_ = 1;
  }

  // Copies into *out, which is then as good as this one; only memory can fail.
  Fault CopyTo(Layout* out) const {
    if (dims_ != inline_) return CopyDimsTo(out);
    if (out == this) return Fault();
    out->Clear();
    out->ndim_ = ndim_;
    out->size_ = size_;
    std::memcpy(out->inline_, inline_, sizeof inline_);
    return Fault();
  }

  // Row-major. Faults: kNdimLimit, kExtentNegative, kExtentTooLarge, kSizeOverflow, kOutOfMemory.
  static Fault RowMajor(const int64_t* shape, int32_t ndim, DType dtype, Layout* out);
  // Any strides, in elements (NULL: row-major). Faults: as above, kSpanOverflow. Strides of axes of extent 1 and of
  // empty tensors are kept as they are and never used.
  static Fault Strided(const int64_t* shape, const int64_t* strides, int32_t ndim, DType dtype, Layout* out);

  int32_t ndim() const { return ndim_; }
  const int64_t* shape() const { return dims_; }
  // Shape, then strides; memory for kInlineNdim axes at least, so that small ones can be copied without a loop.
  const int64_t* dims() const { return dims_; }
  static constexpr int32_t kInlineNdim = 4;
  const int64_t* strides() const { return dims_ + ndim_; }
  int64_t size() const { return size_; }  // elements
  bool empty() const { return size_ == 0; }

  // dtype: the one that the layout was made for, here and below. Another of at most as many bits is as good.
  BitSpan bit_span(DType dtype) const;
  ByteSpan byte_span(DType dtype) const;
  // The span leads out of the address space, below the first element or above: kSpanOverflow, with the axis that
  // reaches furthest there.
  Fault SpanFault(bool below) const;
  // Bytes of the same elements stored compactly: ceil(size * stride_bits / 8).
  int64_t compact_bytes(DType dtype) const;

  // Row-major and compact; axes of extent 1 do not matter; empty is contiguous.
  bool IsContiguous() const;
  // True unless it is proven that no two indices share an element: with the axes of extent above 1 ordered by |stride|,
  // each |stride| exceeds the reach of all smaller ones, the sum of (extent - 1) x |stride|. Anything else counts as
  // overlapping.
  bool MayOverlap() const;

  // Derived layouts, no copy. out may be this very layout, and keeps its value on a fault; any of them may lack memory.
  // offset: elements from this layout's first element to the new one's; 0 when the new one is empty.
  // Fewer specs than axes: missing trailing axes are whole. Specs are checked, not trusted: kIndex names the first or
  // last element that lies outside (also for a step of 0 that would repeat one), kExtentNegative, kIndexCount.
  Fault Slice(const AxisSlice* specs, int32_t count, DType dtype, Layout* out, int64_t* offset) const;
  Fault Permute(const int32_t* axes, DType dtype, Layout* out) const;  // axes: a permutation of 0..ndim-1, else kAxis
  Fault Reshape(const int64_t* shape, int32_t ndim, DType dtype, Layout* out) const;  // kReshapeSize, kReshapeNeedsCopy
  Fault Squeeze(int32_t axis, DType dtype, Layout* out) const;     // kAxis, kReshapeSize when the extent is not 1
  Fault ExpandDims(int32_t axis, DType dtype, Layout* out) const;  // axis in 0..ndim; kAxis, kNdimLimit
  // kBroadcast; with index -1 the fault is in the number of axes: value of the source, limit of the target.
  Fault BroadcastTo(const int64_t* shape, int32_t ndim, DType dtype, Layout* out) const;
  Fault Flip(int32_t axis, DType dtype, Layout* out, int64_t* offset) const;  // kAxis

  // Elements from the first element to index (ndim numbers, each checked: kIndex).
  Fault OffsetOf(const int64_t* index, int32_t count, int64_t* offset) const;  // kIndexCount, kIndex

 private:
  int64_t* mutable_shape() { return dims_; }
  int64_t* mutable_strides() { return dims_ + ndim_; }
  // Leaves other as a 0-d layout.
  void TakeFrom(Layout& other) {
    ndim_ = other.ndim_;
    size_ = other.size_;
    if (other.dims_ == other.inline_) {
      dims_ = inline_;
      std::memcpy(inline_, other.inline_, sizeof inline_);
    } else {
      dims_ = other.dims_;
      other.dims_ = other.inline_;
    }
    other.ndim_ = 0;
    other.size_ = 1;
  }
  void FreeDims();
  Fault CopyDimsTo(Layout* out) const;
  Fault Resize(int32_t ndim);  // room for ndim axes, contents undefined
  // Shape and strides are in: computes size_ and checks every product and span.
  Fault Seal(DType dtype);
  Fault CheckShape(DType dtype);
  Fault CheckSpan(DType dtype) const;
  void FillRowMajorStrides();  // after CheckShape
  bool FoldAxes(Layout* result) const;

  int32_t ndim_ = 0;
  int64_t size_ = 1;
  int64_t* dims_ = inline_;  // shape, then strides; memory of its own above kInlineNdim axes
  int64_t inline_[2 * kInlineNdim] = {};
};

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_LAYOUT_H_
