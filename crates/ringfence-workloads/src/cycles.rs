//! Work of a known number of core cycles.

use std::time::Instant;

/// Additions of a chain in one turn of the loop.
const CHAIN: u64 = 64;
/// Turns of the other loop: some hundred microseconds.
const TURNS: u64 = 50_000;

/// Makes at least `additions` of registers, each of which waits for the one before it and
/// takes one cycle on every core of these architectures; how many it made. `None` on others.
pub fn additions(additions: u64) -> Option<u64> {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return None;
    }
    let turns = additions.div_ceil(CHAIN);
    chain(turns);
    Some(turns * CHAIN)
}

/// Keeps the core busy for about `cycles` cycles, as far as the architecture is known; on
/// others with as many additions.
pub fn spend(cycles: u64) {
    chain(cycles / CHAIN);
    let mut sum = 1_u64;
    for _ in 0..cycles % CHAIN {
        // Each waits for the one before it; the counting runs beside them.
        sum = after(sum);
    }
    std::hint::black_box(sum);
}

/// One addition that the compiler does not see through.
#[inline(always)]
fn after(mut sum: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: adds a register to itself; no memory, no stack.
    unsafe {
        std::arch::asm!("add {0}, {0}", inout(reg) sum, options(pure, nomem, nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: adds a register to itself; no memory, no stack.
    unsafe {
        std::arch::asm!("add {0}, {0}, {0}", inout(reg) sum, options(pure, nomem, nostack));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        sum = std::hint::black_box(sum.wrapping_add(sum));
    }
    sum
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
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        for _ in 0..CHAIN {
            sum = after(sum);
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
