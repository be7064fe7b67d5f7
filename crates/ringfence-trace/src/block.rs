//! Checksummed blocks, the frames that a trace file is made of.

use std::io::{self, Read, Write};

/// What a block holds; the value is its code in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockKind {
    /// Metadata.
    Metadata = b'M',
    /// Accesses of the current job.
    Accesses = b'A',
    /// End of a job.
    JobEnd = b'J',
    /// End of the trace.
    TraceEnd = b'E',
}

/// Most bytes of a payload: bounds what a reader allocates for a damaged length.
pub const MAX_PAYLOAD_BYTES: usize = 8 << 20;

/// Kind, length and checksum.
pub const HEADER_BYTES: usize = 9;

impl BlockKind {
    fn from_code(code: u8) -> Option<Self> {
        [Self::Metadata, Self::Accesses, Self::JobEnd, Self::TraceEnd]
            .into_iter()
            .find(|kind| *kind as u8 == code)
    }
}

fn checksum(kind_and_length: &[u8], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(kind_and_length), payload)
}

/// Writes one block; `payload` is at most [`MAX_PAYLOAD_BYTES`] long.
pub fn write(out: &mut impl Write, kind: BlockKind, payload: &[u8]) -> io::Result<()> {
    assert!(payload.len() <= MAX_PAYLOAD_BYTES);
    let mut header = [0; HEADER_BYTES];
    header[0] = kind as u8;
    header[1..5].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    let checksum = checksum(&header[..5], payload);
    header[5..].copy_from_slice(&checksum.to_le_bytes());
    out.write_all(&header)?;
    out.write_all(payload)
}

/// Why a block could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    /// The stream failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The bytes are wrong.
    #[error("{0}")]
    Damaged(String),
}

/// Reads one block into `payload`, replacing its content.
pub fn read(input: &mut impl Read, payload: &mut Vec<u8>) -> Result<BlockKind, BlockError> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    fill(input, &mut header, HEADER_BYTES)?;
    let (kind_and_length, stored) = header.split_at(5);
    let length = little_endian_u32(&kind_and_length[1..]) as usize;
    let Some(kind) = BlockKind::from_code(header[0]) else {
        return damaged(format!("unknown block kind {:#04x}", header[0]));
    };
    if length > MAX_PAYLOAD_BYTES {
        return damaged(format!(
            "a block of {length} bytes, more than {MAX_PAYLOAD_BYTES}"
        ));
    }
    fill(input, payload, length)?;
    let (stored, computed) = (
        little_endian_u32(stored),
        checksum(kind_and_length, payload),
    );
    if stored != computed {
        return damaged(format!(
            "checksum {computed:#010x}, expected {stored:#010x}"
        ));
    }
    Ok(kind)
}

/// Replaces `buffer` by exactly `length` bytes. Grows with what arrives, not with what was promised.
fn fill(input: &mut impl Read, buffer: &mut Vec<u8>, length: usize) -> Result<(), BlockError> {
    buffer.clear();
    let found = input.take(length as u64).read_to_end(buffer)?;
    if found < length {
        return damaged(format!(
            "the file ends after {found} of {length} bytes (truncated)"
        ));
    }
    Ok(())
}

fn damaged<T>(reason: String) -> Result<T, BlockError> {
    Err(BlockError::Damaged(reason))
}

/// The first four bytes of `bytes`.
pub fn little_endian_u32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
