// What the Python module (python/node_dlpack) calls of the binary besides node_dlpack_tokens.h. The two ship together
// and are held against each other by node_dlpack_python_version, so this is no public interface.
//
// The parts that cannot be Python are here. A capsule's name and destructor must stay good until the very end of the
// interpreter, when Python callbacks are gone; taking a struct out of a capsule must be one step, which no other Python
// thread can come between; and the deleter of a Python tensor must be callable when no interpreter runs any more.
#ifndef NODE_DLPACK_CORE_PYTHON_FUNCTIONS_H_
#define NODE_DLPACK_CORE_PYTHON_FUNCTIONS_H_

#include <cstdint>

#include "dlpack/dlpack.h"
#include "python_interpreter.h"

#if defined(_WIN32)
#define NODE_DLPACK_PYTHON_EXPORT __declspec(dllexport)
#else
#define NODE_DLPACK_PYTHON_EXPORT __attribute__((visibility("default")))
#endif

extern "C" {

// What a capsule is for: one exchange, of a struct of one of the two kinds, or holding what was claimed.
enum NodeDlpackPythonCapsule : uint32_t {
  NODE_DLPACK_PYTHON_LEGACY = 1,
  NODE_DLPACK_PYTHON_VERSIONED = 2,
  NODE_DLPACK_PYTHON_HELD = 3,  // a versioned struct
};

// Changes with anything in this file.
NODE_DLPACK_PYTHON_EXPORT uint32_t node_dlpack_python_version(void);

// With the interpreter's lock. 0, or a fault code when another interpreter runs.
NODE_DLPACK_PYTHON_EXPORT int node_dlpack_python_start(const node_dlpack::PythonFunctions* functions);
// Without the lock, as one of the interpreter's exit functions.
NODE_DLPACK_PYTHON_EXPORT void node_dlpack_python_stop(void);

// With the lock. A new capsule that owns the managed tensor; NULL with a Python exception when there is none, and then
// the deleter has run. A capsule that goes while its name is as it was made runs the deleter.
NODE_DLPACK_PYTHON_EXPORT node_dlpack::PyObject* node_dlpack_python_capsule(void* managed, uint32_t purpose);

// With the lock. Takes the managed tensor out of a DLPack capsule, whose name then says that it is used: the caller
// owes the deleter. Faults: not a capsule of DLPack's, or used.
NODE_DLPACK_PYTHON_EXPORT int node_dlpack_python_take(node_dlpack::PyObject* object, void** managed, uint32_t* kind);

// Without the lock. The same tensor in a struct whose deleter takes the interpreter's lock, keeps a pending exception,
// and leaks once the interpreter has ended. A struct of this library's own needs none of that and is answered as it is.
// Consumed on a fault too.
NODE_DLPACK_PYTHON_EXPORT int node_dlpack_python_guard(void* managed, uint32_t kind, void** out);

}  // extern "C"

#endif  // NODE_DLPACK_CORE_PYTHON_FUNCTIONS_H_
