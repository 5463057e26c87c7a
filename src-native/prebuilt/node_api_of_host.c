// Node-API on Windows, where a module names the file that each function comes from. Linked to node.exe, it would load
// in no Electron, no Bun, no executable of one's own with Node inside: so it names none, and takes the functions from
// whatever program loaded it.
//
// A compiler reaches an imported function through the pointer __imp_NAME, which the loader usually fills. Here they are
// ours, filled before any code of the addon runs. A function that the host lacks answers napi_generic_failure, as every
// caller here expects of any call.
//
// Only for binaries made by scripts/prebuilds.mjs, which writes the list of functions; node-gyp brings its own way.
#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#define EACH_FUNCTION(name) void* __imp_##name;
#include "node_api_functions.inc"
#undef EACH_FUNCTION

struct Function {
  const char* name;
  void** pointer;
};

static const struct Function kFunctions[] = {
#define EACH_FUNCTION(name) {#name, &__imp_##name},
#include "node_api_functions.inc"
#undef EACH_FUNCTION
};

static int Absent(void) {
  return 9;  // napi_generic_failure
}

// The program itself, or Node built as a library of it.
static HMODULE FindHost(void) {
  static const wchar_t* const kFiles[] = {NULL, L"libnode.dll", L"node.dll"};
  for (size_t i = 0; i < sizeof(kFiles) / sizeof(kFiles[0]); i++) {
    HMODULE module = GetModuleHandleW(kFiles[i]);
    if (module != NULL && GetProcAddress(module, kFunctions[0].name) != NULL) return module;
  }
  return NULL;
}

// FALSE: a program without Node-API, in which the module does not load.
BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, LPVOID reserved) {
  (void)module;
  (void)reserved;
  if (reason != DLL_PROCESS_ATTACH) return TRUE;
  HMODULE host = FindHost();
  if (host == NULL) return FALSE;
  for (size_t i = 0; i < sizeof(kFunctions) / sizeof(kFunctions[0]); i++) {
    void* found = (void*)GetProcAddress(host, kFunctions[i].name);
    *kFunctions[i].pointer = found != NULL ? found : (void*)Absent;
  }
  return TRUE;
}
#else
// Elsewhere a module names functions alone, and the loader finds them in the program.
typedef int node_dlpack_no_host_functions;
#endif
