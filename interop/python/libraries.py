"""The libraries, each seen through its own API: how it takes a tensor, makes one, and what it says of one.

``take(producer, copy)`` and ``make(spec)`` make an array; ``spec`` is {"dtype", "shape", "layout"} with the elements
0, 1, 2, ... in row-major order, and a layout of "plain", "columns" (every second of twice as many), "offset" (behind
one element more), "reversed" or "readonly". The rest describes one: address of the first element, shape, strides in
elements (None where the library has none to tell), dtype by NumPy's names, row-major bytes, and whether it may be
written.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from functools import cache


class Library:
    module: str
    distribution: str

    @classmethod
    def version(cls) -> str:
        return importlib.metadata.version(cls.distribution)

    @staticmethod
    def shape(array):
        return array.shape

    @staticmethod
    def strides(array):
        return None


class NumPy(Library):
    module = distribution = "numpy"

    @staticmethod
    def take(producer, copy):
        import numpy

        return numpy.from_dlpack(producer) if copy is None else numpy.from_dlpack(producer, copy=copy)

    @staticmethod
    def make(spec):
        return numpy_array(spec)

    @staticmethod
    def address(array):
        return array.__array_interface__["data"][0]

    @staticmethod
    def strides(array):
        return [step // array.itemsize for step in array.strides]

    @staticmethod
    def dtype(array):
        return array.dtype.name

    @staticmethod
    def bytes(array):
        return array.tobytes()

    @staticmethod
    def writable(array):
        return bool(array.flags.writeable)

    @staticmethod
    def write(array):
        array[(0,) * array.ndim] += 1


class MLDTypes(NumPy):
    """NumPy arrays of ml_dtypes' own dtypes, which DLPack in NumPy has no name for: they cross as bare bits."""

    module = distribution = "ml_dtypes"

    @staticmethod
    def take(producer, copy):
        raise NotImplementedError("by view(): see the tests")

    @staticmethod
    def make(spec):
        import ml_dtypes

        return numpy_array({**spec, "dtype": "float32"}).astype(getattr(ml_dtypes, spec["dtype"]))


class JAX(Library):
    module = distribution = "jax"

    @staticmethod
    def take(producer, copy):
        import jax

        return jax.dlpack.from_dlpack(producer) if copy is None else jax.dlpack.from_dlpack(producer, copy=copy)

    @staticmethod
    def make(spec):
        import jax

        jax.config.update("jax_enable_x64", True)
        if spec["dtype"] in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
            return jax.numpy.asarray(MLDTypes.make(spec)).block_until_ready()
        return jax.numpy.array(numpy_array(spec)).block_until_ready()

    @staticmethod
    def address(array):
        return array.unsafe_buffer_pointer()

    @staticmethod
    def dtype(array):
        return array.dtype.name

    @staticmethod
    def bytes(array):
        import numpy

        return numpy.asarray(array).tobytes()

    @staticmethod
    def writable(array):
        return False


class MLX(Library):
    module = "mlx.core"
    distribution = "mlx"

    @staticmethod
    def take(producer, copy):
        import mlx.core as mx

        array = mx.from_dlpack(producer) if copy is None else mx.from_dlpack(producer, copy=copy)
        mx.eval(array)
        return array

    @staticmethod
    def make(spec):
        import mlx.core as mx

        if spec["dtype"] == "bfloat16":
            array = mx.array(numpy_array({**spec, "dtype": "float32"})).astype(mx.bfloat16)
        else:
            array = mx.array(numpy_array(spec))
        mx.eval(array)
        return array

    @classmethod
    def address(cls, array):
        import mlx.core as mx
        import numpy

        # Its buffer protocol shows the memory itself; bfloat16 has no format there, but its bits have.
        bits = array.view(mx.uint16) if array.dtype == mx.bfloat16 else array
        return numpy.asarray(memoryview(bits)).__array_interface__["data"][0]

    @staticmethod
    def dtype(array):
        return str(array.dtype).rpartition(".")[2].rstrip("_")

    @staticmethod
    def bytes(array):
        import mlx.core as mx
        import numpy

        return numpy.array(array.view(mx.uint16) if array.dtype == mx.bfloat16 else array).tobytes()

    @staticmethod
    def writable(array):
        return False


