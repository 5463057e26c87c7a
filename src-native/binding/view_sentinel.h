// ViewSentinel: knows first that the environment is dying, while it can still be seen which ArrayBuffers are attached.
//
// When an environment dies Node detaches every external ArrayBuffer and then calls its finalizer, newest buffer first,
// among the cleanup hooks (seen in 20.9 to 20.16) or before them (20.20 to 26). The finalizer of a buffer that was
// attached and of one whose bytes the user moved to another thread then look alike, and freeing in the second case
// gives that thread freed memory to read.
//
// So there is always one more external ArrayBuffer, of one byte, held strongly and never shown to anyone, that is newer
// than every view. Its finalizer runs only in the environment's death and before all others: all views are still as the
// user left them, and are settled there. Finalizers that ran before it belong to buffers that are really gone. (A
// cleanup hook, even one registered anew after each view, comes too late on current Node; a worker's 'exit' event never
// comes on terminate().) The price is a second small buffer for each view, which doubles its microsecond.
#ifndef NODE_DLPACK_BINDING_VIEW_SENTINEL_H_
#define NODE_DLPACK_BINDING_VIEW_SENTINEL_H_

#include "../core/fault.h"
#include "napi_setup.h"

namespace node_dlpack::binding {

class ViewSentinel {
 public:
  ViewSentinel() = default;
  ViewSentinel(const ViewSentinel&) = delete;
  ViewSentinel& operator=(const ViewSentinel&) = delete;

  // After a view was made: a new sentinel, newer than it, takes the old one's place. on_death(context) is called at
  // most once, by the last one. Faults, which leave the old one in place: kOutOfMemory, kNodeApi.
  Fault Renew(napi_env env, void (*on_death)(void* context), void* context);
  // Somebody else knows that the environment is dying: on_death will not be called any more. may_see_values: may
  // JavaScript values be looked at (runtime.h)?
  void Dismiss(napi_env env, bool may_see_values);

 private:
  struct Guard;
  static void OnFinalized(napi_env env, void* data, void* hint);
  Guard* guard_ = nullptr;  // belongs to its finalizer
};

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_VIEW_SENTINEL_H_
