/*
 * The capsule: the one thing that crosses from addon to addon through JavaScript. Its contract stands at the top of
 * node_dlpack.h.
 */
#ifndef NODE_DLPACK_CAPSULE_H_
#define NODE_DLPACK_CAPSULE_H_

#include <node_api.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "../dlpack/dlpack.h"
#include "errors.h"

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What `abi` is in records of this contract. */
#define NODE_DLPACK_CAPSULE_ABI 1u

/* What `kind` says: `managed` is a DLManagedTensor or a DLManagedTensorVersioned. */
#define NODE_DLPACK_KIND_LEGACY 1u
#define NODE_DLPACK_KIND_VERSIONED 2u

/* The record behind a capsule. `managed` is read and written with the functions below only. */
typedef struct node_dlpack_capsule {
  uint32_t abi;
  uint32_t kind;
  void* managed;
} node_dlpack_capsule;

/*
 * The tag of every capsule. Static, and your module stays mapped: Node 20.12 and 21.6 kept a pointer to a tag rather
 * than the tag. It is two random numbers; equal in every addon.
 */
static const napi_type_tag node_dlpack_capsule_tag = {UINT64_C(0x2f0d1c7be94a4d6e), UINT64_C(0x9b35e1a8507cf243)};

/* Atomically: the pointer, leaving NULL. NULL when the capsule was used already. Any thread, as long as the External is
 * known to live. */
static inline void* node_dlpack_record_take(node_dlpack_capsule* record) {
#if defined(_MSC_VER) && !defined(__clang__)
  return _InterlockedExchangePointer((void* volatile*)&record->managed, NULL);
#else
  return __atomic_exchange_n(&record->managed, (void*)NULL, __ATOMIC_ACQ_REL);
#endif
}

/* Atomically: is the capsule used? Only good for telling; whoever wants the pointer takes it. */
static inline int node_dlpack_record_used(const node_dlpack_capsule* record) {
#if defined(_MSC_VER) && !defined(__clang__)
  return *(void* const volatile*)&record->managed == NULL;
#else
  return __atomic_load_n(&record->managed, __ATOMIC_ACQUIRE) == NULL;
#endif
}

/* The name that the DLPack standard gives to a capsule in this state. In static storage. */
static inline const char* node_dlpack_record_name(const node_dlpack_capsule* record) {
  const int used = node_dlpack_record_used(record);
  if (record->kind == NODE_DLPACK_KIND_VERSIONED) return used ? "used_dltensor_versioned" : "dltensor_versioned";
  return used ? "used_dltensor" : "dltensor";
}

/* Calls the deleter of a managed tensor of either kind, if it has one. NULL: nothing. Any thread. */
static inline void node_dlpack_delete(void* managed, uint32_t kind) {
  if (managed == NULL) return;
  if (kind == NODE_DLPACK_KIND_VERSIONED) {
    DLManagedTensorVersioned* versioned = (DLManagedTensorVersioned*)managed;
    if (versioned->deleter != NULL) versioned->deleter(versioned);
  } else {
    DLManagedTensor* legacy = (DLManagedTensor*)managed;
    if (legacy->deleter != NULL) legacy->deleter(legacy);
  }
}

/* The end of what node_dlpack_take gave: its deleter, if it has one. NULL: nothing. Any thread. */
static inline void node_dlpack_release(DLManagedTensorVersioned* managed) {
  node_dlpack_delete(managed, NODE_DLPACK_KIND_VERSIONED);
}

/* The pointer of an External with this tag. Not ok for anything else: its pointer is not read. */
static inline napi_status node_dlpack_tagged_external(napi_env env, napi_value value, const napi_type_tag* tag,
                                                      void** out) {
  void* pointer = NULL;
  bool tagged = false;
  /* Asked first, since it refuses whatever is no External: the tag check coerces its argument, and null or undefined
   * would leave an exception pending. */
  napi_status status = napi_get_value_external(env, value, &pointer);
  *out = NULL;
  if (status != napi_ok) return status;
  status = napi_check_object_type_tag(env, value, tag, &tagged);
  if (status != napi_ok) return status;
  if (!tagged) return napi_invalid_arg;
  *out = pointer;
  return napi_ok;
}

