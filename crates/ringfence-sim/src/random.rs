//! The simulator's only source of randomness.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", OOPSLA 2014, Fig. 17): one `u64` of state, equidistributed.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Starts the sequence of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Starts the sequence that belongs to `name` under `seed`: it depends on
    /// nothing else that draws numbers under that seed.
    pub fn of(seed: u64, name: &str) -> Self {
        Self(
            name.bytes()
                .fold(seed, |state, byte| Self(state ^ u64::from(byte)).next_u64()),
        )
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, by the multiply-shift method; its bias is below `bound / 2^64`.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}
