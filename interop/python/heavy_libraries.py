"""Libraries that are not installed every time, as libraries.py sees the others."""

from __future__ import annotations

from libraries import Library, numpy_array


class PyTorch(Library):
    module = distribution = "torch"

    @staticmethod
    def take(producer, copy):
        import torch

        return torch.from_dlpack(producer) if copy is None else torch.from_dlpack(producer, copy=copy)

    @staticmethod
    def make(spec):
        import torch

        if spec["dtype"] in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
            return torch.from_numpy(numpy_array({**spec, "dtype": "float32"})).to(getattr(torch, spec["dtype"]))
        return torch.from_numpy(numpy_array(spec))

    @staticmethod
    def address(array):
        return array.data_ptr()

    @staticmethod
    def strides(array):
        return list(array.stride())

    @staticmethod
    def dtype(array):
        return str(array.dtype).rpartition(".")[2]

    @staticmethod
    def bytes(array):
        import torch

        return bytes(array.contiguous().view(torch.uint8).flatten().tolist()) if array.numel() else b""

    @staticmethod
    def writable(array):
        return True  # it has no read-only tensors


class TensorFlow(Library):
    module = "tensorflow"
    distribution = "tensorflow-cpu"

    @staticmethod
    def take(producer, copy):
        import tensorflow

        if copy is not None:
            raise NotImplementedError("tf.experimental.dlpack.from_dlpack has no copy")
        return tensorflow.experimental.dlpack.from_dlpack(producer.__dlpack__())

    @staticmethod
    def make(spec):
        import tensorflow

        if spec["dtype"] == "bfloat16":
            return tensorflow.cast(tensorflow.constant(numpy_array({**spec, "dtype": "float32"})), "bfloat16")
        return tensorflow.constant(numpy_array(spec))

    @staticmethod
    def address(array):
        import numpy

        # numpy() shows the memory itself where it is contiguous.
        return numpy.asarray(memoryview(array)).__array_interface__["data"][0]

    @staticmethod
    def dtype(array):
        return array.dtype.name

    @staticmethod
    def bytes(array):
        return array.numpy().tobytes()

    @staticmethod
    def writable(array):
        return False


class Paddle(Library):
    module = "paddle"
    distribution = "paddlepaddle"

    @staticmethod
    def take(producer, copy):
        import paddle

        from_dlpack = paddle.utils.dlpack.from_dlpack
        return from_dlpack(producer) if copy is None else from_dlpack(producer, copy=copy)

    @staticmethod
    def make(spec):
        import paddle

        if spec["dtype"] == "bfloat16":
            return paddle.to_tensor(numpy_array({**spec, "dtype": "float32"})).astype("bfloat16")
        return paddle.to_tensor(numpy_array(spec))

    @staticmethod
    def address(array):
        return array.data_ptr()

    @staticmethod
    def strides(array):
        return list(array.strides)

    @staticmethod
    def dtype(array):
        return str(array.dtype).rpartition(".")[2]

    @staticmethod
    def bytes(array):
        return array.numpy().tobytes()

    @staticmethod
    def writable(array):
        return True  # it has no read-only tensors
