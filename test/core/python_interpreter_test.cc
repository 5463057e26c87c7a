// An interpreter that is only a lock, an exception and capsules with names: what the deleters of Python tensors do with
// it, on any thread, before, during and after its end.
#include "python_interpreter.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "block.h"
#include "harness.h"
#include "managed_tensor.h"
#include "memory.h"
#include "python_functions.h"
#include "support.h"

using namespace node_dlpack;

namespace {

// --- the interpreter

std::mutex g_lock;
thread_local int t_depth = 0;  // how often this thread holds the lock
std::atomic<int> g_locked_calls{0};
std::atomic<bool> g_ended{false};
std::atomic<int> g_calls_after_end{0};
thread_local PyObject* t_exception = nullptr;

int Ensure() {
  if (g_ended.load()) g_calls_after_end.fetch_add(1);
  if (t_depth++ == 0) g_lock.lock();
  g_locked_calls.fetch_add(1);
  return t_depth;
}
void Release(int state) {
  CHECK_EQUAL(state, t_depth);
  if (--t_depth == 0) g_lock.unlock();
}
void Fetch(PyObject** type, PyObject** value, PyObject** traceback) {
  *type = t_exception;
  *value = nullptr;
  *traceback = nullptr;
  t_exception = nullptr;
}
void Restore(PyObject* type, PyObject*, PyObject*) {
  t_exception = type;
}

struct Capsule {
  void* pointer;
  const char* name;
  void (*destructor)(PyObject*);
};
bool g_no_capsules = false;
PyObject* NewCapsule(void* pointer, const char* name, void (*destructor)(PyObject*)) {
  return g_no_capsules ? nullptr : new Capsule{pointer, name, destructor};
}
int IsValid(PyObject* object, const char* name) {
  return object != nullptr && std::strcmp(static_cast<Capsule*>(object)->name, name) == 0 ? 1 : 0;
}
void* GetPointer(PyObject* object, const char* name) {
  return IsValid(object, name) != 0 ? static_cast<Capsule*>(object)->pointer : nullptr;
}
int SetName(PyObject* object, const char* name) {
  static_cast<Capsule*>(object)->name = name;
  return 0;
}
void Destroy(PyObject* object) {
  auto* capsule = static_cast<Capsule*>(object);
  capsule->destructor(capsule);
  delete capsule;
}
const char* NameOf(PyObject* object) {
  return static_cast<Capsule*>(object)->name;
}

constexpr PythonFunctions kFunctions = {Ensure, Release, Fetch, Restore, NewCapsule, IsValid, GetPointer, SetName};

// From its start to its end.
struct Interpreter {
  Interpreter() {
    g_ended = false;
    g_calls_after_end = 0;
    CHECK_EQUAL(node_dlpack_python_start(&kFunctions), 0);
  }
  ~Interpreter() { End(); }
  void End() {
    node_dlpack_python_stop();
    g_ended = true;
  }
};

// --- its tensors

struct PythonTensor : support::Foreign {
  void* Guard(bool is_versioned) {
    void* guarded = nullptr;
    CHECK_EQUAL(node_dlpack_python_guard(managed(is_versioned), is_versioned ? 2 : 1, &guarded), 0);
    return guarded;
  }
};

void Delete(void* managed, bool is_versioned) {
  DeleteManaged(managed, is_versioned ? ManagedKind::kVersioned : ManagedKind::kLegacy);
}

ManagedGuard OwnTensor(ManagedKind kind) {
  BlockRef block;
  CHECK_OK(Block::Allocate(24, nullptr, AliasKind::kExport, &block));
  const Layout layout = support::Make({2, 3}, support::Float32());
  TensorView view;
  view.origin = block->data();
  view.layout = &layout;
  view.dtype = support::Float32();
  ManagedGuard managed;
  CHECK_OK(MakeManaged(static_cast<BlockRef&&>(block), view, kind, 0, &managed));
  return managed;
}

}  // namespace

