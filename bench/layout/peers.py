"""The recipes of rows.mjs, followed with NumPy, with torch where it is installed, and with this library's core alone.

Imported by bench/lib/python_peer.py. There is one row at a time, `row`; statements that are timed name its members.
"""

import ctypes
import hashlib
import json

import ml_dtypes
import numpy as np

PERIOD, STEP = 250, 7919
INT, UINT, FLOAT, BFLOAT = 0, 1, 2, 4
PACKED = {
    "uint8": UINT | 8 << 8,
    "int16": INT | 16 << 8,
    "float16": FLOAT | 16 << 8,
    "bfloat16": BFLOAT | 16 << 8,
    "float32": FLOAT | 32 << 8,
    "float64": FLOAT | 64 << 8,
}


def dtype_of(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def zeroed(shape, dtype):
    """On a multiple of 256, as tensors have it: the same for both sides."""
    count = int(np.prod(shape)) * dtype.itemsize
    memory = np.zeros(count + 256, np.uint8)
    start = -memory.ctypes.data % 256
    return memory[start : start + count].view(dtype).reshape(shape)


def source_of(shape, dtype):
    result = zeroed(shape, dtype)
    pattern = (np.arange(PERIOD, dtype=np.int64) * STEP % PERIOD).astype(np.uint8)
    result.reshape(-1)[:] = np.resize(pattern, result.size).astype(dtype)
    return result


def spec(given):
    return slice(None) if given is None else slice(*given)


def numbers(values, kind=ctypes.c_int64):
    return (kind * max(1, len(values)))(*values)


class Row:
    def open(self, text, library=None):
        recipe = json.loads(text)
        source = source_of(recipe["shape"], dtype_of(recipe["dtype"]))
        self.view = self.follow(source, recipe["view"], np.transpose, np.broadcast_to, np.flip)
        self.to = dtype_of(recipe.get("to") or recipe["dtype"])
        self.scaling = recipe.get("scaling")
        self.target = zeroed(self.view.shape, self.to)
        if self.scaling is not None:
            shape = [1] * self.view.ndim
            shape[self.scaling["axis"]] = -1
            self.scale = np.array(self.scaling["scale"], np.float32).reshape(shape)
            self.offset = np.array(self.scaling["offset"], np.float32).reshape(shape)
        if library is not None:
            self.prepare(library)

    @staticmethod
    def follow(array, steps, transpose, broadcast, flip):
        for step, *given in steps:
            if step == "transpose":
                array = transpose(array, given)
            elif step == "slice":
                array = array[tuple(spec(each) for each in given)]
            elif step == "repeat":
                shape = list(array.shape)
                shape[given[0]] = given[1]
                array = broadcast(array, shape)
            else:
                array = flip(array, given[0])
        return array

    def convert(self):
        """What a NumPy user writes."""
        if self.scaling is None:
            self.result = self.view.astype(self.to)
            return
        scaled = self.view.astype(np.float32) * self.scale + self.offset
        if self.to.kind == "u":
            scaled = np.clip(np.rint(scaled), 0, 255)
        self.result = scaled.astype(self.to, copy=False)

    def digest(self):
        if self.to == self.view.dtype and self.scaling is None:
            np.copyto(self.target, self.view)
            self.result = self.target
        else:
            self.convert()
        return hashlib.sha1(np.ascontiguousarray(self.result).view(np.uint8)).hexdigest()

    # --- the core alone, without JavaScript

    def prepare(self, path):
        view, target = self.view, self.target
        self.library = ctypes.CDLL(path)
        self.library.BenchCopy.restype = self.library.BenchConvert.restype = ctypes.c_double
        strides = [step // view.itemsize for step in view.strides]
        self.layout = numbers(view.shape), numbers(strides), view.ndim
        self.pointers = ctypes.c_void_p(target.ctypes.data), ctypes.c_void_p(view.ctypes.data)

    def core(self, iterations, fresh=False, kernels=-1):
        to, source = self.pointers
        packed = PACKED[self.view.dtype.name]
        count = ctypes.c_int64(iterations)
        if self.to == self.view.dtype and self.scaling is None:
            return self.library.BenchCopy(kernels, None if fresh else to, source, *self.layout, packed, count)
        scale = offset = None
        channels, axis = 1, 0
        if self.scaling is not None:
            scale = numbers(self.scaling["scale"], ctypes.c_double)
            offset = numbers(self.scaling["offset"], ctypes.c_double)
            channels, axis = len(self.scaling["scale"]), self.scaling["axis"]
        return self.library.BenchConvert(
            to, PACKED[self.to.name], source, packed, *self.layout, scale, offset, ctypes.c_int64(channels), axis, count
        )

    # --- torch

    def open_torch(self, text):
        import torch

        torch.set_num_threads(1)
        self.torch = torch
        recipe = json.loads(text)
        self.open(json.dumps({**recipe, "view": [], "scaling": None}))

        def tensor(array):
            if array.dtype == ml_dtypes.bfloat16:
                return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
            return torch.from_numpy(array)

        def flip(array, axis):
            raise NotImplementedError("torch knows no negative strides")

        self.torch_view = self.follow(
            tensor(self.view), recipe["view"], lambda array, axes: array.permute(axes), torch.broadcast_to, flip
        )
        self.torch_to = getattr(torch, self.to.name)
        self.torch_target = torch.zeros(self.torch_view.shape, dtype=self.torch_to)
        self.scaling = recipe.get("scaling")
        if self.scaling is not None:
            shape = [1] * self.torch_view.ndim
            shape[self.scaling["axis"]] = -1
            self.torch_scale = torch.tensor(self.scaling["scale"]).reshape(shape)
            self.torch_offset = torch.tensor(self.scaling["offset"]).reshape(shape)

    def torch_fresh(self):
        self.torch_view.clone(memory_format=self.torch.contiguous_format)

    def convert_torch(self):
        """What a torch user writes; channels that end up apart are put there by `contiguous`."""
        if self.scaling is None:
            self.torch_result = self.torch_view.to(self.torch_to)
            return
        scaled = self.torch_view.float() * self.torch_scale + self.torch_offset
        if self.torch_to == self.torch.uint8:
            scaled = scaled.round().clamp(0, 255)
        self.torch_result = scaled.to(self.torch_to).contiguous()


def has_avx2(path):
    return bool(ctypes.CDLL(path).BenchHasKernels(2))


row = Row()
