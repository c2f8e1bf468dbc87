"""Machine code of a build's kernels, from the CUDA objects, without addresses and names.

A kernel's hash covers its instructions, the constants and shared memory that belong to it, and its
registers; which source file holds it, and what it is called, is left out.
"""

import hashlib
import json
import re
import struct
from collections import defaultdict
from pathlib import Path

ELF = b"\x7fELF"
GPU_MACHINE = 190
KERNEL = re.compile(r"\.text\.(.+)")
LENGTH = re.compile(r"\d+")
SECTION = struct.Struct("<IIQQQQIIQQ")
REGISTERS = 24  # the bits of sh_info from here on, of a .text section
NO_BITS = 8     # type of a section that takes no room in the file


def components(symbol):
    """("retensor", "flycoo", "pass") of a kernel's mangled name; anonymous namespaces left out."""
    at = symbol.find("_Z")
    names, i = [], at + 2
    if symbol[i:i + 1] == "N":
        i += 1
    while (match := LENGTH.match(symbol, i)):
        i = match.end() + int(match.group())
        name = symbol[match.end():i]
        if not name.startswith("_GLOBAL__N_"):
            names.append(name)
    return tuple(names)


def _sections(image):
    """(name, flags of the info word, bytes) of the sections of an ELF file of 64 bits."""
    offset, = struct.unpack_from("<Q", image, 40)
    size, count, names_at = struct.unpack_from("<HHH", image, 58)
    headers = [SECTION.unpack_from(image, offset + k * size) for k in range(count)]
    names = headers[names_at]
    for header in headers:
        start = names[4] + header[0]
        name = image[start:image.index(b"\0", start)].decode()
        content = b"" if header[1] == NO_BITS else image[header[4]:header[4] + header[5]]
        yield name, header[7], header[5], content


def kernels_of(image):
    """Kernel's name -> hash, of one cubin."""
    code, beside = {}, defaultdict(list)
    for name, info, size, content in _sections(image):
        if (match := KERNEL.fullmatch(name)):
            code[match.group(1)] = content + struct.pack("<I", info >> REGISTERS)
        elif (match := re.fullmatch(r"\.nv\.(constant[1-9]|shared)\.(.+)", name)):
            beside[match.group(2)].append((match.group(1), size, content))
    return {symbol: hashlib.sha256(
        repr((text, [part for part in sorted(beside[symbol])])).encode()).hexdigest()
        for symbol, text in code.items()}


def architecture_of(image):
    """90 for sm_90 and sm_90a; version 8 of NVIDIA's ELF files moved the number."""
    flags, = struct.unpack_from("<I", image, 48)
    return (flags >> 8 if image[8] >= 8 else flags) & 0xff


def images(content):
    """The ELF files for a GPU that an object embeds."""
    at = content.find(ELF, 1)
    while at >= 0:
        if struct.unpack_from("<H", content, at + 18)[0] == GPU_MACHINE:
            yield content[at:]
        at = content.find(ELF, at + 1)


def kernels_of_object(path):
    """[architecture, name, hash] of the kernels in a CUDA object."""
    return [[str(architecture_of(image)), symbol, digest]
            for image in images(Path(path).read_bytes())
            for symbol, digest in sorted(kernels_of(image).items())]


def kernels_of_build(objects, kept):
    """Object -> its kernels; the file `kept` holds those of the last time."""
    try:
        known = json.loads(Path(kept).read_text())
    except (OSError, ValueError):
        known = {}
    result = {}
    for path in objects:
        stamp = [path.stat().st_mtime_ns, path.stat().st_size]
        entry = known.get(str(path))
        result[str(path)] = (entry if entry and entry["stamp"] == stamp
                             else {"stamp": stamp, "kernels": kernels_of_object(path)})
    Path(kept).write_text(json.dumps(result))
    return {path: entry["kernels"] for path, entry in result.items()}


def digest(kernels, wanted):
    """Architecture -> hash over the kernels whose components are `wanted`, in any order."""
    by_architecture = defaultdict(list)
    for architecture, symbol, code in kernels:
        if components(symbol) in wanted:
            by_architecture[architecture].append(code)
    return {architecture: hashlib.sha256("".join(sorted(codes)).encode()).hexdigest()
            for architecture, codes in sorted(by_architecture.items())}
