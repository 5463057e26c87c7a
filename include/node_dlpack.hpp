// node_dlpack.h for C++17: owners that release by themselves, and views that were checked before they show an element.
// Header-only; works with and without exceptions and RTTI, with plain Node-API and with node-addon-api, whose Napi::Env
// and Napi::Value become napi_env and napi_value by themselves.
//
//   Napi::Value Sum(const Napi::CallbackInfo& info) {
//     auto tensor = node_dlpack::ManagedTensor::Take(info.Env(), info[0], "sum(x)");
//     auto x = tensor.view<const float, 2>(info.Env(), "sum(x)");
//     if (!x) return Napi::Value();  // an exception is pending
//     double sum = 0;
//     for (int64_t i = 0; i < x.shape(0); i++)
//       for (int64_t j = 0; j < x.shape(1); j++) sum += x(i, j);
//     return Napi::Number::New(info.Env(), sum);
//   }
//
// Functions that take an env and `what` answer an empty object after an error and leave a JavaScript exception pending;
// `what` stands before its text. Asking an empty object for a view keeps the first exception, so one test is enough.
// Their `Try` forms answer a code of node_dlpack/errors.h instead and throw nothing.
#ifndef NODE_DLPACK_HPP_
#define NODE_DLPACK_HPP_

#include <complex>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

#include "node_dlpack.h"

namespace node_dlpack {

// The dtype of a C++ type: integers, float, double, bool, std::complex. Specialise it for element types of your own
// (a half, a bfloat16).
template <typename T>
struct DTypeOf {
  static_assert(std::is_arithmetic_v<T>, "there is no dtype for this type; specialise node_dlpack::DTypeOf");
  static constexpr DLDataType value{static_cast<uint8_t>(std::is_same_v<T, bool>       ? kDLBool
                                                         : std::is_floating_point_v<T> ? kDLFloat
                                                         : std::is_signed_v<T>         ? kDLInt
                                                                                       : kDLUInt),
                                    static_cast<uint8_t>(sizeof(T) * 8), 1};
};
template <typename T>
struct DTypeOf<std::complex<T>> {
  static constexpr DLDataType value{static_cast<uint8_t>(kDLComplex), static_cast<uint8_t>(sizeof(T) * 16), 1};
};
template <typename T>
struct DTypeOf<const T> : DTypeOf<T> {};

namespace internal {

struct DTypeName {
  explicit DTypeName(DLDataType dtype) {
    static constexpr const char* kNames[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
    if (dtype.code == kDLBool && dtype.bits == 8) {
      static_cast<void>(std::snprintf(text, sizeof text, "bool"));
    } else if (dtype.code < sizeof kNames / sizeof kNames[0]) {
      static_cast<void>(std::snprintf(text, sizeof text, "%s%d", kNames[dtype.code], dtype.bits));
    } else {
      static_cast<void>(std::snprintf(text, sizeof text, "type code %d with %d bits", dtype.code, dtype.bits));
    }
    if (dtype.lanes != 1) static_cast<void>(std::snprintf(text, sizeof text, "a vector of %d lanes", dtype.lanes));
  }
  char text[40];
};

// A view was refused: in the words of the code, with the numbers found where there are any.
inline void ThrowRefusal(napi_env env, int error, const char* what, const DLTensor& tensor, DLDataType dtype,
                         int ndim) {
  char text[300];
  const char* const prefix = what == nullptr ? "" : what;
  const char* const colon = what == nullptr ? "" : ": ";
  if (error == NODE_DLPACK_ERROR_DTYPE) {
    static_cast<void>(std::snprintf(text, sizeof text, "%s%sdtype is %s; %s was expected", prefix, colon,
                                    DTypeName(tensor.dtype).text, DTypeName(dtype).text));
  } else if (error == NODE_DLPACK_ERROR_AXES) {
    static_cast<void>(std::snprintf(text, sizeof text, "%s%sndim is %d; %d was expected", prefix, colon,
                                    static_cast<int>(tensor.ndim), ndim));
  } else {
    node_dlpack_throw(env, error, what);
    return;
  }
  node_dlpack_throw_words(env, 'B', "ERR_DLPACK_BUFFER", text);
}

}  // namespace internal

// Elements of type T along kNdim axes, wherever they lie: strides may be anything. Made only of a tensor that was
// checked; a T that is not const needs one that may be written. It owns nothing: good as long as the tensor is held.
template <typename T, int kNdim>
class View {
 public:
  static_assert(kNdim >= 0 && kNdim <= NODE_DLPACK_MAX_NDIM, "ndim");

  View() = default;

