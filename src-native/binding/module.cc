// Where the runtime enters: once for each environment that loads the addon.
#include "call.h"
#include "capsule.h"
#include "conversion.h"
#include "derive.h"
#include "elements.h"
#include "environment.h"
#include "exchange_table.h"
#include "export.h"
#include "import.h"
#include "instance.h"
#include "lifetime.h"
#include "loans.h"
#include "pin.h"
#include "probe.h"
#include "staging.h"
#include "token_calls.h"
#include "unsafe_memory.h"
#include "views.h"

namespace node_dlpack::binding {

namespace {

// The load has failed. The status does not matter: where no error can be thrown any more, nobody is left to hear of it.
void Refuse(napi_env env, const char* why) {
  bool pending = false;
  if (napi_is_exception_pending(env, &pending) == napi_ok && !pending)
    static_cast<void>(napi_throw_error(env, nullptr, why));
}

Napi::Object Load(Napi::Env env, Napi::Object exports) {
  if (!PinModule()) {
    Refuse(env, "node-dlpack: the system refuses to keep the native module mapped");
    return exports;
  }
  Environment* environment = Environment::Create(env);
  if (environment == nullptr) {
    Refuse(env, "node-dlpack: out of memory, or the environment is ending");
    return exports;
  }
  Registration registration(*environment, exports);
  RegisterInstance(registration, *environment);
  RegisterExchangeTable(registration, *environment);
  RegisterLifetime(registration);
  RegisterExport(registration);
  RegisterImport(registration);
  RegisterCapsule(registration);
  RegisterDerive(registration);
  RegisterElements(registration);
  RegisterConversion(registration);
  RegisterViews(registration);
  RegisterLoans(registration);
  RegisterUnsafeMemory(registration);
  RegisterTokens(registration);
  RegisterStaging(registration);
  RegisterProbe(registration);
  if (!registration.ok()) {
    Refuse(env, "node-dlpack: this runtime offers no FinalizationRegistry, or the environment is ending");
  }
  return exports;
}

}  // namespace

NODE_API_MODULE(node_dlpack, Load)

}  // namespace node_dlpack::binding
