#include "bytes_argument.h"

namespace node_dlpack::binding {

namespace {

size_t ElementBytes(napi_typedarray_type type) {
  switch (type) {
    case napi_int8_array:
    case napi_uint8_array:
    case napi_uint8_clamped_array:
      return 1;
    case napi_int16_array:
    case napi_uint16_array:
      return 2;
    case napi_int32_array:
    case napi_uint32_array:
    case napi_float32_array:
      return 4;
    case napi_float64_array:
    case napi_bigint64_array:
    case napi_biguint64_array:
      return 8;
    default:
      return 2;  // Float16Array, which Node-API 9 has no name for
  }
}

Fault CheckAttached(napi_env env, napi_value buffer) {
  bool detached = false;
  if (napi_is_detached_arraybuffer(env, buffer, &detached) == napi_ok && detached) return FaultCode::kDetachedInput;
  return Fault();
}

}  // namespace

Fault BytesArgument::Read(const Call& call, int index, BytesArgument* out) {
  napi_env env = call.env();
  napi_value value = call.argument(index);
  void* data = nullptr;
  bool is = false;
  if (napi_is_typedarray(env, value, &is) != napi_ok) return Fault(FaultCode::kArgument, index);
  if (is) {
    // Left as it is for a Float16Array by Node 22, which knows the array but has no name for it: two bytes each as
    // well.
    napi_typedarray_type type = napi_uint16_array;
    size_t length = 0;
    if (napi_get_typedarray_info(env, value, &type, &length, &data, &out->buffer, nullptr) != napi_ok) {
      return Fault(FaultCode::kArgument, index);
    }
    out->bytes = length * ElementBytes(type);
  } else {
    if (napi_is_dataview(env, value, &is) != napi_ok || !is ||
        napi_get_dataview_info(env, value, &out->bytes, &data, &out->buffer, nullptr) != napi_ok) {
      return Fault(FaultCode::kArgument, index);
    }
  }
  out->data = static_cast<uint8_t*>(data);
  return CheckAttached(env, out->buffer);
}

Fault NumbersArgument::Read(const Call& call, int index, NumbersArgument* out) {
  napi_env env = call.env();
  napi_value value = call.argument(index);
  napi_valuetype kind = napi_object;
  if (napi_typeof(env, value, &kind) == napi_ok && kind == napi_undefined) return Fault();
  bool is = false;
  napi_typedarray_type type = napi_uint8_array;
  size_t length = 0;
  void* data = nullptr;
  napi_value buffer = nullptr;
  if (napi_is_typedarray(env, value, &is) != napi_ok || !is ||
      napi_get_typedarray_info(env, value, &type, &length, &data, &buffer, nullptr) != napi_ok ||
      type != napi_float64_array) {
    return Fault(FaultCode::kArgument, index);
  }
  // An empty array is given, and is the wrong number of numbers; it may have no address.
  static constexpr double kNothing = 0;
  out->data = length == 0 ? &kNothing : static_cast<const double*>(data);
  out->count = static_cast<int64_t>(length);
  return CheckAttached(env, buffer);
}

}  // namespace node_dlpack::binding
