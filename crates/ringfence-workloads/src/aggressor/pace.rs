//! A limit on bytes per second.

use crate::clock;

/// Time that passes between two looks at the clock at the wanted rate, in nanoseconds:
/// short beside the regulation periods that a limited aggressor is to be seen in.
const STEP_NS: u64 = 100_000;
/// Being late by more than this is not made up for.
const SLACK_NS: u64 = 1_000_000;

/// Sleeps so that no more bytes are moved than a rate allows.
#[derive(Debug)]
pub struct Pace {
    bytes_per_s: u64,
    /// When the bytes since then began to count.
    start_ns: u64,
    bytes: u64,
}

impl Pace {
    /// At most `bytes_per_s` from now on; positive.
    pub fn new(bytes_per_s: u64) -> Self {
        Self {
            bytes_per_s: bytes_per_s.max(1),
            start_ns: clock::now_ns(),
            bytes: 0,
        }
    }

    /// Bytes to move between two calls of [`Self::moved`].
    pub fn step_bytes(&self) -> u64 {
        let step = u128::from(self.bytes_per_s) * u128::from(STEP_NS) / 1_000_000_000;
        step as u64
    }

    /// Waits until the `bytes` that were just moved may have been.
    pub fn moved(&mut self, bytes: u64) {
        self.bytes += bytes;
        let due_ns = self.due_ns();
        let now_ns = clock::now_ns();
        if now_ns > due_ns + SLACK_NS {
            // A burst to catch up would be over the limit.
            (self.start_ns, self.bytes) = (now_ns, 0);
        } else {
            clock::sleep_until(due_ns);
        }
    }

    fn due_ns(&self) -> u64 {
        let ns = u128::from(self.bytes) * 1_000_000_000 / u128::from(self.bytes_per_s);
        self.start_ns
            .saturating_add(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the machine is loaded, a walk is never ahead of its rate.
    #[test]
    fn no_more_moves_than_the_rate_allows() {
        const RATE: u64 = 1_000_000;
        let start_ns = clock::now_ns();
        let mut pace = Pace::new(RATE);
        assert_eq!(pace.step_bytes(), 100);
        let mut moved = 0;
        for bytes in [100, 1, 0, 5000, 100, 100] {
            pace.moved(bytes);
            moved += bytes;
            let passed_ns = clock::now_ns() - start_ns;
            assert!(
                u128::from(moved) * 1000 <= u128::from(passed_ns),
                "{moved} in {passed_ns}"
            );
        }
    }
}
