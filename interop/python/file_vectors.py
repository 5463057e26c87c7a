"""Small files as NumPy and safetensors write them, into the folder given: the vectors of node-dlpack/files' tests.

Those in test/files/vectors are committed; the tests of `npm run interop` see that they would come out the same today.
The elements are 0, 1, 2, ... in row-major order unless the name says otherwise.
"""

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
from numpy.lib import format as npy
from safetensors.numpy import save_file

folder = Path(sys.argv[1])


def count(dtype, *shape):
    return np.arange(int(np.prod(shape, dtype=int))).reshape(shape).astype(dtype)


def save(name, array, version=None):
    with open(folder / f"{name}.npy", "wb") as file:
        npy.write_array(file, np.asanyarray(array), version=version, allow_pickle=True)


for dtype in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split():
    save(dtype, count(dtype, 2, 3))
for dtype in "float16 float32 float64 complex64 complex128".split():
    save(dtype, count(dtype, 2, 3) - 2.5)
save("scalar", np.float32(7))
save("row", count("int16", 5))
save("empty", count("float32", 2, 0, 3))
save("deep", count("uint8", *[1] * 30, 2))
save("fortran", np.asfortranarray(count("int32", 2, 3)))
save("fortran-3d", np.asfortranarray(count("float32", 2, 3, 4)))
save("version-2", count("float32", 2, 3), version=(2, 0))
save("version-3", count("float32", 2, 3), version=(3, 0))

save("bfloat16", count(ml_dtypes.bfloat16, 2, 3))
save("float8_e4m3fn", count(ml_dtypes.float8_e4m3fn, 2, 3))

save("refused-big-endian", count(">f4", 2, 3))
save("refused-big-endian-integers", count(">i8", 2))
save("refused-objects", np.array([None, 1], dtype=object))
save("refused-strings", np.array(["a", "bc"]))
save("refused-bytes", np.array([b"a", b"bc"]))
save("refused-dates", np.array(["2026-01-01"], dtype="M8[D]"))
save("refused-durations", np.array([1], dtype="m8[s]"))
save("refused-structured", np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f8")]))
save("refused-structured-unicode", np.array([(1,)], dtype=[("\u00e4\u4e2d", "<i4")]), version=(3, 0))
save("refused-long-double", count("float32", 2).astype(np.longdouble))

save_file(
    {
        "float32": count("float32", 2, 3),
        "int64": count("int64", 3),
        "bfloat16": count(ml_dtypes.bfloat16, 2, 2),
        "float8": count(ml_dtypes.float8_e4m3fn, 3),
        "bool": count("bool", 2),
        "float16": count("float16", 2),
        "scalar": np.array(7, dtype="float64"),
        "empty": count("uint8", 0, 4),
        "complex64": count("complex64", 2) + 0.5j,
    },
    folder / "weights.safetensors",
    metadata={"made by": "a test"},
)
