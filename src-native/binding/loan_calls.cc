// The calls of lib/native.ts about loans: lendBegin, lendEnd. What a loan is stands in loans.h.
#include "call.h"
#include "environment.h"
#include "handles.h"
#include "loans.h"
#include "new_tensor.h"

namespace node_dlpack::binding {

namespace {

napi_value LendBegin(Call& call) {
  Slot* owner = nullptr;
  Slot* lent = nullptr;
  bool writable = false;
  if (Fault fault = call.FreeOwner(0, &owner); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Bool(1, &writable); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.environment.loans.Begin(*owner, writable, &lent); !fault.ok()) return call.Fail(fault);
  return ReturnSlot(call, *lent, 0);
}

napi_value LendEnd(Call& call) {
  Slot* owner = nullptr;
  if (Fault fault = call.Owner(0, &owner); !fault.ok()) return call.Fail(fault);
  return call.Answer(call.environment.loans.End(*owner));
}

}  // namespace

void RegisterLoans(Registration& registration) {
  registration.Function("lendBegin", Entry<LendBegin, 2, Makes::kHandle>);
  registration.Function("lendEnd", Entry<LendEnd, 1>);
}

}  // namespace node_dlpack::binding
