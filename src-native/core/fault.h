// What went wrong, as a code and values. The core and the binding never word an error: a Fault travels to TypeScript,
// which does. The list is append-only and is mirrored by name in lib/native.ts; a test holds the two against each
// other.
#ifndef NODE_DLPACK_CORE_FAULT_H_
#define NODE_DLPACK_CORE_FAULT_H_

#include <cstdint>

namespace node_dlpack {

// X(name, code). In the comments: index / value / limit are the three numbers that travel with the code.
#define NODE_DLPACK_FAULTS(X)                                                                          \
  /* faults of a managed tensor from outside */                                                        \
  X(kManagedNull, 1)    /* the managed pointer is NULL */                                              \
  X(kVersionMajor, 2)   /* value: major found */                                                       \
  X(kNdim, 3)           /* value: ndim found, limit: 64 */                                             \
  X(kShapeNull, 4)      /* value: ndim */                                                              \
  X(kExtentNegative, 5) /* index: axis, value: extent */                                               \
  X(kExtentTooLarge, 6) /* index: axis, value: extent, limit: 2^53 - 1 */                              \
  X(kSizeOverflow, 7)   /* the product of extents, or its bytes, does not fit; index: axis */          \
  X(kSpanOverflow, 8)   /* offsets by strides do not fit; index: axis, value: stride */                \
  X(kDataNull, 9)       /* data is NULL and value elements are promised */                             \
  X(kByteOffset, 10)    /* value: byte_offset (as bits) that makes the pointer overflow */             \
  X(kDeviceType, 11)    /* value: unknown device type */                                               \
  X(kDTypeCode, 12)     /* value: type code that is unknown or cannot be held */                       \
  X(kDTypeBits, 13)     /* index: code, value: bits */                                                 \
  X(kDTypeLanes, 14)    /* value: lanes */                                                             \
  X(kMisaligned, 15)    /* value: address modulo alignment, limit: alignment */                        \
  X(kOutsideBlock, 16)  /* a layout leaves the memory it claims; value: byte, limit: bytes */          \
  X(kSubByteOffset, 17) /* a packed sub-byte element does not start on a byte; value: bits */          \
  /* layout */                                                                                         \
  X(kAxis, 30)             /* index: axis given, limit: ndim */                                        \
  X(kIndex, 31)            /* index: axis, value: index, limit: extent */                              \
  X(kIndexCount, 32)       /* value: indices given, limit: ndim */                                     \
  X(kReshapeSize, 33)      /* value: elements asked for, limit: elements held */                       \
  X(kReshapeNeedsCopy, 34) /* the strides cannot express the new shape */                              \
  X(kBroadcast, 35)        /* index: axis of the target, value: source extent, limit: target's */      \
  X(kNotContiguous, 36)    /* asked for one run of memory */                                           \
  X(kNdimLimit, 37)        /* value: ndim asked for, limit: 64 */                                      \
  /* memory and ownership */                                                                           \
  X(kOutOfMemory, 50)      /* value: bytes asked for */                                                \
  X(kTooLarge, 51)         /* value: bytes, limit: the engine's largest ArrayBuffer */                 \
  X(kStaleHandle, 52)      /* the handle's tensor was consumed or disposed, or was never there */      \
  X(kNotUnique, 53)        /* aliases in scratch: tensors, exports, views, tokens */                   \
  X(kNeverUnique, 54)      /* the memory can never be owned alone; value: NeverUniqueReason */         \
  X(kReadOnly, 55)         /* a write through something read-only */                                   \
  X(kProtectedMemory, 56)  /* foreign memory that was not lent writable: no view */                    \
  X(kOpaqueDevice, 57)     /* the host cannot read it; index: device id, value: device type */         \
  X(kInUse, 58)            /* value: windows (withView) still open */                                  \
  X(kLent, 59)             /* the owner lent it and the loan has not ended; aliases in scratch */      \
  X(kMovedAway, 60)        /* the user moved the ArrayBuffer's bytes elsewhere (transfer) */           \
  X(kHandlesExhausted, 61) /* limit: handles one environment can hold */                               \
  X(kTargetConsumed, 62)   /* an input and the output are the same consumed thing */                   \
  X(kConversion, 63)       /* no conversion between these dtypes; index: from, value: to */            \
  /* capsules and values from JavaScript */                                                            \
  X(kNotACapsule, 80)        /* not an External with the capsule tag; its pointer was not read */      \
  X(kCapsuleUsed, 81)        /* taken before; value: kind */                                           \
  X(kCapsuleAbi, 82)         /* value: record version found, limit: version known */                   \
  X(kCopyRefused, 83)        /* a copy is needed and was refused; value: CopyReason */                 \
  X(kDetachedInput, 84)      /* a typed array over a detached or shrunken buffer */                    \
  X(kResizableInput, 85)     /* the address of a resizable or growable buffer may not be kept */       \
  X(kWrongThread, 86)        /* only on the main thread */                                             \
  X(kArgument, 87)           /* a value of the wrong kind crossed the boundary; index: argument */     \
  X(kNullAddress, 88)        /* address 0 */                                                           \
  X(kToken, 89)              /* unknown, spent or expired; value: its TokenKind if it is of another */ \
  X(kBoundToEnvironment, 90) /* memory of JavaScript stays in its thread; value: NeverUniqueReason */  \
  /* the engine */                                                                                     \
  X(kEnvironmentEnding, 100) /* the environment is ending: nothing can be made any more */             \
  X(kNodeApi, 101)           /* value: napi_status that no rule explains */                            \
  X(kNoExternalBuffers, 102) /* the runtime forbids external ArrayBuffers */                           \
  X(kRandomness, 103)        /* the system gives no random bytes */                                    \
  X(kNoThread, 104)          /* the system has no thread to spare */

enum class FaultCode : int32_t {
  kNone = 0,
#define NODE_DLPACK_FAULT_ENUM(name, code) name = (code),
  NODE_DLPACK_FAULTS(NODE_DLPACK_FAULT_ENUM)
#undef NODE_DLPACK_FAULT_ENUM
};

enum class NeverUniqueReason : int32_t {
  kForeignLegacy = 1,     // a legacy struct cannot say that it is a copy
  kForeignShared = 2,     // versioned without IS_COPIED
  kForeignReadOnly = 3,   // READ_ONLY
  kJavaScriptMemory = 4,  // adopt
  kPointer = 5,           // fromPointer
  kOverlapping = 6,       // one byte under several indices
  kOpaque = 7,            // not readable here
};

enum class CopyReason : int32_t {
  kMisaligned = 1,
  kNotCopied = 2,  // copy: true was asked and the answer is not a sole copy
};

// A fault with its values; kNone is success. Small enough to return in registers and memory without allocation.
struct [[nodiscard]] Fault {
  FaultCode code = FaultCode::kNone;
  int32_t index = 0;
  int64_t value = 0;
  int64_t limit = 0;

  constexpr Fault() = default;
  constexpr Fault(FaultCode code, int32_t index = 0, int64_t value = 0, int64_t limit = 0)
      : code(code), index(index), value(value), limit(limit) {}
  constexpr bool ok() const { return code == FaultCode::kNone; }
};

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_FAULT_H_
