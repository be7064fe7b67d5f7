//! What a reader says of damage, and what it reads before it.

use ringfence_record::{Reader, RecordError, read_all};

use crate::sample::{ends, record, sample_events};

#[test]
fn truncation_at_every_byte_keeps_all_events_before_it() {
    let events = sample_events();
    let bytes = record(&events);
    let ends = ends(&bytes);
    for cut in 0..bytes.len() {
        let (read, error) = read_all(&bytes[..cut]);
        let complete = ends.iter().filter(|end| **end <= cut as u64).count();
        assert_eq!(read, events[..complete], "cut at {cut}");
        let offset = match error {
            Some(RecordError::Truncated { offset, .. }) => offset,
            other => panic!("cut at {cut}: {other:?}"),
        };
        assert!(offset <= cut as u64);
        if complete > 0 {
            assert_eq!(offset, ends[complete - 1], "cut at {cut}");
        }
    }
}

#[test]
fn every_flipped_bit_is_found_and_all_events_before_it_are_read() {
    let events = sample_events();
    let bytes = record(&events);
    let ends = ends(&bytes);
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (read, error) = read_all(&damaged);
        let before = ends.iter().filter(|end| **end <= bit as u64 / 8).count();
        assert_eq!(read, events[..before], "bit {bit}");
        match (bit / 8, error.expect("the damage was not found")) {
            (0..8, RecordError::NotARecord) => {}
            (8..10, RecordError::Version { .. }) => {}
            (10.., RecordError::Corrupted { events, .. })
            | (10.., RecordError::Truncated { events, .. }) => assert_eq!(events, before as u64),
            (byte, error) => panic!("byte {byte}: {error}"),
        }
    }
}

#[test]
fn zeros_after_a_crash_are_damage_and_no_events() {
    let bytes = record(&sample_events());
    let end = ends(&bytes)[4] as usize;
    let mut zeroed = bytes[..end].to_vec();
    zeroed.extend([0; 4096]);
    let (events, error) = read_all(&zeroed);
    assert_eq!(events.len(), 5);
    assert!(matches!(error, Some(RecordError::Corrupted { .. })));
}

#[test]
fn a_lost_frame_is_missed_at_the_end() {
    let bytes = record(&sample_events());
    let ends = ends(&bytes);
    let mut without = bytes[..ends[3] as usize].to_vec();
    without.extend(&bytes[ends[4] as usize..]);
    let (events, error) = read_all(&without);
    assert_eq!(events.len(), sample_events().len() - 1);
    let text = error.unwrap().to_string();
    assert!(
        text.contains("had 24 events when it was written, but 23 are here"),
        "{text}"
    );
}

#[test]
fn a_section_that_another_one_follows_has_no_end() {
    let events = sample_events();
    let bytes = record(&events);
    let ends = ends(&bytes);
    // Cut out the first case's CaseEnd.
    let mut without = bytes[..ends[0] as usize].to_vec();
    without.extend(&bytes[ends[1] as usize..]);
    let (read, error) = read_all(&without);
    assert_eq!(read, events[..1]);
    assert!(matches!(
        error,
        Some(RecordError::SectionWithoutEnd { ref case, events_in_case: 1, offset })
            if case == "solo" && offset == ends[0]
    ));
}

#[test]
fn other_files_and_other_versions_are_told_apart() {
    assert!(matches!(
        read_all(b"{\"a\": 1}").1,
        Some(RecordError::NotARecord)
    ));
    assert!(matches!(read_all(b"PK").1, Some(RecordError::NotARecord)));
    let mut newer = record(&sample_events());
    newer[8] = 9;
    let text = read_all(&newer).1.unwrap().to_string();
    assert_eq!(
        text,
        "this record has format version 9, but this ringfence reads version 8; read it with a newer ringfence"
    );
}

#[test]
fn a_length_beyond_the_bound_is_damage() {
    let mut bytes = record(&sample_events());
    let end = ends(&bytes)[2] as usize;
    bytes[end..end + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let text = read_all(&bytes).1.unwrap().to_string();
    assert!(
        text.contains("a frame of 4294967295 bytes, but frames have at most 1048576"),
        "{text}"
    );
}

#[test]
fn reading_on_after_an_error_gives_nothing() {
    let mut bytes = record(&sample_events());
    let end = ends(&bytes)[2] as usize;
    bytes[end + 5] ^= 1;
    let mut reader = Reader::new(&bytes[..]).unwrap();
    assert_eq!(reader.by_ref().filter(|event| event.is_err()).count(), 1);
    assert!(reader.next().is_none());
}
