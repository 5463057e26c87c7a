// What the processor at hand can do. The binary is compiled for the oldest processor of its platform; kernels for newer
// ones carry their own compiler target and are entered only where this says so. Without the question, the first
// instruction that the processor lacks would end the process.
#ifndef NODE_DLPACK_CORE_CPU_FEATURES_H_
#define NODE_DLPACK_CORE_CPU_FEATURES_H_

#include <cstdint>

// Where kernels with a compiler target of their own can be built, and asked for at run time: GCC and Clang. Elsewhere
// the portable kernels serve.
#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__)) && !defined(_MSC_VER)
#define NODE_DLPACK_X86_KERNELS 1
#else
#define NODE_DLPACK_X86_KERNELS 0
#endif

// Part of every arm64 processor: nothing to ask.
#if defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__)) && !defined(__AARCH64EB__)
#define NODE_DLPACK_NEON_KERNELS 1
#else
#define NODE_DLPACK_NEON_KERNELS 0
#endif

// Code between the two is compiled for the given target, written as the compilers' option has it. Headers are included
// outside: only what is between may be run on newer processors alone. Lambdas are not covered, by neither compiler.
#define NODE_DLPACK_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define NODE_DLPACK_BEGIN_TARGET(target_text) \
  NODE_DLPACK_PRAGMA(clang attribute push(__attribute__((target(target_text))), apply_to = function))
#define NODE_DLPACK_END_TARGET NODE_DLPACK_PRAGMA(clang attribute pop)
#elif defined(__GNUC__)
#define NODE_DLPACK_BEGIN_TARGET(target_text) \
  NODE_DLPACK_PRAGMA(GCC push_options)        \
  NODE_DLPACK_PRAGMA(GCC target target_text)
#define NODE_DLPACK_END_TARGET NODE_DLPACK_PRAGMA(GCC pop_options)
#endif

// Before a short loop over registers: they stay registers only where the loop is written out, index by index.
#if defined(__clang__)
#define NODE_DLPACK_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define NODE_DLPACK_UNROLL _Pragma("GCC unroll 16")
#else
#define NODE_DLPACK_UNROLL
#endif

namespace node_dlpack {

// From plain to capable; each x86 level includes the one before it.
enum class InstructionSet : uint8_t {
  kPortable,
  kNeon,
  kAvx2,    // with F16C
  kAvx512,  // F, BW, DQ and VL: all server processors that have any of it
};

bool HasInstructionSet(InstructionSet set);

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_CPU_FEATURES_H_
