//! The record format against arbitrary events and against damage at every byte.

mod damage;
mod random;
mod sample;
mod writer;

use ringfence_record::read_all;

use sample::{record, sample_events};

/// The sample as this version of the format wrote it. When this differs, a type
/// in event.rs has changed: raise `VERSION`, write the new bytes with
/// `UPDATE=1 cargo test`, and remove the old ones.
#[test]
fn the_format_stays_what_it_is() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let path = format!(
        "{folder}/format-{}.record",
        ringfence_record::format::VERSION
    );
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, record(&sample_events())).unwrap();
    }
    let kept = std::fs::read(path).unwrap();
    assert!(record(&sample_events()) == kept);
    assert_eq!(read_all(&kept).0, sample_events());
}
