# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""
The RAM of a machine as a file: what is put in before it boots, and what is in it afterwards.

It knows pages, and nothing of the hypervisor: neither its tables nor its configuration.
"""

import mmap
import os
import struct

PAGE_BYTES = 4096
# As hyp/guests/painter has it: the number of who wrote a word, above its guest address.
NUMBER_SHIFT = 48


class Memory:
    """1 GiB from 0x40000000, as QEMU's `virt` has it; a file with holes where nothing was written."""

    start = 0x40000000
    size = 1 << 30

    def __init__(self, folder):
        self.path = f"{folder}/memory"
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        os.ftruncate(self.file, self.size)

    def close(self):
        os.close(self.file)

    def arguments(self):
        backend = f"memory-backend-file,id=ram,size={self.size},share=on,mem-path={self.path}"
        return ["-object", backend, "-machine", "memory-backend=ram"]

    def write(self, address, contents):
        os.pwrite(self.file, contents, address - self.start)

    def pages(self):
        """Address and contents of each page that is not a hole."""
        at = 0
        while True:
            try:
                at = os.lseek(self.file, at, os.SEEK_DATA)
            except OSError:
                return
            end = os.lseek(self.file, at, os.SEEK_HOLE)
            at -= at % PAGE_BYTES
            with mmap.mmap(self.file, self.size, prot=mmap.PROT_READ) as whole:
                for page in range(at, end, PAGE_BYTES):
                    yield self.start + page, whole[page : page + PAGE_BYTES]
            at = end


def painted(page):
    """Who has painted a page, and at which address of its own; none if it is not whole, or nobody has."""
    words = struct.unpack(f"<{PAGE_BYTES // 8}Q", page)
    who, where = words[0] >> NUMBER_SHIFT, words[0] & ((1 << NUMBER_SHIFT) - 1)
    is_whole = all(word == words[0] + 8 * place for place, word in enumerate(words))
    return (who, where) if is_whole and who and where % PAGE_BYTES == 0 else None


def pages_of(colours, address, size, of=16):
    """Addresses of the pages of some colours, from an address on, so many that they are `size` bytes."""
    pages = []
    while len(pages) < size // PAGE_BYTES:
        if address // PAGE_BYTES % of in colours:
            pages.append(address)
        address += PAGE_BYTES
    return pages
