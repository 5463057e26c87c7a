#if !defined(_WIN32) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // dladdr
#endif

#include "pin.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace node_dlpack::binding {

#ifdef _WIN32

namespace {

bool FindModule(DWORD flags, HMODULE* out) {
  return GetModuleHandleExW(flags | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, reinterpret_cast<LPCWSTR>(&PinModule),
                            out) != 0;
}

}  // namespace

bool PinModule() {
  HMODULE module = nullptr;
  return FindModule(GET_MODULE_HANDLE_EX_FLAG_PIN, &module);
}

napi_value ModulePath(napi_env env) {
  constexpr DWORD kLongest = 32768;
  static wchar_t path[kLongest];  // filled with the same text by every thread
  HMODULE module = nullptr;
  napi_value text = nullptr;
  DWORD length = 0;
  if (FindModule(GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, &module))
    length = GetModuleFileNameW(module, path, kLongest);
  if (length >= kLongest) length = 0;
  const napi_status status = napi_create_string_utf16(env, reinterpret_cast<const char16_t*>(path), length, &text);
  return status == napi_ok ? text : nullptr;
}

#else

namespace {

const char* FindPath() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&PinModule), &info) == 0) return nullptr;
  return info.dli_fname;
}

}  // namespace

bool PinModule() {
  const char* path = FindPath();
  // The handle is kept open on purpose, which alone would do; RTLD_NODELETE says so to the loader.
  return path != nullptr && dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
}

napi_value ModulePath(napi_env env) {
  const char* path = FindPath();
  napi_value text = nullptr;
  const napi_status status = napi_create_string_utf8(env, path == nullptr ? "" : path, NAPI_AUTO_LENGTH, &text);
  return status == napi_ok ? text : nullptr;
}

#endif

}  // namespace node_dlpack::binding
