#include "unsafe_memory.h"

#include <new>

#include "../core/block.h"
#include "bytes_argument.h"
#include "call.h"
#include "environment.h"
#include "handles.h"
#include "new_tensor.h"
#include "release_queue.h"

namespace node_dlpack::binding {

namespace {

// What a block over JavaScript-backed memory holds: a function to call, or a typed array to keep.
struct PinnedValue : ReleaseJob {
  napi_ref reference = nullptr;  // strong
  bool call_back = false;        // the value is a function and owed a call; not before its tensor exists

  static void Run(napi_env env, ReleaseJob* job) {
    auto* pinned = static_cast<PinnedValue*>(job);
    if (env != nullptr) pinned->LetGo(env);
    delete pinned;
  }

 private:
  // An exception of the function's is the queue's to report.
  void LetGo(napi_env env) {
    napi_value value = nullptr;
    napi_value receiver = nullptr;
    const bool found = napi_get_reference_value(env, reference, &value) == napi_ok && value != nullptr;
    static_cast<void>(napi_delete_reference(env, reference));
    if (!call_back || !found || napi_get_undefined(env, &receiver) != napi_ok) return;
    static_cast<void>(napi_call_function(env, receiver, value, 0, nullptr, nullptr));
  }
};

Fault Pin(const Call& call, napi_value value, PinnedValue** out) {
  auto* pinned = new (std::nothrow) PinnedValue;
  if (pinned == nullptr) return Fault(FaultCode::kOutOfMemory, 0, sizeof(PinnedValue));
  pinned->run = PinnedValue::Run;
  const napi_status status = napi_create_reference(call.env(), value, 1, &pinned->reference);
  if (status != napi_ok) {
    delete pinned;
    return Fault(FaultCode::kNodeApi, 0, status);
  }
  if (!call.environment.release_queue->Bind(call.env(), pinned)) {
    static_cast<void>(napi_delete_reference(call.env(), pinned->reference));
    delete pinned;
    return FaultCode::kEnvironmentEnding;
  }
  *out = pinned;
  return Fault();
}

// The tensor over memory that starts at origin, held by what is pinned. tensor: layout, dtype, read_only and origin are
// set.
Fault MakePinned(Call& call, PinnedValue* pinned, NeverUniqueReason why_not, Account* account, NewTensor&& tensor,
                 Slot** out) {
  const ByteSpan span = tensor.layout.byte_span(tensor.dtype);
  uint8_t* data = tensor.layout.empty() ? nullptr : tensor.origin + span.lowest;
  BlockTraits traits;
  traits.may_be_unique = false;
  traits.why_not = why_not;
  traits.may_be_protected = why_not == NeverUniqueReason::kPointer && tensor.read_only;
  traits.bound_to_environment = true;
  // From here on the block, or its failure to be made, posts the job.
  if (Fault fault = Block::Wrap(data, static_cast<size_t>(span.size()), ReleaseQueue::Post, pinned, traits, account,
                                AliasKind::kTensor, &tensor.alias);
      !fault.ok()) {
    return fault;
  }
  return MakeTensorSlot(call.environment, static_cast<NewTensor&&>(tensor), out);
}

Fault CheckAlignment(const uint8_t* origin, DType dtype) {
  const auto remainder = reinterpret_cast<uintptr_t>(origin) % dtype.alignment();
  if (remainder == 0) return Fault();
  return Fault(FaultCode::kMisaligned, 0, static_cast<int64_t>(remainder), dtype.alignment());
}

// Does the span stay within the address space?
Fault CheckAddress(uint64_t address, const Layout& layout, DType dtype) {
  if (layout.empty()) return Fault();
  if (address == 0) return FaultCode::kNullAddress;
  const ByteSpan span = layout.byte_span(dtype);
  const uint64_t below = uint64_t{0} - static_cast<uint64_t>(span.lowest);
  const auto above = static_cast<uint64_t>(span.highest);
  if (below >= address) return layout.SpanFault(true);
  if (above > UINTPTR_MAX - address) return layout.SpanFault(false);
  return Fault();
}

// Element: the address of the first logical element. Input: shape, strides.
napi_value FromPointer(Call& call) {
  NewTensor tensor;
  int32_t ndim = 0;
  bool has_strides = false;
  int64_t shape[kMaxNdim];
  int64_t strides[kMaxNdim];
  const auto address = static_cast<uint64_t>(call.scratch().bits(slot::kElement));
  if (Fault fault = call.Int(0, &ndim); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.DTypeArgument(1, &tensor.dtype); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Bool(2, &has_strides); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Bool(3, &tensor.read_only); !fault.ok()) return call.Fail(fault);
  napi_valuetype type = napi_undefined;
  if (napi_typeof(call.env(), call.argument(4), &type) != napi_ok || type != napi_function) {
    return call.Fail(Fault(FaultCode::kArgument, 4));
  }
  if (ndim < 0 || ndim > kMaxNdim) return call.Fail(Fault(FaultCode::kNdimLimit, 0, ndim, kMaxNdim));
  if (Fault fault = call.Integers(0, ndim, shape); !fault.ok()) return call.Fail(fault);
  if (has_strides) {
    if (Fault fault = call.Integers(ndim, ndim, strides); !fault.ok()) return call.Fail(fault);
  }
  if (Fault fault = Layout::Strided(shape, has_strides ? strides : nullptr, ndim, tensor.dtype, &tensor.layout);
      !fault.ok()) {
    return call.Fail(fault);
  }
  if (Fault fault = CheckAddress(address, tensor.layout, tensor.dtype); !fault.ok()) return call.Fail(fault);
  tensor.origin = reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(address));
  if (Fault fault = CheckAlignment(tensor.origin, tensor.dtype); !fault.ok()) return call.Fail(fault);

