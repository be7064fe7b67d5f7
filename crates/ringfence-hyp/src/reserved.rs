//! Which reservation a VM has at which time, by what was traced of its changes.

use ringfence_record::event::Event;
use ringfence_scenario::model::{Case, Scenario};
use ringfence_scenario::vm::Reservation;

use crate::record::EVENT_BYTES;
use crate::trace::{Change, CoreTrace, Entry, Kind};

/// The reservation of a VM, and how it was changed.
pub(crate) struct Reserved<'a> {
    pub(crate) reservation: &'a Reservation,
    /// When it was asked for, and what; each from a later period on than the one before.
    changes: Vec<(u64, Change)>,
}

impl<'a> Reserved<'a> {
    /// Those that VMs of a case are held to, in the order of the claims.
    pub(crate) fn of(scenario: &'a Scenario, case: &Case, cores: &[CoreTrace]) -> Vec<Self> {
        let of_vm = |(number, &vm): (usize, &usize)| {
            let reservation = scenario.vms[vm].reservation.as_ref()?;
            let entries = cores.iter().flat_map(|trace| &trace.entries);
            let change = |entry: &Entry| match entry.kind {
                Kind::Change(change) if change.vm == number as u64 => Some((entry.time_ns, change)),
                _ => None,
            };
            let mut changes: Vec<(u64, Change)> = entries.filter_map(change).collect();
            changes.sort_by_key(|(_, change)| change.from_ns);
            changes.dedup_by_key(|(_, change)| change.from_ns);
            Some(Self {
                reservation,
                changes,
            })
        };
        let vms = case.vms.iter().enumerate().filter(|_| case.reservations);
        vms.filter_map(of_vm).collect()
    }

    /// Whether what other cores do counts for it.
    pub(crate) fn needs_all(&self) -> bool {
        self.reservation.takes_part() || self.reservation.bounds.is_some()
    }

    /// Its changes, as reservation `number` of the claims.
    pub(crate) fn told(&self, number: usize) -> impl Iterator<Item = Event> {
        let told = move |(asked_ns, change): &(u64, Change)| Event::ReservationChanged {
            time_ns: change.from_ns,
            asked_ns: *asked_ns,
            reservation: number as u16,
            period_ns: change.period_ns,
            shares_bytes: Reservation::shares_of(change.budget_events, &self.reservation.weights)
                .iter()
                .map(|share| share.saturating_mul(EVENT_BYTES))
                .collect(),
        };
        self.changes.iter().map(told)
    }

    /// When its periods have a length that is in force then, and since when.
    fn at(&self, time_ns: u64) -> (u64, u64) {
        let past = self.changes.iter().rev();
        let mut past = past.map(|(_, change)| (change.from_ns, change.period_ns));
        past.find(|&(from_ns, _)| from_ns <= time_ns)
            .unwrap_or((0, self.reservation.period_ns))
    }

    /// When the period began that a time lies in.
    pub(crate) fn begin_ns(&self, time_ns: u64) -> u64 {
        let (from_ns, period_ns) = self.at(time_ns);
        from_ns + (time_ns - from_ns) / period_ns * period_ns
    }

    /// When the next one begins.
    pub(crate) fn next_ns(&self, time_ns: u64) -> u64 {
        let next_ns = self.begin_ns(time_ns) + self.at(time_ns).1;
        let mut changes = self.changes.iter().map(|(_, change)| change.from_ns);
        let changed_ns = changes.find(|&from_ns| from_ns > time_ns);
        changed_ns.map_or(next_ns, |changed_ns| next_ns.min(changed_ns))
    }
}
