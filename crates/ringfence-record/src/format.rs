//! How a record lies in a file, byte by byte.
//!
//! Integers outside payloads are little-endian. Payloads are
//! [postcard](https://postcard.jamesmunns.com/wire-format) encodings of
//! [`Header`](crate::event::Header) and [`Event`](crate::event::Event).
//!
//! ```text
//! record   = magic version frame(Header) frame(Event)* trailer
//! magic    = 89 52 46 52 0D 0A 1A 0A      8 bytes, see MAGIC
//! version  = u16                          see VERSION
//! frame    = length payload check
//! length   = u32                          bytes of payload, 1 to MAX_PAYLOAD_BYTES
//! payload  = length bytes                 postcard
//! check    = u32                          CRC-32C of length and payload
//! trailer  = 00 00 00 00 count check      ends every complete record
//! count    = u64                          event frames in the record
//! check    = u32                          CRC-32C of the zero length and count
//! ```
//!
//! The events form sections: `CaseBegin`, events of that case, `CaseEnd`.
//! A section says nothing about where in the file it lies, so sections that
//! were built apart are put behind each other as they are.
//!
//! The check covers the length as well, so that a run of zero bytes, which
//! file systems leave behind after a crash, is never a valid frame. Nothing in
//! a record depends on when it was written: equal events give equal bytes.
//!
//! Whoever changes a type in [`event`](crate::event) or [`accuracy`](crate::accuracy) changes the
//! format, and raises [`VERSION`].

use serde::Serialize;

use crate::writer::WriteError;

/// First bytes of every record. The first byte is no text and the line ends
/// break when a transfer rewrites them, as in a PNG signature (RFC 2083, 12.11).
pub const MAGIC: [u8; 8] = *b"\x89RFR\r\n\x1a\n";

/// Version of the format that this crate writes, and the only one it reads.
pub const VERSION: u16 = 8;

/// Longest payload of a frame. A reader allocates at most this for a frame,
/// and at most 64 times as much for the event decoded from it: the smallest
/// list element takes 2 bytes on the wire and 48 in memory, and a list that grows
/// holds at most as much again for a moment, beside the 1 MiB that serde
/// reserves ahead.
pub const MAX_PAYLOAD_BYTES: u32 = 1 << 20;

/// Bytes of a frame's length field.
pub(crate) const LENGTH_BYTES: usize = 4;

/// Bytes of a frame's check.
pub(crate) const CHECK_BYTES: usize = 4;

/// Appends one frame to `bytes`, which stays as it was on an error.
pub(crate) fn push_frame<T: Serialize>(bytes: &mut Vec<u8>, value: &T) -> Result<(), WriteError> {
    let start = bytes.len();
    let result = push_payload(bytes, value);
    if result.is_err() {
        bytes.truncate(start);
        return result;
    }
    let check = crc32c::crc32c(&bytes[start..]);
    bytes.extend(check.to_le_bytes());
    Ok(())
}

/// Appends length and payload to `bytes`; on an error, perhaps a part of them.
fn push_payload<T: Serialize>(bytes: &mut Vec<u8>, value: &T) -> Result<(), WriteError> {
    let start = bytes.len();
    bytes.extend([0; LENGTH_BYTES]);
    postcard::to_io(value, &mut *bytes)?;
    let payload_bytes = bytes.len() - start - LENGTH_BYTES;
    let length = u32::try_from(payload_bytes)
        .ok()
        .filter(|length| *length <= MAX_PAYLOAD_BYTES)
        .ok_or(WriteError::TooLong { payload_bytes })?;
    bytes[start..start + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// The bytes that end a record of `count` events.
pub(crate) fn trailer(count: u64) -> Vec<u8> {
    let mut bytes = vec![0; LENGTH_BYTES];
    bytes.extend(count.to_le_bytes());
    let check = crc32c::crc32c(&bytes);
    bytes.extend(check.to_le_bytes());
    bytes
}
