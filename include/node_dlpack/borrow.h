/*
 * Borrowing: looking at a tensor, or writing into it, for the duration of one native call, while its JavaScript object
 * stays what it is. An OwnedTensor is not consumed, so a buffer can be filled again and again.
 *
 * What is borrowed is good until JavaScript runs: no Node-API call that may run any (calling a function, reading a
 * property) and no return in between. Therefore several are borrowed in one call.
 */
#ifndef NODE_DLPACK_BORROW_H_
#define NODE_DLPACK_BORROW_H_

#include <node_api.h>
#include <stddef.h>
#include <string.h>

#include "../dlpack/dlpack.h"
#include "capsule.h"
#include "errors.h"
#include "exchange.h"
#include "take.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct node_dlpack_borrowed {
  DLTensor tensor; /* unlooked-at: node_dlpack_check before you touch an element */
  uint64_t flags;  /* as in DLManagedTensorVersioned; no READ_ONLY: you may write */
  /* What had to be taken, since its producer has no table: a capsule, a stranger's object. NULL otherwise. */
  DLManagedTensorVersioned* held;
} node_dlpack_borrowed;

/* The end of it. Also after an error, also twice. */
static inline void node_dlpack_give_back(node_dlpack_borrowed* borrowed) {
  DLManagedTensorVersioned* held = borrowed->held;
  memset(borrowed, 0, sizeof *borrowed);
  node_dlpack_release(held);
}

/* Borrows one value. *of_value: the table that knows it; NULL when none does: then it is taken for the time being. */
static inline int node_dlpack_borrow_one(napi_env env, const node_dlpack_exchange_api* api, napi_value value,
                                         node_dlpack_borrowed* borrowed, const node_dlpack_exchange_api** of_value) {
  int error = NODE_DLPACK_ERROR_NOT_OURS;
  borrowed->held = NULL;
  *of_value = api;
  if (api != NULL) error = api->dltensor_from_value(env, api->context, value, &borrowed->tensor, &borrowed->flags);
  if (error != NODE_DLPACK_ERROR_NOT_OURS) return error;
  error = node_dlpack_exchange_find(env, value, of_value);
  if (error != NODE_DLPACK_OK) return error;
  if (*of_value != NULL) {
    const node_dlpack_exchange_api* own = *of_value;
    error = own->dltensor_from_value(env, own->context, value, &borrowed->tensor, &borrowed->flags);
    if (error != NODE_DLPACK_ERROR_NOT_OURS) return error;
    *of_value = NULL;
  }
  error = node_dlpack_take(env, value, &borrowed->held);
  if (error != NODE_DLPACK_OK) return error;
  borrowed->tensor = borrowed->held->dl_tensor;
  borrowed->flags = borrowed->held->flags;
  return NODE_DLPACK_OK;
}

/* The most values that node_dlpack_borrow_all takes. */
#define NODE_DLPACK_MAX_BORROWED 16

/*
 * Borrows `count` values, in this order, or none: after an error there is nothing to give back. A capsule, and what a
 * stranger's __dlpack__ gives, is taken for the time being, so a capsule is used afterwards. api: as of
 * node_dlpack_take_with.
 */
static inline int node_dlpack_borrow_all(napi_env env, const node_dlpack_exchange_api* api, size_t count,
                                         const napi_value* values, node_dlpack_borrowed* borrowed) {
  const node_dlpack_exchange_api* of_value[NODE_DLPACK_MAX_BORROWED];
  napi_handle_scope scope;
  int error = NODE_DLPACK_OK;
  size_t i;
  memset(borrowed, 0, count * sizeof *borrowed);
  if (count > NODE_DLPACK_MAX_BORROWED) return NODE_DLPACK_ERROR_ARGUMENT;
  if (napi_open_handle_scope(env, &scope) != napi_ok) return NODE_DLPACK_ERROR_NODE_API;
  for (i = 0; error == NODE_DLPACK_OK && i < count; i++) {
    error = node_dlpack_borrow_one(env, api, values[i], &borrowed[i], &of_value[i]);
  }
  /* A stranger's code that ran for one of them may have ended another: the descriptions are made anew, in one go. */
  for (i = 0; count > 1 && error == NODE_DLPACK_OK && i < count; i++) {
    if (of_value[i] == NULL) continue;
    error =
        of_value[i]->dltensor_from_value(env, of_value[i]->context, values[i], &borrowed[i].tensor, &borrowed[i].flags);
  }
  (void)napi_close_handle_scope(env, scope);
  if (error != NODE_DLPACK_OK) {
    for (i = 0; i < count; i++) node_dlpack_give_back(&borrowed[i]);
  }
  return error;
}

/* Borrows one value. api: as of node_dlpack_take_with; with it, the call costs about one property read. */
static inline int node_dlpack_borrow_with(napi_env env, const node_dlpack_exchange_api* api, napi_value value,
                                          node_dlpack_borrowed* borrowed) {
  const node_dlpack_exchange_api* of_value;
  const int error = node_dlpack_borrow_one(env, api, value, borrowed, &of_value);
  if (error != NODE_DLPACK_OK) memset(borrowed, 0, sizeof *borrowed);
  return error;
}

/* The same without a table at hand. */
static inline int node_dlpack_borrow(napi_env env, napi_value value, node_dlpack_borrowed* borrowed) {
  return node_dlpack_borrow_with(env, NULL, value, borrowed);
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NODE_DLPACK_BORROW_H_ */
