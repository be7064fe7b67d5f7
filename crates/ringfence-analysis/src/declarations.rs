//! What a case may declare.

use ringfence_record::event::{BudgetClaim, Case, Gang, ShareClaim};

/// Refuses an index that is not below `count`.
pub(crate) fn check_index(what: &str, index: u16, count: usize) -> Result<(), String> {
    if usize::from(index) >= count {
        return Err(format!(
            "it names {what} {index}, but the case declares {count} of them, counted from 0"
        ));
    }
    Ok(())
}

/// Finds what a case declares wrong: later events rely on the rest.
pub(crate) fn check_declarations(case: &Case) -> Result<(), String> {
    let mut owner: Vec<Option<&str>> = vec![None; usize::from(case.cores)];
    for partition in &case.partitions {
        for &core in &partition.cores {
            let name = partition.name.as_str();
            match owner.get_mut(usize::from(core)) {
                None => {
                    return Err(format!(
                        "partition '{name}' has core {core}, but the case has {} cores",
                        case.cores
                    ));
                }
                Some(Some(other)) => {
                    return Err(format!(
                        "core {core} is in partition '{other}' and in partition '{name}'"
                    ));
                }
                Some(free) => *free = Some(name),
            }
        }
    }
    for Gang { partition, .. } in &case.gangs {
        check_index("partition", *partition, case.partitions.len())?;
    }
    for task in &case.tasks {
        check_index("gang", task.gang, case.gangs.len())?;
        if task.period_ns == 0 {
            return Err(format!("task '{}' has a period of 0 ns", task.name));
        }
    }
    for task in case.threads.iter().filter_map(|thread| thread.task) {
        check_index("task", task, case.tasks.len())?;
    }
    if let Some(BudgetClaim { period_ns: 0, .. }) = case.claims.budgets {
        return Err("budgets have a period of 0 ns".into());
    }
    if let Some(ShareClaim { window_ns: 0, .. }) = case.claims.share {
        return Err("the share limit has a window of 0 ns".into());
    }
    if u16::try_from(case.threads.len()).is_err() {
        return Err(format!(
            "it declares {} threads, but a case has at most 65535",
            case.threads.len()
        ));
    }
    check_reservations(case)?;
    check_classes_of_service(case)
}

fn check_reservations(case: &Case) -> Result<(), String> {
    let mut vm_of: Vec<Option<&str>> = vec![None; usize::from(case.cores)];
    let mut pool_period_ns = None;
    for claim in &case.claims.reservations {
        if claim.period_ns == 0 {
            return Err(format!("VM '{}' has a period of 0 ns", claim.vm));
        }
        if (claim.lends || claim.borrows)
            && *pool_period_ns.get_or_insert(claim.period_ns) != claim.period_ns
        {
            return Err(format!(
                "VM '{}' lends or borrows in periods of another length than others do",
                claim.vm
            ));
        }
        for share in &claim.shares {
            check_index("core", share.core, vm_of.len())?;
            if let Some(other) = vm_of[usize::from(share.core)].replace(&claim.vm) {
                return Err(format!(
                    "core {} is a vCPU's of VM '{other}' and of VM '{}'",
                    share.core, claim.vm
                ));
            }
        }
    }
    Ok(())
}

fn check_classes_of_service(case: &Case) -> Result<(), String> {
    let mut class_of: Vec<Option<&str>> = vec![None; case.threads.len()];
    for class in &case.classes_of_service {
        for &thread in &class.threads {
            check_index("thread", thread, class_of.len())?;
            if let Some(other) = class_of[usize::from(thread)].replace(&class.name) {
                return Err(format!(
                    "thread {thread} is in class of service '{other}' and in '{}'",
                    class.name
                ));
            }
        }
    }
    Ok(())
}
