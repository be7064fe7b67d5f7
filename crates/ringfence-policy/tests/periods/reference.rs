//! Periods in the plainest way: the list of all that have begun or will, one by one.

use std::iter::successors;

use ringfence_policy::periods::{Period, PeriodsError};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    /// From which time on periods have which length, the latest last.
    lengths: Vec<(u64, u64)>,
}

impl Reference {
    pub fn new(length_ns: u64) -> Self {
        Self {
            lengths: vec![(0, length_ns)],
        }
    }

    fn length_at(&self, begin_ns: u64) -> u64 {
        let mut known = self.lengths.iter().rev();
        known.find(|&&(from_ns, _)| from_ns <= begin_ns).unwrap().1
    }

    fn period(&self, number: u64, begin_ns: u64) -> Period {
        Period {
            number,
            begin_ns,
            end_ns: begin_ns + self.length_at(begin_ns),
        }
    }

    pub fn at(&self, now_ns: u64) -> Period {
        let next = |before: &Period| Some(self.period(before.number + 1, before.end_ns));
        successors(Some(self.period(0, 0)), next)
            .find(|period| now_ns < period.end_ns)
            .unwrap()
    }

    pub fn change(&mut self, now_ns: u64, length_ns: u64) -> Result<Period, PeriodsError> {
        if !(1000..=1_000_000_000).contains(&length_ns) {
            return Err(PeriodsError::BadLength);
        }
        if self.lengths.last().unwrap().0 > now_ns {
            return Err(PeriodsError::Pending);
        }
        let now = self.at(now_ns);
        self.lengths.push((now.end_ns, length_ns));
        Ok(self.period(now.number + 1, now.end_ns))
    }
}
