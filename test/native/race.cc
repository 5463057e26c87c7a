// Threads that reach for one capsule at the same moment, through the record alone: exactly one may get the struct.
#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "lab.h"
#include "node_dlpack.h"

namespace lab {
namespace {

node_dlpack_capsule* RecordOf(const Napi::Value& capsule) {
  node_dlpack_capsule* record = nullptr;
  if (node_dlpack_capsule_find(capsule.Env(), capsule, &record) != napi_ok) {
    Napi::TypeError::New(capsule.Env(), "not a capsule").ThrowAsJavaScriptException();
    return nullptr;
  }
  return record;
}

void TakeWhenTold(node_dlpack_capsule* record, const std::atomic<bool>* go, std::atomic<int>* ready, void** taken) {
  ready->fetch_add(1);
  while (!go->load()) std::this_thread::yield();
  *taken = node_dlpack_record_take(record);
}

struct Racer {
  std::atomic<bool> go{false};
  std::atomic<int> ready{0};
  bool versioned = true;
  void* taken = nullptr;
  std::thread thread;
};

std::atomic<uint32_t> g_next_racer{1};
thread_local std::map<uint32_t, Racer*>* g_racers = nullptr;

}  // namespace

// raceThreads(capsules, threads) -> ids of what the threads took and hold now. All threads reach for each capsule, one
// after the other, and wait for each other before each, so that they arrive together: as many ids as capsules, or a
// struct was taken twice or not at all.
Napi::Value RaceThreads(const Napi::CallbackInfo& info) {
  const Napi::Array capsules = info[0].As<Napi::Array>();
  const size_t thread_count = info[1].As<Napi::Number>().Uint32Value();
  std::vector<node_dlpack_capsule*> records;
  for (uint32_t index = 0; index < capsules.Length(); index += 1) {
    node_dlpack_capsule* record = RecordOf(capsules.Get(index));
    if (record == nullptr) return info.Env().Undefined();
    records.push_back(record);
  }
  std::vector<std::atomic<size_t>> arrived(records.size());
  std::vector<std::vector<void*>> taken(thread_count);
  std::vector<std::thread> threads;
  threads.reserve(thread_count);
  for (size_t thread = 0; thread < thread_count; thread += 1) {
    threads.emplace_back([&, thread] {
      for (size_t index = 0; index < records.size(); index += 1) {
        arrived[index].fetch_add(1);
        for (int spins = 0; arrived[index].load() < thread_count; spins += 1) {
          if (spins > 1000) std::this_thread::yield();
        }
        taken[thread].push_back(node_dlpack_record_take(records[index]));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Napi::Array held = Napi::Array::New(info.Env());
  for (const std::vector<void*>& of_thread : taken) {
    for (size_t index = 0; index < records.size(); index += 1) {
      if (of_thread[index] == nullptr) continue;
      const bool versioned = records[index]->kind == NODE_DLPACK_KIND_VERSIONED;
      held.Set(held.Length(), Napi::Number::New(info.Env(), Hold(of_thread[index], versioned)));
    }
  }
  return held;
}

// startRacer(capsule) -> id of a thread that takes from the capsule at once, while the caller does the same from
// JavaScript.
Napi::Value StartRacer(const Napi::CallbackInfo& info) {
  node_dlpack_capsule* record = RecordOf(info[0]);
  if (record == nullptr) return info.Env().Undefined();
  auto* racer = new Racer;
  racer->versioned = record->kind == NODE_DLPACK_KIND_VERSIONED;
  racer->thread = std::thread(TakeWhenTold, record, &racer->go, &racer->ready, &racer->taken);
  while (racer->ready.load() == 0) std::this_thread::yield();
  racer->go.store(true);
  if (g_racers == nullptr) g_racers = new std::map<uint32_t, Racer*>;
  const uint32_t id = g_next_racer.fetch_add(1);
  (*g_racers)[id] = racer;
  return Napi::Number::New(info.Env(), id);
}

// finishRacer(id) -> id of what it took and holds now, or 0. To be called while the capsule is still alive.
Napi::Value FinishRacer(const Napi::CallbackInfo& info) {
  const uint32_t id = info[0].As<Napi::Number>().Uint32Value();
  if (g_racers == nullptr || g_racers->count(id) == 0) return Napi::Number::New(info.Env(), 0);
  Racer* racer = (*g_racers)[id];
  g_racers->erase(id);
  racer->thread.join();
  const uint32_t held = racer->taken == nullptr ? 0 : Hold(racer->taken, racer->versioned);
  delete racer;
  return Napi::Number::New(info.Env(), held);
}

}  // namespace lab
