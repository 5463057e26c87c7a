"""What a token turns into: a producer that any DLPack library of Python takes.

A shared tensor is read-only and exports as often as it is asked. A transferred one is the memory's only owner and
exports once, for good, writable.
"""

from __future__ import annotations

import ctypes
import logging
from typing import List, NamedTuple, Optional, Tuple

from ._binary import ERROR_READ_ONLY, SHARED, TOKEN_SIZE, TRANSFER, address_in, binary
from ._errors import buffer_error, consumed, disposed, error, type_error
from ._negotiation import must_name_cpu, parse_dtype, parse_request
from ._structs import (
    CPU,
    DTYPES,
    IS_COPIED,
    LEGACY,
    READ_ONLY,
    VERSIONED,
    Description,
    DLDataType,
    DLManagedTensor,
    DLManagedTensorVersioned,
    describe,
)

# Copies that nobody asked for are told here, at DEBUG: JavaScript's diagnostics channel of this name.
_log = logging.getLogger("node_dlpack.copy")

_HELD = 3
_COPY = {None: -1, False: 0, True: 1}


class _Held(NamedTuple):
    """A struct that was claimed, and the capsule that gives it back when it goes."""

    address: int
    capsule: object


class _Claimed:
    """What both kinds share: a struct that was claimed, held by a capsule whose end gives it back."""

    # One, or none. Taking it out is one step, so that of two threads one gets it.
    __slots__ = ("__weakref__", "_closed", "_description", "_held")

    _token_kind: int
    _held: List[_Held]
    _description: Description
    _closed: bool

    def __init__(self, *_: object) -> None:
        raise type_error(f"a {type(self).__name__} is made by node_dlpack.claim(token)")

    @property
    def shape(self) -> Tuple[int, ...]:
        """Extents."""
        return self._description.shape

    @property
    def strides(self) -> Tuple[int, ...]:
        """In elements."""
        return self._description.strides

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._description.shape)

    @property
    def dtype(self) -> str:
        """By JavaScript's name, such as ``'float32'``."""
        return self._description.dtype

    @property
    def device(self) -> Tuple[int, int]:
        """Device type and id."""
        return self._description.device

    @property
    def read_only(self) -> bool:
        """Must consumers not write?"""
        return self._description.flags & READ_ONLY != 0

    def __dlpack_device__(self) -> Tuple[int, int]:
        """Device type and id; ``(1, 0)`` for the CPU. Answers on a tombstone too."""
        return self._description.device

    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> object:
        """A fresh capsule. What is in it, the class says.

        Raises TypeError for a malformed option, ValueError for a stream, BufferError for what cannot be, and
        DLPackStateError when the tensor is consumed or closed.
        """
        request = parse_request(stream, max_version, dl_device, copy)
        self._require()
        as_cpu = must_name_cpu(request, self.device)
        kind = VERSIONED if request.versioned else LEGACY
        exported = self._export(kind, request.copy)
        if as_cpu:
            _name_cpu(exported, kind)
        return binary().python_capsule(exported, kind)

    def view(self, dtype: str) -> _Claimed:
        """The same memory under another dtype of the same width, for libraries that do not know this one:
        ``np.from_dlpack(tensor.view('uint16')).view(ml_dtypes.bfloat16)``. An OwnedTensor is consumed."""
        code, bits = parse_dtype(dtype)
        self._require()
        own_bits = DTYPES.get(self.dtype, (0, 8))[1]
        if bits != own_bits:
            raise error(
                "ERR_OUT_OF_RANGE", f"dtype is {dtype!r}, {bits} bits; elements of {self.dtype} have {own_bits}"
            )
        exported = self._export(VERSIONED, None)
        library = binary()
        token = ctypes.create_string_buffer(TOKEN_SIZE)
        name = DLDataType(code, bits, 1)
        library.check(library.offer_as(exported, VERSIONED, name, self._token_kind, 0, token))
        return claim_text(token.value)

    def __enter__(self) -> _Claimed:
        self._require()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the memory back now. What consumers took stays theirs. Does nothing the second time."""
        try:
            self._held.pop()
        except IndexError:
            return
        self._closed = True

    def __repr__(self) -> str:
        state = "gone" if not self._held else "read-only" if self.read_only else "writable"
        return f"node_dlpack.{type(self).__name__}({self.dtype}, shape={self.shape}, {state})"

    def _require(self) -> _Held:
        try:
            return self._held[-1]
        except IndexError:
            raise self._gone() from None

    def _export(self, kind: int, copy: Optional[bool]) -> int:
        """The address of a managed tensor, which the caller owns."""
        raise NotImplementedError

    def _gone(self) -> Exception:
        """What to raise when nothing is held any more. Without close() it was handed on."""
        return disposed() if self._closed else consumed()


class Tensor(_Claimed):
    """A tensor that JavaScript shared. Others read the same memory, so consumers get it read-only; it exports any
    number of times. The memory lives as long as this object or anything that was made from it.

    Versioned (``max_version`` (1, 0) or later): no copy, READ_ONLY; ``copy=True``: fresh memory, IS_COPIED. Legacy:
    such a struct cannot say that it is read-only, so it comes over fresh memory, and ``copy=False`` is a BufferError.
    (What Python itself offered as writable, and claims again, has no flag and is only copied on demand.)
    """

    __slots__ = ()
    _token_kind = SHARED

    def _export(self, kind: int, copy: Optional[bool]) -> int:
        exported = export(self._require(), kind, copy)
        if kind == LEGACY and copy is None and self.read_only:
            _log.debug("%r was copied: a legacy struct cannot say that its memory is read-only", self)
        return exported

    def _gone(self) -> Exception:
        return disposed()  # it is never handed on


class OwnedTensor(_Claimed):
    """A tensor that JavaScript transferred. This object is the only owner of its memory, and hands it on once, whole:
    versioned with IS_COPIED, since sole ownership passes on (``copy=False``: without a flag), or legacy; never a copy.
    A request that cannot be met leaves it as it was.
    """

    __slots__ = ()
    _token_kind = TRANSFER

    def _export(self, kind: int, copy: Optional[bool]) -> int:
        try:
            held = self._held.pop()
        except IndexError:
            raise self._gone() from None
        try:
            exported = export(held, kind, copy)
        except BaseException:
            self._held.append(held)
            raise
        # The struct that was held ends here, so that the consumer is the only holder once it gets the new one.
        return exported


def claim(token: str) -> _Claimed:
    """Claims a token of JavaScript's, once: a ``Tensor`` for ``tensor.share()``, an ``OwnedTensor`` for
    ``owned.transfer()``.

    Raises TypeError when the token is no string, DLPackStateError (``ERR_DLPACK_TOKEN``) when it is unknown here, was
    claimed or revoked before, or has expired.
    """
    return claim_text(_encode(token, "claim"))


def revoke(token: str) -> None:
    """Gives up a token that nobody has claimed. Raises as ``claim`` does."""
    text = _encode(token, "revoke")
    library = binary()
    library.check(library.revoke(text))


def claim_text(token: bytes) -> _Claimed:
    """The same for a token's own bytes."""
    library = binary()
    managed = ctypes.c_void_p()
    library.check(library.claim(token, ctypes.byref(managed)))
    address = address_in(managed)
    held = _Held(address, library.python_capsule(address, _HELD))
    description = describe(address)
    made = object.__new__(OwnedTensor if description.flags & IS_COPIED else Tensor)
    made._description = description
    made._held = [held]
    made._closed = False
    return made


