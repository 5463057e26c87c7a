/*
 * What node_dlpack.h states is a contract between addons that were compiled apart, by other compilers, in C or in C++:
 * layouts, tags and numbers may not move. That these assertions compile is the test.
 */
#ifndef NODE_DLPACK_TEST_KIT_NODE_DLPACK_LAYOUT_H_
#define NODE_DLPACK_TEST_KIT_NODE_DLPACK_LAYOUT_H_

#include <stddef.h>

#include "node_dlpack.h"
#include "node_dlpack_tokens.h" /* the two headers share some names, which must agree */

#ifdef __cplusplus
#define NODE_DLPACK_ASSERT(condition) static_assert(condition, #condition)
#else
#define NODE_DLPACK_ASSERT(condition) _Static_assert(condition, #condition)
#endif

/* the record */
NODE_DLPACK_ASSERT(offsetof(node_dlpack_capsule, abi) == 0);
NODE_DLPACK_ASSERT(offsetof(node_dlpack_capsule, kind) == 4);
NODE_DLPACK_ASSERT(offsetof(node_dlpack_capsule, managed) == 8);
NODE_DLPACK_ASSERT(sizeof(node_dlpack_capsule) == 8 + sizeof(void*));
NODE_DLPACK_ASSERT(NODE_DLPACK_CAPSULE_ABI == 1);
NODE_DLPACK_ASSERT(NODE_DLPACK_KIND_LEGACY == 1);
NODE_DLPACK_ASSERT(NODE_DLPACK_KIND_VERSIONED == 2);

/* the table: the header of DLPack, then a context and functions, each as wide as a pointer */
NODE_DLPACK_ASSERT(offsetof(node_dlpack_exchange_api, header) == 0);
NODE_DLPACK_ASSERT(offsetof(node_dlpack_exchange_api, context) == 8 + sizeof(void*));
NODE_DLPACK_ASSERT(offsetof(node_dlpack_exchange_api, managed_tensor_allocate) == 8 + 2 * sizeof(void*));
NODE_DLPACK_ASSERT(offsetof(node_dlpack_exchange_api, managed_tensor_from_value) == 8 + 3 * sizeof(void*));
NODE_DLPACK_ASSERT(offsetof(node_dlpack_exchange_api, managed_tensor_to_value) == 8 + 4 * sizeof(void*));
NODE_DLPACK_ASSERT(offsetof(node_dlpack_exchange_api, dltensor_from_value) == 8 + 5 * sizeof(void*));
NODE_DLPACK_ASSERT(offsetof(node_dlpack_exchange_api, current_work_stream) == 8 + 6 * sizeof(void*));
NODE_DLPACK_ASSERT(sizeof(node_dlpack_exchange_api) >= 8 + 7 * sizeof(void*));

/* structs that are found from the struct inside them */
NODE_DLPACK_ASSERT(offsetof(node_dlpack_upgraded, versioned) == 0);
NODE_DLPACK_ASSERT(offsetof(node_dlpack_downgraded, legacy) == 0);
NODE_DLPACK_ASSERT(offsetof(node_dlpack_wrapped, managed) == 0);
NODE_DLPACK_ASSERT(sizeof(node_dlpack_wrapped) % sizeof(int64_t) == 0);

/* the numbers */
NODE_DLPACK_ASSERT(NODE_DLPACK_OK == 0 && NODE_DLPACK_ERROR_MANAGED_NULL == 1 && NODE_DLPACK_ERROR_VERSION == 2);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_NDIM == 3 && NODE_DLPACK_ERROR_SHAPE_NULL == 4 && NODE_DLPACK_ERROR_EXTENT == 5);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_SIZE == 7 && NODE_DLPACK_ERROR_SPAN == 8 && NODE_DLPACK_ERROR_DATA_NULL == 9);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_BYTE_OFFSET == 10 && NODE_DLPACK_ERROR_DEVICE == 11);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_DTYPE == 12 && NODE_DLPACK_ERROR_DTYPE_BITS == 13 &&
                   NODE_DLPACK_ERROR_LANES == 14);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_MISALIGNED == 15 && NODE_DLPACK_ERROR_CONTIGUOUS == 36);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_MEMORY == 50 && NODE_DLPACK_ERROR_READ_ONLY == 55 &&
                   NODE_DLPACK_ERROR_OPAQUE == 57);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_IN_USE == 58 && NODE_DLPACK_ERROR_LENT == 59 &&
                   NODE_DLPACK_ERROR_MOVED_AWAY == 60);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_NOT_A_CAPSULE == 80 && NODE_DLPACK_ERROR_CAPSULE_USED == 81);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_CAPSULE_ABI == 82 && NODE_DLPACK_ERROR_ARGUMENT == 87);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_ENDING == 100 && NODE_DLPACK_ERROR_NODE_API == 101);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_NOT_OURS == 200 && NODE_DLPACK_ERROR_NOT_A_TENSOR == 201);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_DEVICE_ANSWER == 202 && NODE_DLPACK_ERROR_ANSWER == 203);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_EXCEPTION == 204 && NODE_DLPACK_ERROR_CONSUMED == 205);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_DISPOSED == 206 && NODE_DLPACK_ERROR_LEGACY == 207 &&
                   NODE_DLPACK_ERROR_COPY == 208);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_OPTIONS == 209 && NODE_DLPACK_ERROR_STREAM == 210);
NODE_DLPACK_ASSERT(NODE_DLPACK_ERROR_OTHER_DEVICE == 211 && NODE_DLPACK_ERROR_EXPORT == 212 &&
                   NODE_DLPACK_ERROR_AXES == 213);

#endif /* NODE_DLPACK_TEST_KIT_NODE_DLPACK_LAYOUT_H_ */
