// The same kit through node_dlpack.hpp.
#include <array>
#include <complex>
#include <vector>

#include "kit_lab.h"
#include "node_dlpack.hpp"

namespace {

using node_dlpack::Borrowed;
using node_dlpack::ManagedTensor;

napi_value First(napi_env env, napi_callback_info info) {
  napi_value argument;
  arguments_of(env, info, 1, &argument);
  return argument;
}

// cppSum2(x): of a float32 matrix, by its strides
napi_value Sum2(napi_env env, napi_callback_info info) {
  const ManagedTensor tensor = ManagedTensor::Take(env, First(env, info), "cppSum2(x)");
  const auto x = tensor.view<const float, 2>(env, "cppSum2(x)");
  if (!x) return nullptr;
  double sum = 0;
  for (int64_t i = 0; i < x.shape(0); i++) {
    for (int64_t j = 0; j < x.shape(1); j++) sum += static_cast<double>(x(i, j)) * static_cast<double>(10 * i + j + 1);
  }
  return number_to_js(env, sum);
}

// cppSpan(x): the sum of bytes in one run
napi_value SpanSum(napi_env env, napi_callback_info info) {
  const Borrowed tensor(env, First(env, info), "cppSpan(x)");
  const auto x = tensor.span<const uint8_t>(env, "cppSpan(x)");
  if (!x) return nullptr;
  double sum = 0;
  for (const uint8_t byte : x) sum += byte;
  return number_to_js(env, sum);
}

// cppDouble(x): in place, any float64 vector that may be written
napi_value Double(napi_env env, napi_callback_info info) {
  const Borrowed tensor(env, First(env, info), "cppDouble(x)");
  const auto x = tensor.view<double, 1>(env, "cppDouble(x)");
  if (!x) return nullptr;
  for (int64_t i = 0; i < x.shape(0); i++) x(i) *= 2;
  return nullptr;
}

// cppScalar(x): a complex64 of no axes -> its real part
napi_value Scalar(napi_env env, napi_callback_info info) {
  const Borrowed tensor(env, First(env, info));
  const auto x = tensor.view<const std::complex<float>, 0>(env);
  return x ? number_to_js(env, static_cast<double>(x().real())) : nullptr;
}

int live_containers = 0;

// A vector that counts how many of it hold something.
class Counted {
 public:
  explicit Counted(size_t size) : numbers_(size, 0.5) { live_containers++; }
  Counted(Counted&& other) noexcept : numbers_(std::move(other.numbers_)) { live_containers++; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  Counted& operator=(Counted&&) = delete;
  ~Counted() { live_containers--; }
  double* data() { return numbers_.data(); }
  size_t size() const { return numbers_.size(); }

 private:
  std::vector<double> numbers_;
};

// cppOwn(rows, columns) -> capsule over a container of 6 numbers; NULL with an exception when the shape does not fit
napi_value Own(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  arguments_of(env, info, 2, arguments);
  const auto rows = static_cast<int64_t>(number_from_js(env, arguments[0]));
  const auto columns = static_cast<int64_t>(number_from_js(env, arguments[1]));
  return ManagedTensor::Own(Counted(6), {rows, columns}).IntoCapsule(env, "cppOwn(rows, columns)");
}

napi_value LiveContainers(napi_env env, napi_callback_info) {
  return number_to_js(env, live_containers);
}

// cppMoves(x): moves an owner about; -> how many of the objects hold something at the end
napi_value Moves(napi_env env, napi_callback_info info) {
  ManagedTensor first = ManagedTensor::Take(env, First(env, info));
  ManagedTensor second(std::move(first));
  ManagedTensor third;
  third = std::move(second);
  ManagedTensor& same = third;
  third = std::move(same);
  int holding = 0;
  // NOLINTNEXTLINE(bugprone-use-after-move): that they are empty is what is asked
  for (const ManagedTensor* tensor : {&first, &second, &third}) holding += *tensor ? 1 : 0;
  third.reset();
  return number_to_js(env, holding + (third ? 1 : 0));
}

// cppDTypes() -> code and bits of each C++ type
napi_value DTypes(napi_env env, napi_callback_info) {
  const DLDataType dtypes[] = {
      node_dlpack::DTypeOf<int8_t>::value,
      node_dlpack::DTypeOf<int16_t>::value,
      node_dlpack::DTypeOf<int32_t>::value,
      node_dlpack::DTypeOf<int64_t>::value,
      node_dlpack::DTypeOf<uint8_t>::value,
      node_dlpack::DTypeOf<uint16_t>::value,
      node_dlpack::DTypeOf<uint32_t>::value,
      node_dlpack::DTypeOf<uint64_t>::value,
      node_dlpack::DTypeOf<float>::value,
      node_dlpack::DTypeOf<const double>::value,
      node_dlpack::DTypeOf<bool>::value,
      node_dlpack::DTypeOf<std::complex<float>>::value,
      node_dlpack::DTypeOf<std::complex<double>>::value,
  };
  napi_value array = nullptr;
  static_cast<void>(napi_create_array(env, &array));
  uint32_t index = 0;
  for (const DLDataType dtype : dtypes) {
    static_cast<void>(napi_set_element(env, array, index++, number_to_js(env, dtype.code)));
    static_cast<void>(napi_set_element(env, array, index++, number_to_js(env, dtype.bits)));
  }
  return array;
}

}  // namespace

void register_cpp(napi_env env, napi_value exports) {
  define(env, exports, "cppSum2", Sum2);
  define(env, exports, "cppSpan", SpanSum);
  define(env, exports, "cppDouble", Double);
  define(env, exports, "cppScalar", Scalar);
  define(env, exports, "cppOwn", Own);
  define(env, exports, "cppLiveContainers", LiveContainers);
  define(env, exports, "cppMoves", Moves);
  define(env, exports, "cppDTypes", DTypes);
}
