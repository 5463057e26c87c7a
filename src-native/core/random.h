// Random bytes from the system, for names that nobody may guess.
#ifndef NODE_DLPACK_CORE_RANDOM_H_
#define NODE_DLPACK_CORE_RANDOM_H_

#include <cstddef>

namespace node_dlpack {

// False when the system has none to give; out is then undefined. At most 256 bytes, which every system gives in one go.
bool RandomBytes(void* out, size_t bytes);

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_RANDOM_H_
