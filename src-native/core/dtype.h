// The DLPack type table: which (code, bits, lanes) exist, what they weigh, and how they lie in memory.
#ifndef NODE_DLPACK_CORE_DTYPE_H_
#define NODE_DLPACK_CORE_DTYPE_H_

#include <cstddef>
#include <cstdint>

#include "dlpack/dlpack.h"
#include "fault.h"

namespace node_dlpack {

// A checked dtype: only what this library can hold. Sub-byte floats come in two storages: packed by bit (DLPack's
// default) and padded to a byte each (flag IS_SUBBYTE_TYPE_PADDED); they are different dtypes here, since every size
// and address differs.
class DType {
 public:
  // kDTypeCode, kDTypeBits or kDTypeLanes when the type is not in the table. padded is ignored for types of whole
  // bytes.
  static Fault Check(DLDataType raw, bool padded, DType* out);
  // From the number TypeScript uses: code | bits << 8 | padded << 16.
  static Fault FromPacked(uint32_t packed, DType* out);

  DType() = default;  // uint8
  uint32_t packed() const { return code_ | static_cast<uint32_t>(bits_) << 8 | static_cast<uint32_t>(padded_) << 16; }
  DLDataType raw() const { return DLDataType{code_, bits_, 1}; }
  uint8_t code() const { return code_; }
  uint8_t bits() const { return bits_; }
  bool padded() const { return padded_; }
  bool sub_byte() const { return bits_ < 8; }                 // fp4, fp6
  bool bit_packed() const { return sub_byte() && !padded_; }  // elements do not all start on a byte
  // Bits from one element to the next in compact memory: 8 for a padded sub-byte type.
  uint32_t stride_bits() const { return padded_ ? 8u : bits_; }
  // Bytes of one element; 0 for bit-packed types.
  uint32_t itemsize() const { return bit_packed() ? 0u : stride_bits() / 8u; }
  // Alignment that a typed read needs: itemsize for real types, half of it for complex, 1 for bit-packed.
  uint32_t alignment() const;
  bool is_complex() const { return code_ == kDLComplex; }
  bool is_integer() const { return code_ == kDLInt || code_ == kDLUInt; }
  bool is_bool() const { return code_ == kDLBool; }
  bool is_float() const { return !is_integer() && !is_bool() && !is_complex(); }
  bool operator==(const DType& other) const { return packed() == other.packed(); }
  bool operator!=(const DType& other) const { return !(*this == other); }

 private:
  uint8_t code_ = kDLUInt;
  uint8_t bits_ = 8;
  bool padded_ = false;
};

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_DTYPE_H_
