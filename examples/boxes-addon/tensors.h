/*
 * Tensors that come out of capsules, and tensors that this addon makes. Everything here that knows DLPack; the
 * algorithms do not.
 */
#ifndef BOXES_ADDON_TENSORS_H
#define BOXES_ADDON_TENSORS_H

#include <stdbool.h>

#include "lines.h"
#include "node_dlpack.h"
#include "resample.h"

/*
 * Takes the managed tensor out of a capsule: it is the caller's from here on, whatever is found in it. NULL, with a
 * JavaScript exception pending, when there is nothing to take or no version of DLPack that this addon knows. `name` is
 * the argument's name in error texts.
 */
DLManagedTensorVersioned* take_tensor(napi_env env, napi_value capsule, const char* name);

/* Lets go of what was taken. NULL: nothing. */
void let_go(DLManagedTensorVersioned* managed);

/* A new capsule around a managed tensor that was taken: the same struct moves on. On failure it is let go, and an
 * exception is pending. */
napi_value hand_on(napi_env env, DLManagedTensorVersioned* managed);

/* The address of the first element. */
void* first_element(const DLTensor* tensor);

/* [height, width] float32 that may be written, in any layout. An exception otherwise. */
bool as_text_map(napi_env env, const DLManagedTensorVersioned* managed, struct text_map* map);

/* [height, width, channels] uint8, in any layout; `writable`: also that it may be written. An exception otherwise. */
bool as_pixels(napi_env env, const DLManagedTensorVersioned* managed, bool writable, const char* name,
               struct pixels* pixels);

/*
 * The lines as a tensor [count, TEXT_LINE_FIELDS] float32 of this addon's own, over the very memory that was collected:
 * the list is empty afterwards. NULL when memory ran out.
 */
DLManagedTensorVersioned* lines_as_tensor(struct line_list* lines);

#endif
