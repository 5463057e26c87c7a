/*
 * The kit of node-dlpack for native addons: exchange tensors with node-dlpack, and with any other addon that uses this
 * kit, without copying a byte. C11 and C++17; header-only; needs nothing but node_api.h and dlpack/dlpack.h. No library
 * to link and no symbol of node-dlpack at run time: a capsule is a contract between addons, and all of it stands here.
 *
 *   node_dlpack_take      any value that stands for a tensor -> a managed tensor that is yours
 *   node_dlpack_make      a managed tensor of yours -> a capsule
 *   node_dlpack_wrap      memory of yours -> a managed tensor
 *   node_dlpack_producer_make   an object with __dlpack__ that makes a fresh struct at every call
 *   node_dlpack_borrow    any value -> a DLTensor that is good until you give it back, before control returns
 *   node_dlpack_check     is a DLTensor what it says, and which bytes does it reach?
 *   node_dlpack_throw     an error code -> the JavaScript error that node-dlpack would throw
 *
 * docs/addon-authors.md leads from an empty folder to an exchange; node_dlpack.hpp puts RAII on top, for C++.
 *
 * THE CONTRACT, version 1
 *
 * A capsule is a JavaScript External whose type tag is `node_dlpack_capsule_tag` and whose pointer leads to a
 * `node_dlpack_capsule` record.
 *
 * Versions. `abi` is 1. The record only ever grows at its end; such growth does not change `abi`, and no reader may
 *   depend on the record's size. A change of what an existing field means gets another `abi`, which readers refuse, or
 *   another tag, which they do not recognise at all. The same holds for the exchange table (node_dlpack/exchange.h) and
 *   its tag. Tags, names, values, offsets and error codes stated here never change.
 *
 * Ownership. While `managed` is not NULL, the capsule is unused and owns one managed tensor of the kind that `kind`
 *   says: it owes one call of its deleter. Taking is one atomic exchange of `managed` with NULL: whoever gets the
 *   pointer owns the managed tensor and owes that call. From then on the capsule is used, for good. There is no other
 *   word that could disagree: the names "dltensor", "dltensor_versioned", "used_dltensor" and "used_dltensor_versioned"
 *   follow from `kind` and `managed`.
 *   The record itself always belongs to whoever made the capsule, who frees it once the External is gone, after running
 *   the deleter if the capsule is unused then. A consumer never frees a record and never keeps its address.
 *   A consumer never writes to a managed tensor, takes first, then validates, and calls the deleter on every path.
 *   A producer makes a fresh struct in a fresh capsule for every exchange.
 *
 * Threads. An External never leaves its JavaScript thread, and everything here that takes a napi_env is called on that
 *   thread. `managed` may be taken from any thread, which is why it is exchanged atomically. A managed tensor may go to
 *   any thread, and its deleter may be called on any thread, also after the environment that made it is gone. A deleter
 *   of your own must hold to that: it must not call Node-API. (JavaScript-backed memory needs a queue to its own
 *   thread.)
 *
 * Keep your module mapped. Your deleters are called whenever consumers please, maybe long after the worker that loaded
 *   your addon is gone, and the runtime may unload an addon whose last environment ended. Call node_dlpack_pin
 *   (node_dlpack/pin.h) when the addon is loaded; it does, once:
 *     Linux    dladdr((void*)init, &info), dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE)
 *     macOS    the same
 *     Windows  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
 *                                 (LPCWSTR)init, &module)
 *   where `init` is any function of the addon.
 *
 * Faults of foreign structs are the consumer's to find: taking looks into a managed tensor no further than it must to
 *   own it. node_dlpack_check finds them.
 *
 * Trust. Type tags are put on by native code alone, so JavaScript can neither forge a capsule nor a table; it can only
 *   pass on, or withhold, what native code made. A producer is native code of the same process.
 *   What a hostile or faulty one cannot do to a consumer that takes first and then checks: have a struct released twice
 *   or not at all; have fields of an unknown major version read; have an extent, stride, offset or dtype that
 *   contradicts the others reach an access, or an arithmetic overflow; have another kind of External taken for a
 *   capsule.
 *   What it can do, since nobody could tell: claim an address that is not there, or is smaller than the extents say;
 *   change struct, shape or strides while they are read (copy what you have checked, and use the copy; node-dlpack does
 *   so before it checks); give one struct in two capsules, each of which owes a deleter call; change elements that it
 *   promised to leave alone; crash, hang or call back in its deleter, which runs wherever you release.
 */
#ifndef NODE_DLPACK_H_
#define NODE_DLPACK_H_

#include <node_api.h>

#if NAPI_VERSION < 8
#error "node_dlpack.h needs type tags: define NAPI_VERSION as 8 or higher"
#endif

#include "dlpack/dlpack.h"
#include "node_dlpack/borrow.h"
#include "node_dlpack/capsule.h"
#include "node_dlpack/errors.h"
#include "node_dlpack/exchange.h"
#include "node_dlpack/pin.h"
#include "node_dlpack/produce.h"
#include "node_dlpack/producer.h"
#include "node_dlpack/take.h"
#include "node_dlpack/tensor.h"

#endif /* NODE_DLPACK_H_ */
