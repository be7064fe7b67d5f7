//! Whether this process may use the CPUs that a platform names: core N is CPU N.

use ringfence_scenario::platform::Platform;
use ringfence_workloads::cpu;

use super::CaseError;

/// Refuses a platform with a core that is no CPU of this process.
///
/// # Errors
/// [`CaseError::Unsupported`]; or the system does not say what is allowed.
pub fn check(platform: &Platform) -> Result<(), CaseError> {
    let allowed = cpu::allowed().map_err(|source| CaseError::System {
        what: "asking which CPUs this process may use (sched_getaffinity)".into(),
        source,
    })?;
    check_among(&allowed, platform)
}

fn check_among(allowed: &[u16], platform: &Platform) -> Result<(), CaseError> {
    let wanted: Vec<u16> = (0..platform.cores).collect();
    if wanted.iter().all(|cpu| allowed.contains(cpu)) {
        return Ok(());
    }
    let wanted = cpu::write_list(&wanted);
    Err(CaseError::Unsupported(format!(
        "platform `{}` needs CPUs {wanted}, and this process may use CPUs {}; give it CPUs {wanted} \
         (taskset, or the cpuset of its control group), or choose a platform with fewer cores",
        platform.name,
        cpu::write_list(allowed)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringfence_scenario::load_platform;

    #[test]
    fn every_core_of_the_platform_is_a_cpu_that_may_be_used() {
        let mut platform = load_platform("raspberry-pi-3").unwrap();
        platform.cores = 3;
        for allowed in [&[0, 1, 2][..], &[0, 1, 2, 7]] {
            check_among(allowed, &platform).unwrap();
        }
        // As many as there are cores, but not theirs; and too few.
        for (allowed, told) in [(&[0, 1, 3, 4][..], "CPUs 0-1,3-4;"), (&[0, 1], "CPUs 0-1;")] {
            let refused = check_among(allowed, &platform).unwrap_err().to_string();
            assert!(refused.contains("needs CPUs 0-2,"), "{refused}");
            assert!(refused.contains(told), "{refused}");
        }
    }
}
