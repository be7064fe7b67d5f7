# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
ARCH := armv8
GIC := gicv2
UART := cadence
# Trusted Firmware-A, in on-chip memory.
FIRMWARE := psci
LINK_ADDRESS := 0x00200000