  PinnedValue* pinned = nullptr;
  Slot* made = nullptr;
  if (Fault fault = Pin(call, call.argument(4), &pinned); !fault.ok()) return call.Fail(fault);
  if (Fault fault = MakePinned(call, pinned, NeverUniqueReason::kPointer, call.environment.account(),
                               static_cast<NewTensor&&>(tensor), &made);
      !fault.ok()) {
    return call.Fail(fault);
  }
  // Only now: after a fault the memory is still the caller's.
  pinned->call_back = true;
  return ReturnSlot(call, *made, made->alias->bytes());
}

// A resizable ArrayBuffer, or a growable SharedArrayBuffer? Their memory may move or shrink under a kept address.
// Node-API cannot tell, so the object is asked, which may run JavaScript: before anything is resolved.
bool IsResizable(Call& call, napi_value buffer) {
  const Interlude interlude(call.environment);
  for (const char* name : {"resizable", "growable"}) {
    napi_value value = nullptr;
    bool answer = false;
    if (napi_get_named_property(call.env(), buffer, name, &value) == napi_ok &&
        napi_get_value_bool(call.env(), value, &answer) == napi_ok && answer) {
      return true;
    }
  }
  return false;
}

// Input: shape. The memory is the engine's, which counts it already, so it is on no account of ours.
napi_value Adopt(Call& call) {
  NewTensor tensor;
  BytesArgument source;
  int32_t ndim = 0;
  bool writable = false;
  int64_t shape[kMaxNdim];
  if (Fault fault = call.Int(1, &ndim); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.DTypeArgument(2, &tensor.dtype); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Bool(3, &writable); !fault.ok()) return call.Fail(fault);
  if (ndim < 0 || ndim > kMaxNdim) return call.Fail(Fault(FaultCode::kNdimLimit, 0, ndim, kMaxNdim));
  if (Fault fault = call.Integers(0, ndim, shape); !fault.ok()) return call.Fail(fault);
  if (Fault fault = BytesArgument::Read(call, 0, &source); !fault.ok()) return call.Fail(fault);
  if (IsResizable(call, source.buffer)) return call.Fail(FaultCode::kResizableInput);
  if (Fault fault = BytesArgument::Read(call, 0, &source); !fault.ok()) return call.Fail(fault);
  if (Fault fault = Layout::RowMajor(shape, ndim, tensor.dtype, &tensor.layout); !fault.ok()) return call.Fail(fault);
  const int64_t bytes = tensor.layout.compact_bytes(tensor.dtype);
  if (static_cast<uint64_t>(bytes) > source.bytes) {
    return call.Fail(Fault(FaultCode::kOutsideBlock, 0, bytes, static_cast<int64_t>(source.bytes)));
  }
  tensor.origin = source.data;
  tensor.read_only = !writable;
  if (!tensor.layout.empty()) {
    if (Fault fault = CheckAlignment(tensor.origin, tensor.dtype); !fault.ok()) return call.Fail(fault);
  }

  PinnedValue* pinned = nullptr;
  Slot* made = nullptr;
  if (Fault fault = Pin(call, call.argument(0), &pinned); !fault.ok()) return call.Fail(fault);
  if (Fault fault = MakePinned(call, pinned, NeverUniqueReason::kJavaScriptMemory, nullptr,
                               static_cast<NewTensor&&>(tensor), &made);
      !fault.ok()) {
    return call.Fail(fault);
  }
  return ReturnSlot(call, *made, 0);
}

// Element: the address of the first logical element, 0 when there is none. No alias is counted.
napi_value DataAddress(Call& call) {
  Slot* of = nullptr;
  if (Fault fault = call.TensorOrFreeOwner(0, &of); !fault.ok()) return call.Fail(fault);
  const auto address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(of->origin)) + of->byte_offset;
  call.scratch().set_bits(slot::kElement, static_cast<int64_t>(address));
  return call.Ok();
}

}  // namespace

void RegisterUnsafeMemory(Registration& registration) {
  registration.Function("fromPointer", Entry<FromPointer, 5, Makes::kHandle>);
  registration.Function("adopt", Entry<Adopt, 4, Makes::kHandle>);
  registration.Function("dataAddress", Entry<DataAddress, 1>);
}

}  // namespace node_dlpack::binding
