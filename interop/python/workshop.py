"""Managed tensors with anything in their fields, which count what happens to them.

Offsets: DLPack 1.3 on 64-bit machines.
"""

import ctypes

_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
OTHER_NAME = ctypes.create_string_buffer(b"other")
_names = {True: ctypes.create_string_buffer(b"dltensor_versioned"), False: ctypes.create_string_buffer(b"dltensor")}


class Struct:
    kept = []

    def __init__(
        self,
        *,
        versioned=True,
        major=1,
        flags=0,
        ndim=2,
        shape=(2, 3),
        strides=(3, 1),
        code=2,
        bits=32,
        lanes=1,
        device=(1, 0),
        data=0,
        offset=0,
        with_data=True,
    ):
        self.memory = (ctypes.c_float * 16)(*range(16))
        self.shape = None if shape is None else (ctypes.c_int64 * max(1, len(shape)))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * max(1, len(strides)))(*strides)
        self.bytes = ctypes.create_string_buffer(96)
        self.address = ctypes.addressof(self.bytes)
        self.deleted = 0
        self.deleter = _DELETER(self._delete)
        self.versioned = versioned
        tensor = self.address + (32 if versioned else 0)

        def put(kind, at, value):
            kind.from_address(at).value = value

        put(ctypes.c_uint64, tensor, ctypes.addressof(self.memory) + data if with_data else 0)
        put(ctypes.c_int32, tensor + 8, device[0])
        put(ctypes.c_int32, tensor + 12, device[1])
        put(ctypes.c_int32, tensor + 16, ndim)
        put(ctypes.c_uint8, tensor + 20, code)
        put(ctypes.c_uint8, tensor + 21, bits)
        put(ctypes.c_uint16, tensor + 22, lanes)
        put(ctypes.c_uint64, tensor + 24, 0 if shape is None else ctypes.addressof(self.shape))
        put(ctypes.c_uint64, tensor + 32, 0 if strides is None else ctypes.addressof(self.strides))
        put(ctypes.c_uint64, tensor + 40, offset)
        if versioned:
            put(ctypes.c_uint32, self.address, major)
            put(ctypes.c_uint64, self.address + 24, flags)
        put(ctypes.c_uint64, self.address + (16 if versioned else 56), ctypes.cast(self.deleter, ctypes.c_void_p).value)
        Struct.kept.append(self)

    def _delete(self, managed):
        self.deleted += 1

    def capsule(self):
        return new_capsule(self.address, ctypes.addressof(_names[self.versioned]), None)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **asked):
        return self.capsule()
