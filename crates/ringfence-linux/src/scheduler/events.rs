//! What the scheduler says that it did (bpf/events.h).

use crate::ring::field;

/// One thing that the scheduler did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When, on CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// The order of what was decided; times may be in another one. 0 if nothing was.
    pub sequence: u64,
    /// What.
    pub what: What,
}

/// What the scheduler did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The gang of this priority runs in a partition from now on; 0: none does.
    GangActive {
        /// Number of the partition.
        partition: u32,
        /// The priority.
        priority: u32,
    },
    /// Best-effort work of a CPU has used its budget up.
    Throttled {
        /// The CPU.
        cpu: u16,
    },
    /// Best-effort work of a CPU may go on.
    Unthrottled {
        /// The CPU.
        cpu: u16,
        /// Because no gang runs any more; otherwise because its budget was refilled.
        no_gang: bool,
    },
    /// What best-effort work of a CPU has used since the scheduler was loaded, in events.
    Used {
        /// The CPU.
        cpu: u16,
        /// Events of the counter of reads.
        reads: u64,
        /// Events of the counter of writes.
        writes: u64,
    },
}

/// A sample of the buffer; `None` if it is none of these.
pub(super) fn parse(bytes: &[u8]) -> Option<Event> {
    let number = |offset| Some(u64::from_ne_bytes(field(bytes, offset)?));
    let place = u32::from_ne_bytes(field(bytes, 12)?);
    let cpu = || u16::try_from(place).ok();
    let what = match u32::from_ne_bytes(field(bytes, 8)?) {
        1 => What::GangActive {
            partition: place,
            priority: number(16)?.try_into().ok()?,
        },
        2 => What::Throttled { cpu: cpu()? },
        3 => What::Unthrottled {
            cpu: cpu()?,
            no_gang: number(16)? > 0,
        },
        4 => What::Used {
            cpu: cpu()?,
            reads: number(16)?,
            writes: number(24)?,
        },
        _ => return None,
    };
    Some(Event {
        time_ns: number(0)?,
        sequence: number(32)?,
        what,
    })
}
