#include "exchange_table.h"

#include <atomic>
#include <cstring>
#include <new>

#include "../core/foreign.h"
#include "../core/managed_tensor.h"
#include "call.h"
#include "capsule.h"
#include "environment.h"
#include "new_tensor.h"
#include "staging.h"
#include "type_tags.h"

// Plain C Node-API throughout: this is the hand-off path of other addons, and each wrapper shows.

namespace node_dlpack::binding {

namespace {

std::atomic<ExchangeTable*> g_tables{nullptr};

// State.Consumed of lib/tensor-base.ts.
constexpr int32_t kConsumed = 1;

int CodeOf(const Fault& fault) {
  return static_cast<int>(fault.code);
}

void ClearException(napi_env env) {
  napi_value error;
  bool pending = false;
  if (napi_is_exception_pending(env, &pending) == napi_ok && pending) {
    static_cast<void>(napi_get_and_clear_last_exception(env, &error));
  }
}

// One property under a symbol of ours, if it is a number.
int ReadNumber(napi_env env, napi_env own, napi_ref symbol, napi_value object, double* out) {
  napi_value key;
  napi_value value;
  if (napi_get_reference_value(own, symbol, &key) != napi_ok) return NODE_DLPACK_ERROR_NODE_API;
  const napi_status status = napi_get_property(env, object, key, &value);
  if (status == napi_pending_exception) return NODE_DLPACK_ERROR_EXCEPTION;
  if (status != napi_ok) return NODE_DLPACK_ERROR_NODE_API;
  return napi_get_value_double(env, value, out) == napi_ok ? NODE_DLPACK_OK : NODE_DLPACK_ERROR_NOT_OURS;
}

// A tensor or owner that lives. *table is not closed.
int Resolve(napi_env env, const ExchangeTable* table, napi_value value, Slot** out) {
  if (table->environment() == nullptr) return NODE_DLPACK_ERROR_ENDING;
  napi_valuetype type;
  // Asked first: reading a property of null or undefined would leave an exception pending.
  if (napi_typeof(env, value, &type) != napi_ok) return NODE_DLPACK_ERROR_NODE_API;
  if (type != napi_object) return NODE_DLPACK_ERROR_NOT_OURS;
  napi_env own = table->environment()->env();
  double handle = 0;
  if (int error = ReadNumber(env, own, table->handle_symbol(), value, &handle); error != NODE_DLPACK_OK) return error;
  const Environment* environment = table->environment();
  if (environment == nullptr) return NODE_DLPACK_ERROR_ENDING;  // code ran meanwhile
  Slot* slot = environment->handles.Find(handle);
  if (slot == nullptr) {
    double state = 0;
    const int error = ReadNumber(env, own, table->state_symbol(), value, &state);
    if (error == NODE_DLPACK_ERROR_EXCEPTION) return error;
    return error == NODE_DLPACK_OK && state == kConsumed ? NODE_DLPACK_ERROR_CONSUMED : NODE_DLPACK_ERROR_DISPOSED;
  }
  if (!slot->holds_memory()) return NODE_DLPACK_ERROR_NOT_OURS;  // a forged handle
  *out = slot;
  return NODE_DLPACK_OK;
}

ExchangeTable* TableOf(void* context) {
  return static_cast<ExchangeTable*>(context);
}

uint64_t FlagsOf(const Slot& slot) {
  uint64_t flags = slot.has(tensor_flag::kReadOnly) ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  if (slot.dtype.padded()) flags |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  return flags;
}

Fault MakeStruct(const Slot& from, uint64_t flags, ManagedGuard* out) {
  TensorView view;
  view.origin = from.origin;
  view.layout = &from.layout;
  view.dtype = from.dtype;
  view.byte_offset = from.byte_offset;
  view.as_cpu = from.as_cpu;
  return MakeManaged(from.alias.NewAlias(AliasKind::kExport), view, ManagedKind::kVersioned, flags, out);
}

// What stands in the way of an owner's one shot. Then nothing has changed.
Fault CheckMovable(Environment& environment, Slot& owner) {
  if (Fault fault = environment.loans.CheckFree(owner); !fault.ok()) return fault;
  if (owner.windows > 0) return Fault(FaultCode::kInUse, 0, owner.windows);
  return environment.views.CheckNotMovedAway(owner);
}

// The JavaScript object is a tombstone from now on.
void MarkConsumed(napi_env env, napi_env own, napi_ref state_symbol, napi_value object) {
  napi_value key;
  napi_value state;
  if (napi_get_reference_value(own, state_symbol, &key) != napi_ok) return;
  if (napi_create_int32(env, kConsumed, &state) != napi_ok) return;
  // An object that somebody froze cannot be told, and reads as disposed: its handle is dead either way.
  if (napi_set_property(env, object, key, state) != napi_ok) ClearException(env);
}

int FromOwner(napi_env env, const ExchangeTable& table, napi_value value, Slot* owner, ManagedGuard* managed) {
  Environment& environment = *table.environment();
  if (Fault fault = CheckMovable(environment, *owner); !fault.ok()) return CodeOf(fault);
  if (Fault fault = WriteStagedBack(environment.env(), *owner); !fault.ok()) return CodeOf(fault);
  if (Fault fault = MakeStruct(*owner, DLPACK_FLAG_BITMASK_IS_COPIED, managed); !fault.ok()) return CodeOf(fault);
  napi_env own = environment.env();
  const napi_ref state_symbol = table.state_symbol();
  DetachStaging(own, *owner);
  environment.ReleaseSlot(owner);
  MarkConsumed(env, own, state_symbol, value);
  return NODE_DLPACK_OK;
}

// A fresh symbol, kept by *reference; nullptr when there can be none.
napi_value MakeSymbol(napi_env env, const char* description, napi_ref* reference) {
  napi_value text = nullptr;
  napi_value symbol = nullptr;
  if (napi_create_string_utf8(env, description, NAPI_AUTO_LENGTH, &text) != napi_ok) return nullptr;
  if (napi_create_symbol(env, text, &symbol) != napi_ok) return nullptr;
  return napi_create_reference(env, symbol, 1, reference) == napi_ok ? symbol : nullptr;
}

}  // namespace

extern "C" {

static int ManagedTensorAllocate(napi_env, void* context, const DLTensor* prototype, DLManagedTensorVersioned** out) {
  *out = nullptr;
  Environment* environment = TableOf(context)->environment();
  if (environment == nullptr) return NODE_DLPACK_ERROR_ENDING;
  if (prototype->device.device_type != kDLCPU) {
    return IsKnownDevice(prototype->device.device_type) ? NODE_DLPACK_ERROR_OPAQUE : NODE_DLPACK_ERROR_DEVICE;
  }
  DType dtype;
  Layout layout;
  BlockRef alias;
  if (Fault fault = DType::Check(prototype->dtype, false, &dtype); !fault.ok()) return CodeOf(fault);
  if (prototype->ndim < 0 || prototype->ndim > kMaxNdim) return NODE_DLPACK_ERROR_NDIM;
  if (prototype->ndim > 0 && prototype->shape == nullptr) return NODE_DLPACK_ERROR_SHAPE_NULL;
  if (Fault fault = Layout::RowMajor(prototype->shape, prototype->ndim, dtype, &layout); !fault.ok())
    return CodeOf(fault);
  const auto bytes = static_cast<size_t>(layout.compact_bytes(dtype));
  if (Fault fault = environment->AllocateUninitialized(bytes, &alias); !fault.ok()) return CodeOf(fault);
  TensorView view;
  view.origin = alias->data();
  view.layout = &layout;
  view.dtype = dtype;
  ManagedGuard managed;
  Fault fault = MakeManaged(static_cast<BlockRef&&>(alias), view, ManagedKind::kVersioned,
                            DLPACK_FLAG_BITMASK_IS_COPIED, &managed);
  if (fault.ok()) *out = static_cast<DLManagedTensorVersioned*>(managed.Detach());
  return CodeOf(fault);
}

static int ManagedTensorFromValue(napi_env env, void* context, napi_value value, DLManagedTensorVersioned** out) {
  *out = nullptr;
  const ExchangeTable& table = *TableOf(context);
  Slot* slot = nullptr;
  if (int error = Resolve(env, &table, value, &slot); error != NODE_DLPACK_OK) return error;
  ManagedGuard managed;
  if (slot->is_owner()) {
    if (int error = FromOwner(env, table, value, slot, &managed); error != NODE_DLPACK_OK) return error;
  } else {
    if (Fault fault = MakeStruct(*slot, FlagsOf(*slot), &managed); !fault.ok()) return CodeOf(fault);
  }
  *out = static_cast<DLManagedTensorVersioned*>(managed.Detach());
  return NODE_DLPACK_OK;
}

static int ManagedTensorToValue(napi_env, void* context, DLManagedTensorVersioned* managed, napi_value* out) {
  *out = nullptr;
  ManagedGuard guard(managed, ManagedKind::kVersioned);
  Environment* environment = TableOf(context)->environment();
  if (environment == nullptr) return NODE_DLPACK_ERROR_ENDING;
  if (managed == nullptr) return NODE_DLPACK_ERROR_MANAGED_NULL;
  environment->UpkeepBeforeMaking();
  napi_value external = nullptr;
  Slot* slot = nullptr;
  if (Fault fault = MakeCapsule(*environment, &guard, &external, &slot); !fault.ok()) return CodeOf(fault);
  if (!environment->collector.Place(Handles::HandleOf(*slot), external)) {
    // Nobody was given it, and nothing would find it.
    environment->CollectSlot(slot);
    return NODE_DLPACK_ERROR_NODE_API;
  }
  *out = external;
  return NODE_DLPACK_OK;
}

static int DLTensorFromValue(napi_env env, void* context, napi_value value, DLTensor* out, uint64_t* flags) {
  const ExchangeTable& table = *TableOf(context);
  Slot* slot = nullptr;
  int error = Resolve(env, &table, value, &slot);
  if (error == NODE_DLPACK_OK && slot->is_owner()) error = CodeOf(table.environment()->loans.CheckFree(*slot));
  if (error != NODE_DLPACK_OK) {
    std::memset(out, 0, sizeof *out);
    *flags = 0;
    return error;
  }
  const Layout& layout = slot->layout;
  const int32_t ndim = layout.ndim();
  out->data = layout.empty() ? nullptr : OriginOrStaged(table.environment()->env(), *slot);
  out->device = slot->as_cpu ? DLDevice{kDLCPU, 0} : slot->alias->device();
  out->ndim = ndim;
  out->dtype = slot->dtype.raw();
  out->shape = ndim == 0 ? nullptr : const_cast<int64_t*>(layout.shape());
  out->strides = ndim == 0 ? nullptr : const_cast<int64_t*>(layout.strides());
  out->byte_offset = slot->byte_offset;
  *flags = FlagsOf(*slot);
  return NODE_DLPACK_OK;
}

static int CurrentWorkStream(napi_env, void*, DLDeviceType device_type, int32_t, void** out) {
  *out = nullptr;
  if (IsHostReadable(device_type)) return NODE_DLPACK_OK;
  return IsKnownDevice(device_type) ? NODE_DLPACK_ERROR_OPAQUE : NODE_DLPACK_ERROR_DEVICE;
}

}  // extern "C"

ExchangeTable::ExchangeTable(Environment& environment)
    : environment_(&environment), next_(g_tables.load(std::memory_order_relaxed)) {
  api_.header.version = DLPackVersion{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  api_.header.prev_api = nullptr;
  api_.context = this;
  api_.managed_tensor_allocate = ManagedTensorAllocate;
  api_.managed_tensor_from_value = ManagedTensorFromValue;
  api_.managed_tensor_to_value = ManagedTensorToValue;
  api_.dltensor_from_value = DLTensorFromValue;
  api_.current_work_stream = CurrentWorkStream;
  while (!g_tables.compare_exchange_weak(next_, this, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

ExchangeTable* ExchangeTable::Create(Environment& environment) {
  return new (std::nothrow) ExchangeTable(environment);
}

bool ExchangeTable::Publish(Registration& registration) {
  napi_env env = environment_->env();
  napi_value handle_symbol = MakeSymbol(env, "node-dlpack.handle", &handle_symbol_);
  napi_value state_symbol = MakeSymbol(env, "node-dlpack.state", &state_symbol_);
  napi_value external = nullptr;
  if (napi_create_external(env, &api_, nullptr, nullptr, &external) != napi_ok ||
      napi_type_tag_object(env, external, ExchangeTag()) != napi_ok) {
    external = nullptr;
  }
  registration.Value("handleSymbol", handle_symbol);
  registration.Value("stateSymbol", state_symbol);
  registration.Value("exchangeApi", external);
  return registration.ok();
}

void ExchangeTable::Close() {
  if (environment_ == nullptr) return;
  napi_env env = environment_->env();
  environment_ = nullptr;
  for (napi_ref* symbol : {&handle_symbol_, &state_symbol_}) {
    if (*symbol != nullptr) static_cast<void>(napi_delete_reference(env, *symbol));
    *symbol = nullptr;
  }
}

void RegisterExchangeTable(Registration& registration, Environment& environment) {
  environment.exchange_table = ExchangeTable::Create(environment);
  if (environment.exchange_table == nullptr || !environment.exchange_table->Publish(registration)) {
    registration.Value("exchangeApi", nullptr);  // the load fails
  }
}

}  // namespace node_dlpack::binding
