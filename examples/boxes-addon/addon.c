/*
 * A C addon that knows nothing of node-dlpack but two headers: the DLPack structs and the capsule's contract. It is
 * compiled by itself, could be somebody else's, and exchanges tensors with JavaScript without copying a byte.
 *
 * A capsule is taken first and looked into afterwards, and on every path its tensor is either let go or handed on,
 * exactly once.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include <math.h>
#include <node_api.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

#include "lines.h"
#include "resample.h"
#include "tensors.h"

enum { MAX_ARGUMENTS = 7 };

/* The arguments of a call: `count` of them, the last `numbers` of which must be finite numbers. */
static bool read_arguments(napi_env env, napi_callback_info info, size_t count, size_t numbers, napi_value* arguments,
                           double* values, const char* usage) {
  size_t given = MAX_ARGUMENTS;
  bool ok = napi_get_cb_info(env, info, &given, arguments, NULL, NULL) == napi_ok && given >= count;
  for (size_t i = 0; ok && i < numbers; i++) {
    ok = napi_get_value_double(env, arguments[count - numbers + i], &values[i]) == napi_ok && isfinite(values[i]);
  }
  if (!ok) napi_throw_type_error(env, "ERR_INVALID_ARG_TYPE", usage);
  return ok;
}

static bool set_bigint(napi_env env, napi_value object, const char* name, uint64_t number) {
  napi_value value;
  return napi_create_bigint_uint64(env, number, &value) == napi_ok &&
         napi_set_named_property(env, object, name, value) == napi_ok;
}

/* Where a tensor lies and what its flags say, as this side of the border sees it. */
struct sight {
  uint64_t address;
  uint64_t flags;
};

static struct sight look_at(const DLManagedTensorVersioned* managed) {
  return (struct sight){(uint64_t)(uintptr_t)first_element(&managed->dl_tensor), managed->flags};
}

static bool tell(napi_env env, napi_value object, struct sight sight) {
  return set_bigint(env, object, "address", sight.address) && set_bigint(env, object, "flags", sight.flags);
}

/* addressOf(view): where Node-API says that a typed array's bytes lie. A witness that is not the library. */
static napi_value address_of(napi_env env, napi_callback_info info) {
  napi_value arguments[MAX_ARGUMENTS], result;
  void* data = NULL;
  if (!read_arguments(env, info, 1, 0, arguments, NULL, "addressOf(typedArray)")) return NULL;
  if (napi_get_typedarray_info(env, arguments[0], NULL, NULL, &data, NULL, NULL) != napi_ok) {
    napi_throw_type_error(env, "ERR_INVALID_ARG_TYPE", "addressOf(typedArray)");
    return NULL;
  }
  return napi_create_bigint_uint64(env, (uint64_t)(uintptr_t)data, &result) == napi_ok ? result : NULL;
}

/* inspect(capsule): takes the tensor, tells where it lies, lets it go. */
static napi_value inspect(napi_env env, napi_callback_info info) {
  napi_value arguments[MAX_ARGUMENTS], result;
  if (!read_arguments(env, info, 1, 0, arguments, NULL, "inspect(capsule)")) return NULL;
  DLManagedTensorVersioned* managed = take_tensor(env, arguments[0], "inspect(capsule)");
  if (managed == NULL) return NULL;
  const struct sight sight = look_at(managed);
  let_go(managed);
  return napi_create_object(env, &result) == napi_ok && tell(env, result, sight) ? result : NULL;
}

/* handBack(capsule): takes the tensor and hands it on in a new capsule, untouched. */
static napi_value hand_back(napi_env env, napi_callback_info info) {
  napi_value arguments[MAX_ARGUMENTS], result, capsule;
  if (!read_arguments(env, info, 1, 0, arguments, NULL, "handBack(capsule)")) return NULL;
  DLManagedTensorVersioned* managed = take_tensor(env, arguments[0], "handBack(capsule)");
  if (managed == NULL) return NULL;
  const struct sight sight = look_at(managed);
  capsule = hand_on(env, managed);
  if (capsule == NULL) return NULL;
  if (napi_create_object(env, &result) != napi_ok || !tell(env, result, sight)) return NULL;
  return napi_set_named_property(env, result, "capsule", capsule) == napi_ok ? result : NULL;
}

/* { map, lines, address, flags, linesAddress, linesFlags }. Owns both tensors; whatever is not handed on is let go. */
static napi_value answer_lines(napi_env env, DLManagedTensorVersioned* map, DLManagedTensorVersioned* lines) {
  napi_value result, capsule;
  const struct sight map_sight = look_at(map), lines_sight = look_at(lines);
  const bool told = napi_create_object(env, &result) == napi_ok && tell(env, result, map_sight) &&
                    set_bigint(env, result, "linesAddress", lines_sight.address) &&
                    set_bigint(env, result, "linesFlags", lines_sight.flags);
  if (!told) {
    let_go(map);
    let_go(lines);
    return NULL;
  }
  /* From here on each tensor belongs to its capsule, whose finalizer sees to it should nobody take it. */
  capsule = hand_on(env, map);
  if (capsule == NULL || napi_set_named_property(env, result, "map", capsule) != napi_ok) {
    let_go(lines);
    return NULL;
  }
  capsule = hand_on(env, lines);
  if (capsule == NULL || napi_set_named_property(env, result, "lines", capsule) != napi_ok) return NULL;
  return result;
}

