// Call: one crossing of the boundary. Every native function is entered through Entry, which does what every call owes
// (an ending environment, upkeep) before the body runs. From then on nothing runs JavaScript unless the body does it
// itself, so slots that the body resolved stay good.
//
// A body answers through the helpers below: Ok, Fail, a new handle, or an object. A fault is never thrown: its code is
// the answer, its values stand in the scratch memory, and TypeScript words it.
//
// Plain C Node-API here: these calls are the hand-off path, where each wrapper and each exception check shows.
#ifndef NODE_DLPACK_BINDING_CALL_H_
#define NODE_DLPACK_BINDING_CALL_H_

#include <cstdint>

#include "../core/fault.h"
#include "environment.h"
#include "handles.h"
#include "napi_setup.h"

namespace node_dlpack::binding {

class Call {
 public:
  Call(Environment& environment, const napi_value* arguments) : environment(environment), arguments_(arguments) {}

  Environment& environment;

  napi_env env() const { return environment.env(); }
  Scratch& scratch() const { return environment.scratch; }
  napi_value argument(int index) const { return arguments_[index]; }

  // --- arguments: kArgument (index: which) when the value has the wrong kind ---
  Fault Number(int index, double* out) const;
  Fault Int(int index, int32_t* out) const;  // an exact int32
  static Fault IntOf(double number, int index, int32_t* out);
  Fault Bool(int index, bool* out) const;
  // An exact int32 in 0..last.
  template <typename Enum>
  Fault Choice(int index, Enum last, Enum* out) const {
    int32_t value = 0;
    Fault fault = Int(index, &value);
    if (!fault.ok()) return fault;
    if (value < 0 || value > static_cast<int32_t>(last)) return Fault(FaultCode::kArgument, index, value);
    *out = static_cast<Enum>(value);
    return Fault();
  }
  // A live handle of the kind asked for: kStaleHandle when there is none, kArgument when it is another kind of thing.
  Fault Tensor(int index, Slot** out) const { return Resolve<&Call::TensorOf>(index, out); }
  Fault TensorOf(double handle, int index, Slot** out) const {
    if (Fault fault = TensorOrOwnerOf(handle, index, out); !fault.ok()) return fault;
    return (*out)->is_tensor() ? Fault() : Fault(FaultCode::kArgument, index);
  }
  Fault Owner(int index, Slot** out) const { return Resolve<&Call::OwnerOf>(index, out); }
  Fault TensorOrOwner(int index, Slot** out) const { return Resolve<&Call::TensorOrOwnerOf>(index, out); }
  // An owner that is not lent (kLent, with the aliases in scratch): for everything but metadata and single elements.
  Fault FreeOwner(int index, Slot** out) const { return Resolve<&Call::FreeOwnerOf>(index, out); }
  Fault FreeOwnerOf(double handle, int index, Slot** out) const;
  // A tensor, or an owner that is not lent.
  Fault TensorOrFreeOwner(int index, Slot** out) const { return Resolve<&Call::TensorOrFreeOwnerOf>(index, out); }
  Fault TensorOrFreeOwnerOf(double handle, int index, Slot** out) const;
  // DType from its packed number.
  Fault DTypeArgument(int index, DType* out) const;
  static Fault DTypeOf(int32_t packed, int index, DType* out);
  // `count` integers of Input, from `first`: kArgument (index: minus one) when one is not an integer or they do not fit
  // there.
  Fault Integers(int first, int32_t count, int64_t* out) const;

  // --- answers ---
  napi_value Ok() const;
  napi_value Answer(const Fault& fault) const { return fault.ok() ? Ok() : Fail(fault); }
  napi_value Fail(const Fault& fault) const;
  double Failed(const Fault& fault) const;  // the same, as a number
  napi_value Boolean(bool value) const;
  napi_value Double(double value) const;

