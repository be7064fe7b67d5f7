//! What is lent and borrowed, and how reservations change.

use super::CaseReader;
use crate::case::{Loan, ReservationChange};
use crate::declarations::check_index;

impl CaseReader {
    pub(super) fn loan(
        &mut self,
        core: u16,
        period_begin_ns: u64,
        lent_bytes: u64,
        borrowed_bytes: u64,
    ) -> Result<(), String> {
        self.check_core(core)?;
        self.run.cores[usize::from(core)].loans.push(Loan {
            time_ns: self.now_ns,
            period_begin_ns,
            lent_bytes,
            borrowed_bytes,
        });
        Ok(())
    }

    pub(super) fn change(&mut self, number: u16, change: ReservationChange) -> Result<(), String> {
        check_index("reservation", number, self.run.changes.len())?;
        let claim = &self.run.case.claims.reservations[usize::from(number)];
        let (shares, vcpus) = (change.shares_bytes.len(), claim.shares.len());
        if change.period_ns == 0 || shares != vcpus {
            return Err(format!(
                "the reservation of VM '{}' becomes {shares} shares in a period of {} ns, but it has {vcpus} vCPUs, and no period is 0",
                claim.vm, change.period_ns
            ));
        }
        let changes = &mut self.run.changes[usize::from(number)];
        if changes
            .last()
            .is_some_and(|last| last.from_ns == change.from_ns)
            || self.now_ns == 0
        {
            return Err(format!(
                "the reservation of VM '{}' changes twice at once",
                claim.vm
            ));
        }
        changes.push(change);
        Ok(())
    }
}
