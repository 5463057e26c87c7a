/*
 * The tokens of node-dlpack for native code and for every other language in the process: claim what JavaScript shared
 * or transferred, offer what JavaScript shall claim. C11 and C++17; needs nothing but dlpack/dlpack.h. Nothing to link:
 * the functions are exported by the addon's binary (node_dlpack.node), which is loaded already; open it by its path
 * (dlopen, LoadLibrary, ctypes.CDLL) and look them up by name.
 *
 * THE CONTRACT, version 1
 *
 * A token is a text of at most NODE_DLPACK_TOKEN_SIZE bytes, its terminating zero included, that stands for one
 *   reference to a tensor's memory. It is good for one claim, by any thread of the process, in JavaScript or here;
 *   until then it keeps the memory alive. It can be revoked, and expires: whoever calls this library after that, for
 *   whatever reason, sweeps it. Whoever has the text can claim: it is to be passed on, not to be published.
 *
 * Threads. Every function may be called on any thread, at any time, whether JavaScript runs or has ended. None of
 *   them touches Node. A managed tensor that is handed out may go to any thread, and so may its deleter. A deleter
 *   that is handed in may be called on any thread, at any time: it must not call Node-API or take for granted that
 *   anything of yours still runs. It may be called inside these functions.
 *
 * Ownership. What is claimed is yours: you owe one call of its deleter. What is offered is the library's from the
 *   moment of the call, whatever the call answers: its deleter runs exactly once, on a fault before the function
 *   returns.
 *
 * Writing. A struct with DLPACK_FLAG_BITMASK_READ_ONLY must not be written through: others read the same memory. One
 *   with DLPACK_FLAG_BITMASK_IS_COPIED is yours alone. One with neither is a writable loan: others may see what you
 *   write.
 *
 * Answers. 0, or a positive code; node_dlpack_error and node_dlpack_last_error give the words for it. The codes named
 *   here are those that a caller may want to tell apart; the others say what is wrong with a struct. After a fault of
 *   any function its outputs are NULL or an empty text, and a token that it was given is as it was.
 *
 * Versions. Functions and codes are only ever added; what exists does not change. node_dlpack_tokens_version says how
 *   far the binary goes.
 */
#ifndef NODE_DLPACK_TOKENS_H_
#define NODE_DLPACK_TOKENS_H_

#include <stdint.h>

#include "dlpack/dlpack.h"

/* Whoever builds the binary defines this; everybody else looks the functions up. */
#if !defined(NODE_DLPACK_TOKENS_EXPORT)
#define NODE_DLPACK_TOKENS_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define NODE_DLPACK_TOKENS_VERSION 1u

/* Milliseconds for which a token can be claimed, where nothing else is said. */
#define NODE_DLPACK_TOKEN_TTL 60000

/* Room for a token and its terminating zero. Tokens of this version have 39 characters. */
#define NODE_DLPACK_TOKEN_SIZE 64

/* Which struct: a DLManagedTensor or a DLManagedTensorVersioned. */
#define NODE_DLPACK_KIND_LEGACY 1u
#define NODE_DLPACK_KIND_VERSIONED 2u

/* What a token stands for: one more holder of the memory, or its one holder. */
#define NODE_DLPACK_TOKEN_SHARED 1u
#define NODE_DLPACK_TOKEN_TRANSFER 2u

/* `copy` of the protocol: null (a copy only where it must be), false (never), true (always). */
#define NODE_DLPACK_COPY_NULL (-1)
#define NODE_DLPACK_COPY_FALSE 0
#define NODE_DLPACK_COPY_TRUE 1

#define NODE_DLPACK_OK 0
#define NODE_DLPACK_ERROR_MEMORY 50     /* no memory */
#define NODE_DLPACK_ERROR_SHARED 53     /* somebody else holds the memory: it cannot be transferred */
#define NODE_DLPACK_ERROR_NEVER_SOLE 54 /* it is no sole copy: IS_COPIED without READ_ONLY */
#define NODE_DLPACK_ERROR_READ_ONLY 55  /* a legacy struct cannot say that the memory is read-only */
#define NODE_DLPACK_ERROR_OPAQUE 57     /* a copy of memory that the host cannot read */
#define NODE_DLPACK_ERROR_ARGUMENT 87   /* NULL, a kind that there is not, a negative ttl */
#define NODE_DLPACK_ERROR_TOKEN 89      /* unknown here, claimed or revoked before, expired, or no token */
#define NODE_DLPACK_ERROR_BOUND 90      /* memory of JavaScript cannot leave its thread */
#define NODE_DLPACK_ERROR_RANDOM 103    /* the system gives no random bytes */

