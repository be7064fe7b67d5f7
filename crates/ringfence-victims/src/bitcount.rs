//! Counts the ones of a series of numbers, each number in several ways.
//!
//! It computes nearly without memory: the opposite of what memory contention hurts.

use std::hint::black_box;

/// A way to count the ones of a number.
pub type Method = fn(u32) -> u32;

/// The ways and their names.
pub const METHODS: [(&str, Method); 6] = [
    ("shift", by_shift),
    ("lowest", by_lowest_one),
    ("nibbles", by_nibbles),
    ("bytes", by_bytes),
    ("fields", by_fields),
    ("count_ones", by_count_ones),
];

/// From a number of the series to the next: 2^32 over the golden ratio, odd.
/// All 2^32 numbers come, and near ones are far apart (Knuth, "The Art of
/// Computer Programming", volume 3, section 6.4).
const STEP: u32 = 0x9e37_79b9;

/// Counts, again and again.
#[derive(Debug)]
pub struct BitCount {
    numbers: u32,
    ones: [u64; METHODS.len()],
}

impl BitCount {
    /// For a series of this many numbers.
    pub fn new(numbers: u32) -> Self {
        Self {
            numbers,
            ones: [0; METHODS.len()],
        }
    }

    /// Counts the ones of the whole series by each method.
    pub fn count(&mut self) {
        for ((_, method), ones) in METHODS.iter().zip(&mut self.ones) {
            // Called through a pointer: the compiler must not melt the methods into this loop.
            let method = black_box(*method);
            *ones = series(self.numbers).map(|n| u64::from(method(n))).sum();
        }
    }

    /// The ones that each of [`METHODS`] counted.
    pub fn ones(&self) -> [u64; METHODS.len()] {
        self.ones
    }
}

/// The first numbers of the series.
pub fn series(numbers: u32) -> impl Iterator<Item = u32> {
    (0..numbers).map(|index| index.wrapping_mul(STEP))
}

/// Looks at one bit after the other.
fn by_shift(mut number: u32) -> u32 {
    let mut ones = 0;
    while number != 0 {
        ones += number & 1;
        number >>= 1;
    }
    ones
}

/// Clears the lowest one until none is left (P. Wegner, Communications of the
/// ACM 3(5), 1960; best known from Kernighan and Ritchie).
fn by_lowest_one(mut number: u32) -> u32 {
    let mut ones = 0;
    while number != 0 {
        number &= number - 1;
        ones += 1;
    }
    ones
}

/// Ones of each number of four bits.
static NIBBLES: [u8; 16] = [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4];

/// Ones of each byte.
static BYTES: [u8; 256] = {
    let mut ones = [0; 256];
    let mut byte = 0;
    while byte < ones.len() {
        ones[byte] = NIBBLES[byte >> 4] + NIBBLES[byte & 15];
        byte += 1;
    }
    ones
};

/// Looks each four bits up.
fn by_nibbles(mut number: u32) -> u32 {
    let mut ones = 0;
    while number != 0 {
        ones += u32::from(NIBBLES[(number & 15) as usize]);
        number >>= 4;
    }
    ones
}

/// Looks each byte up.
fn by_bytes(number: u32) -> u32 {
    let ones = |byte: u8| u32::from(BYTES[usize::from(byte)]);
    number.to_le_bytes().into_iter().map(ones).sum()
}

/// Adds neighbouring fields of 1, 2, 4, 8 and 16 bits, all at once (Warren,
/// "Hacker's Delight", section 5-1).
fn by_fields(number: u32) -> u32 {
    let pairs = (number & 0x5555_5555) + ((number >> 1) & 0x5555_5555);
    let nibbles = (pairs & 0x3333_3333) + ((pairs >> 2) & 0x3333_3333);
    let bytes = (nibbles & 0x0f0f_0f0f) + ((nibbles >> 4) & 0x0f0f_0f0f);
    let halves = (bytes & 0x00ff_00ff) + ((bytes >> 8) & 0x00ff_00ff);
    (halves & 0xffff) + (halves >> 16)
}

/// Asks the compiler: one instruction where the processor is known to have it.
fn by_count_ones(number: u32) -> u32 {
    number.count_ones()
}
