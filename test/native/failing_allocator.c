/*
 * Memory that runs out when a test says so. Preloaded into a process, it stands before the C library's allocator and
 * counts what the addon's own code asks for, told by the address to which the call returns; the n-th such request from
 * now on is refused. So the binary under test is the one that is shipped, and Node and the test never notice. The
 * addon's requests are few functions: those of its memory.cc, and operator new that answers NULL.
 *
 * The same for threads: none of those that the addon starts comes into being once a test has said so.
 *
 * GNU libc on Linux; elsewhere nothing is in here.
 */
#if defined(__linux__)
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* mmap and mmap64 are two names here */
#include <features.h>
#endif

#if defined(__GLIBC__)
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* memory, size_t bytes);
extern void __libc_free(void* memory);

/* Where the addon's code lies; nothing is counted before it was found. */
static _Atomic uintptr_t g_begin, g_end;
static _Atomic int64_t g_requests_left = -1;
static _Atomic int g_refused;
static _Atomic int64_t g_live;

static int is_addon(uintptr_t caller) {
  return caller >= atomic_load(&g_begin) && caller < atomic_load(&g_end);
}

static int refuses(uintptr_t caller) {
  if (!is_addon(caller) || atomic_load(&g_requests_left) < 0) return 0;
  if (atomic_fetch_sub(&g_requests_left, 1) != 0) return 0;
  atomic_store(&g_refused, 1);
  return 1;
}

/*
 * The addresses that the addon was given. Who gives one back cannot be told by the return address: the last thing that
 * a function does may be a jump to free.
 */
#define PLACES 65536u
#define FORMER 1u
static _Atomic uintptr_t g_given[PLACES];

static unsigned place_of(uintptr_t address) {
  return (unsigned)(address >> 4) % PLACES;
}

static void* given(uintptr_t caller, void* memory) {
  unsigned place = place_of((uintptr_t)memory), tries;
  if (memory == NULL || !is_addon(caller)) return memory;
  for (tries = 0; tries < PLACES; tries++, place = (place + 1) % PLACES) {
    uintptr_t found = atomic_load(&g_given[place]);
    if (found > FORMER || !atomic_compare_exchange_strong(&g_given[place], &found, (uintptr_t)memory)) continue;
    atomic_fetch_add(&g_live, 1);
    return memory;
  }
  return memory;
}

static void taken_back(void* memory) {
  unsigned place = place_of((uintptr_t)memory), tries;
  if (memory == NULL || atomic_load(&g_live) == 0) return;
  for (tries = 0; tries < PLACES; tries++, place = (place + 1) % PLACES) {
    uintptr_t found = atomic_load(&g_given[place]);
    if (found == 0) return;
    if (found != (uintptr_t)memory) continue;
    atomic_store(&g_given[place], FORMER);
    atomic_fetch_sub(&g_live, 1);
    return;
  }
}

EXPORT void* malloc(size_t bytes) {
  return refuses(CALLER) ? NULL : given(CALLER, __libc_malloc(bytes));
}

EXPORT void* calloc(size_t count, size_t bytes) {
  return refuses(CALLER) ? NULL : given(CALLER, __libc_calloc(count, bytes));
}

EXPORT void* realloc(void* memory, size_t bytes) {
  void* moved = NULL;
  if (refuses(CALLER)) return NULL;
  moved = __libc_realloc(memory, bytes);
  if (moved == NULL || moved == memory) return moved;
  taken_back(memory);
  return given(CALLER, moved);
}

EXPORT void free(void* memory) {
  taken_back(memory);
  __libc_free(memory);
}

static void* map(uintptr_t caller, void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (refuses(caller)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return (void*)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}

EXPORT void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  return map(CALLER, address, bytes, protection, flags, file, offset);
}
/* What a compiler that offers large files calls it. */
EXPORT void* mmap64(void* address, size_t bytes, int protection, int flags, int file, off64_t offset) {
  return map(CALLER, address, bytes, protection, flags, file, offset);
}

/* operator new(size_t, std::nothrow_t const&) and its form for arrays; the library frees what they give with free. */
EXPORT void* _ZnwmRKSt9nothrow_t(size_t bytes, const void* nothrow) {
  (void)nothrow;
  return refuses(CALLER) ? NULL : given(CALLER, __libc_malloc(bytes));
}
EXPORT void* _ZnamRKSt9nothrow_t(size_t bytes, const void* nothrow) {
  (void)nothrow;
  return refuses(CALLER) ? NULL : given(CALLER, __libc_malloc(bytes));
}

static _Atomic int g_no_threads;
static _Atomic int64_t g_refused_threads;

typedef int (*create_function)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*run)(void*), void* argument) {
  create_function create = NULL;
  void* found = NULL;
  if (atomic_load(&g_no_threads) && is_addon(CALLER)) {
    atomic_fetch_add(&g_refused_threads, 1);
    return EAGAIN;
  }
  found = dlsym(RTLD_NEXT, "pthread_create");
  memcpy(&create, &found, sizeof create);
  return create(thread, how, run, argument);
}

static int find(struct dl_phdr_info* info, size_t size, void* name) {
  const size_t length = strlen(info->dlpi_name);
  const size_t wanted = strlen(name);
  int i;
  (void)size;
  if (length < wanted || strcmp(info->dlpi_name + length - wanted, name) != 0) return 0;
  for (i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
    atomic_store(&g_begin, info->dlpi_addr + part->p_vaddr);
    atomic_store(&g_end, info->dlpi_addr + part->p_vaddr + part->p_memsz);
  }
  return 1;
}

static int find_addon(void) {
  char name[] = "/node_dlpack.node";
  if (atomic_load(&g_end) == 0) dl_iterate_phdr(find, name);
  return atomic_load(&g_end) != 0;
}

/* From now on the addon gets no thread. 0 when there is no addon. */
EXPORT int failing_allocator_refuse_threads(void) {
  atomic_store(&g_no_threads, 1);
  return find_addon();
}

EXPORT int64_t failing_allocator_refused_threads(void) {
  return atomic_load(&g_refused_threads);
}

/* From now on the addon's request number `after` is refused, once; negative: none is. 0 when there is no addon. */
EXPORT int failing_allocator_refuse(int64_t after) {
  const int found = find_addon();
  atomic_store(&g_refused, 0);
  atomic_store(&g_requests_left, after);
  return found;
}

/* Was one refused since then? */
EXPORT int failing_allocator_refused(void) {
  return atomic_load(&g_refused);
}

/* What the addon was given and has not given back, pages apart. */
EXPORT int64_t failing_allocator_live(void) {
  return atomic_load(&g_live);
}

#endif
