// A tensor addon in C++ with node-addon-api, complete: makeTensor() gives an object with __dlpack__ over a matrix of
// its own, takeTensor(x) works on the memory of others, and nothing is copied. It knows node-dlpack by its headers
// alone.
#include <napi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "node_dlpack.hpp"

namespace {

using node_dlpack::Borrowed;
using node_dlpack::DTypeOf;
using node_dlpack::ManagedTensor;

// Elements that somebody still holds, and how many of them there are. Consumers end them on any thread.
class Elements {
 public:
  Elements() { held++; }
  Elements(const Elements& other) : numbers_(other.numbers_) { held++; }
  Elements(Elements&& other) noexcept : numbers_(std::move(other.numbers_)) { held++; }
  Elements& operator=(const Elements&) = delete;
  ~Elements() { held--; }
  const float* data() const { return numbers_.data(); }
  float* data() { return numbers_.data(); }
  size_t size() const { return numbers_.size(); }

  static inline std::atomic<int> held{0};

 private:
  std::vector<float> numbers_ = {0, 1, 2, 3, 4, 5};
};

// A matrix that several holders share: its JavaScript object, and every struct that was exported of it.
struct Matrix {
  static constexpr int64_t kShape[] = {2, 3};
  Elements elements;
};
using SharedMatrix = std::shared_ptr<const Matrix>;

// A struct over it holds it too, so it may outlive the object, on any thread.
void LetGo(void* context) {
  delete static_cast<SharedMatrix*>(context);
}

DLManagedTensorVersioned* Export(void* context, int copy) {
  const SharedMatrix& matrix = *static_cast<const SharedMatrix*>(context);
  if (copy == NODE_DLPACK_COPY_TRUE) {
    return ManagedTensor::Own(Elements(matrix->elements), {Matrix::kShape[0], Matrix::kShape[1]}).release();
  }
  auto* holder = new (std::nothrow) SharedMatrix(matrix);
  if (holder == nullptr) return nullptr;
  auto* data = const_cast<float*>(matrix->elements.data());  // READ_ONLY says that it may not be written
  DLManagedTensorVersioned* tensor = node_dlpack_wrap(data, DTypeOf<float>::value, 2, Matrix::kShape, nullptr,
                                                      DLPACK_FLAG_BITMASK_READ_ONLY, LetGo, holder);
  if (tensor == nullptr) delete holder;
  return tensor;
}

// makeTensor()
Napi::Value MakeTensor(const Napi::CallbackInfo& info) {
  auto* holder = new (std::nothrow) SharedMatrix(std::make_shared<const Matrix>());
  napi_value producer = nullptr;
  const int error = node_dlpack_producer_make(info.Env(), DLDevice{kDLCPU, 0}, Export, LetGo, holder, &producer);
  if (error != NODE_DLPACK_OK) producer = node_dlpack_throw(info.Env(), error, "makeTensor()");
  return Napi::Value(info.Env(), producer);
}

// takeTensor(x): the sum of a float32 matrix, in any layout.
Napi::Value TakeTensor(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const ManagedTensor tensor = ManagedTensor::Take(env, info[0], "takeTensor(x)");
  const auto matrix = tensor.view<const float, 2>(env, "takeTensor(x)");
  if (!matrix) return Napi::Value();  // an exception is pending

  double sum = 0;
  for (int64_t i = 0; i < matrix.shape(0); i++) {
    for (int64_t j = 0; j < matrix.shape(1); j++) sum += static_cast<double>(matrix(i, j));
  }
  Napi::Object result = Napi::Object::New(env);
  result.Set("sum", Napi::Number::New(env, sum));
  result.Set("address", Napi::BigInt::New(env, static_cast<uint64_t>(reinterpret_cast<uintptr_t>(matrix.data()))));
  result.Set("flags", Napi::Number::New(env, static_cast<double>(tensor.flags())));
  return result;
}

// scale(x, factor): multiplies float32 elements where they lie. An OwnedTensor stays its owner's: it is only borrowed.
Napi::Value Scale(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto factor = static_cast<float>(info[1].ToNumber().DoubleValue());
  if (env.IsExceptionPending()) return Napi::Value();
  const Borrowed tensor(env, info[0], "scale(x, factor)");
  const auto elements = tensor.span<float>(env, "scale(x, factor)");
  if (!elements) return Napi::Value();
  for (float& element : elements) element *= factor;
  return env.Undefined();
}

// held()
Napi::Value Held(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), Elements::held);
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  // Deleters of ours may be called when the last thread that loaded this addon is gone.
  if (node_dlpack_pin() == 0) Napi::Error::New(env, "the addon cannot stay mapped").ThrowAsJavaScriptException();
  exports.Set("makeTensor", Napi::Function::New(env, MakeTensor, "makeTensor"));
  exports.Set("takeTensor", Napi::Function::New(env, TakeTensor, "takeTensor"));
  exports.Set("scale", Napi::Function::New(env, Scale, "scale"));
  exports.Set("held", Napi::Function::New(env, Held, "held"));
  return exports;
}

}  // namespace

NODE_API_MODULE(addon_cpp, Init)
