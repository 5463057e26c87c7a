// The rule of conversion, word by word, for one element: what every pass over many of them is held against.
#ifndef NODE_DLPACK_TEST_CORE_CONVERT_REFERENCE_H_
#define NODE_DLPACK_TEST_CORE_CONVERT_REFERENCE_H_

#include "convert.h"
#include "dtype.h"
#include "scalar.h"

namespace support {

// The value as it is stored after scale and offset; channel: its index along affine.axis.
node_dlpack::Scalar Apply(const node_dlpack::Scalar& value, node_dlpack::DType source, node_dlpack::DType target,
                          const node_dlpack::Affine& affine, int64_t channel);

// Of one kind and one number; any NaN is as good as another, and the zeros are two.
bool SameNumber(const node_dlpack::Scalar& a, const node_dlpack::Scalar& b);

}  // namespace support

#endif  // NODE_DLPACK_TEST_CORE_CONVERT_REFERENCE_H_