/*
 * The record behind a value. NODE_DLPACK_ERROR_NOT_A_CAPSULE for anything else, whose pointer then was not read;
 * NODE_DLPACK_ERROR_CAPSULE_ABI for a capsule of another contract.
 */
static inline int node_dlpack_capsule_find(napi_env env, napi_value value, node_dlpack_capsule** out) {
  void* pointer;
  node_dlpack_capsule* record;
  *out = NULL;
  if (node_dlpack_tagged_external(env, value, &node_dlpack_capsule_tag, &pointer) != napi_ok || pointer == NULL) {
    return NODE_DLPACK_ERROR_NOT_A_CAPSULE;
  }
  record = (node_dlpack_capsule*)pointer;
  if (record->abi != NODE_DLPACK_CAPSULE_ABI) return NODE_DLPACK_ERROR_CAPSULE_ABI;
  if (record->kind != NODE_DLPACK_KIND_LEGACY && record->kind != NODE_DLPACK_KIND_VERSIONED) {
    return NODE_DLPACK_ERROR_NOT_A_CAPSULE;
  }
  *out = record;
  return NODE_DLPACK_OK;
}

/*
 * Takes the managed tensor out of a capsule, whoever made it: a DLManagedTensor* or DLManagedTensorVersioned*, as *kind
 * says, unlooked-at. It is yours and you owe its deleter call. Errors: as node_dlpack_capsule_find, and
 * NODE_DLPACK_ERROR_CAPSULE_USED.
 */
static inline int node_dlpack_capsule_take(napi_env env, napi_value value, void** managed, uint32_t* kind) {
  node_dlpack_capsule* record;
  const int error = node_dlpack_capsule_find(env, value, &record);
  *managed = NULL;
  *kind = 0;
  if (error != NODE_DLPACK_OK) return error;
  *kind = record->kind;
  *managed = node_dlpack_record_take(record);
  return *managed == NULL ? NODE_DLPACK_ERROR_CAPSULE_USED : NODE_DLPACK_OK;
}

/* The finalizer of capsules made by this kit: an unused capsule that goes runs the deleter. It calls no Node-API and
 * throws nothing. */
static inline void node_dlpack_capsule_finalize(napi_env env, void* data, void* hint) {
  node_dlpack_capsule* record = (node_dlpack_capsule*)data;
  (void)env;
  (void)hint;
  node_dlpack_delete(node_dlpack_record_take(record), record->kind);
  free(record);
}

/*
 * A fresh, unused capsule over a managed tensor of the given kind. On success the managed tensor belongs to the
 * capsule; on an error it is still yours. node_dlpack_make (produce.h) takes it on every path.
 */
static inline int node_dlpack_capsule_make(napi_env env, void* managed, uint32_t kind, napi_value* out) {
  node_dlpack_capsule* record;
  napi_value external;
  if (managed == NULL || (kind != NODE_DLPACK_KIND_LEGACY && kind != NODE_DLPACK_KIND_VERSIONED)) {
    return NODE_DLPACK_ERROR_ARGUMENT;
  }
  record = (node_dlpack_capsule*)malloc(sizeof *record);
  if (record == NULL) return NODE_DLPACK_ERROR_MEMORY;
  record->abi = NODE_DLPACK_CAPSULE_ABI;
  record->kind = kind;
  record->managed = NULL; /* until nothing can fail any more: the finalizer of a failed attempt finds nothing to run */
  if (napi_create_external(env, record, node_dlpack_capsule_finalize, NULL, &external) != napi_ok) {
    free(record);
    return NODE_DLPACK_ERROR_NODE_API;
  }
  /* An External without its tag is believed by nobody, and nobody was given it. */
  if (napi_type_tag_object(env, external, &node_dlpack_capsule_tag) != napi_ok) return NODE_DLPACK_ERROR_NODE_API;
  record->managed = managed;
  *out = external;
  return NODE_DLPACK_OK;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NODE_DLPACK_CAPSULE_H_ */
