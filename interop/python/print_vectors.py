"""How NumPy prints arrays, a JSON object a line: what `util.inspect` of a tensor is held against.

With `few` as argument, those that are committed as test/vectors/printed.jsonl: `npm run interop` sees that they would
come out the same today, and compares all of them.
"""

import base64
import json
import sys

import numpy as np

random = np.random.Generator(np.random.PCG64(20))
SHAPES = [(), (1,), (5,), (40,), (3, 4), (2, 40), (2, 3, 4), (2, 0, 3), (1001,), (40, 30), (8, 9, 20), (2, 2, 1, 300)]


# Read, not computed: `**` has another last bit on other processors, and so may whatever `normal` calls.
POWERS_OF_TEN = np.array([float(f"1e{exponent}") for exponent in range(-30, 30)])


def ten_to_the(least, most, count):
    return POWERS_OF_TEN[random.integers(least, most, count) + 30]


def floats(count):
    """Kinds of numbers, by what is hard about them."""
    whole = random.integers(-50, 50, count).astype("float64")
    yield "whole", whole
    yield "halves", whole / 8
    yield "ties", whole / 512
    yield "uniform", random.random(count)
    yield "signed", random.random(count) * 400 - 200
    yield "wide", (random.random(count) * 4 - 2) * ten_to_the(-4, 4, count)
    yield "large", random.random(count) * 1e9
    yield "thousands", random.random(count) * 2000 + 900
    yield "millions", np.round(random.random(count) * 2e6)
    yield "tiny", random.random(count) * 1e-6
    yield "extreme", ten_to_the(-30, 30, count)
    yield "zeros", np.where(random.random(count) < 0.5, -0.0, 0.0)
    yield "special", np.where(random.random(count) < 0.5, random.choice([np.nan, np.inf, -np.inf], count), whole / 4)
    yield "nowhere", random.choice([np.nan, -np.inf], count)


def arrays():
    for shape in SHAPES:
        count = int(np.prod(shape, dtype=int))
        for kind, values in floats(count):
            for dtype in ("float16", "float32", "float64"):
                yield f"{kind} {dtype}", values.astype(dtype).reshape(shape)
        for kind, real in floats(count):
            for _, imaginary in list(floats(count))[:3]:
                dtype = random.choice(["complex64", "complex128"])
                yield f"{kind} {dtype}", (real + 1j * imaginary).astype(dtype).reshape(shape)
        for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
            limits = np.iinfo(dtype)
            yield dtype, random.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True).reshape(shape)
        yield "bool", (random.random(count) < 0.5).reshape(shape)


def record(kind, array):
    width = int(random.choice([75, 80, 120]))
    return {
        "kind": kind,
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "bytes": base64.b64encode(array.tobytes()).decode(),
        "width": width,
        "text": np.array2string(array, separator=", ", max_line_width=width),
    }


def is_one_of_few(position, array):
    small = array.size <= 40 and position % 4 == 0
    return small or array.dtype.name in ("int8", "bool")


few = sys.argv[1:] == ["few"]
with np.errstate(all="ignore"):
    for position, (kind, array) in enumerate(arrays()):
        line = json.dumps(record(kind, array))
        if not few or is_one_of_few(position, array):
            print(line)
