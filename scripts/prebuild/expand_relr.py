"""Makes a 64-bit library for musl load with a loader that knows no DT_RELR.

That short form of relative relocations is newer than Debian's musl, which passes over it without a word, and the
library then jumps to addresses that nobody moved. Here they are written out in the long form, at the end of the file, in a
segment whose header takes the place of a note's.

    expand_relr.py FROM TO
"""

import struct
import sys
from typing import Dict, List

PT_LOAD, PT_DYNAMIC, PT_NOTE = 1, 2, 4
DT_RELA, DT_RELASZ, DT_RELACOUNT, DT_RELRSZ, DT_RELR, DT_RELRENT = 7, 8, 0x6FFFFFF9, 35, 36, 37
RELATIVE = {62: 8, 183: 1027}
PAGE = 0x10000


def expand(data: bytearray) -> bytearray:
    machine = struct.unpack_from("<H", data, 18)[0]
    first, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    headers = [first + i * size for i in range(count)]
    kind = {at: struct.unpack_from("<I", data, at)[0] for at in headers}

    def offset_of(address: int) -> int:
        for at in headers:
            offset, start, _, length = struct.unpack_from("<QQQQ", data, at + 8)
            if kind[at] == PT_LOAD and start <= address < start + length:
                return int(address - start + offset)
        raise ValueError(f"no segment holds {address:#x}")

    dynamic = next(at for at in headers if kind[at] == PT_DYNAMIC)
    at = struct.unpack_from("<Q", data, dynamic + 8)[0]
    entries: Dict[int, int] = {}
    while True:
        tag = struct.unpack_from("<q", data, at)[0]
        if tag == 0:
            break
        entries[tag] = at + 8
        at += 16
    if DT_RELR not in entries:
        return data

    def value(tag: int) -> int:
        return int(struct.unpack_from("<Q", data, entries[tag])[0]) if tag in entries else 0

    # An even word is an address; an odd one is a map of which of the next 63 words are meant as well.
    places: List[int] = []
    where = 0
    start = offset_of(value(DT_RELR))
    for (word,) in struct.iter_unpack("<Q", data[start : start + value(DT_RELRSZ)]):
        if word & 1 == 0:
            places.append(word)
            where = word + 8
        else:
            places += [where + 8 * bit for bit in range(63) if word >> (bit + 1) & 1]
            where += 8 * 63
    old = offset_of(value(DT_RELA))
    table = bytearray()
    for place in places:
        addend = struct.unpack_from("<q", data, offset_of(place))[0]
        table += struct.pack("<QQq", place, RELATIVE[machine], addend)
    table += data[old : old + value(DT_RELASZ)]

    top = max(sum(struct.unpack_from("<Q", data, h + o)[0] for o in (16, 40)) for h in headers if kind[h] == PT_LOAD)
    data += bytes(-len(data) % PAGE)
    offset = len(data)
    address = (top + PAGE - 1) // PAGE * PAGE
    data += table
    note = next(at for at in headers if kind[at] == PT_NOTE)
    struct.pack_into("<IIQQQQQQ", data, note, PT_LOAD, 4, offset, address, address, len(table), len(table), PAGE)
    struct.pack_into("<Q", data, entries[DT_RELA], address)
    struct.pack_into("<Q", data, entries[DT_RELASZ], len(table))
    for tag in (DT_RELR, DT_RELRSZ, DT_RELRENT, DT_RELACOUNT):
        if tag in entries:
            struct.pack_into("<qQ", data, entries[tag] - 8, 0x6FFFFEF5 + 0x100000, 0)
    return data


def main(source: str, target: str) -> None:
    with open(source, "rb") as file:
        data = bytearray(file.read())
    with open(target, "wb") as file:
        file.write(expand(data))


main(sys.argv[1], sys.argv[2])
