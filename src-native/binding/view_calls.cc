// The calls of lib/native.ts about views: view, releaseViews, openWindow, closeWindow; and readSpan, writeSpan for
// runtimes without external ArrayBuffers. What a view is, and how long it lives, stands in views.h.
#include <cstring>

#include "bytes_argument.h"
#include "call.h"
#include "environment.h"
#include "handles.h"
#include "host_access.h"
#include "views.h"

namespace node_dlpack::binding {

namespace {

// What view and openWindow owe before a buffer is made.
Fault Admit(Call& call, Slot** slot) {
  ViewMode mode = ViewMode::kRead;
  if (Fault fault = call.TensorOrFreeOwner(0, slot); !fault.ok()) return fault;
  if (Fault fault = call.Choice(1, ViewMode::kUnsafe, &mode); !fault.ok()) return fault;
  return Views::CheckAccess(**slot, mode);
}

napi_value View(Call& call) {
  Slot* slot = nullptr;
  napi_value buffer = nullptr;
  if (Fault fault = Admit(call, &slot); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.environment.views.Open(*slot, &buffer); !fault.ok()) return call.Fail(fault);
  return buffer;
}

napi_value ReleaseViews(Call& call) {
  Slot* slot = nullptr;
  if (Fault fault = call.TensorOrFreeOwner(0, &slot); !fault.ok()) return call.Fail(fault);
  call.environment.views.Release(*slot);
  return call.Ok();
}

napi_value OpenWindow(Call& call) {
  Slot* slot = nullptr;
  napi_value buffer = nullptr;
  if (Fault fault = Admit(call, &slot); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.environment.views.OpenWindow(*slot, &buffer); !fault.ok()) return call.Fail(fault);
  return buffer;
}

// Of a lent owner too: the window may be older than the loan.
napi_value CloseWindow(Call& call) {
  Slot* slot = nullptr;
  if (Fault fault = call.TensorOrOwner(0, &slot); !fault.ok()) return call.Fail(fault);
  return call.Answer(call.environment.views.CloseWindow(*slot, call.argument(1)));
}

// A window that is no view: over a copy, where external ArrayBuffers are forbidden, or over no bytes at all. Counted
// like every other, since all ways out of the memory ask for windows here.
napi_value HoldWindow(Call& call) {
  Slot* slot = nullptr;
  if (Fault fault = call.TensorOrFreeOwner(0, &slot); !fault.ok()) return call.Fail(fault);
  ++slot->windows;
  return call.Ok();
}

napi_value DropWindow(Call& call) {
  Slot* slot = nullptr;
  if (Fault fault = call.TensorOrOwner(0, &slot); !fault.ok()) return call.Fail(fault);
  if (slot->windows == 0) return call.Fail(FaultCode::kArgument);
  --slot->windows;
  return call.Ok();
}

// The span's own bytes, and JavaScript memory of exactly as many. kOutsideBlock (value: bytes given, limit: bytes of
// the span).
Fault SpanAndBytes(const Call& call, const Slot& slot, uint8_t** span, BytesArgument* bytes) {
  if (Fault fault = CheckReadable(slot); !fault.ok()) return fault;
  if (Fault fault = BytesArgument::Read(call, 1, bytes); !fault.ok()) return fault;
  const ByteSpan range = slot.layout.byte_span(slot.dtype);
  if (bytes->bytes != static_cast<size_t>(range.size())) {
    return Fault(FaultCode::kOutsideBlock, 1, static_cast<int64_t>(bytes->bytes), range.size());
  }
  *span = slot.layout.empty() ? nullptr : slot.origin + range.lowest;
  return Fault();
}

// Both of a lent owner too, while a window is open: it may be older than the loan, and close before it.
// memmove: the JavaScript memory may itself be a view of this block.
napi_value ReadSpan(Call& call) {
  Slot* slot = nullptr;
  uint8_t* span = nullptr;
  BytesArgument target;
  if (Fault fault = call.TensorOrOwner(0, &slot); !fault.ok()) return call.Fail(fault);
  if (Fault fault = SpanAndBytes(call, *slot, &span, &target); !fault.ok()) return call.Fail(fault);
  if (span != nullptr) std::memmove(target.data, span, target.bytes);
  return call.Ok();
}

napi_value WriteSpan(Call& call) {
  Slot* slot = nullptr;
  uint8_t* span = nullptr;
  BytesArgument source;
  if (Fault fault = call.Owner(0, &slot); !fault.ok()) return call.Fail(fault);
  if (slot->windows == 0) {
    if (Fault fault = call.environment.loans.CheckFree(*slot); !fault.ok()) return call.Fail(fault);
  }
  if (Fault fault = SpanAndBytes(call, *slot, &span, &source); !fault.ok()) return call.Fail(fault);
  if (span != nullptr) std::memmove(span, source.data, source.bytes);
  return call.Ok();
}

}  // namespace

void RegisterViews(Registration& registration) {
  registration.Function("view", Entry<View, 2>);
  registration.Function("releaseViews", Entry<ReleaseViews, 1>);
  registration.Function("openWindow", Entry<OpenWindow, 2>);
  registration.Function("closeWindow", Entry<CloseWindow, 2>);
  registration.Function("holdWindow", Entry<HoldWindow, 1>);
  registration.Function("dropWindow", Entry<DropWindow, 1>);
  registration.Function("readSpan", Entry<ReadSpan, 2>);
  registration.Function("writeSpan", Entry<WriteSpan, 2>);
}

}  // namespace node_dlpack::binding
