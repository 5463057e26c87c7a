"""Writes float_vectors.inc: what ml_dtypes and NumPy make of the small floats, so that the native tests hold without Python.

Needs ml_dtypes and numpy; the file it writes is committed. `python3 test/core/float_vectors.py > test/core/float_vectors.inc`
"""

import math
import struct

import ml_dtypes
import numpy as np

FORMATS = [
    ("kDLFloat", 16, np.float16),
    ("kDLBfloat", 16, ml_dtypes.bfloat16),
    ("kDLFloat8_e3m4", 8, ml_dtypes.float8_e3m4),
    ("kDLFloat8_e4m3", 8, ml_dtypes.float8_e4m3),
    ("kDLFloat8_e4m3b11fnuz", 8, ml_dtypes.float8_e4m3b11fnuz),
    ("kDLFloat8_e4m3fn", 8, ml_dtypes.float8_e4m3fn),
    ("kDLFloat8_e4m3fnuz", 8, ml_dtypes.float8_e4m3fnuz),
    ("kDLFloat8_e5m2", 8, ml_dtypes.float8_e5m2),
    ("kDLFloat8_e5m2fnuz", 8, ml_dtypes.float8_e5m2fnuz),
    ("kDLFloat8_e8m0fnu", 8, ml_dtypes.float8_e8m0fnu),
    ("kDLFloat6_e2m3fn", 6, ml_dtypes.float6_e2m3fn),
    ("kDLFloat6_e3m2fn", 6, ml_dtypes.float6_e3m2fn),
    ("kDLFloat4_e2m1fn", 4, ml_dtypes.float4_e2m1fn),
]
MASK = (1 << 64) - 1
ENCODED = 20000


def fnv(numbers):
    """FNV-1a over 64-bit numbers, lowest byte first."""
    value = 0xCBF29CE484222325
    for number in numbers:
        for byte in struct.pack("<Q", int(number)):
            value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


def inputs():
    """The same numbers as harness::Random(seed 31) gives the test. Each is a float32, from which ml_dtypes rounds but once."""
    state = (31 * 0x9E3779B97F4A7C15 + 1) & MASK
    for i in range(ENCODED):
        state ^= state >> 12
        state ^= (state << 25) & MASK
        state ^= state >> 27
        word = (state * 0x2545F4914F6CDD1D) & MASK
        if i % 2 == 0:
            yield np.uint32(word >> 32).view(np.float32)
        else:
            exponent = (word >> 8) % 41 + 127 - 20
            yield np.uint32((word >> 63) << 31 | exponent << 23 | (word >> 32 & 0x7FFFFF)).view(np.float32)


def narrow(value, dtype, bits):
    with np.errstate(all="ignore"):
        return int(np.array([value], np.float32).astype(dtype).view(np.uint16 if bits == 16 else np.uint8)[0])


def widen(bits_of_all, dtype, bits):
    values = np.array(bits_of_all, np.uint16 if bits == 16 else np.uint8).view(dtype).astype(np.float64)
    return [0x7FF8 << 48 if np.isnan(v) else int(v.view(np.uint64)) for v in values]


def spots(dtype, bits):
    values = [v for v in np.arange(1 << bits).astype(np.uint16 if bits == 16 else np.uint8).view(dtype).astype(np.float64) if v > 0 and math.isfinite(v)]
    values.sort()
    least, most, next_most = values[0], values[-1], values[-2]
    edge = most + (most - next_most) / 2
    yield from (0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan, 1.0, -1.5, 2.75)
    if dtype is not ml_dtypes.float8_e8m0fnu:
        yield from (least, least / 2, np.nextafter(np.float32(least / 2), np.float32(1)), -least / 2, least * 1.5)
    if edge < 3e38:
        yield from (most, edge, np.nextafter(np.float32(edge), np.float32(0)), np.nextafter(np.float32(edge), np.float32(math.inf)), -most * 4 if most < 1e37 else -most)


print("// Made by float_vectors.py from ml_dtypes %s and numpy %s; see there." % (ml_dtypes.__version__, np.__version__))
print("// DECODED(code, bits, FNV-1a of the doubles of all bit patterns, NaN as 0x7ff8 << 48)")
for name, bits, dtype in FORMATS:
    print("DECODED(%s, %d, 0x%016x)" % (name, bits, fnv(widen(range(1 << bits), dtype, bits))))
print("// ENCODED(code, bits, FNV-1a of what %d random float32 values become; NaN and what is told below left out)" % ENCODED)
for name, bits, dtype in FORMATS:
    # Just above its least value ml_dtypes does not round float8_e8m0fnu to the nearest.
    skip = (lambda v: 2.0**-127 < abs(v) < 2.0**-126) if dtype is ml_dtypes.float8_e8m0fnu else (lambda v: False)
    print("ENCODED(%s, %d, 0x%016x)" % (name, bits, fnv(narrow(v, dtype, bits) for v in inputs() if not np.isnan(v) and not skip(float(v)))))
print("// SPOT(code, bits, bits of a double, bits it becomes)")
for name, bits, dtype in FORMATS:
    for value in spots(dtype, bits):
        value = float(np.float32(value))
        print("SPOT(%s, %d, 0x%016x, 0x%x)  // %r" % (name, bits, struct.unpack("<Q", struct.pack("<d", value))[0], narrow(value, dtype, bits), value))
