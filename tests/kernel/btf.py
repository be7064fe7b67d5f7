# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""What a kernel's own type information (BTF) says about its sched_ext functions.

The format: Documentation/bpf/btf.rst of the Linux kernel.
"""

import struct
import subprocess

MAGIC = b"\x9f\xeb\x01\x00\x18\x00\x00\x00"  # little-endian, version 1, no flags, a header of 24 bytes
HEADER = struct.Struct("<8s4I")  # magic; offset and length of types, of strings
TYPE = struct.Struct("<3I")  # name; kind, vlen; size or type
KIND_FUNC, KIND_FUNC_PROTO = 12, 13
# Bytes that follow a type, by its kind: always, and for each of its vlen members.
FOLLOWING = {1: 4, 3: 12, 14: 4, 17: 4}
FOLLOWING_EACH = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}


class BtfError(Exception):
    """A kernel image or its type information is not as expected."""


def of_image(image):
    """The BTF in a kernel image: x86's bzImage, or an Image that is not compressed."""
    if image[0x202:0x206] == b"HdrS":
        image = bzimage_payload(image)
    start = image.find(MAGIC)
    while start >= 0:
        _, types, types_length, strings, strings_length = HEADER.unpack_from(image, start)
        # In a kernel the strings follow the types; the magic alone may be anywhere.
        if types == 0 and strings == types_length > 0:
            return image[start : start + HEADER.size + strings + strings_length]
        start = image.find(MAGIC, start + 1)
    raise BtfError("the kernel image holds no BTF")


def bzimage_payload(image):
    """The kernel inside a bzImage (Documentation/arch/x86/boot.rst)."""
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<2I", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    payload = image[start : start + length - 4]  # its last 4 bytes are the unpacked size
    if payload[:4] != b"\x28\xb5\x2f\xfd":
        raise BtfError(f"the kernel is compressed with something else than zstd (it starts with {payload[:4].hex()})")
    return subprocess.run(["zstd", "-dcq"], input=payload, stdout=subprocess.PIPE, check=True).stdout


def functions(btf):
    """Parameter names of every function, by the function's name."""
    _, types, types_length, strings, strings_length = HEADER.unpack_from(btf)
    names = btf[HEADER.size + strings : HEADER.size + strings + strings_length]

    def name_at(offset):
        return names[offset : names.index(b"\0", offset)].decode()

    number, at, end = 0, HEADER.size + types, HEADER.size + types + types_length
    found, prototypes = [], {}
    while at < end:
        number += 1
        name, information, reference = TYPE.unpack_from(btf, at)
        at += TYPE.size
        kind, vlen = information >> 24 & 0x1F, information & 0xFFFF
        if kind == KIND_FUNC:
            found.append((name, reference))
        elif kind == KIND_FUNC_PROTO:
            prototypes[number] = struct.unpack_from(f"<{2 * vlen}I", btf, at)[::2]
        at += FOLLOWING.get(kind, 0) + FOLLOWING_EACH.get(kind, 0) * vlen
    return {name_at(name): [name_at(parameter) for parameter in prototypes[prototype]] for name, prototype in found}


def sched_ext_functions(btf):
    """(all, unusable) names of the kernel functions that a sched_ext program may call.

    Since 7.1 many of them end in `aux`, which the kernel fills in by itself. Its build splits such
    a function in two: one without `aux`, which programs are checked against, and the whole one, named
    `..._impl`. Where that was left out, `aux` is still there, and every program that calls the
    function is refused. Debian's 7.1 and 7.2 for amd64 lack it for a third of the functions.
    """
    programs_call = {
        name: parameters
        for name, parameters in functions(btf).items()
        if name.startswith("scx_bpf_") and not name.endswith("_impl")
    }
    return sorted(programs_call), sorted(name for name, parameters in programs_call.items() if parameters[-1:] == ["aux"])
