/* That the public header of tokens is C11 of its own, next to the other two: that it compiles is the test. */
#include "node_dlpack_tokens.h"

#include "node_dlpack.h"

int (*const node_dlpack_tokens_header_compiles)(const char*, DLManagedTensorVersioned**) = node_dlpack_claim;
