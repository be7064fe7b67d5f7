# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
ARCH := armv8
GIC := gicv2
UART := pl011
FIRMWARE := raspberry-pi
# Where firmware puts 64 bit kernels: Raspberry Pi documentation, config.txt, `kernel_address`.
LINK_ADDRESS := 0x00200000
