//! What all targets share: who runs in a case and how it is declared in a record,
//! budgets in the units of a regulator, and plans.

pub mod budget;
pub mod plan;
pub mod workload;