class PyArrow(Library):
    module = distribution = "pyarrow"

    @staticmethod
    def take(producer, copy):
        import pyarrow

        one_axis = len(producer.producer.shape) == 1
        kind = pyarrow.Array if one_axis else pyarrow.Tensor
        return kind.from_dlpack(producer) if copy is None else kind.from_dlpack(producer, copy=copy)

    @staticmethod
    def make(spec):
        import pyarrow

        array = numpy_array(spec)
        return pyarrow.array(array) if array.ndim == 1 else pyarrow.Tensor.from_numpy(array)

    @classmethod
    def address(cls, array):
        return cls._numpy(array).__array_interface__["data"][0]

    @classmethod
    def shape(cls, array):
        return cls._numpy(array).shape

    @classmethod
    def strides(cls, array):
        return NumPy.strides(cls._numpy(array))

    @classmethod
    def dtype(cls, array):
        return cls._numpy(array).dtype.name

    @classmethod
    def bytes(cls, array):
        return cls._numpy(array).tobytes()

    @staticmethod
    def writable(array):
        import pyarrow

        return bool(array.is_mutable) if isinstance(array, pyarrow.Tensor) else array.buffers()[1].is_mutable

    @staticmethod
    def _numpy(array):
        import pyarrow

        return array.to_numpy() if isinstance(array, pyarrow.Tensor) else array.to_numpy(zero_copy_only=True)


class TVMFFI(Library):
    module = "tvm_ffi"
    distribution = "apache-tvm-ffi"

    @staticmethod
    def take(producer, copy):
        import tvm_ffi

        if copy is not None:
            raise NotImplementedError("tvm_ffi.from_dlpack has no copy")
        return tvm_ffi.from_dlpack(producer)

    @staticmethod
    def make(spec):
        import tvm_ffi

        return tvm_ffi.from_dlpack(numpy_array(spec))

    @staticmethod
    def address(array):
        return array.data_ptr()

    @staticmethod
    def strides(array):
        return list(array.strides)

    @staticmethod
    def dtype(array):
        return str(array.dtype)

    @staticmethod
    def bytes(array):
        import numpy

        return numpy.from_dlpack(array).tobytes()

    @staticmethod
    def writable(array):
        return True  # it has no read-only tensors


class Zarrista(Library):
    """A Zarr array in memory: what is taken is written to it, and what is made is read from it."""

    module = distribution = "zarrista"

    @staticmethod
    def take(producer, copy):
        if copy is not None:
            raise NotImplementedError("zarrista has no copy")
        tensor = producer.producer
        zarr = _zarr(tensor.shape, tensor.dtype)
        zarr.store_array_subset(tuple(slice(None) for _ in tensor.shape), producer)
        return zarr.retrieve_array_subset(tuple(slice(None) for _ in tensor.shape))

    @staticmethod
    def make(spec):
        zarr = _zarr(spec["shape"], spec["dtype"])
        everything = tuple(slice(None) for _ in spec["shape"])
        zarr.store_array_subset(everything, numpy_array(spec))
        return zarr.retrieve_array_subset(everything)

    @staticmethod
    def address(tensor):
        return tensor.to_numpy().__array_interface__["data"][0]

    @staticmethod
    def dtype(tensor):
        return tensor.dtype.name

    @staticmethod
    def bytes(tensor):
        return bytes(tensor.buffer())

    @staticmethod
    def writable(tensor):
        return False


def _all():
    from heavy_libraries import Paddle, PyTorch, TensorFlow

    return NumPy, MLDTypes, JAX, MLX, PyArrow, TVMFFI, Zarrista, PyTorch, TensorFlow, Paddle


@cache
def installed():
    """By the name of the distribution."""
    return {library.distribution: library for library in _all() if _is_there(library.module)}


def _is_there(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def numpy_array(spec):
    import numpy

    shape, dtype, layout = tuple(spec["shape"]), spec["dtype"], spec.get("layout", "plain")
    count = int(numpy.prod(shape, dtype=numpy.int64))
    values = numpy.arange(count).reshape(shape)
    if dtype == "bool":
        values = values % 2
    if layout == "columns":
        array = numpy.zeros(shape[:-1] + (shape[-1] * 2,), dtype)[..., ::2]
    elif layout == "offset":
        array = numpy.zeros(count + 1, dtype)[1:].reshape(shape)
    elif layout == "reversed":
        array = numpy.zeros(shape, dtype)[..., ::-1]
    else:
        array = numpy.zeros(shape, dtype)
    array[...] = values
    if layout == "readonly":
        array.flags.writeable = False
    return array


def _zarr(shape, dtype):
    import numpy
    import zarrista

    builder = zarrista.ArrayBuilder(
        zarrista.ChunkGrid.regular(list(shape), chunk_shape=list(shape)),
        zarrista.DataType.from_string(dtype),
        zarrista.FillValue(bytes(numpy.dtype(dtype).itemsize)),
    )
    return builder.create(zarrista.store.MemoryStore(), "/array")
