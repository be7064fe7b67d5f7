//! What keeps a case from being run.

use ringfence_policy::gang::GangError;
use ringfence_policy::regulator::RegulatorError;
use ringfence_policy::reservation::ReservationError;
use ringfence_record::WriteError;

/// Why a case cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum OsError {
    /// The gang policy refuses a partition.
    #[error("the gang policy refuses the scenario: {0}")]
    Gang(#[from] GangError),
    /// The regulator refuses its settings.
    #[error("the regulator refuses the scenario: {0}")]
    Regulator(#[from] RegulatorError),
    /// The reservation policy refuses a VM.
    #[error("the reservation policy refuses the scenario: {0}")]
    Reservation(#[from] ReservationError),
    /// Nobody knows what holding a VM to its reservation costs.
    #[error(
        "platform `{platform}` has no [hypervisor] table, but the case holds VMs to their \
         reservations; state what an interrupt of the hypervisor costs there"
    )]
    NoHypervisor {
        /// Name of the platform.
        platform: String,
    },
    /// A reservation does not stay what it is.
    #[error(
        "the VM `{vm}` lends, borrows or can be changed at run time, which no guest of a \
         simulation does; run it with --target hyp, or leave out `lends`, `borrows` and `changes`"
    )]
    ChangesAtRunTime {
        /// Name of the VM.
        vm: String,
    },
    /// The record refuses an event.
    #[error("{0}")]
    Record(#[from] WriteError),
}