  static int Try(const DLTensor& tensor, uint64_t flags, View* out) {
    node_dlpack_reach reach;
    if (const int error = node_dlpack_check(&tensor, &reach); error != NODE_DLPACK_OK) return error;
    if (!node_dlpack_same_dtype(tensor.dtype, DTypeOf<T>::value)) return NODE_DLPACK_ERROR_DTYPE;
    if (tensor.ndim != kNdim) return NODE_DLPACK_ERROR_AXES;
    if (!std::is_const_v<T> && (flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0) return NODE_DLPACK_ERROR_READ_ONLY;
    out->data_ = static_cast<T*>(node_dlpack_data(&tensor));
    out->size_ = reach.size;
    out->contiguous_ = node_dlpack_is_contiguous(&tensor) != 0;
    out->valid_ = true;
    for (int axis = 0; axis < kNdim; axis++) {
      out->shape_[axis] = tensor.shape[axis];
      out->strides_[axis] = node_dlpack_stride(&tensor, axis);
    }
    return NODE_DLPACK_OK;
  }

  // False: it shows nothing, since it was refused.
  explicit operator bool() const { return valid_; }

  // The first logical element; NULL when there is none.
  T* data() const { return data_; }
  int64_t size() const { return size_; }
  static constexpr int ndim() { return kNdim; }
  int64_t shape(int axis) const { return shape_[axis]; }
  // In elements.
  int64_t stride(int axis) const { return strides_[axis]; }
  bool is_contiguous() const { return contiguous_; }

  // One element. The indices are not checked.
  template <typename... Index>
  T& operator()(Index... index) const {
    static_assert(sizeof...(Index) == kNdim, "one index for each axis");
    int64_t offset = 0;
    int axis = 0;
    static_cast<void>(axis);
    ((offset += static_cast<int64_t>(index) * strides_[axis++]), ...);
    return data_[offset];
  }

 private:
  T* data_ = nullptr;
  int64_t size_ = 0;
  int64_t shape_[kNdim == 0 ? 1 : kNdim] = {};
  int64_t strides_[kNdim == 0 ? 1 : kNdim] = {};
  bool contiguous_ = false;
  bool valid_ = false;
};

// All elements in row-major order as one run of memory, whatever the shape. Only of a contiguous tensor.
template <typename T>
class Span {
 public:
  Span() = default;

