#include "counters.h"

#include <type_traits>

namespace node_dlpack {

static_assert(std::is_trivially_destructible_v<Counters>, "used by other threads after exit handlers have run");

Counters g_counters;

}  // namespace node_dlpack
