/* What the files of the kit laboratory share. Managed tensors and tables travel to JavaScript as addresses (bigints).
 */
#ifndef KIT_LAB_H
#define KIT_LAB_H

#include <stdbool.h>

#include "node_dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The arguments of a call; what is missing is undefined. */
void arguments_of(napi_env env, napi_callback_info info, size_t count, napi_value* arguments);
napi_value address_to_js(napi_env env, const void* pointer);
void* address_from_js(napi_env env, napi_value value);
napi_value number_to_js(napi_env env, double number);
double number_from_js(napi_env env, napi_value value);
void define(napi_env env, napi_value exports, const char* name, napi_callback callback);
void set(napi_env env, napi_value object, const char* name, napi_value value);
/* { data, flags, ndim, shape, strides, dtype, device, byteOffset, held } of what was borrowed or described. */
napi_value picture(napi_env env, const DLTensor* tensor, uint64_t flags, bool held);
/* An array of numbers, at most NODE_DLPACK_MAX_NDIM of them; answers how many. */
int32_t numbers_from_js(napi_env env, napi_value array, int64_t* out);

void register_table(napi_env env, napi_value exports);
void register_cpp(napi_env env, napi_value exports);

#ifdef __cplusplus
}
#endif

#endif
