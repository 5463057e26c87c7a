#include "token_errors.h"

#include <cinttypes>
#include <cstdio>

namespace node_dlpack {

const char* TokenErrorText(FaultCode code) {
  switch (code) {
    case FaultCode::kNone:
      return "success";
    case FaultCode::kManagedNull:
      return "ERR_DLPACK_BUFFER: the managed tensor is NULL";
    case FaultCode::kVersionMajor:
      return "ERR_DLPACK_BUFFER: version.major is not 1, the only one that can be read";
    case FaultCode::kNdim:
      return "ERR_DLPACK_BUFFER: ndim is not within 0 to 64";
    case FaultCode::kShapeNull:
      return "ERR_DLPACK_BUFFER: shape is NULL, which only a 0-d tensor's may be";
    case FaultCode::kExtentNegative:
      return "ERR_DLPACK_BUFFER: an extent of shape is negative";
    case FaultCode::kExtentTooLarge:
      return "ERR_DLPACK_BUFFER: an extent of shape is above 2^53 - 1";
    case FaultCode::kSizeOverflow:
      return "ERR_DLPACK_BUFFER: the elements or bytes of shape pass what 64 bits count";
    case FaultCode::kSpanOverflow:
      return "ERR_DLPACK_BUFFER: strides lead to elements further away than addresses reach";
    case FaultCode::kDataNull:
      return "ERR_DLPACK_BUFFER: data is NULL, but shape promises elements";
    case FaultCode::kByteOffset:
      return "ERR_DLPACK_BUFFER: byte_offset takes data past the end of the address space";
    case FaultCode::kDeviceType:
      return "ERR_DLPACK_BUFFER: device.device_type is none of DLPack 1.3, or not that of the memory";
    case FaultCode::kDTypeCode:
      return "ERR_DLPACK_BUFFER: dtype.code is a type code that cannot be held";
    case FaultCode::kDTypeBits:
      return "ERR_DLPACK_BUFFER: dtype.bits is a width that the type code does not come in, or that this struct cannot "
             "say";
    case FaultCode::kDTypeLanes:
      return "ERR_DLPACK_BUFFER: dtype.lanes is not 1; only scalar elements can be held";
    case FaultCode::kOutsideBlock:
      return "ERR_DLPACK_BUFFER: shape, strides and offset leave the memory";
    case FaultCode::kOutOfMemory:
      return "ERR_DLPACK_MEMORY: no memory";
    case FaultCode::kNotUnique:
      return "ERR_DLPACK_BUFFER: somebody else holds the memory; it can be shared, not transferred";
    case FaultCode::kNeverUnique:
      return "ERR_DLPACK_BUFFER: only a sole copy (IS_COPIED without READ_ONLY, in host memory, no byte under several "
             "indices) can be transferred; share it, or copy it first";
    case FaultCode::kReadOnly:
      return "ERR_DLPACK_BUFFER: the memory is read-only, which a legacy struct cannot say; take the versioned struct, "
             "or a copy";
    case FaultCode::kOpaqueDevice:
      return "ERR_DLPACK_BUFFER: a copy is needed of memory that the host cannot read";
    case FaultCode::kArgument:
      return "ERR_INVALID_ARG_TYPE: an argument is NULL, a kind that there is not, or a negative ttl";
    case FaultCode::kToken:
      return "ERR_DLPACK_TOKEN: the token is unknown here, was claimed or revoked before, or has expired";
    case FaultCode::kBoundToEnvironment:
      return "ERR_DLPACK_BUFFER: the memory belongs to JavaScript and cannot leave its thread; copy it first";
    case FaultCode::kRandomness:
      return "ERR_DLPACK_BUFFER: the system gives no random bytes";
    default:
      return "ERR_DLPACK_BUFFER: an error that this version does not know";
  }
}

namespace {

// What was found, behind the general words; 0 where there is nothing to add.
int WordNumbers(const Fault& fault, char* out, size_t size) {
  const int index = fault.index;
  const int64_t value = fault.value;
  switch (fault.code) {
    case FaultCode::kVersionMajor:
      return std::snprintf(out, size, " (version.major is %" PRId64 ")", value);
    case FaultCode::kNdim:
    case FaultCode::kShapeNull:
      return std::snprintf(out, size, " (ndim is %" PRId64 ")", value);
    case FaultCode::kExtentNegative:
    case FaultCode::kExtentTooLarge:
      return std::snprintf(out, size, " (shape[%d] is %" PRId64 ")", index, value);
    case FaultCode::kSizeOverflow:
      return std::snprintf(out, size, " (at shape[%d])", index);
    case FaultCode::kSpanOverflow:
      return std::snprintf(out, size, " (strides[%d] is %" PRId64 ")", index, value);
    case FaultCode::kDataNull:
      return std::snprintf(out, size, " (%" PRId64 ")", value);
    case FaultCode::kByteOffset:
      return std::snprintf(out, size, " (byte_offset is %" PRIu64 ")", static_cast<uint64_t>(value));
    case FaultCode::kDeviceType:
      return std::snprintf(out, size, " (device_type is %" PRId64 ")", value);
    case FaultCode::kDTypeCode:
      return std::snprintf(out, size, " (code is %" PRId64 ")", value);
    case FaultCode::kDTypeBits:
      return std::snprintf(out, size, " (code is %d, bits is %" PRId64 ")", index, value);
    case FaultCode::kDTypeLanes:
      return std::snprintf(out, size, " (lanes is %" PRId64 ")", value);
    case FaultCode::kOutsideBlock:
      return std::snprintf(out, size, " (byte %" PRId64 " of %" PRId64 ")", value, fault.limit);
    case FaultCode::kOutOfMemory:
      return std::snprintf(out, size, " for %" PRId64 " bytes", value);
    default:
      return 0;
  }
}

}  // namespace

void WordTokenFault(const Fault& fault, char* out, size_t size) {
  const int length = std::snprintf(out, size, "%s", TokenErrorText(fault.code));
  if (length > 0 && static_cast<size_t>(length) < size)
    WordNumbers(fault, out + length, size - static_cast<size_t>(length));
}

}  // namespace node_dlpack
