//! The photographs that the SUSAN program reads.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringfence_victims::pgm;

fuzz_target!(|bytes: &[u8]| {
    let _ = pgm::parse(bytes);
});
