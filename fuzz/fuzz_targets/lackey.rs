//! The lines that the trace recorder reads from valgrind.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringfence_trace::lackey;

fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|byte| *byte == b'\n') {
        let _ = lackey::parse_line(line);
    }
});