  static int Try(const DLTensor& tensor, uint64_t flags, Span* out) {
    node_dlpack_reach reach;
    if (const int error = node_dlpack_check(&tensor, &reach); error != NODE_DLPACK_OK) return error;
    if (!node_dlpack_same_dtype(tensor.dtype, DTypeOf<T>::value)) return NODE_DLPACK_ERROR_DTYPE;
    if (!std::is_const_v<T> && (flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0) return NODE_DLPACK_ERROR_READ_ONLY;
    if (node_dlpack_is_contiguous(&tensor) == 0) return NODE_DLPACK_ERROR_CONTIGUOUS;
    out->data_ = static_cast<T*>(node_dlpack_data(&tensor));
    out->size_ = static_cast<size_t>(reach.size);
    out->valid_ = true;
    return NODE_DLPACK_OK;
  }

  explicit operator bool() const { return valid_; }
  T* data() const { return data_; }
  size_t size() const { return size_; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }
  T& operator[](size_t index) const { return data_[index]; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
  bool valid_ = false;
};

namespace internal {

// What an owner and a borrower have in common: a tensor with flags, to be looked at.
template <typename Derived>
class Viewable {
 public:
  // In strides, whatever the layout. Empty, with an exception pending, when the tensor is something else.
  template <typename T, int kNdim>
  View<T, kNdim> view(napi_env env, const char* what = nullptr) const {
    View<T, kNdim> made;
    Look(env, what, DTypeOf<T>::value, kNdim, &made);
    return made;
  }
  // As one run. Empty, with an exception pending, when the tensor is something else.
  template <typename T>
  Span<T> span(napi_env env, const char* what = nullptr) const {
    Span<T> made;
    Look(env, what, DTypeOf<T>::value, 0, &made);
    return made;
  }

 private:
  friend Derived;
  Viewable() = default;

  template <typename Made>
  void Look(napi_env env, const char* what, DLDataType dtype, int ndim, Made* made) const {
    const auto& self = static_cast<const Derived&>(*this);
    if (!self) {
      node_dlpack_throw(env, NODE_DLPACK_ERROR_MANAGED_NULL, what);  // keeps the exception that is pending
      return;
    }
    const int error = Made::Try(self.tensor(), self.flags(), made);
    if (error != NODE_DLPACK_OK) ThrowRefusal(env, error, what, self.tensor(), dtype, ndim);
  }
};

}  // namespace internal

// Owns one managed tensor: its deleter runs exactly once. Move-only; may be moved to any thread and end there.
class ManagedTensor : public internal::Viewable<ManagedTensor> {
 public:
  ManagedTensor() noexcept = default;
  explicit ManagedTensor(DLManagedTensorVersioned* owned) noexcept : managed_(owned) {}
  ManagedTensor(ManagedTensor&& other) noexcept : managed_(other.release()) {}
  ManagedTensor& operator=(ManagedTensor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ManagedTensor(const ManagedTensor&) = delete;
  ManagedTensor& operator=(const ManagedTensor&) = delete;
  ~ManagedTensor() { reset(); }

  // node_dlpack_take: a capsule, a tensor of node-dlpack, anything with __dlpack__. Consumes an OwnedTensor.
  static ManagedTensor Take(napi_env env, napi_value value, const char* what = nullptr) {
    ManagedTensor taken;
    if (const int error = Try(env, value, &taken); error != NODE_DLPACK_OK) node_dlpack_throw(env, error, what);
    return taken;
  }
  // api: as of node_dlpack_take_with.
  static int Try(napi_env env, napi_value value, ManagedTensor* out, const node_dlpack_exchange_api* api = nullptr) {
    DLManagedTensorVersioned* managed = nullptr;
    const int error = node_dlpack_take_with(env, api, value, &managed);
    out->reset(managed);
    return error;
  }

  // A tensor over the elements of a container (std::vector, std::array, anything with data() and size()), which moves
  // into it: nobody else holds the memory, and flags say so. Row-major. Empty without memory, or when the shape has
  // another number of elements.
  template <typename Container>
  static ManagedTensor Own(Container&& container, std::initializer_list<int64_t> shape,
                           uint64_t flags = DLPACK_FLAG_BITMASK_IS_COPIED) {
    static_assert(!std::is_lvalue_reference_v<Container>, "the container moves in: pass std::move(container)");
    using Element = std::remove_reference_t<decltype(*container.data())>;
    uint64_t size = 1;
    for (const int64_t extent : shape) size *= static_cast<uint64_t>(extent);
    if (size != container.size()) return ManagedTensor();
    auto* kept = new (std::nothrow) Container(std::forward<Container>(container));
    if (kept == nullptr) return ManagedTensor();
    DLManagedTensorVersioned* managed =
        node_dlpack_wrap(const_cast<std::remove_const_t<Element>*>(kept->data()), DTypeOf<Element>::value,
                         static_cast<int32_t>(shape.size()), shape.begin(), nullptr, flags, Delete<Container>, kept);
    if (managed == nullptr) delete kept;
    return ManagedTensor(managed);
  }

  // A capsule over it; this object is empty afterwards. NULL with an exception pending on an error: the deleter ran.
  napi_value IntoCapsule(napi_env env, const char* what = nullptr) && {
    napi_value capsule = nullptr;
    if (managed_ == nullptr) return node_dlpack_throw(env, NODE_DLPACK_ERROR_MANAGED_NULL, what);
    const int error = node_dlpack_make(env, release(), &capsule);
    return error == NODE_DLPACK_OK ? capsule : node_dlpack_throw(env, error, what);
  }

  explicit operator bool() const { return managed_ != nullptr; }
  const DLTensor& tensor() const { return managed_->dl_tensor; }
  uint64_t flags() const { return managed_->flags; }
  bool read_only() const { return (flags() & DLPACK_FLAG_BITMASK_READ_ONLY) != 0; }

  DLManagedTensorVersioned* get() const { return managed_; }
  // The caller owns it from here on, and owes its deleter call.
  [[nodiscard]] DLManagedTensorVersioned* release() noexcept { return std::exchange(managed_, nullptr); }
  void reset(DLManagedTensorVersioned* owned = nullptr) noexcept {
    node_dlpack_release(std::exchange(managed_, owned));
  }

 private:
  template <typename Container>
  static void Delete(void* container) {
    delete static_cast<Container*>(container);
  }

  DLManagedTensorVersioned* managed_ = nullptr;
};

// node_dlpack_borrow: looks at a tensor, or writes into it, without consuming it. Good until JavaScript runs, so it
// lives on the stack of one native call and cannot move.
class Borrowed : public internal::Viewable<Borrowed> {
 public:
  Borrowed(napi_env env, napi_value value, const char* what = nullptr, const node_dlpack_exchange_api* api = nullptr) {
    error_ = node_dlpack_borrow_with(env, api, value, &borrowed_);
    if (error_ != NODE_DLPACK_OK) node_dlpack_throw(env, error_, what);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() { node_dlpack_give_back(&borrowed_); }

  explicit operator bool() const { return error_ == NODE_DLPACK_OK; }
  const DLTensor& tensor() const { return borrowed_.tensor; }
  uint64_t flags() const { return borrowed_.flags; }
  bool read_only() const { return (flags() & DLPACK_FLAG_BITMASK_READ_ONLY) != 0; }

 private:
  node_dlpack_borrowed borrowed_;  // filled in whatever comes of it
  int error_ = NODE_DLPACK_OK;
};

}  // namespace node_dlpack

#endif  // NODE_DLPACK_HPP_
