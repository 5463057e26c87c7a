// One thread of the system. Its start may fail (a limit on processes, no memory for a stack), and says so:
// std::thread would throw, which without exceptions ends the process.
#ifndef NODE_DLPACK_CORE_SYSTEM_THREAD_H_
#define NODE_DLPACK_CORE_SYSTEM_THREAD_H_

#ifndef _WIN32
#include <pthread.h>
#endif

namespace node_dlpack {

// What the thread does. It must stay where it is until the thread has been joined.
struct ThreadWork {
  void (*run)(void* context) = nullptr;
  void* context = nullptr;
};

class SystemThread {
 public:
  // False: the system has none to spare, and nothing was started.
  bool Start(const ThreadWork* work);
  // Once for each start. Returns when the work is done.
  void Join();

 private:
#ifdef _WIN32
  void* handle_;
#else
  pthread_t handle_;
#endif
};

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_SYSTEM_THREAD_H_
