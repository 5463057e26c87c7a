#include "foreign_struct.h"

#include <cstdlib>
#include <cstring>

using namespace node_dlpack;

namespace fuzz {

namespace {

// Any 32 bits: what another library's struct may hold where a device type belongs.
void SetDeviceType(DLTensor* tensor, int32_t type) {
  std::memcpy(&tensor->device.device_type, &type, sizeof(type));
}

}  // namespace

ForeignStruct::ForeignStruct(Input* input) {
  memory_ = static_cast<uint8_t*>(std::malloc(kMemoryBytes));
  for (size_t i = 0; i < kMemoryBytes; ++i) memory_[i] = static_cast<uint8_t>(i * 37);

  DLTensor tensor = {};
  const uint8_t how = input->Any<uint8_t>();
  versioned_ = (how & 1) != 0;
  SetDeviceType(&tensor, (how & 2) != 0 ? kDLCPU : (how & 4) != 0 ? input->Any<uint8_t>() % 20 : input->Any<int32_t>());
  tensor.device.device_id = (how & 2) != 0 ? 0 : input->Any<int8_t>();
  if ((how & 8) != 0) {
    tensor.dtype = input->DType().raw();
  } else {
    tensor.dtype.code = input->Any<uint8_t>() % 20;
    tensor.dtype.bits = input->Any<uint8_t>();
    tensor.dtype.lanes = static_cast<uint16_t>(1 + input->Any<uint8_t>() / 128);
  }
  const uint8_t axes = input->Any<uint8_t>();
  tensor.ndim = axes < 192 ? axes % 7 : axes < 248 ? axes - 190 : axes < 252 ? 247 - axes : input->Any<int32_t>();
  const uint8_t pointers = input->Any<uint8_t>();
  const int32_t count = tensor.ndim < 0 || tensor.ndim > 64 ? 0 : tensor.ndim;
  tensor.shape = (pointers & 3) == 3 && (pointers & 4) != 0
                     ? nullptr
                     : shape_ = static_cast<int64_t*>(std::malloc(sizeof(int64_t) * static_cast<size_t>(count) + 1));
  tensor.strides = (pointers & 24) == 24
                       ? nullptr
                       : strides_ =
                             static_cast<int64_t*>(std::malloc(sizeof(int64_t) * static_cast<size_t>(count) + 1));
  for (int32_t axis = 0; axis < count; ++axis) {
    if (tensor.shape != nullptr) shape_[axis] = input->Number();
    if (tensor.strides != nullptr) strides_[axis] = input->Number();
  }
  tensor.data = (pointers & 96) == 96 ? reinterpret_cast<void*>(static_cast<uintptr_t>(input->Number()))
                                      : memory_ + input->Any<uint16_t>() % kMemoryBytes;
  tensor.byte_offset = (pointers & 128) != 0 ? static_cast<uint64_t>(input->Number()) : 0;

  DLPackVersion version{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  if ((how & 16) != 0) version.minor = input->Any<uint32_t>();
  if ((how & 96) == 96) version.major = input->Any<uint8_t>();
  const uint64_t flags = (how & 128) != 0 ? input->Any<uint64_t>() : input->Any<uint8_t>() & 7;
  legacy = DLManagedTensor{tensor, this,
                           [](DLManagedTensor* self) { ++static_cast<ForeignStruct*>(self->manager_ctx)->deleted; }};
  versioned = DLManagedTensorVersioned{
      version, this, [](DLManagedTensorVersioned* self) { ++static_cast<ForeignStruct*>(self->manager_ctx)->deleted; },
      flags, tensor};
}

ForeignStruct::~ForeignStruct() {
  std::free(memory_);
  std::free(shape_);
  std::free(strides_);
}

}  // namespace fuzz
