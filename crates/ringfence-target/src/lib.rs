//! What all targets share: who runs in a case and how it is declared in a record,
//! budgets in the units of a regulator, the share of time that is promised, and plans.

pub mod budget;
pub mod plan;
pub mod share;
pub mod workload;
