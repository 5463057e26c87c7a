// The Python interpreter of the process, for the deleters of its tensors. Nothing here links against Python: its
// functions arrive as addresses from the Python module, which runs in the interpreter that they belong to.
//
// A tensor of Python's lives as long as JavaScript holds it, on any thread, maybe longer than the interpreter. Its
// deleter may count references, so it must hold the interpreter's lock, and after the interpreter's end there is
// nothing left that it could touch: then the tensor is leaked on purpose. Between "it runs" and "it has ended" there
// must be no moment in which a deleter is on its way in, so the end waits for those that are inside and lets in no
// more.
#ifndef NODE_DLPACK_CORE_PYTHON_INTERPRETER_H_
#define NODE_DLPACK_CORE_PYTHON_INTERPRETER_H_

#include <cstdint>

namespace node_dlpack {

using PyObject = void;

// Functions of Python's stable C API, in the order in which the Python module lists them. Appended to only.
struct PythonFunctions {
  int (*gil_ensure)();                                                                       // PyGILState_Ensure
  void (*gil_release)(int state);                                                            // PyGILState_Release
  void (*error_fetch)(PyObject** type, PyObject** value, PyObject** traceback);              // PyErr_Fetch
  void (*error_restore)(PyObject* type, PyObject* value, PyObject* traceback);               // PyErr_Restore
  PyObject* (*capsule_new)(void* pointer, const char* name, void (*destructor)(PyObject*));  // PyCapsule_New
  int (*capsule_is_valid)(PyObject* object, const char* name);                               // PyCapsule_IsValid
  void* (*capsule_get_pointer)(PyObject* object, const char* name);                          // PyCapsule_GetPointer
  int (*capsule_set_name)(PyObject* object, const char* name);                               // PyCapsule_SetName
};

// An interpreter, from its start to its end; another one in the same process is another number. 0: none runs.
using PythonLife = uint32_t;

// With the interpreter's lock held. Answers the life that begins, or goes on when these are the functions of the
// interpreter that runs; 0 when another one runs, or a function is missing.
PythonLife StartPython(const PythonFunctions& functions);
// Before the interpreter ends, without its lock: returns once no deleter is inside, and none will be.
void StopPython();
PythonLife RunningPython();
// Of the interpreter that runs, or ran last. For callers that hold its lock.
const PythonFunctions& Python();

// Holds the interpreter's lock while it lives, and keeps an exception that is pending on this thread out of the way of
// what is done meanwhile. False when that life is over: then nothing of Python may be touched.
class PythonLock {
 public:
  explicit PythonLock(PythonLife life);
  PythonLock(const PythonLock&) = delete;
  PythonLock& operator=(const PythonLock&) = delete;
  ~PythonLock();

  explicit operator bool() const { return held_; }

 private:
  bool held_;
  int state_ = 0;
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* traceback_ = nullptr;
};

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_PYTHON_INTERPRETER_H_
