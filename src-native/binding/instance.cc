#include "instance.h"

#include "../core/block.h"
#include "../core/copy_threads.h"
#include "../core/counters.h"
#include "../core/fault.h"
#include "call.h"
#include "pin.h"

namespace node_dlpack::binding {

namespace {

struct Constant {
  const char* name;
  int value;
};

#define NODE_DLPACK_CONSTANT(name, value) {#name, value},
constexpr Constant kFaults[] = {NODE_DLPACK_FAULTS(NODE_DLPACK_CONSTANT)};
constexpr Constant kSlots[] = {NODE_DLPACK_SCRATCH_SLOTS(NODE_DLPACK_CONSTANT)};
constexpr Constant kTensorFlags[] = {NODE_DLPACK_TENSOR_FLAGS(NODE_DLPACK_CONSTANT)};
constexpr Constant kConfig[] = {NODE_DLPACK_CONFIG(NODE_DLPACK_CONSTANT)};
#undef NODE_DLPACK_CONSTANT

// A frozen object of the constants; nullptr when the environment makes none any more.
template <size_t kCount>
napi_value ObjectOf(napi_env env, const Constant (&constants)[kCount]) {
  napi_value object = nullptr;
  if (napi_create_object(env, &object) != napi_ok) return nullptr;
  for (const Constant& constant : constants) {
    napi_value value = nullptr;
    if (napi_create_int32(env, constant.value, &value) != napi_ok) return nullptr;
    if (napi_set_named_property(env, object, constant.name, value) != napi_ok) return nullptr;
  }
  return napi_object_freeze(env, object) == napi_ok ? object : nullptr;
}

napi_value LayoutOf(Environment& environment) {
  napi_env env = environment.env();
  napi_value layout = nullptr;
  if (napi_create_object(env, &layout) != napi_ok) return nullptr;
  Registration members(environment, layout);
  members.Value("slots", ObjectOf(env, kSlots));
  members.Value("tensorFlags", ObjectOf(env, kTensorFlags));
  members.Value("config", ObjectOf(env, kConfig));
  return members.ok() && napi_object_freeze(env, layout) == napi_ok ? layout : nullptr;
}

// The memory that both sides of the boundary see; nullptr when there is none to be had.
napi_value MakeScratch(Environment& environment) {
  void* memory = nullptr;
  napi_value buffer = nullptr;
  if (napi_create_arraybuffer(environment.env(), Scratch::kBytes, &memory, &buffer) != napi_ok) return nullptr;
  if (napi_create_reference(environment.env(), buffer, 1, &environment.scratch_buffer) != napi_ok) return nullptr;
  environment.scratch.Attach(memory);
  return buffer;
}

// Counts of the whole process.
napi_value Stats(Call& call) {
  const std::atomic<int64_t>* const counters[] = {&g_counters.tensors, &g_counters.exports, &g_counters.views,
                                                  &g_counters.tokens,  &g_counters.blocks,  &g_counters.bytes};
  int index = slot::kElement;
  for (const std::atomic<int64_t>* counter : counters) {
    call.scratch().set_number(index++, static_cast<double>(counter->load(std::memory_order_relaxed)));
  }
  return call.Ok();
}

napi_value Settle(Call& call) {
  const Interlude interlude(call.environment);
  call.environment.collector.Flush();
  return call.Ok();
}

napi_value Configure(Call& call) {
  int32_t bits = 0;
  if (Fault fault = call.Int(0, &bits); !fault.ok()) return call.Fail(fault);
  Block::SetProtectMode((bits & config::kProtectPages) != 0);
  call.environment.no_external_buffers = (bits & config::kNoExternalBuffers) != 0;
  return call.Ok();
}

napi_value GetCopyThreads(Call& call) {
  return call.Double(CopyThreads());
}

napi_value PutCopyThreads(Call& call) {
  int32_t count = 0;
  bool by_default = false;
  if (Fault fault = call.Int(0, &count); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Bool(1, &by_default); !fault.ok()) return call.Fail(fault);
  if (count < 1 || count > kMostCopyThreads) return call.Fail(Fault(FaultCode::kArgument, 0, count));
  if (by_default) {
    SetCopyThreadsByDefault(count);
  } else {
    SetCopyThreads(count);
  }
  return call.Ok();
}

}  // namespace

void RegisterInstance(Registration& registration, Environment& environment) {
  napi_env env = environment.env();
  registration.Value("scratch", MakeScratch(environment));
  registration.Value("ring", environment.collector.Start());
  registration.Value("addonPath", ModulePath(env));
  registration.Value("faults", ObjectOf(env, kFaults));
  registration.Value("layout", LayoutOf(environment));
  registration.Function("stats", Entry<Stats, 0>);
  registration.Function("settle", Entry<Settle, 0>);
  registration.Function("configure", Entry<Configure, 1>);
  registration.Function("copyThreads", Entry<GetCopyThreads, 0>);
  registration.Function("setCopyThreads", Entry<PutCopyThreads, 2>);
}

}  // namespace node_dlpack::binding
