"""What binaries of any platform export, ask for and carry, as JSON: one object for each file named."""

import json
import sys
from typing import Any, Dict, List

import lief

# It tells of every optional table that a binary does not have.
lief.logging.disable()


def elf(binary: Any) -> Dict[str, Any]:
    symbols = list(binary.dynamic_symbols)
    versions = [s.symbol_version.symbol_version_auxiliary for s in symbols if s.has_version]
    return {
        "machine": binary.header.machine_type.name,
        "exports": [s.name for s in symbols if s.is_function and s.exported],
        "data_exports": [s.name for s in symbols if not s.is_function and s.exported and s.name],
        "imports": [s.name for s in symbols if s.name and s.shndx == 0],
        "libraries": list(binary.libraries),
        "versions": sorted({v.name for v in versions if v is not None}),
        "debug_sections": [s.name for s in binary.sections if s.name.startswith((".debug", ".symtab", ".note.gnu.build"))],
    }


def macho(binary: Any) -> Dict[str, Any]:
    system = binary.build_version.minos if binary.has_build_version else binary.version_min.version
    return {
        "machine": binary.header.cpu_type.name,
        "exports": [s.name.removeprefix("_") for s in binary.exported_symbols],
        "data_exports": [],
        "imports": [s.name.removeprefix("_") for s in binary.imported_symbols],
        "libraries": [library.name for library in binary.libraries if library.command.name != "ID_DYLIB"],
        "install_name": [c.name for c in binary.commands if c.command.name == "ID_DYLIB"],
        "versions": [".".join(str(part) for part in system)],
        "signed": binary.has_code_signature,
        "debug_sections": [],
    }


def pe(binary: Any) -> Dict[str, Any]:
    return {
        "machine": binary.header.machine.name,
        "exports": [e.name for e in binary.get_export().entries],
        "data_exports": [],
        "imports": [entry.name for library in binary.imports for entry in library.entries],
        "libraries": [library.name for library in binary.imports],
        "versions": [],
        "timestamp": binary.header.time_date_stamps,
        "debug_sections": [s.name for s in binary.sections if s.name.startswith(".debug")],
    }


def inspect(path: str) -> Dict[str, Any]:
    binary: Any = lief.parse(path)
    if isinstance(binary, lief.ELF.Binary):
        return {"format": "ELF", **elf(binary)}
    if isinstance(binary, lief.PE.Binary):
        return {"format": "PE", **pe(binary)}
    return {"format": "Mach-O", **macho(binary)}


def main(paths: List[str]) -> None:
    json.dump({path: inspect(path) for path in paths}, sys.stdout)


main(sys.argv[1:])