/*
 * findLines(map, threshold, minScore, minSize, expand): labels the text in the map itself and hands the map back, with
 * a tensor of the lines: [count, 7] float32, each row left, right, top, height, slope, score, label (see lines.h).
 */
static napi_value find(napi_env env, napi_callback_info info) {
  static const char usage[] = "findLines(mapCapsule, threshold, minScore, minSize, expand)";
  napi_value arguments[MAX_ARGUMENTS];
  double values[4];
  struct text_map map;
  struct line_list list = {NULL, 0, 0};
  if (!read_arguments(env, info, 5, 4, arguments, values, usage)) return NULL;
  DLManagedTensorVersioned* managed = take_tensor(env, arguments[0], usage);
  if (managed == NULL) return NULL;
  if (!as_text_map(env, managed, &map)) {
    let_go(managed);
    return NULL;
  }
  const struct line_options options = {(float)values[0], (float)values[1], (float)values[2], (float)values[3]};
  DLManagedTensorVersioned* lines = find_lines(&map, &options, &list) ? lines_as_tensor(&list) : NULL;
  if (lines == NULL) {
    free_lines(&list);
    let_go(managed);
    napi_throw_range_error(env, NULL, "out of memory");
    return NULL;
  }
  return answer_lines(env, managed, lines);
}

static napi_value sights(napi_env env, struct sight source, struct sight target) {
  napi_value result, part;
  if (napi_create_object(env, &result) != napi_ok) return NULL;
  if (napi_create_object(env, &part) != napi_ok || !tell(env, part, source)) return NULL;
  if (napi_set_named_property(env, result, "source", part) != napi_ok) return NULL;
  if (napi_create_object(env, &part) != napi_ok || !tell(env, part, target)) return NULL;
  return napi_set_named_property(env, result, "target", part) == napi_ok ? result : NULL;
}

/* resample(source, target, left, top, stepX, stepY, slope): see resample.h. Both tensors are let go before it returns.
 */
static napi_value resample_pixels(napi_env env, napi_callback_info info) {
  static const char usage[] = "resample(sourceCapsule, targetCapsule, left, top, stepX, stepY, slope)";
  napi_value arguments[MAX_ARGUMENTS];
  double values[5];
  struct pixels source, target;
  struct sight source_sight = {0, 0}, target_sight = {0, 0};
  if (!read_arguments(env, info, 7, 5, arguments, values, usage)) return NULL;
  DLManagedTensorVersioned* from = take_tensor(env, arguments[0], usage);
  DLManagedTensorVersioned* into = from == NULL ? NULL : take_tensor(env, arguments[1], usage);
  bool ok =
      from != NULL && into != NULL &&
      as_pixels(env, from, false, "the source must be [height, width, 1 to 4] uint8 in host memory", &source) &&
      as_pixels(env, into, true, "the target must be [height, width, 1 to 4] uint8 in host memory, writable", &target);
  if (ok && source.shape[2] != target.shape[2]) {
    napi_throw_range_error(env, NULL, "source and target must have the same channels");
    ok = false;
  }
  if (ok) {
    const struct placement placement = {values[0], values[1], values[2], values[3], values[4]};
    source_sight = look_at(from);
    target_sight = look_at(into);
    resample(&source, &target, &placement);
  }
  let_go(from);
  let_go(into);
  return ok ? sights(env, source_sight, target_sight) : NULL;
}

/*
 * The deleter of the line tensor lives in this module and may be called whenever its consumer pleases, also after the
 * worker that loaded the module is gone: the module stays mapped. (A reference that is never given back; the path is
 * the one that it was loaded by.)
 */
static void stay_mapped(void) {
#ifdef _WIN32
  HMODULE module;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, (LPCWSTR)stay_mapped,
                     &module);
#else
  static const char anchor = 0;
  Dl_info module;
  if (dladdr(&anchor, &module) != 0) (void)dlopen(module.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
#endif
}

static bool define(napi_env env, napi_value exports, const char* name, napi_callback callback) {
  napi_value function;
  return napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, NULL, &function) == napi_ok &&
         napi_set_named_property(env, exports, name, function) == napi_ok;
}

NAPI_MODULE_INIT() {
  stay_mapped();
  const bool ok = define(env, exports, "addressOf", address_of) && define(env, exports, "inspect", inspect) &&
                  define(env, exports, "handBack", hand_back) && define(env, exports, "findLines", find) &&
                  define(env, exports, "resample", resample_pixels);
  return ok ? exports : NULL;
}
