"""Python's side of the hand-off bench: reads `<case> <iterations>` lines, answers with nanoseconds (handoff.mjs).

The first line it writes says what is there: {"cases": [...], "facts": {name: version}}.
"""

import importlib
import importlib.metadata
import json
import sys
import timeit

import numpy

SHAPES = {"2x3": (2, 3), "2x3x4x5": (2, 3, 4, 5)}


def zarrista_tensor(zarrista, shape):
    builder = zarrista.ArrayBuilder(
        zarrista.ChunkGrid.regular(list(shape), chunk_shape=list(shape)),
        zarrista.DataType.from_string("float32"),
        zarrista.FillValue(bytes(4)),
    )
    array = builder.create(zarrista.store.MemoryStore(), "/array")
    everything = tuple(slice(None) for _ in shape)
    array.store_array_subset(everything, numpy.zeros(shape, numpy.float32))
    return array.retrieve_array_subset(everything)


# What makes a producer, by library: its distribution, and a function of (module, shape).
PRODUCERS = {
    "zarrista": ("zarrista", zarrista_tensor),
    "tvm_ffi": ("apache-tvm-ffi", lambda m, shape: m.from_dlpack(numpy.zeros(shape, numpy.float32))),
    "pyarrow": ("pyarrow", lambda m, shape: m.array(numpy.zeros(shape, numpy.float32).reshape(-1))),
    "mlx.core": ("mlx", lambda m, shape: m.array(numpy.zeros(shape, numpy.float32))),
    "jax.numpy": ("jax", lambda m, shape: m.zeros(shape, "float32")),
    "torch": ("torch", lambda m, shape: m.zeros(shape)),
}
# And who takes from NumPy.
CONSUMERS = {
    "tvm_ffi": lambda m: m.from_dlpack,
    "mlx.core": lambda m: m.array,
    "jax.numpy": lambda m: m.from_dlpack,
    "torch": lambda m: m.from_dlpack,
}


def find_cases():
    cases = {}
    facts = {"Python": sys.version.split()[0], "numpy": numpy.__version__}
    arrays = {name: numpy.zeros(shape, numpy.float32) for name, shape in SHAPES.items()}
    for name, array in arrays.items():
        cases[f"numpy<-numpy {name}"] = timeit.Timer("f(x)", globals={"f": numpy.from_dlpack, "x": array})
    page = numpy.zeros(1024, numpy.float32)
    cases["numpy<-numpy copy 4KiB"] = timeit.Timer("f(x, copy=True)", globals={"f": numpy.from_dlpack, "x": page})
    for library, (distribution, make) in PRODUCERS.items():
        try:
            module = importlib.import_module(library)
        except ImportError:
            continue
        short = library.split(".")[0]
        facts[short] = importlib.metadata.version(distribution)
        for name, shape in SHAPES.items():
            scope = {"f": numpy.from_dlpack, "x": make(module, shape)}
            cases[f"numpy<-{short} {name}"] = timeit.Timer("f(x)", globals=scope)
            if library in CONSUMERS:
                scope = {"f": CONSUMERS[library](module), "x": arrays[name]}
                cases[f"{short}<-numpy {name}"] = timeit.Timer("f(x)", globals=scope)
    return cases, facts


def main():
    cases, facts = find_cases()
    print(json.dumps({"cases": list(cases), "facts": facts}), flush=True)
    for line in sys.stdin:
        case, iterations = line.strip().rsplit(" ", 1)
        print(round(cases[case].timeit(int(iterations)) * 1e9), flush=True)


main()