def _encode(token: object, operation: str) -> bytes:
    if not isinstance(token, str):
        raise type_error(f"{operation} was given {token!r}; a token is a str")
    text = token.encode("utf-8", "surrogatepass")
    # A zero would end the text early, and make another token of it.
    return b"" if b"\0" in text else text


def export(held: _Held, kind: int, copy: Optional[bool]) -> int:
    """The address of a fresh managed tensor over the memory of one that is held; the caller owns it."""
    library = binary()
    exported = ctypes.c_void_p()
    code = library.export(held.address, kind, _COPY[copy], ctypes.byref(exported))
    if code == ERROR_READ_ONLY:
        raise buffer_error(
            "a legacy struct (max_version None or (0, n)) cannot say that its memory is read-only, and copy=False "
            "forbids a copy. Ask for max_version (1, 0) or later, allow the copy (copy None or True), or transfer the "
            "tensor in JavaScript: tensor.intoDLPack().transfer()"
        )
    library.check(code)
    return address_in(exported)


def _name_cpu(exported: int, kind: int) -> None:
    """Pinned host memory, handed over as the CPU's. The struct is fresh and nobody else's yet."""
    struct = DLManagedTensorVersioned if kind == VERSIONED else DLManagedTensor
    device = struct.from_address(exported).dl_tensor.device
    device.device_type, device.device_id = CPU
