"""The addon that Node.js has loaded, and its functions.

Never loaded here: a second copy would have tokens of its own, none of which JavaScript knows. So the file must be
mapped into the process already, and attaching to it only finds it.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from typing import Any, Callable, Optional, Tuple

from ._errors import native_error
from ._structs import DLDataType

_VARIABLE = "NODE_DLPACK_ADDON"
_TOKENS_VERSION = 1
_PYTHON_VERSION = 1

SHARED = 1
TRANSFER = 2
TOKEN_SIZE = 64

OK = 0
ERROR_READ_ONLY = 55
ERROR_NOT_A_CAPSULE = 80
ERROR_CAPSULE_USED = 81

_ADDRESS = ctypes.c_void_p
_OUT = ctypes.POINTER(ctypes.c_void_p)
_CODE = ctypes.c_int
_UINT32 = ctypes.c_uint32
_TEXT = ctypes.c_char_p

# Of the binary: what each answers, then what it takes. Python's lock is released meanwhile, since a deleter may run.
_FUNCTIONS = {
    "node_dlpack_tokens_version": (_UINT32,),
    "node_dlpack_last_error": (_TEXT,),
    "node_dlpack_claim": (_CODE, _TEXT, _OUT),
    "node_dlpack_revoke": (_CODE, _TEXT),
    "node_dlpack_offer": (_CODE, _ADDRESS, _UINT32, ctypes.c_int64, _TEXT),
    "node_dlpack_offer_legacy": (_CODE, _ADDRESS, ctypes.c_int64, _TEXT),
    "node_dlpack_offer_as": (_CODE, _ADDRESS, _UINT32, DLDataType, _UINT32, ctypes.c_int64, _TEXT),
    "node_dlpack_export": (_CODE, _ADDRESS, _UINT32, _CODE, _OUT),
    "node_dlpack_python_version": (_UINT32,),
    "node_dlpack_python_guard": (_CODE, _ADDRESS, _UINT32, _OUT),
    "node_dlpack_python_stop": (None,),
}

# Those that call Python's own functions, and so keep the lock.
_FUNCTIONS_WITH_LOCK = {
    "node_dlpack_python_start": (_CODE, _ADDRESS),
    "node_dlpack_python_capsule": (ctypes.py_object, _ADDRESS, _UINT32),
    "node_dlpack_python_take": (_CODE, ctypes.py_object, _OUT, ctypes.POINTER(_UINT32)),
}

# In the order of PythonFunctions in the binary.
_PYTHON_FUNCTIONS = (
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyErr_Fetch",
    "PyErr_Restore",
    "PyCapsule_New",
    "PyCapsule_IsValid",
    "PyCapsule_GetPointer",
    "PyCapsule_SetName",
)


class Binary:
    """The functions, by their names without the prefix."""

    tokens_version: Callable[[], int]
    last_error: Callable[[], bytes]
    claim: Callable[..., int]
    revoke: Callable[..., int]
    offer: Callable[..., int]
    offer_legacy: Callable[..., int]
    offer_as: Callable[..., int]
    export: Callable[..., int]
    python_version: Callable[[], int]
    python_start: Callable[..., int]
    python_stop: Callable[[], None]
    python_capsule: Callable[..., object]
    python_take: Callable[..., int]
    python_guard: Callable[..., int]

    def __init__(self, path: str) -> None:
        self.path = path
        library = _find_mapped(path)
        with_lock = ctypes.PyDLL(path, handle=library._handle)
        try:
            for name, types in _FUNCTIONS.items():
                self._add(library, name, types)
            for name, types in _FUNCTIONS_WITH_LOCK.items():
                self._add(with_lock, name, types)
        except AttributeError as missing:
            raise _other_version(path) from missing
        if self.tokens_version() < _TOKENS_VERSION or self.python_version() != _PYTHON_VERSION:
            raise _other_version(path)
        if self.python_start(_python_functions()) != OK:
            raise RuntimeError(
                "another Python interpreter of this process is attached to node-dlpack, and its deleters can only "
                "work with one"
            )
        # Before the interpreter ends: from then on what JavaScript still holds of Python's is leaked on purpose.
        atexit.register(self.python_stop)

    def _add(self, library: ctypes.CDLL, name: str, types: Tuple[Any, ...]) -> None:
        function = getattr(library, name)
        function.restype, *function.argtypes = types
        setattr(self, name[len("node_dlpack_") :], function)

    def check(self, code: int) -> None:
        """Raises what a call of this thread answered."""
        if code != OK:
            raise native_error(self.last_error())


def attach(path: Optional[str] = None) -> None:
    """Finds the addon that Node.js has loaded. Needed once, before anything else of this module is used.

    path: what ``addonPath`` of the JavaScript entry ``node-dlpack/python`` says; else the environment variable
    ``NODE_DLPACK_ADDON``, which also makes this call unnecessary.
    Raises RuntimeError when Node.js has not loaded that file, when it is of another version of node-dlpack, or when
    this module is attached to another one.
    """
    global _binary
    given = os.environ.get(_VARIABLE) if path is None else os.fspath(path)
    if not given:
        raise RuntimeError(
            "node_dlpack does not know which addon Node.js has loaded: call node_dlpack.attach(path) with addonPath "
            f"of require('node-dlpack/python'), or set {_VARIABLE} to it"
        )
    with _lock:
        if _binary is None:
            _binary = Binary(given)
        elif not _is_same_file(_binary.path, given):
            raise RuntimeError(
                f"node_dlpack is attached to {_binary.path} and cannot attach to {given} too: the tokens of one "
                "copy of node-dlpack mean nothing to another"
            )


def binary() -> Binary:
    """The one that is attached."""
    if _binary is None:
        attach()
    assert _binary is not None
    return _binary


_binary: Optional[Binary] = None
_lock = threading.Lock()


def address_in(pointer: ctypes.c_void_p) -> int:
    """Of what a function wrote there; 0 for NULL."""
    return pointer.value or 0


def _find_mapped(path: str) -> ctypes.CDLL:
    try:
        if sys.platform == "win32":
            kernel = ctypes.WinDLL("kernel32", use_last_error=True)
            kernel.GetModuleHandleW.restype = ctypes.c_void_p
            kernel.GetModuleHandleW.argtypes = (ctypes.c_wchar_p,)
            handle = kernel.GetModuleHandleW(path)
            if handle is None:
                raise ctypes.WinError(ctypes.get_last_error())
            return ctypes.CDLL(path, handle=handle)
        return ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError as why:
        raise RuntimeError(
            f"{path} is not loaded in this process. node_dlpack works inside a Node.js process that has loaded "
            "node-dlpack, with the addon that it has loaded: addonPath of require('node-dlpack/python')"
        ) from why


def _python_functions() -> object:
    try:
        addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in _PYTHON_FUNCTIONS]
    except AttributeError as missing:
        raise RuntimeError(
            "the functions of Python's C API are not visible: load the Python library globally (RTLD_GLOBAL)"
        ) from missing
    return (ctypes.c_void_p * len(addresses))(*addresses)


def _is_same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _other_version(path: str) -> RuntimeError:
    return RuntimeError(
        f"{path} is of another version of node-dlpack than this Python module; use those of one package"
    )
