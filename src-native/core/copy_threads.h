// The threads that a large copy may take: as many as the user allows, one unless told otherwise, since a server or
// another library may have plans for the other cores.
//
// There is no pool. The threads are started for one copy and have ended when it returns, so there is nothing that could
// keep a process from ending, be missing after a fork, outlive an environment, or need a destructor. To start one takes
// some 20 microseconds: who divides work gives each part far more than that.
#ifndef NODE_DLPACK_CORE_COPY_THREADS_H_
#define NODE_DLPACK_CORE_COPY_THREADS_H_

#include <cstdint>

namespace node_dlpack {

constexpr int32_t kMostCopyThreads = 64;

// Process-wide, for copies that begin from now on. count: 1 to kMostCopyThreads.
int32_t CopyThreads();
void SetCopyThreads(int32_t count);
// For what is only a default: does nothing once either function has been called.
void SetCopyThreadsByDefault(int32_t count);

// work(context, part) for each part from 0 to parts - 1, each on a thread of its own, the last one on this; returns
// when all are done. A part for which the system has no thread is done here too.
void RunInParts(int32_t parts, void (*work)(void* context, int32_t part), void* context);

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_COPY_THREADS_H_
