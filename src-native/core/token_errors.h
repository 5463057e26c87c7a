// The words for what the functions of node_dlpack_tokens.h answer: the code of the error that JavaScript would throw,
// and one sentence, so that an error in another language names the JavaScript one.
#ifndef NODE_DLPACK_CORE_TOKEN_ERRORS_H_
#define NODE_DLPACK_CORE_TOKEN_ERRORS_H_

#include <cstddef>

#include "fault.h"

namespace node_dlpack {

// In static storage, never nullptr.
const char* TokenErrorText(FaultCode code);
// The same with the numbers of a fault, where it has any that say more.
void WordTokenFault(const Fault& fault, char* out, size_t size);

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_TOKEN_ERRORS_H_
