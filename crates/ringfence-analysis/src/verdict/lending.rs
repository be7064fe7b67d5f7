//! What is borrowed was lent, for the same period and by those who may; and all who take part
//! together move no more than their shares are together.

use std::collections::BTreeMap;

use ringfence_record::event::ReservationClaim;

use super::reservation_course::ReservationCourse;
use super::{Breach, Findings};
use crate::case::{CaseRun, CoreRun};

/// What a core, or all together, lent and borrowed in a period.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Loans {
    pub(super) lent_bytes: u64,
    pub(super) borrowed_bytes: u64,
}

/// The loans of a core by the begin of their period.
pub(super) fn loans(core: &CoreRun) -> BTreeMap<u64, Loans> {
    let mut loans = BTreeMap::<u64, Loans>::new();
    for loan in &core.loans {
        let of_period = loans.entry(loan.period_begin_ns).or_default();
        of_period.lent_bytes = of_period.lent_bytes.saturating_add(loan.lent_bytes);
        of_period.borrowed_bytes = of_period.borrowed_bytes.saturating_add(loan.borrowed_bytes);
    }
    loans
}

/// Judges each loan, and for each period that no more was borrowed than lent.
pub(super) fn lending(run: &CaseRun, courses: &[ReservationCourse], findings: &mut Findings) {
    let mut pool = BTreeMap::<u64, Loans>::new();
    for (number, core) in (0..).zip(&run.cores) {
        let found = vcpu_of(run, number);
        for (begin_ns, loans) in loans(core) {
            findings.checked += 1;
            let together = pool.entry(begin_ns).or_default();
            together.lent_bytes = together.lent_bytes.saturating_add(loans.lent_bytes);
            together.borrowed_bytes = together.borrowed_bytes.saturating_add(loans.borrowed_bytes);
            let wrong = match found {
                None => Some("has no reservation".to_owned()),
                Some((vm, vcpu, claim)) => wrong(claim, &courses[vm], vcpu, begin_ns, loans),
            };
            if let Some(wrong) = wrong {
                let text = format!("core {number} lends or borrows, and {wrong}");
                findings.breaches.push(of_core(begin_ns, number, text));
            }
        }
        for loan in core
            .loans
            .iter()
            .filter(|loan| loan.time_ns < loan.period_begin_ns)
        {
            let text = format!("core {number} lends or borrows for a period that has not begun");
            findings.breaches.push(of_core(loan.time_ns, number, text));
        }
    }
    for (begin_ns, loans) in pool {
        if loans.borrowed_bytes > loans.lent_bytes {
            let text = format!(
                "{} bytes were borrowed in a period for which {} were lent",
                loans.borrowed_bytes, loans.lent_bytes
            );
            findings.breaches.push(Breach::at(begin_ns, text));
        }
    }
}

/// The reservation and the vCPU that a core is for: their numbers, and the claim.
fn vcpu_of(run: &CaseRun, core: u16) -> Option<(usize, usize, &ReservationClaim)> {
    let mut claims = run.case.claims.reservations.iter().enumerate();
    claims.find_map(|(vm, claim)| {
        let vcpu = claim.shares.iter().position(|share| share.core == core)?;
        Some((vm, vcpu, claim))
    })
}

fn wrong(
    claim: &ReservationClaim,
    course: &ReservationCourse,
    vcpu: usize,
    begin_ns: u64,
    loans: Loans,
) -> Option<String> {
    let share_bytes = course.at(begin_ns).shares_bytes[vcpu];
    if loans.lent_bytes > 0 && !claim.lends {
        return Some(format!("VM '{}' may not lend", claim.vm));
    }
    if loans.borrowed_bytes > 0 && !claim.borrows {
        return Some(format!("VM '{}' may not borrow", claim.vm));
    }
    if !course.is_begin(begin_ns) {
        return Some(format!("no period of VM '{}' begins then", claim.vm));
    }
    (loans.lent_bytes > share_bytes).then(|| {
        format!(
            "gives {} bytes of a share of {share_bytes}",
            loans.lent_bytes
        )
    })
}

/// What all cores that take part have moved and may, period by period.
#[derive(Debug, Default)]
pub(super) struct Pooled {
    cores: u64,
    quantum_bytes: u64,
    length_ns: u64,
    /// By the begin of the period: cores, bytes that they moved, their shares.
    periods: BTreeMap<u64, (u64, u64, u64)>,
}

impl Pooled {
    /// A core takes part.
    pub(super) fn add_core(&mut self, claim: &ReservationClaim) {
        self.cores += 1;
        self.quantum_bytes = self.quantum_bytes.saturating_add(claim.quantum_bytes);
        self.length_ns = claim.period_ns;
    }

    /// It moved so much in a period.
    pub(super) fn add_use(&mut self, begin_ns: u64, used_bytes: u64, share_bytes: u64) {
        let (cores, used, shares) = self.periods.entry(begin_ns).or_default();
        *cores += 1;
        *used = used.saturating_add(used_bytes);
        *shares = shares.saturating_add(share_bytes);
    }

    /// Judges each period of which all cores are known, by what they moved alone.
    pub(super) fn judge(self, findings: &mut Findings) {
        let mut owed_bytes = 0_u64;
        let mut next_ns = 0;
        for (&begin_ns, &(cores, used_bytes, shares_bytes)) in &self.periods {
            if cores != self.cores {
                continue;
            }
            if begin_ns != next_ns {
                owed_bytes = 0;
            }
            next_ns = begin_ns.saturating_add(self.length_ns);
            findings.checked += 1;
            owed_bytes = owed_bytes
                .saturating_add(used_bytes)
                .saturating_sub(shares_bytes);
            if owed_bytes > self.quantum_bytes {
                let text = format!(
                    "the VMs that lend and borrow moved {used_bytes} bytes in a period and are {owed_bytes} bytes beyond their shares of {shares_bytes} together; their quanta allow {}",
                    self.quantum_bytes
                );
                findings.breaches.push(Breach::at(begin_ns, text));
            }
        }
    }
}

/// A breach of one core.
fn of_core(time_ns: u64, core: u16, text: String) -> Breach {
    Breach {
        core: Some(core),
        ..Breach::at(time_ns, text)
    }
}
