#include "random.h"

#if defined(_WIN32)
#include <windows.h>
// Needs the types of the other; apart from it, so that nobody sorts them.

#include <bcrypt.h>
#elif defined(__linux__)
#include <sys/random.h>
#include <sys/types.h>

#include <cerrno>
#else
#include <sys/random.h>
#include <unistd.h>
#endif

namespace node_dlpack {

#if defined(_WIN32)

bool RandomBytes(void* out, size_t bytes) {
  return BCryptGenRandom(nullptr, static_cast<PUCHAR>(out), static_cast<ULONG>(bytes),
                         BCRYPT_USE_SYSTEM_PREFERRED_RNG) == 0;
}

#elif defined(__linux__)

bool RandomBytes(void* out, size_t bytes) {
  auto* at = static_cast<unsigned char*>(out);
  while (bytes > 0) {
    const ssize_t got = getrandom(at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

#else

bool RandomBytes(void* out, size_t bytes) {
  return getentropy(out, bytes) == 0;
}

#endif

}  // namespace node_dlpack
