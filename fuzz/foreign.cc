// The check of a struct from outside, against the rules worked out in wide numbers: what is sound is accepted and
// described rightly, everything else is refused, and nothing outside the struct is read. What was accepted goes through
// a whole life: adopted, exported, checked again, read. The kit's check for other addons must come to the same.
#include "foreign.h"

#include <cstring>

#include "foreign_struct.h"
#include "input.h"
#include "memory_of.h"
#include "node_dlpack/tensor.h"
#include "provenance.h"
#include "strided_copy.h"

using namespace node_dlpack;

namespace {

__extension__ using Wide = __int128;

struct Expected {
  bool sound = false;
  bool empty = false;
  int64_t size = 0;
  Wide lowest = 0;  // bytes
  Wide highest = 0;
};

bool IsHeld(DLDataType dtype) {
  if (dtype.lanes != 1) return false;
  for (int i = 0; i < support::kDTypeCount; ++i) {
    const DType row = support::DTypeAt(i);
    if (row.code() == dtype.code && row.bits() == dtype.bits) return true;
  }
  return false;
}

Wide FloorDivide(Wide a, Wide b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

// Every rule, without a thought for speed.
Expected Judge(const fuzz::ForeignStruct& foreign) {
  Expected expected;
  const DLTensor& tensor = foreign.tensor();
  const bool versioned = foreign.kind() == ManagedKind::kVersioned;
  if (versioned && foreign.versioned.version.major != 1) return expected;
  int32_t device = 0;
  std::memcpy(&device, &tensor.device.device_type, sizeof(device));
  if (device < 1 || device > 18 || device == 5 || device == 6) return expected;
  if (!IsHeld(tensor.dtype) || tensor.ndim < 0 || tensor.ndim > 64) return expected;
  if (tensor.ndim > 0 && tensor.shape == nullptr) return expected;
  const bool padded = versioned && (foreign.versioned.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  const Wide width = padded && tensor.dtype.bits < 8 ? 8 : tensor.dtype.bits;
  Wide compact = width;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    const int64_t extent = tensor.shape[axis];
    if (extent < 0 || extent > kMaxExtent) return expected;
    if (extent == 0) expected.empty = true;
    if (extent > 0) compact *= extent;
    if (compact > INT64_MAX) return expected;
  }
  expected.size = expected.empty ? 0 : static_cast<int64_t>(compact / width);
  if (expected.empty) {
    expected.sound = true;
    return expected;
  }
  Wide lowest = 0;
  Wide highest = width;
  if (tensor.strides == nullptr) {
    highest = compact;
  } else {
    for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
      const Wide reach = static_cast<Wide>(tensor.strides[axis]) * (tensor.shape[axis] - 1) * width;
      (reach < 0 ? lowest : highest) += reach;
      if (highest - lowest > INT64_MAX) return expected;
    }
  }
  expected.lowest = FloorDivide(lowest, 8);
  expected.highest = FloorDivide(highest + 7, 8);
  const auto address = reinterpret_cast<uintptr_t>(tensor.data);
  if (tensor.data == nullptr || tensor.byte_offset > static_cast<uint64_t>(PTRDIFF_MAX)) return expected;
  const Wide first = static_cast<Wide>(address) + static_cast<Wide>(tensor.byte_offset);
  if (first > UINTPTR_MAX) return expected;
  if (IsHostReadable(device) && (first + expected.lowest < 0 || first + expected.highest > UINTPTR_MAX))
    return expected;
  expected.sound = true;
  return expected;
}

void CheckDescription(const fuzz::ForeignStruct& foreign, const CheckedTensor& checked, const Expected& expected) {
  const DLTensor& tensor = foreign.tensor();
  const Layout& layout = checked.layout();
  CHECK_EQUAL(layout.ndim(), tensor.ndim);
  CHECK_EQUAL(layout.size(), expected.size);
  for (int32_t axis = 0; axis < layout.ndim(); ++axis) {
    CHECK_EQUAL(layout.shape()[axis], tensor.shape[axis]);
    if (tensor.strides != nullptr) CHECK_EQUAL(layout.strides()[axis], tensor.strides[axis]);
  }
  if (tensor.strides == nullptr) CHECK(layout.IsContiguous());
  if (expected.empty) {
    CHECK(checked.origin() == nullptr);
    return;
  }
  CHECK(checked.span_bytes() == static_cast<size_t>(expected.highest - expected.lowest));
  if (!checked.host_readable()) {
    CHECK(checked.origin() == tensor.data);
    CHECK_EQUAL(checked.byte_offset(), tensor.byte_offset);
    return;
  }
  const uintptr_t first = reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
  CHECK_EQUAL(reinterpret_cast<uintptr_t>(checked.origin()), first);
  CHECK_EQUAL(reinterpret_cast<uintptr_t>(checked.lowest()), first + static_cast<uintptr_t>(expected.lowest));
  CHECK_EQUAL(checked.misalignment(), first % checked.dtype().alignment());
}

// The kit's check knows no dtype table and measures packed elements alone; where it accepts what the core does, both
// measure the same.
void CheckKit(const fuzz::ForeignStruct& foreign, const CheckedTensor& checked, const Expected& expected) {
  node_dlpack_reach reach;
  const int error = node_dlpack_check(&foreign.tensor(), &reach);
  if (!expected.sound || checked.dtype().padded()) return;
  if (!checked.host_readable()) {
    CHECK_EQUAL(error, NODE_DLPACK_ERROR_OPAQUE);
  } else if (checked.misaligned()) {
    CHECK(error == NODE_DLPACK_ERROR_MISALIGNED || error == NODE_DLPACK_ERROR_SPAN);
  } else if (error == NODE_DLPACK_OK) {
    CHECK_EQUAL(reach.size, expected.size);
    CHECK(reach.lowest == expected.lowest && reach.highest == expected.highest);
    CHECK_EQUAL(node_dlpack_is_contiguous(&foreign.tensor()) != 0, checked.layout().IsContiguous());
  } else {
    CHECK_EQUAL(error, NODE_DLPACK_ERROR_SPAN);  // it keeps a little more room at the end
    CHECK(expected.highest > INT64_MAX / 8 - 128);
  }
}

// Out again, as every consumer would see it.
void CheckExport(const BlockRef& block, const CheckedTensor& checked) {
  TensorView view;
  view.origin = checked.origin();
  view.layout = &checked.layout();
  view.dtype = checked.dtype();
  view.byte_offset = checked.byte_offset();
  ManagedGuard managed;
  CHECK_OK(MakeManaged(block.NewAlias(AliasKind::kExport), view, ManagedKind::kVersioned, 0, &managed));
  CHECK(BlockOfOwn(managed.get(), managed.kind(), nullptr) == block.get());
  CheckedTensor again;
  CHECK_OK(CheckedTensor::Check(managed.get(), managed.kind(), &again));
  CHECK(support::SameLayout(again.layout(), checked.layout()));
  CHECK(again.dtype() == checked.dtype());
  CHECK(again.origin() == checked.origin());
  CHECK_EQUAL(again.byte_offset(), checked.byte_offset());
  CHECK_OK(CheckAgainst(*block.get(), again));
}

// Every element, where there is memory behind them.
void CheckElements(const fuzz::ForeignStruct& foreign, const CheckedTensor& checked) {
  if (checked.layout().empty() || !checked.host_readable() || checked.layout().size() > 4096) return;
  if (!foreign.Holds(checked.lowest(), checked.span_bytes())) return;
  const DType dtype = checked.dtype();
  const Layout compact = support::Make(checked.layout().shape(), nullptr, checked.layout().ndim(), dtype);
  const support::MemoryOf target(compact, dtype, 0, 1);
  const support::MemoryOf reference(compact, dtype, 0, 1);
  StridedCopy(target.origin(), compact, checked.origin(), checked.layout(), dtype);
  support::NaiveCopy(reference.origin(), compact, checked.origin(), checked.layout(), dtype);
  CHECK(target.SameAs(reference));
}

}  // namespace

void RunOne(fuzz::Input* input) {
  fuzz::ForeignStruct foreign(input);
  const Expected expected = Judge(foreign);
  {
    ManagedGuard guard(foreign.managed(), foreign.kind());
    CheckedTensor checked;
    const Fault fault = CheckedTensor::Check(guard.get(), guard.kind(), &checked);
    CHECK_EQUAL(fault.ok(), expected.sound);
    if (foreign.tensor().ndim <= 0 || foreign.tensor().shape != nullptr) CheckKit(foreign, checked, expected);
    if (fault.ok()) {
      CheckDescription(foreign, checked, expected);
      CheckElements(foreign, checked);
      BlockRef block;
      CHECK_OK(Block::AdoptManaged(guard.Detach(), foreign.kind(), checked.lowest(), checked.span_bytes(),
                                   checked.device(), ForeignTraits(checked), nullptr, AliasKind::kTensor, &block));
      CheckExport(block, checked);
      CHECK_EQUAL(foreign.deleted, 0);
    }
  }
  CHECK_EQUAL(foreign.deleted, 1);
}
