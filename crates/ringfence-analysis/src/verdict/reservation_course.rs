//! Which reservation a VM has at which time, and which periods.

use crate::case::CaseRun;

/// One reservation of a VM, until the next one.
#[derive(Debug)]
pub(super) struct InForce {
    /// From when on; 0 for the first.
    pub(super) from_ns: u64,
    /// Length of its periods, which lie back to back from there; not 0.
    pub(super) period_ns: u64,
    /// Bytes a period of each vCPU.
    pub(super) shares_bytes: Vec<u64>,
    /// Periods before.
    first: u64,
}

impl InForce {
    /// Bytes a second of all vCPUs together, rounded up.
    pub(super) fn bytes_per_second(&self) -> u128 {
        let bytes: u128 = self
            .shares_bytes
            .iter()
            .map(|&share| u128::from(share))
            .sum();
        (bytes * 1_000_000_000).div_ceil(u128::from(self.period_ns))
    }

    fn periods_until(&self, time_ns: u64) -> u64 {
        self.first + (time_ns - self.from_ns).div_ceil(self.period_ns)
    }
}

/// A period of a VM.
#[derive(Debug, Clone, Copy)]
pub(super) struct Period {
    /// Counted from 1.
    pub(super) number: u64,
    pub(super) begin_ns: u64,
    pub(super) length_ns: u64,
}

/// All reservations of a VM, in their order.
#[derive(Debug)]
pub(super) struct ReservationCourse(Vec<InForce>);

impl ReservationCourse {
    /// Of the VM with this index among the reservations that the case claims.
    pub(super) fn of(run: &CaseRun, number: usize) -> Self {
        let claim = &run.case.claims.reservations[number];
        let mut course = vec![InForce {
            from_ns: 0,
            period_ns: claim.period_ns,
            shares_bytes: claim.shares.iter().map(|share| share.bytes).collect(),
            first: 0,
        }];
        for change in &run.changes[number] {
            let first = course
                .last()
                .map_or(0, |last| last.periods_until(change.from_ns));
            course.push(InForce {
                from_ns: change.from_ns,
                period_ns: change.period_ns,
                shares_bytes: change.shares_bytes.clone(),
                first,
            });
        }
        Self(course)
    }

    /// The reservation that a time belongs to; one that begins then counts.
    pub(super) fn at(&self, time_ns: u64) -> &InForce {
        let behind = self.0.partition_point(|it| it.from_ns <= time_ns);
        &self.0[behind - 1]
    }

    /// Each reservation but the first, behind the one that it replaces.
    pub(super) fn changes(&self) -> impl Iterator<Item = (&InForce, &InForce)> {
        self.0.windows(2).map(|pair| (&pair[0], &pair[1]))
    }

    /// Whether a period begins then.
    pub(super) fn is_begin(&self, time_ns: u64) -> bool {
        let it = self.at(time_ns);
        (time_ns - it.from_ns).is_multiple_of(it.period_ns)
    }

    /// The period that ends then, or that a time belongs to that is no end; the reservation
    /// that it is of. A time that is not 0.
    pub(super) fn ending(&self, time_ns: u64) -> (Period, &InForce) {
        let it = self.at(time_ns - 1);
        let number = it.periods_until(time_ns);
        let period = Period {
            number,
            begin_ns: it.from_ns + (number - 1 - it.first) * it.period_ns,
            length_ns: it.period_ns,
        };
        (period, it)
    }

    /// Periods that begin before a time.
    pub(super) fn periods_until(&self, time_ns: u64) -> u64 {
        match time_ns {
            0 => 0,
            _ => self.ending(time_ns).0.number,
        }
    }
}
