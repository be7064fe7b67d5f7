//! Work of a known number of core cycles.

use std::time::Instant;

use crate::statistics::Spread;

/// Additions of a chain in one turn of the loop.
const CHAIN: u64 = 64;
/// Turns of a slice: about a millisecond at 3 GHz.
const TURNS: u64 = 50_000;

/// Clock of the core that runs this, in hertz: a chain of additions of registers, each of
/// which takes one cycle on every core of these architectures. `None` on others.
pub fn clock_hz(slices: usize) -> Option<Spread> {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return None;
    }
    chain(TURNS);
    let hertz = (0..slices).map(|_| {
        let start = Instant::now();
        chain(TURNS);
        (CHAIN * TURNS) as f64 / start.elapsed().as_secs_f64()
    });
    Some(Spread::of(hertz.collect()))
}

/// Nanoseconds of a turn of a loop that keeps the arithmetic units of a core busy: it
/// becomes slower when another thread uses them.
pub fn busy_units_ns() -> f64 {
    let start = Instant::now();
    wide(TURNS);
    start.elapsed().as_nanos() as f64 / TURNS as f64
}

/// The same additions over and over, each waiting for the one before it.
#[inline(never)]
fn chain(turns: u64) {
    let mut sum = 1_u64;
    for _ in 0..turns {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: adds a register to itself; no memory, no stack.
        unsafe {
            std::arch::asm!(".rept 64", "add {0}, {0}", ".endr", inout(reg) sum, options(pure, nomem, nostack));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: adds a register to itself; no memory, no stack.
        unsafe {
            std::arch::asm!(".rept 64", "add {0}, {0}, {0}", ".endr", inout(reg) sum, options(pure, nomem, nostack));
        }
    }
    std::hint::black_box(sum);
}

/// More independent work than a core has units for: xorshift generators (Marsaglia,
/// "Xorshift RNGs", Journal of Statistical Software 2003) side by side.
#[inline(never)]
fn wide(turns: u64) {
    let mut states: [u64; 8] = std::array::from_fn(|lane| lane as u64 + 1);
    for _ in 0..turns {
        for state in &mut states {
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
        }
    }
    std::hint::black_box(states);
}
