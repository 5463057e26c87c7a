"""What a consumer may ask of ``__dlpack__``, checked: the array API standard's words, node-dlpack's errors."""

from __future__ import annotations

import operator
from typing import NamedTuple, Optional, Tuple

from ._errors import buffer_error, error, type_error
from ._structs import CPU, DTYPES, HOST_READABLE


class Request(NamedTuple):
    versioned: bool
    """Does the consumer understand the versioned struct?"""
    copy: Optional[bool]
    device: Optional[Tuple[int, int]]


def parse_request(stream: object, max_version: object, dl_device: object, copy: object) -> Request:
    """Raises TypeError for a malformed option, ValueError for a stream."""
    if stream is not None:
        raise error("ERR_OUT_OF_RANGE", f"stream is {stream!r}; it must be None: host memory has no streams")
    return Request(
        versioned=_parse_max_version(max_version),
        copy=parse_copy(copy),
        device=None if dl_device is None else parse_device(dl_device, "dl_device"),
    )


def parse_copy(copy: object) -> Optional[bool]:
    if copy is None or isinstance(copy, bool):
        return copy
    raise type_error(f"copy is {copy!r}; it must be True, False or None")


def parse_device(value: object, field: str) -> Tuple[int, int]:
    pair = _pair(value)
    if pair is None or not all(-(2**31) <= number < 2**31 for number in pair):
        raise type_error(
            f"{field} is {value!r}; it must be (device type, device id), two integers, such as (1, 0) for the CPU"
        )
    return pair


def parse_dtype(dtype: object) -> Tuple[int, int]:
    """Type code and bits of a name."""
    known = DTYPES.get(dtype) if isinstance(dtype, str) else None
    if known is None:
        raise type_error(f"dtype is {dtype!r}; it must be one of {', '.join(DTYPES)}")
    return known


def must_name_cpu(request: Request, own: Tuple[int, int]) -> bool:
    """Was ``dl_device`` (1, 0) asked of pinned host memory, whose struct must then say so?"""
    if request.device is None or request.device == own:
        return False
    if request.device == CPU and own[0] in HOST_READABLE:
        return True
    others = f"None, {own} or {CPU}" if own[0] in HOST_READABLE and own != CPU else f"None or {own}"
    raise buffer_error(
        f"dl_device is {request.device}; the tensor is on {own} and cannot be brought elsewhere. Use {others}"
    )


def _parse_max_version(version: object) -> bool:
    if version is None:
        return False
    pair = _pair(version)
    if pair is None or min(pair) < 0:
        raise type_error(
            f"max_version is {version!r}; it must be None or (major, minor), two integers >= 0, such as (1, 3)"
        )
    # The same major is enough; a consumer that knows 2 knows how to refuse 1.
    return pair[0] >= 1


def _pair(value: object) -> Optional[Tuple[int, int]]:
    """Two integers, or what stands for them, such as members of an enumeration."""
    if not isinstance(value, (tuple, list)) or len(value) != 2 or any(isinstance(number, bool) for number in value):
        return None
    try:
        return operator.index(value[0]), operator.index(value[1])
    except TypeError:
        return None
