"""DLPack 1.3's structs, and its dtypes by the names that node-dlpack gives them."""

from __future__ import annotations

import ctypes
from typing import NamedTuple, Tuple

READ_ONLY = 1
IS_COPIED = 2
SUBBYTE_PADDED = 4

LEGACY = 1
VERSIONED = 2

CPU = (1, 0)
HOST_READABLE = frozenset((1, 3, 11))  # CPU, and memory pinned by CUDA and ROCm


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("dl_tensor", DLTensor),
    ]


_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6

# Name: type code, bits.
DTYPES = {
    "int8": (_INT, 8),
    "int16": (_INT, 16),
    "int32": (_INT, 32),
    "int64": (_INT, 64),
    "uint8": (_UINT, 8),
    "uint16": (_UINT, 16),
    "uint32": (_UINT, 32),
    "uint64": (_UINT, 64),
    "float16": (_FLOAT, 16),
    "float32": (_FLOAT, 32),
    "float64": (_FLOAT, 64),
    "bfloat16": (_BFLOAT, 16),
    "complex64": (_COMPLEX, 64),
    "complex128": (_COMPLEX, 128),
    "bool": (_BOOL, 8),
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
    "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6),
    "float4_e2m1fn": (17, 4),
}
_NAMES = {value: name for name, value in DTYPES.items()}


class Description(NamedTuple):
    """A struct of this library, as Python shows it."""

    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    dtype: str
    device: Tuple[int, int]
    flags: int


def describe(managed: int) -> Description:
    """Of a versioned struct that the binary made: what comes from elsewhere is never read this way."""
    struct = DLManagedTensorVersioned.from_address(managed)
    tensor = struct.dl_tensor
    dtype = _NAMES[tensor.dtype.code, tensor.dtype.bits]
    if struct.flags & SUBBYTE_PADDED:
        dtype += "_padded"
    return Description(
        shape=tuple(tensor.shape[axis] for axis in range(tensor.ndim)),
        strides=tuple(tensor.strides[axis] for axis in range(tensor.ndim)),
        dtype=dtype,
        device=(tensor.device.device_type, tensor.device.device_id),
        flags=struct.flags,
    )


def is_sole_copy(managed: int, kind: int) -> bool:
    """Does a struct from anywhere say that nobody else uses its memory, and that it may be written?"""
    if kind != VERSIONED:
        return False
    struct = DLManagedTensorVersioned.from_address(managed)
    return bool(struct.major == 1 and struct.flags & (IS_COPIED | READ_ONLY) == IS_COPIED)


def is_misaligned(managed: int, kind: int) -> bool:
    """Does a struct from anywhere have its data where elements cannot be read in place? False of a major version that
    is not known: nothing else of it may be read."""
    if kind == VERSIONED:
        versioned = DLManagedTensorVersioned.from_address(managed)
        if versioned.major != 1:
            return False
        tensor = versioned.dl_tensor
    else:
        tensor = DLManagedTensor.from_address(managed).dl_tensor
    bits = tensor.dtype.bits // 2 if tensor.dtype.code == _COMPLEX else tensor.dtype.bits
    itemsize = max(1, bits // 8)
    return tensor.device.device_type in HOST_READABLE and ((tensor.data or 0) + tensor.byte_offset) % itemsize != 0