 private:
  // The slot of the handle that the argument is.
  template <Fault (Call::*kOf)(double handle, int index, Slot** out) const>
  Fault Resolve(int index, Slot** out) const {
    double handle = 0;
    if (Fault fault = Number(index, &handle); !fault.ok()) return fault;
    return (this->*kOf)(handle, index, out);
  }
  Fault TensorOrOwnerOf(double handle, int index, Slot** out) const {
    Slot* slot = environment.handles.Find(handle);
    if (slot == nullptr) return Fault(FaultCode::kStaleHandle, index);
    if (!slot->holds_memory()) return Fault(FaultCode::kArgument, index);
    *out = slot;
    return Fault();
  }
  Fault OwnerOf(double handle, int index, Slot** out) const;
  const napi_value* arguments_;
};

// --- registration: each file has one Register function, called by module.cc ---

enum class Makes { kNothing, kHandle };  // does a call make a handle or a capsule?

template <napi_value (*kBody)(Call&), int kArguments, Makes kMakes = Makes::kNothing>
napi_value Entry(napi_env env, napi_callback_info info) {
  napi_value arguments[kArguments + 1];  // missing ones read as undefined, which no body accepts for a number
  size_t count = kArguments;
  void* data = nullptr;
  if (napi_get_cb_info(env, info, &count, arguments, nullptr, &data) != napi_ok) return nullptr;
  auto& environment = *static_cast<Environment*>(data);
  Call call(environment, arguments);
  if (environment.ending()) return call.Fail(FaultCode::kEnvironmentEnding);
  if constexpr (kMakes == Makes::kHandle) {
    environment.UpkeepBeforeMaking();
  } else {
    environment.Upkeep();
  }
  return kBody(call);
}

// The same for the calls that a hand-off is made of, whose numbers travel in the scratch memory: one as an argument and
// one as an answer cost twice what the bare call does. The body answers with a handle, 0, or minus a fault code, which
// becomes slot::kAnswer; what it makes besides is returned, and undefined where there is no such thing.
using HotBody = double (*)(Call& call, double argument, napi_value* made);

template <HotBody kBody, int kArguments = 0, Makes kMakes = Makes::kNothing>
napi_value Hot(napi_env env, napi_callback_info info) {
  napi_value arguments[kArguments + 1];
  void* data = nullptr;
  if (napi_get_instance_data(env, &data) != napi_ok || data == nullptr) return nullptr;
  if constexpr (kArguments > 0) {
    size_t count = kArguments;
    if (napi_get_cb_info(env, info, &count, arguments, nullptr, nullptr) != napi_ok) return nullptr;
  } else {
    static_cast<void>(info);
  }
  auto& environment = *static_cast<Environment*>(data);
  Call call(environment, arguments);
  const double argument = environment.scratch.number(slot::kArgument);
  napi_value made = nullptr;
  double answer = 0;
  if (environment.ending()) {
    answer = call.Failed(FaultCode::kEnvironmentEnding);
  } else {
    if constexpr (kMakes == Makes::kHandle) {
      environment.UpkeepBeforeMaking();
    } else {
      environment.Upkeep();
    }
    answer = kBody(call, argument, &made);
  }
  environment.scratch.set_number(slot::kAnswer, answer);
  return made;
}

// The native object under construction. Plain C Node-API, as in everything that runs while the addon is loaded: a
// worker may be terminated in the middle of it, every call then fails, and node-addon-api's wrappers answer a failure
// by making an error, which fails too and aborts the process. Here a failure is a status, and the load ends.
class Registration {
 public:
  Registration(Environment& environment, napi_value exports) : environment_(environment), exports_(exports) {}
  // Function("slice", Entry<Slice, 2, Makes::kHandle>)
  void Function(const char* name, napi_callback entry);
  // nullptr: could not be made, and the load fails.
  void Value(const char* name, napi_value value);
  bool ok() const { return ok_; }

 private:
  Environment& environment_;
  napi_value exports_;
  bool ok_ = true;
};

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_CALL_H_
