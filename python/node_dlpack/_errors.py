"""The errors, in Python's classes and by JavaScript's codes.

A failure is one thing on both sides of the bridge: whoever reads the Python error must find the JavaScript one, so each
carries its code and names its class there.
"""

from __future__ import annotations

from typing import Union


class DLPackBufferError(BufferError):
    """Cannot be exported or imported as asked, or a struct is not what it should be.

    ``DLPackBufferError`` in JavaScript.
    """

    code = "ERR_DLPACK_BUFFER"


class DLPackStateError(RuntimeError):
    """Something was used a second time, or is gone: a tensor, a capsule, a token. ``DLPackStateError`` in JavaScript.

    ``code`` says which: ``ERR_DLPACK_CONSUMED``, ``ERR_DLPACK_DISPOSED`` or ``ERR_DLPACK_TOKEN``.
    """

    code: str


# By code: the class here, and its name there.
_CLASSES = {
    "ERR_DLPACK_BUFFER": (DLPackBufferError, "DLPackBufferError"),
    "ERR_DLPACK_CONSUMED": (DLPackStateError, "DLPackStateError"),
    "ERR_DLPACK_DISPOSED": (DLPackStateError, "DLPackStateError"),
    "ERR_DLPACK_TOKEN": (DLPackStateError, "DLPackStateError"),
    "ERR_INVALID_ARG_TYPE": (TypeError, "TypeError"),
    "ERR_OUT_OF_RANGE": (ValueError, "RangeError"),
    "ERR_DLPACK_MEMORY": (MemoryError, "RangeError"),
}


def error(code: str, sentence: str) -> Exception:
    """The error for a code, to be raised by the caller."""
    kind, name = _CLASSES.get(code, (RuntimeError, "Error"))
    made = kind(f"{sentence} [{code}, {name} in JavaScript]")
    setattr(made, "code", code)  # noqa: B010  # built-in classes declare no such attribute
    return made


def native_error(text: Union[bytes, str]) -> Exception:
    """The error for what the binary says: a code, a colon, one sentence."""
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    code, _, sentence = words.partition(": ")
    return error(code, sentence)


def consumed(what: str = "Tensor") -> Exception:
    """What was used up."""
    return error("ERR_DLPACK_CONSUMED", f"{what} already consumed")


def disposed() -> Exception:
    """What was closed."""
    return error("ERR_DLPACK_DISPOSED", "Tensor already disposed")


def type_error(sentence: str) -> Exception:
    """Wrong kind or form of argument."""
    return error("ERR_INVALID_ARG_TYPE", sentence)


def buffer_error(sentence: str) -> Exception:
    """Cannot be done as asked."""
    return error("ERR_DLPACK_BUFFER", sentence)