/* NODE_DLPACK_TOKENS_VERSION of the binary. */
NODE_DLPACK_TOKENS_EXPORT uint32_t node_dlpack_tokens_version(void);

/* What a code means: the code of JavaScript's error, a colon, one sentence. In static storage; never NULL. */
NODE_DLPACK_TOKENS_EXPORT const char* node_dlpack_error(int code);

/*
 * The same for the last fault that a function answered on this thread, with the numbers that were found. Never NULL;
 * good until the thread's next fault.
 */
NODE_DLPACK_TOKENS_EXPORT const char* node_dlpack_last_error(void);

/*
 * Claims a token of either kind; the flags tell which it was. A shared tensor comes with READ_ONLY (a native offer may
 * have been a writable loan: then with no flag), a transferred one with IS_COPIED. The struct is this library's own, so
 * node_dlpack_export makes more of it.
 */
NODE_DLPACK_TOKENS_EXPORT int node_dlpack_claim(const char* token, DLManagedTensorVersioned** out);

/*
 * The same for consumers that know the legacy struct alone. A read-only tensor is NODE_DLPACK_ERROR_READ_ONLY: the
 * token stays, and node_dlpack_claim takes it.
 */
NODE_DLPACK_TOKENS_EXPORT int node_dlpack_claim_legacy(const char* token, DLManagedTensor** out);

/*
 * Offers a tensor, whose struct is checked now, so that the offering side hears of a fault. token_kind: one of
 * NODE_DLPACK_TOKEN_*. SHARED takes any tensor; what JavaScript gets is what fromDLPack would make of the struct, so a
 * sole copy may become an OwnedTensor there. TRANSFER takes sole copies alone. Data that is not aligned to its element
 * is copied. ttl_ms: 0 means NODE_DLPACK_TOKEN_TTL. token: NODE_DLPACK_TOKEN_SIZE bytes of yours.
 */
NODE_DLPACK_TOKENS_EXPORT int node_dlpack_offer(DLManagedTensorVersioned* managed, uint32_t token_kind, int64_t ttl_ms,
                                                char* token);

/* The same for a legacy struct, which cannot say that it is a sole copy, so it is shared, and read-only. */
NODE_DLPACK_TOKENS_EXPORT int node_dlpack_offer_legacy(DLManagedTensor* managed, int64_t ttl_ms, char* token);

/*
 * The same for a struct of either kind (NODE_DLPACK_KIND_*) whose elements are of another dtype than it can say: the
 * bits stay, only their name changes, so both dtypes must have the same width. With another kind the struct stays
 * yours.
 */
NODE_DLPACK_TOKENS_EXPORT int node_dlpack_offer_as(void* managed, uint32_t kind, DLDataType dtype, uint32_t token_kind,
                                                   int64_t ttl_ms, char* token);

/* Gives up a token that nobody has claimed. */
NODE_DLPACK_TOKENS_EXPORT int node_dlpack_revoke(const char* token);

/*
 * A fresh struct over the memory of one that this library made and that the caller holds: what __dlpack__ answers. held
 * stays the caller's. kind: the struct that the consumer understands; copy: one of NODE_DLPACK_COPY_*.
 *
 * - held has READ_ONLY. Versioned: READ_ONLY, no copy. Legacy: fresh memory; an error (55) with copy false.
 * - held has no flag. Either struct: no copy, no flag.
 * - held has READ_ONLY or no flag, and copy is true: fresh memory, IS_COPIED where the struct can say so.
 * - held has IS_COPIED. Versioned: IS_COPIED, or no flag with copy false. Legacy: as it is. Never a copy.
 *
 * The last hands the sole ownership on: the caller calls the deleter of held right after it, and only then passes
 * the new struct on. NODE_DLPACK_ERROR_ARGUMENT when held is no struct of this library.
 */
NODE_DLPACK_TOKENS_EXPORT int node_dlpack_export(const DLManagedTensorVersioned* held, uint32_t kind, int copy,
                                                 void** out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NODE_DLPACK_TOKENS_H_ */
