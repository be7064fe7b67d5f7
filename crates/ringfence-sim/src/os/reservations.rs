//! How much memory traffic the cores of a VM may cause.
//!
//! Every decision comes from [`Reservation`]. An event is a line that moves between the
//! last-level cache and the memory on behalf of a core, fetched or written back, whichever
//! thread caused it: what a bus-access counter of the core counts.

use ringfence_policy::reservation::{Reservation, ReservationError, Split, Verdict};

use ringfence_scenario::model::{Case, Scenario};
use ringfence_scenario::vm as model;

use crate::machine::Picoseconds;
use crate::time::PS_PER_NS;

/// The VMs that `case` holds to their reservations.
pub(super) fn reserved<'s>(
    scenario: &'s Scenario,
    case: &Case,
) -> Vec<(&'s model::Vm, &'s model::Reservation)> {
    let vms = case.vms.iter().filter(|_| case.reservations);
    vms.filter_map(|&vm| {
        let vm = &scenario.vms[vm];
        Some((vm, vm.reservation.as_ref()?))
    })
    .collect()
}

/// The reservations of a case.
#[derive(Debug, Default)]
pub(super) struct Reservations {
    vms: Vec<Vm>,
    /// By core: its VM and which vCPU of it runs there.
    vcpu_of: Vec<Option<(usize, u32)>>,
}

#[derive(Debug)]
struct Vm {
    reservation: Reservation,
    cores: Vec<u16>,
    period_ps: Picoseconds,
    next_period: u64,
    /// By vCPU.
    is_throttled: Vec<bool>,
}

/// What the begin of a period does to a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refilled {
    pub(super) core: u16,
    pub(super) was_throttled: bool,
    pub(super) is_throttled: bool,
}

impl Reservations {
    /// All VMs begin their first period; as no share is 0, no core is throttled.
    ///
    /// # Errors
    /// What the policy refuses.
    pub(super) fn new(
        vms: &[(&model::Vm, &model::Reservation)],
        cores: u16,
    ) -> Result<Self, ReservationError> {
        let mut vcpu_of = vec![None; usize::from(cores)];
        let mut reserved = Vec::with_capacity(vms.len());
        for (index, (vm, reservation)) in vms.iter().enumerate() {
            for (vcpu, &core) in (0..).zip(&vm.cores) {
                vcpu_of[usize::from(core)] = Some((index, vcpu));
            }
            let split = Split::Weighted(&reservation.weights);
            reserved.push(Vm {
                reservation: Reservation::new(reservation.budget_events, split)?,
                cores: vm.cores.clone(),
                period_ps: reservation.period_ns * PS_PER_NS,
                next_period: 0,
                is_throttled: vec![false; vm.cores.len()],
            });
        }
        let mut reservations = Self {
            vms: reserved,
            vcpu_of,
        };
        for vm in 0..reservations.len() {
            reservations.begin_period(vm);
        }
        Ok(reservations)
    }

    /// Number of VMs.
    pub(super) fn len(&self) -> usize {
        self.vms.len()
    }

    /// Whether `core` belongs to a VM.
    pub(super) fn is_reserved(&self, core: usize) -> bool {
        self.vcpu_of[core].is_some()
    }

    /// How long a period of VM `vm` lasts.
    pub(super) fn period_ps(&self, vm: usize) -> Picoseconds {
        self.vms[vm].period_ps
    }

    /// The cores of VM `vm`.
    pub(super) fn cores(&self, vm: usize) -> &[u16] {
        &self.vms[vm].cores
    }

    /// All cores of VM `vm` begin their next period.
    pub(super) fn begin_period(&mut self, vm: usize) -> Vec<Refilled> {
        let vm = &mut self.vms[vm];
        let period = vm.next_period;
        vm.next_period += 1;
        let refilled = (0..).zip(&vm.cores).zip(&mut vm.is_throttled);
        let refilled = refilled.map(|((vcpu, &core), is_throttled)| {
            let verdict = vm.reservation.refill(vcpu, period);
            let was_throttled = std::mem::replace(
                is_throttled,
                verdict.expect("a period that no vCPU has begun") == Verdict::Throttle,
            );
            Refilled {
                core,
                was_throttled,
                is_throttled: *is_throttled,
            }
        });
        refilled.collect()
    }

    /// Charges what `core` has moved since the last call; whether this throttles it.
    pub(super) fn charge(&mut self, core: usize, lines: u64) -> bool {
        let Some((vm, vcpu)) = self.vcpu_of[core] else {
            return false;
        };
        let vm = &mut self.vms[vm];
        let verdict = vm.reservation.charge(vcpu, lines);
        let is_throttled = verdict.expect("a vCPU of this VM") == Verdict::Throttle;
        let was_throttled = std::mem::replace(&mut vm.is_throttled[vcpu as usize], is_throttled);
        is_throttled && !was_throttled
    }

    /// Whether `core` stands still until its VM begins another period.
    pub(super) fn is_throttled(&self, core: usize) -> bool {
        self.vcpu_of[core].is_some_and(|(vm, vcpu)| self.vms[vm].is_throttled[vcpu as usize])
    }

    /// Lines that `core` may still move in this period; `None` is without a limit.
    pub(super) fn remaining(&self, core: usize) -> Option<u64> {
        let (vm, vcpu) = self.vcpu_of[core]?;
        let remaining = self.vms[vm].reservation.remaining(vcpu);
        Some(remaining.expect("a vCPU of this VM"))
    }
}
