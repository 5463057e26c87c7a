/*
 * Keeps your addon mapped for the life of the process. Without it, a deleter of yours that a consumer calls after the
 * last environment that loaded the addon has ended is a jump into nothing. Call it once, when the addon is loaded.
 */
#ifndef NODE_DLPACK_PIN_H_
#define NODE_DLPACK_PIN_H_

#include <stddef.h>

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__linux__)
/* dlfcn.h shows dladdr to GNU C alone, and what a program defines for that comes too late in a header. */
typedef struct node_dlpack_dl_info {
  const char* dli_fname;
  void* dli_fbase;
  const char* dli_sname;
  void* dli_saddr;
} node_dlpack_dl_info;
extern int node_dlpack_dladdr(const void* address, node_dlpack_dl_info* info) __asm__("dladdr");
#elif !defined(_WIN32)
typedef Dl_info node_dlpack_dl_info;
#define node_dlpack_dladdr dladdr
#endif

/* Nonzero: it stays mapped. The reference is never given back. */
static inline int node_dlpack_pin(void) {
  static const char anchor = 0; /* in this very module */
#if defined(_WIN32)
  HMODULE module;
  return GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, (LPCWSTR)&anchor,
                            &module) != 0;
#else
  node_dlpack_dl_info module;
  if (node_dlpack_dladdr(&anchor, &module) == 0) return 0;
  return dlopen(module.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != NULL;
#endif
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NODE_DLPACK_PIN_H_ */
