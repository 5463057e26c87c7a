#include "call.h"

namespace node_dlpack::binding {

Fault Call::Number(int index, double* out) const {
  if (napi_get_value_double(env(), arguments_[index], out) != napi_ok) return Fault(FaultCode::kArgument, index);
  return Fault();
}

Fault Call::Int(int index, int32_t* out) const {
  double number = 0;
  if (Fault fault = Number(index, &number); !fault.ok()) return fault;
  return IntOf(number, index, out);
}

Fault Call::IntOf(double number, int index, int32_t* out) {
  if (!(number >= INT32_MIN && number <= INT32_MAX)) return Fault(FaultCode::kArgument, index);
  *out = static_cast<int32_t>(number);
  if (*out != number) return Fault(FaultCode::kArgument, index);
  return Fault();
}

Fault Call::Bool(int index, bool* out) const {
  if (napi_get_value_bool(env(), arguments_[index], out) != napi_ok) return Fault(FaultCode::kArgument, index);
  return Fault();
}

Fault Call::OwnerOf(double handle, int index, Slot** out) const {
  if (Fault fault = TensorOrOwnerOf(handle, index, out); !fault.ok()) return fault;
  if (!(*out)->is_owner()) return Fault(FaultCode::kArgument, index);
  return Fault();
}

Fault Call::TensorOrFreeOwnerOf(double handle, int index, Slot** out) const {
  if (Fault fault = TensorOrOwnerOf(handle, index, out); !fault.ok()) return fault;
  return environment.loans.CheckFree(**out);
}

Fault Call::FreeOwnerOf(double handle, int index, Slot** out) const {
  if (Fault fault = OwnerOf(handle, index, out); !fault.ok()) return fault;
  return environment.loans.CheckFree(**out);
}

Fault Call::DTypeArgument(int index, DType* out) const {
  int32_t packed = 0;
  if (Fault fault = Int(index, &packed); !fault.ok()) return fault;
  return DTypeOf(packed, index, out);
}

Fault Call::DTypeOf(int32_t packed, int index, DType* out) {
  if (packed < 0) return Fault(FaultCode::kArgument, index, packed);
  return DType::FromPacked(static_cast<uint32_t>(packed), out);
}

Fault Call::Integers(int first, int32_t count, int64_t* out) const {
  if (first < 0 || count < 0 || first > Scratch::kInputLength || count > Scratch::kInputLength - first) {
    return Fault(FaultCode::kArgument, -1, count, Scratch::kInputLength);
  }
  for (int32_t i = 0; i < count; ++i) {
    if (!scratch().Input(first + i, &out[i])) return Fault(FaultCode::kArgument, -1, first + i);
  }
  return Fault();
}

napi_value Call::Ok() const {
  napi_value result = nullptr;
  return napi_create_int32(env(), 0, &result) == napi_ok ? result : nullptr;
}

napi_value Call::Fail(const Fault& fault) const {
  return Double(Failed(fault));
}

double Call::Failed(const Fault& fault) const {
  scratch().set_number(slot::kFaultIndex, fault.index);
  scratch().set_bits(slot::kFaultValue, fault.value);
  scratch().set_bits(slot::kFaultLimit, fault.limit);
  return -static_cast<double>(fault.code);
}

napi_value Call::Boolean(bool value) const {
  napi_value result = nullptr;
  return napi_get_boolean(env(), value, &result) == napi_ok ? result : nullptr;
}

napi_value Call::Double(double value) const {
  napi_value result = nullptr;
  return napi_create_double(env(), value, &result) == napi_ok ? result : nullptr;
}

void Registration::Function(const char* name, napi_callback entry) {
  napi_value function;
  ok_ = ok_ &&
        napi_create_function(environment_.env(), name, NAPI_AUTO_LENGTH, entry, &environment_, &function) == napi_ok &&
        napi_set_named_property(environment_.env(), exports_, name, function) == napi_ok;
}

void Registration::Value(const char* name, napi_value value) {
  ok_ = ok_ && value != nullptr && napi_set_named_property(environment_.env(), exports_, name, value) == napi_ok;
}

}  // namespace node_dlpack::binding
