//! Journals of changes to a machine: any bytes give changes, or are refused with a line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringfence_linux::changes::journal;

fuzz_target!(|bytes: &[u8]| {
    match journal::parse(bytes) {
        Ok(Some(contents)) => {
            for entry in contents.entries {
                let _ = entry.subject.describe(entry.after.as_ref(), &entry.before);
            }
        }
        Ok(None) => {}
        Err(error) => assert!(error.line >= 1),
    }
});
