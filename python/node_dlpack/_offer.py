"""From any array of Python to a token that JavaScript claims."""

from __future__ import annotations

import ctypes
import math
from typing import Optional, Tuple

from ._binary import ERROR_CAPSULE_USED, ERROR_NOT_A_CAPSULE, SHARED, TOKEN_SIZE, Binary, address_in, binary
from ._errors import buffer_error, consumed, error, type_error
from ._negotiation import parse_copy, parse_device, parse_dtype
from ._structs import VERSIONED, DLDataType, is_misaligned, is_sole_copy
from ._tensor import claim_text

_VERSION = (1, 3)


def offer(
    array: object, *, copy: Optional[bool] = None, dtype: Optional[str] = None, ttl: Optional[float] = None
) -> str:
    """A token for an array, which ``Tensor.fromShared(token)`` claims in JavaScript: once, in any of its threads.

    array: any object with ``__dlpack__`` and ``__dlpack_device__``, or a DLPack capsule.
    copy: None shares the memory; True copies it, and then nobody else holds it, so JavaScript may write it
        (``Tensor.fromShared(token).intoDLPack()``); False is a promise that nothing is copied.
    dtype: what the elements shall be called there, where the array's library has no name for them: the bits stay, so
        the widths must be equal (``offer(x.view(np.uint16), dtype='bfloat16')``).
    ttl: seconds until an unclaimed token expires; 60 by default.

    JavaScript gets what ``fromDLPack`` there would make of the struct: writable memory that is lent with no flag is a
    writable loan, READ_ONLY or legacy memory is read-only, a sole copy (IS_COPIED) is unique. The array may be dropped
    here at once: its memory lives as long as JavaScript holds it. It is given back with the interpreter's lock held, by
    whichever thread lets it go last; after the interpreter's end it is leaked.

    Raises what the array's own methods raise; TypeError when it does not speak the protocol; DLPackBufferError for a
    struct that is not what it should be, or that cannot be had without a copy; DLPackStateError for a used capsule.
    """
    copy = parse_copy(copy)
    name = None if dtype is None else DLDataType(*parse_dtype(dtype), 1)
    milliseconds = _parse_ttl(ttl)
    library = binary()
    managed, kind = _take(library, _ask(array, copy), array)
    if copy is False and is_misaligned(managed, kind):
        library.python_capsule(managed, kind)  # and its end, at once: the producer's deleter runs
        raise buffer_error("copy=False cannot be kept: the data is not aligned to its element")
    sole = is_sole_copy(managed, kind)
    guarded = ctypes.c_void_p()
    library.check(library.python_guard(managed, kind, ctypes.byref(guarded)))
    token = _offer(library, address_in(guarded), kind, name, milliseconds)
    if copy is True and not sole:
        # The producer did not copy, or did not say so. The first token's claim lives on this line only.
        fresh = claim_text(token)._export(VERSIONED, True)
        token = _offer(library, fresh, VERSIONED, None, milliseconds)
    return token.decode("ascii")


def _ask(array: object, copy: Optional[bool]) -> object:
    """A capsule. Each method is looked up and called once, and what it raises is the caller's."""
    method = getattr(array, "__dlpack__", None)
    if method is None:
        return array  # perhaps a capsule: that is found out when it is taken
    device = getattr(array, "__dlpack_device__", None)
    if not callable(method) or not callable(device):
        raise _no_producer(array)
    _check_device(device())
    options = {} if copy is None else {"copy": copy}
    try:
        return method(max_version=_VERSION, **options)
    except TypeError:
        # Written before the standard had these words; it allows to ask again without them. But without `copy` such a
        # producer promises nothing.
        if copy is False:
            raise
    return method()


def _check_device(answer: object) -> None:
    """Does it speak the protocol? The struct's own device is what counts. An id of None is let pass: Paddle says so of
    the CPU."""
    if isinstance(answer, tuple) and len(answer) == 2 and answer[1] is None:
        answer = (answer[0], 0)
    parse_device(answer, "__dlpack_device__()")


def _take(library: Binary, capsule: object, array: object) -> Tuple[int, int]:
    """The managed tensor, ours from now on, and its kind."""
    managed, kind = ctypes.c_void_p(), ctypes.c_uint32()
    code = library.python_take(capsule, ctypes.byref(managed), ctypes.byref(kind))
    if code == ERROR_CAPSULE_USED:
        raise consumed("Capsule")
    if code == ERROR_NOT_A_CAPSULE and capsule is array:
        raise _no_producer(array)
    if code == ERROR_NOT_A_CAPSULE:
        raise type_error(
            f"__dlpack__() of {_kind_of(array)} returned {_kind_of(capsule)}; it must return a capsule named "
            "'dltensor_versioned' or 'dltensor'"
        )
    return address_in(managed), kind.value


def _offer(library: Binary, managed: int, kind: int, dtype: Optional[DLDataType], milliseconds: int) -> bytes:
    """The token; the struct is consumed whatever comes."""
    token = ctypes.create_string_buffer(TOKEN_SIZE)
    if dtype is not None:
        code = library.offer_as(managed, kind, dtype, SHARED, milliseconds, token)
    elif kind == VERSIONED:
        code = library.offer(managed, SHARED, milliseconds, token)
    else:
        code = library.offer_legacy(managed, milliseconds, token)
    library.check(code)
    return token.value


def _parse_ttl(ttl: object) -> int:
    """Milliseconds; 0 for the default."""
    if ttl is None:
        return 0
    if isinstance(ttl, bool) or not isinstance(ttl, (int, float)):
        raise type_error(f"ttl is {ttl!r}; it must be a number of seconds, or None")
    if not 0 < ttl < 2**40:
        raise error("ERR_OUT_OF_RANGE", f"ttl is {ttl!r}; it must be a positive number of seconds")
    return math.ceil(ttl * 1000)


def _no_producer(value: object) -> Exception:
    return type_error(
        f"offer was given {_kind_of(value)}, which is neither an object with __dlpack__ and __dlpack_device__ nor a "
        "DLPack capsule"
    )


def _kind_of(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
