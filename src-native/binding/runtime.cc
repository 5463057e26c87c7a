#include "runtime.h"

namespace node_dlpack::binding {

bool HooksMaySeeValues(napi_env env) {
  napi_value value = nullptr;
  napi_valuetype type = napi_undefined;
  if (napi_get_global(env, &value) != napi_ok) return true;
  // process.versions.deno
  for (const char* name : {"process", "versions", "deno"}) {
    if (napi_get_named_property(env, value, name, &value) != napi_ok || napi_typeof(env, value, &type) != napi_ok) {
      bool pending = false;
      if (napi_is_exception_pending(env, &pending) == napi_ok && pending) {
        static_cast<void>(napi_get_and_clear_last_exception(env, &value));
      }
      return true;
    }
    if (type != napi_object) break;
  }
  return type != napi_string;
}

}  // namespace node_dlpack::binding
