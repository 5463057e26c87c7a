#include "system_thread.h"

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#endif

namespace node_dlpack {

namespace {

void Run(void* argument) {
  const auto* work = static_cast<const ThreadWork*>(argument);
  work->run(work->context);
}

}  // namespace

#ifdef _WIN32

namespace {

DWORD WINAPI Enter(void* argument) {
  Run(argument);
  return 0;
}

}  // namespace

bool SystemThread::Start(const ThreadWork* work) {
  handle_ = CreateThread(nullptr, 0, Enter, const_cast<ThreadWork*>(work), 0, nullptr);
  return handle_ != nullptr;
}

void SystemThread::Join() {
  WaitForSingleObject(handle_, INFINITE);
  CloseHandle(handle_);
}

#else

namespace {

void* Enter(void* argument) {
  Run(argument);
  return nullptr;
}

}  // namespace

bool SystemThread::Start(const ThreadWork* work) {
  return pthread_create(&handle_, nullptr, Enter, const_cast<ThreadWork*>(work)) == 0;
}

void SystemThread::Join() {
  pthread_join(handle_, nullptr);
}

#endif

}  // namespace node_dlpack
