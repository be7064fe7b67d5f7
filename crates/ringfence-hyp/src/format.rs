//! What an image is written as.

use crate::HypError;
use crate::board::Board;

/// ELF (System V ABI, chapter 4 and 5): an executable for AArch64 (machine 183), of 64 bits.
const ELF_IDENT: [u8; 16] = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0";
const ELF_HEADER_BYTES: usize = 64;
const ELF_SEGMENT_BYTES: usize = 56;
const ELF_ALIGNMENT: u64 = 4096;
/// 0xffff stands for a number elsewhere.
const ELF_SEGMENTS_MAX: usize = 0xfffe;

/// Header of a raw image, in which boot.S has all but how long it is with its guests (Linux,
/// Documentation/arch/arm64/booting.rst): where that is, in bytes.
const RAW_SIZE_AT: usize = 16;
const RAW_HEADER_BYTES: usize = 64;

/// How an image is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Segments with their addresses, for QEMU and debuggers.
    Elf,
    /// The bytes of memory from the hypervisor on, for boot loaders that take a Linux kernel.
    Raw,
}

/// The memory from the hypervisor on, with these segments: address and bytes.
///
/// # Errors
/// There is memory in between that is not the board's to give: a boot loader would write there.
pub(crate) fn raw(board: &Board, segments: &[(u64, Vec<u8>)]) -> Result<Vec<u8>, HypError> {
    let ram = board.ram.iter().find(|ram| ram.contains(&board.link));
    let ram_end = ram.map_or(board.link, |ram| ram.end);
    let mut image = Vec::new();
    for (address, bytes) in segments {
        let end = address + bytes.len() as u64;
        if *address < board.link || end > ram_end {
            return Err(HypError::Failed(format!(
                "a raw image is one piece of memory, on {} from {:#x} to {ram_end:#x} at most, but what \
                 a VM boots is at {address:#x}; give the VM an address there, or use --format elf",
                board.name, board.link
            )));
        }
        let (from, to) = ((address - board.link) as usize, (end - board.link) as usize);
        image.resize(image.len().max(to).max(RAW_HEADER_BYTES), 0);
        image[from..to].copy_from_slice(bytes);
    }
    let size = image.len() as u64;
    image[RAW_SIZE_AT..][..8].copy_from_slice(&size.to_le_bytes());
    Ok(image)
}

/// An ELF file with these segments: address and bytes.
///
/// # Errors
/// There are more than it can number.
pub(crate) fn elf(entry: u64, segments: &[(u64, Vec<u8>)]) -> Result<Vec<u8>, HypError> {
    if segments.len() > ELF_SEGMENTS_MAX {
        return Err(HypError::Failed(format!(
            "an ELF file has at most {ELF_SEGMENTS_MAX} segments, but what the VMs boot is in {} pieces; give \
             them colours that are next to each other, or use --format raw",
            segments.len()
        )));
    }
    let mut file = ELF_IDENT.to_vec();
    // e_type: executable; e_machine: AArch64.
    file.extend([2, 0, 183, 0]);
    file.extend(1_u32.to_le_bytes());
    file.extend(entry.to_le_bytes());
    file.extend((ELF_HEADER_BYTES as u64).to_le_bytes());
    // No sections, no flags.
    file.extend([0; 12]);
    for half in [
        ELF_HEADER_BYTES,
        ELF_SEGMENT_BYTES,
        segments.len(),
        64,
        0,
        0,
    ] {
        file.extend((half as u16).to_le_bytes());
    }
    let mut offset = (ELF_HEADER_BYTES + segments.len() * ELF_SEGMENT_BYTES) as u64;
    for (address, bytes) in segments {
        offset = offset.next_multiple_of(ELF_ALIGNMENT);
        let size = bytes.len() as u64;
        // p_type: loaded; p_flags: all rights, as there is nobody yet to keep them.
        file.extend(1_u32.to_le_bytes());
        file.extend(7_u32.to_le_bytes());
        for word in [offset, *address, *address, size, size, ELF_ALIGNMENT] {
            file.extend(word.to_le_bytes());
        }
        offset += size;
    }
    for (_, bytes) in segments {
        file.resize(file.len().next_multiple_of(ELF_ALIGNMENT as usize), 0);
        file.extend(bytes);
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raw_image_is_the_memory_and_says_how_long_it_is() {
        let board = Board::named("zcu104").unwrap();
        let segments = [
            (board.link, vec![1; 100]),
            (board.link + 0x1000, vec![2; 3]),
        ];
        let image = raw(&board, &segments).unwrap();
        assert_eq!(image.len(), 0x1003);
        assert_eq!(image[RAW_SIZE_AT..][..8], 0x1003_u64.to_le_bytes());
        assert_eq!((image[99], image[100], image[0xfff]), (1, 0, 0));
        assert_eq!(image[0x1000..], [2; 3]);
    }

    #[test]
    fn an_elf_file_has_no_more_segments_than_it_can_number() {
        let segments = vec![(0x4020_0000, Vec::new()); ELF_SEGMENTS_MAX];
        let file = elf(0x4020_0000, &segments).unwrap();
        assert_eq!(file[56..58], 0xfffe_u16.to_le_bytes());
        let more = [segments, vec![(0x4020_0000, vec![1])]].concat();
        let error = elf(0x4020_0000, &more).unwrap_err();
        assert!(error.to_string().contains("in 65535 pieces"), "{error}");
    }

    #[test]
    fn a_raw_image_is_not_written_over_what_is_not_ours() {
        let board = Board::named("raspberry-pi-4").unwrap();
        let hypervisor = (board.link, vec![0; 100]);
        for address in [0x4000_0000, 0x3b3f_ffff] {
            let error = raw(&board, &[hypervisor.clone(), (address, vec![0; 2])]).unwrap_err();
            let said = format!(
                "from 0x200000 to 0x3b400000 at most, but what a VM boots is at {address:#x}"
            );
            assert!(error.to_string().contains(&said), "{error}");
        }
        raw(&board, &[hypervisor, (0x3b3f_fffe, vec![0; 2])]).unwrap();
    }
}
