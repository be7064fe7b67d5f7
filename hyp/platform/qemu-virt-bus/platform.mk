# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
ARCH := armv8
GIC := gicv3
COUNTER := monitor
UART := pl011
FIRMWARE := psci
# Behind the device tree that QEMU puts at the start of the memory.
LINK_ADDRESS := 0x40200000
