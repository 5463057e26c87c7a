#include "python_interpreter.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace node_dlpack {

namespace {

// Written only while no life runs and nobody is inside, so that whoever found its life running may read it.
PythonFunctions g_functions;
std::atomic<PythonLife> g_running{0};
std::atomic<PythonLife> g_last{0};
// Locks on their way in, or held. Counted before g_running is read, and looked at after it was written: one of the two
// sides sees the other, which needs the total order of sequential consistency.
std::atomic<uint32_t> g_inside{0};

bool IsComplete(const PythonFunctions& functions) {
  return functions.gil_ensure != nullptr && functions.gil_release != nullptr && functions.error_fetch != nullptr &&
         functions.error_restore != nullptr && functions.capsule_new != nullptr &&
         functions.capsule_is_valid != nullptr && functions.capsule_get_pointer != nullptr &&
         functions.capsule_set_name != nullptr;
}

}  // namespace

PythonLife StartPython(const PythonFunctions& functions) {
  static_assert(sizeof(PythonFunctions) == 8 * sizeof(void (*)()),
                "addresses alone, so equal bytes are equal functions");
  if (const PythonLife running = g_running.load(); running != 0) {
    return std::memcmp(&functions, &g_functions, sizeof(functions)) == 0 ? running : 0;
  }
  if (!IsComplete(functions)) return 0;
  g_functions = functions;
  PythonLife life = g_last.fetch_add(1) + 1;
  if (life == 0) life = g_last.fetch_add(1) + 1;
  g_running.store(life);
  return life;
}

void StopPython() {
  g_running.store(0);
  while (g_inside.load() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

PythonLife RunningPython() {
  return g_running.load();
}

const PythonFunctions& Python() {
  return g_functions;
}

PythonLock::PythonLock(PythonLife life) {
  g_inside.fetch_add(1);
  held_ = life != 0 && g_running.load() == life;
  if (!held_) {
    g_inside.fetch_sub(1);
    return;
  }
  state_ = g_functions.gil_ensure();
  g_functions.error_fetch(&type_, &value_, &traceback_);
}

PythonLock::~PythonLock() {
  if (!held_) return;
  g_functions.error_restore(type_, value_, traceback_);
  g_functions.gil_release(state_);
  g_inside.fetch_sub(1);
}

}  // namespace node_dlpack
