"""What the tests call in Python: one function, JSON in and JSON out, whatever the embedder.

It keeps the objects that it makes under numbers, and reports of each what its own library says of it, so that nothing
here depends on the exchange that is tested.
"""

from __future__ import annotations

import ctypes
import gc
import json
import traceback
import weakref

import libraries
import node_dlpack

_objects = {}
_watched = {}


def call(request: str) -> str:
    """{"function", "arguments"} -> {"result"} or {"error"}."""
    given = json.loads(request)
    try:
        result = _FUNCTIONS[given["function"]](*given["arguments"])
        return json.dumps({"result": result})
    except BaseException as error:
        return json.dumps(
            {
                "error": {
                    "type": type(error).__name__,
                    "bases": [base.__name__ for base in type(error).__mro__],
                    "code": getattr(error, "code", None),
                    "message": str(error),
                    "traceback": traceback.format_exc(),
                }
            }
        )


class Spy:
    """Hands on a producer's capsule, and notes what was asked and what was answered: the struct, flags and address. Of
    what it hands on, it counts the deleter calls."""

    def __init__(self, producer: object, count: bool = False) -> None:
        self.producer = producer
        self.calls = []
        self.count = count
        self.deleted = 0

    def __dlpack_device__(self):
        return self.producer.__dlpack_device__()

    def __dlpack__(self, **asked):
        try:
            capsule = self.producer.__dlpack__(**asked)
        except BaseException as error:
            self.calls.append({"asked": _plain(asked), "refused": type(error).__name__})
            raise
        self.calls.append({"asked": _plain(asked), **look(capsule)})
        if self.count:
            self._count_deleter(capsule)
        return capsule

    def _count_deleter(self, capsule: object) -> None:
        """Puts a function of its own in the place of the deleter, which it calls."""
        address, versioned = _address_of(capsule)
        field = ctypes.c_void_p.from_address(address + (16 if versioned else 56))
        original = _DELETER(field.value)

        def deleter(managed: int) -> None:
            self.deleted += 1
            original(managed)

        counting = _DELETER(deleter)
        _callbacks.append(counting)
        field.value = ctypes.cast(counting, ctypes.c_void_p).value


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_callbacks = []


def look(capsule: object) -> dict:
    """Into a fresh capsule, which stays as it is."""
    address, versioned = _address_of(capsule)
    # Offsets of DLPack 1.3 on 64-bit machines.
    flags = ctypes.c_uint64.from_address(address + 24).value if versioned else None
    tensor = address + (32 if versioned else 0)
    data = ctypes.c_uint64.from_address(tensor).value
    offset = ctypes.c_uint64.from_address(tensor + 40).value
    return {"struct": _get_name(capsule).decode(), "flags": flags, "address": str(data + offset)}


_get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _address_of(capsule: object):
    name = _get_name(capsule)
    return _get_pointer(capsule, name), name == b"dltensor_versioned"


def _plain(asked: dict) -> dict:
    return {name: list(map(int, value)) if isinstance(value, tuple) else value for name, value in asked.items()}


# --- functions ----------------------------------------------------------------------------------------------------


def versions() -> dict:
    return {name: library.version() for name, library in libraries.installed().items()}


def claim(token: str) -> dict:
    """The claimed object itself."""
    tensor = node_dlpack.claim(token)
    return {"id": _keep(tensor), **_describe_claimed(tensor)}


def export(number: int, options: dict) -> dict:
    """One call of its __dlpack__; the capsule goes unconsumed."""
    words = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    return look(_objects[number].__dlpack__(**words))


def take(library: str, number: int, copy) -> dict:
    """A library makes an array of its own of an object that is kept here."""
    spy = Spy(_objects[number])
    array = libraries.installed()[library].take(spy, copy)
    return {"id": _keep(array), "calls": spy.calls, **report(library, array)}


def make(library: str, spec: dict) -> dict:
    """An array of a library's own."""
    array = libraries.installed()[library].make(spec)
    return {"id": _keep(array), **report(library, array)}


def offer(number: int, options: dict) -> dict:
    spy = Spy(_objects[number], count=True)
    token = node_dlpack.offer(spy, **options)
    spy.producer = None  # JavaScript alone holds it now
    return {"id": _keep(spy), "token": token, "calls": spy.calls}


def deleted(number: int) -> int:
    """How often the deleter of what a Spy handed on was called."""
    gc.collect()
    return _objects[number].deleted


def report(library: str, array: object) -> dict:
    adapter = libraries.installed()[library]
    return {
        "address": str(adapter.address(array)),
        "shape": list(adapter.shape(array)),
        "strides": adapter.strides(array),
        "dtype": adapter.dtype(array),
        "bytes": adapter.bytes(array).hex(),
        "writable": adapter.writable(array),
    }


def look_again(library: str, number: int) -> dict:
    return report(library, _objects[number])


def write(library: str, number: int) -> None:
    """Adds one to the first element, in place."""
    libraries.installed()[library].write(_objects[number])


def drop(number: int) -> None:
    del _objects[number]
    gc.collect()


def is_alive(number: int) -> bool:
    """Is there still somebody who holds it? None for objects that cannot be watched."""
    gc.collect()
    return _watched[number]() is not None if number in _watched else None


def run(source: str) -> object:
    """Statements; what they leave in `result`."""
    scope = {"node_dlpack": node_dlpack, "libraries": libraries, "objects": _objects, "look": look, "Spy": Spy}
    exec(source, scope)
    return scope.get("result")


def _keep(value: object) -> int:
    number = _keep.next = getattr(_keep, "next", 0) + 1
    _objects[number] = value
    try:
        _watched[number] = weakref.ref(value)
    except TypeError:
        pass
    return number


def _describe_claimed(tensor: object) -> dict:
    return {
        "kind": type(tensor).__name__,
        "shape": list(tensor.shape),
        "strides": list(tensor.strides),
        "dtype": tensor.dtype,
        "device": list(tensor.device),
        "readOnly": tensor.read_only,
        "text": repr(tensor),
    }


_FUNCTIONS = {
    function.__name__: function
    for function in (versions, claim, export, take, make, offer, deleted, look_again, write, drop, is_alive, run)
}