TEST("a guarded tensor says what the inner one says, and its deleter runs once, with the interpreter's lock") {
  const Interpreter interpreter;
  for (const bool is_versioned : {false, true}) {
    PythonTensor tensor;
    tensor.versioned.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    void* guarded = tensor.Guard(is_versioned);
    CHECK(guarded != tensor.managed(is_versioned));
    const DLTensor& said = is_versioned ? static_cast<DLManagedTensorVersioned*>(guarded)->dl_tensor
                                        : static_cast<DLManagedTensor*>(guarded)->dl_tensor;
    CHECK(said.data == tensor.tensor.data);
    CHECK(said.shape == tensor.tensor.shape);
    CHECK_EQUAL(said.ndim, tensor.tensor.ndim);
    if (is_versioned) {
      CHECK_EQUAL(static_cast<DLManagedTensorVersioned*>(guarded)->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
      CHECK_EQUAL(static_cast<DLManagedTensorVersioned*>(guarded)->version.major, tensor.versioned.version.major);
    }
    const int before = g_locked_calls.load();
    Delete(guarded, is_versioned);
    CHECK_EQUAL(tensor.deleted, 1);
    CHECK_EQUAL(g_locked_calls.load(), before + 1);
    CHECK_EQUAL(t_depth, 0);
  }
}

TEST("of another major version nothing behind the version is read, and the deleter stays callable") {
  const Interpreter interpreter;
  PythonTensor tensor;
  tensor.versioned.version.major = 2;
  tensor.versioned.flags = 7;
  auto* guarded = static_cast<DLManagedTensorVersioned*>(tensor.Guard(true));
  CHECK_EQUAL(guarded->version.major, 2U);
  CHECK_EQUAL(guarded->flags, 0U);
  CHECK(guarded->dl_tensor.data == nullptr);
  Delete(guarded, true);
  CHECK_EQUAL(tensor.deleted, 1);
}

TEST("a deleter keeps the exception that is pending on its thread") {
  const Interpreter interpreter;
  PythonTensor tensor;
  void* guarded = tensor.Guard(true);
  int exception = 0;
  t_exception = &exception;
  Delete(guarded, true);
  CHECK(t_exception == &exception);
  t_exception = nullptr;
}

TEST("after the interpreter's end a deleter touches nothing of it: the tensor is leaked on purpose") {
  PythonTensor tensor;
  void* guarded = nullptr;
  {
    Interpreter interpreter;
    guarded = tensor.Guard(true);
  }
  Delete(guarded, true);
  CHECK_EQUAL(tensor.deleted, 0);
  CHECK_EQUAL(g_calls_after_end.load(), 0);
}

TEST("another interpreter in the same process does not delete what the first one left") {
  PythonTensor tensor;
  void* guarded = nullptr;
  {
    Interpreter interpreter;
    guarded = tensor.Guard(true);
  }
  const Interpreter second;
  const int before = g_locked_calls.load();
  Delete(guarded, true);
  CHECK_EQUAL(tensor.deleted, 0);
  CHECK_EQUAL(g_locked_calls.load(), before);
}

TEST("an interpreter may start as often as it likes; one with other functions may not while it runs") {
  const Interpreter interpreter;
  CHECK_EQUAL(node_dlpack_python_start(&kFunctions), 0);
  PythonFunctions others = kFunctions;
  others.gil_ensure = [] { return 0; };
  CHECK_EQUAL(node_dlpack_python_start(&others), static_cast<int>(FaultCode::kArgument));
}

TEST("an interpreter without all of its functions does not start") {
  PythonFunctions missing = kFunctions;
  missing.capsule_set_name = nullptr;
  CHECK_EQUAL(node_dlpack_python_start(&missing), static_cast<int>(FaultCode::kArgument));
  CHECK_EQUAL(node_dlpack_python_start(nullptr), static_cast<int>(FaultCode::kArgument));
  CHECK_EQUAL(RunningPython(), 0U);
}

TEST("the end waits for deleters that are inside, and lets in no more") {
  constexpr size_t kThreads = 4;
  constexpr size_t kTensors = 200;
  for (int round = 0; round < 20; ++round) {
    auto* tensors = new PythonTensor[kThreads * kTensors];
    auto** guarded = new void*[kThreads * kTensors];
    std::atomic<int> deleted_by_end{0};
    {
      Interpreter interpreter;
      for (size_t i = 0; i < kThreads * kTensors; ++i) guarded[i] = tensors[i].Guard(true);
      std::atomic<bool> go{false};
      std::thread threads[kThreads];
      for (size_t t = 0; t < kThreads; ++t) {
        threads[t] = std::thread([&, t] {
          while (!go.load()) std::this_thread::yield();
          for (size_t i = 0; i < kTensors; ++i) Delete(guarded[t * kTensors + i], true);
        });
      }
      go = true;
      if (round % 2 == 1) std::this_thread::yield();
      interpreter.End();
      // Whoever gets in now would be seen by the counter; whoever was in has finished, so this may be read.
      for (size_t i = 0; i < kThreads * kTensors; ++i) deleted_by_end.fetch_add(tensors[i].deleted);
      for (std::thread& thread : threads) thread.join();
    }
    int deleted = 0;
    for (size_t i = 0; i < kThreads * kTensors; ++i) deleted += tensors[i].deleted;
    CHECK_EQUAL(deleted, deleted_by_end.load());
    CHECK_EQUAL(g_calls_after_end.load(), 0);
    delete[] guarded;
    delete[] tensors;
  }
}

TEST("a struct of our own is not guarded: it needs no lock") {
  const Interpreter interpreter;
  for (const ManagedKind kind : {ManagedKind::kLegacy, ManagedKind::kVersioned}) {
    ManagedGuard own = OwnTensor(kind);
    void* guarded = nullptr;
    CHECK_EQUAL(node_dlpack_python_guard(own.get(), static_cast<uint32_t>(kind), &guarded), 0);
    CHECK(guarded == own.get());
  }
}

TEST("a tensor that cannot be guarded for want of memory is deleted, and NULL is refused") {
  const Interpreter interpreter;
  PythonTensor tensor;
  void* guarded = &tensor;
  FailAllocation(0);
  CHECK_EQUAL(node_dlpack_python_guard(&tensor.versioned, 2, &guarded), static_cast<int>(FaultCode::kOutOfMemory));
  FailAllocation(-1);
  CHECK(guarded == nullptr);
  CHECK_EQUAL(tensor.deleted, 1);
  CHECK_EQUAL(node_dlpack_python_guard(nullptr, 2, &guarded), static_cast<int>(FaultCode::kManagedNull));
}

TEST("a capsule that goes unused runs the deleter; one whose name says that it is used does not") {
  const Interpreter interpreter;
  for (const uint32_t purpose : {NODE_DLPACK_PYTHON_LEGACY, NODE_DLPACK_PYTHON_VERSIONED, NODE_DLPACK_PYTHON_HELD}) {
    const bool is_versioned = purpose != NODE_DLPACK_PYTHON_LEGACY;
    PythonTensor tensor;
    Destroy(node_dlpack_python_capsule(tensor.managed(is_versioned), purpose));
    CHECK_EQUAL(tensor.deleted, 1);
    PyObject* used = node_dlpack_python_capsule(tensor.managed(is_versioned), purpose);
    SetName(used, is_versioned ? "used_dltensor_versioned" : "used_dltensor");
    Destroy(used);
    CHECK_EQUAL(tensor.deleted, 1);
  }
}

TEST("where there is no capsule, the deleter has run") {
  const Interpreter interpreter;
  PythonTensor tensor;
  g_no_capsules = true;
  CHECK(node_dlpack_python_capsule(&tensor.legacy, NODE_DLPACK_PYTHON_LEGACY) == nullptr);
  CHECK(node_dlpack_python_capsule(&tensor.versioned, NODE_DLPACK_PYTHON_HELD) == nullptr);
  g_no_capsules = false;
  CHECK_EQUAL(tensor.deleted, 2);
}

TEST("taking leaves a used capsule, once; what is no DLPack capsule is not taken") {
  const Interpreter interpreter;
  for (const bool is_versioned : {false, true}) {
    PythonTensor tensor;
    PyObject* capsule = node_dlpack_python_capsule(
        tensor.managed(is_versioned), is_versioned ? NODE_DLPACK_PYTHON_VERSIONED : NODE_DLPACK_PYTHON_LEGACY);
    void* managed = nullptr;
    uint32_t kind = 0;
    CHECK_EQUAL(node_dlpack_python_take(capsule, &managed, &kind), 0);
    CHECK(managed == tensor.managed(is_versioned));
    CHECK_EQUAL(kind, is_versioned ? 2U : 1U);
    CHECK_EQUAL(std::strcmp(NameOf(capsule), is_versioned ? "used_dltensor_versioned" : "used_dltensor"), 0);
    CHECK_EQUAL(node_dlpack_python_take(capsule, &managed, &kind), static_cast<int>(FaultCode::kCapsuleUsed));
    CHECK(managed == nullptr);
    Destroy(capsule);
    CHECK_EQUAL(tensor.deleted, 0);
  }
  PythonTensor tensor;
  PyObject* held = node_dlpack_python_capsule(&tensor.versioned, NODE_DLPACK_PYTHON_HELD);
  void* managed = nullptr;
  uint32_t kind = 0;
  CHECK_EQUAL(node_dlpack_python_take(held, &managed, &kind), static_cast<int>(FaultCode::kNotACapsule));
  CHECK_EQUAL(node_dlpack_python_take(nullptr, &managed, &kind), static_cast<int>(FaultCode::kNotACapsule));
  Destroy(held);
  CHECK_EQUAL(tensor.deleted, 1);
}
