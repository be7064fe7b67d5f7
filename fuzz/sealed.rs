//! Records whose checks are right, whatever they say: for the fuzzer and whoever replays what it
//! found.

use ringfence_record::format::{MAGIC, VERSION};

/// Of a frame's length, and of its check.
const FIELD_BYTES: usize = size_of::<u32>();

/// The frames in the bytes, as a record that a reader takes to be complete.
pub fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut record = [&MAGIC[..], &VERSION.to_le_bytes()].concat();
    let mut rest = bytes.get(record.len()..).unwrap_or_default();
    let mut frames = 0;
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 || length > behind.len() {
            break;
        }
        push(&mut record, &rest[..FIELD_BYTES + length]);
        frames += 1;
        rest = behind.get(length + FIELD_BYTES..).unwrap_or_default();
    }
    let events: u64 = frames.max(1) - 1;
    push(
        &mut record,
        &[&[0; FIELD_BYTES][..], &events.to_le_bytes()].concat(),
    );
    record
}

/// Appends bytes and their check.
fn push(record: &mut Vec<u8>, bytes: &[u8]) {
    record.extend(bytes);
    record.extend(crc32c::crc32c(bytes).to_le_bytes());
}
