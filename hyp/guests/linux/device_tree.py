# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The device tree of a Linux guest, flattened (Devicetree Specification 0.4, chapter 5)."""

import struct

BEGIN_NODE, END_NODE, PROPERTY, END = 1, 2, 3, 9
MAGIC, VERSION, LAST_COMPATIBLE = 0xD00DFEED, 17, 16
HEADER_BYTES = 40
# Interrupt specifiers of the GIC: shared, private; level, active high.
SPI, PPI, LEVEL = 0, 1, 4
GIC = 1  # phandle


def cells(*values):
    return struct.pack(f">{len(values)}I", *values)


def wide(*values):
    """Values of two cells each, as addresses and sizes are."""
    return struct.pack(f">{len(values)}Q", *values)


def text(*values):
    return b"".join(value.encode() + b"\0" for value in values)


def padded(content):
    return content + b"\0" * (-len(content) % 4)


def flatten(root):
    """A tree of dicts: properties are bytes, nodes are dicts, by their name."""
    strings = bytearray()
    places = {}

    def name_at(name):
        if name not in places:
            places[name] = len(strings)
            strings.extend(name.encode() + b"\0")
        return places[name]

    def node(name, content):
        found = cells(BEGIN_NODE) + padded(name.encode() + b"\0")
        for key, value in content.items():
            if isinstance(value, bytes):
                found += cells(PROPERTY, len(value), name_at(key)) + padded(value)
        for key, value in content.items():
            if isinstance(value, dict):
                found += node(key, value)
        return found + cells(END_NODE)

    structure = node("", root) + cells(END)
    reservations = wide(0, 0)
    at_structure = HEADER_BYTES + len(reservations)
    at_strings = at_structure + len(structure)
    header = cells(
        MAGIC, at_strings + len(strings), at_structure, at_strings, HEADER_BYTES,
        VERSION, LAST_COMPATIBLE, 0, len(strings), len(structure),
    )
    return header + reservations + structure + bytes(strings)


def of_guest(*, gicv3, vcpus, memory, memory_bytes, initrd, initrd_bytes, arguments):
    """What a Linux guest of the hypervisor has; addresses are the guest's."""
    processors = {
        f"cpu@{n}": {
            "device_type": text("cpu"), "compatible": text("arm,armv8"), "reg": cells(n), "enable-method": text("psci"),
        }
        for n in range(vcpus)
    }
    if gicv3:
        gic, frames = "arm,gic-v3", wide(0x08000000, 0x10000, 0x080A0000, 0x20000 * vcpus)
    else:
        gic, frames = "arm,gic-400", wide(0x08000000, 0x1000, 0x08010000, 0x2000)
    return flatten({
        "#address-cells": cells(2), "#size-cells": cells(2), "interrupt-parent": cells(GIC),
        "compatible": text("ringfence,guest"), "model": text("ringfence guest"),
        "chosen": {
            "bootargs": text(arguments), "stdout-path": text("/serial@9000000"),
            "linux,initrd-start": wide(initrd), "linux,initrd-end": wide(initrd + initrd_bytes),
        },
        f"memory@{memory:x}": {"device_type": text("memory"), "reg": wide(memory, memory_bytes)},
        "cpus": {"#address-cells": cells(1), "#size-cells": cells(0)} | processors,
        "psci": {"compatible": text("arm,psci-1.0"), "method": text("hvc")},
        # Physical timer, secure and not; virtual; hypervisor's: the guest has the virtual one.
        "timer": {
            "compatible": text("arm,armv8-timer"), "always-on": b"",
            "interrupts": cells(*(word for ppi in (13, 14, 11, 10) for word in (PPI, ppi, LEVEL))),
        },
        "interrupt-controller@8000000": {
            "compatible": text(gic), "interrupt-controller": b"", "#interrupt-cells": cells(3),
            "reg": frames, "phandle": cells(GIC),
        },
        "serial@9000000": {
            "compatible": text("arm,sbsa-uart"), "reg": wide(0x09000000, 0x1000),
            "interrupts": cells(SPI, 1, LEVEL), "current-speed": cells(115200),
        },
    })
