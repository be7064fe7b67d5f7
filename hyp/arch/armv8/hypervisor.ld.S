/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Code, constants and data in pages of their own, so that each has its own rights. */
ENTRY(_start)
SECTIONS
{
    . = LINK_ADDRESS;
    image_start = .;
    .text : { *(.text.boot) *(.text.vectors) *(.text .text.*) }
    . = ALIGN(4096);
    image_constants = .;
    .rodata : { *(.rodata .rodata.*) }
    . = ALIGN(4096);
    image_data = .;
    .data : { *(.data .data.*) }
    . = ALIGN(4096);
    bss_start = .;
    .bss : { *(.bss .bss.*) *(COMMON) }
    . = ALIGN(4096);
    bss_end = .;
    /* Nobody clears it: what is in it is written, with the caches on, before it is read. */
    .noinit (NOLOAD) : { *(.noinit) }
    . = ALIGN(4096);
    image_end = .;
    image_size = image_end - image_start;
    /DISCARD/ : { *(.comment) *(.note*) *(.eh_frame*) }
}
