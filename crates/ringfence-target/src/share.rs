//! The share limit as a record promises it.

use ringfence_record::event::ShareClaim;
use ringfence_scenario::model::{Case, Scenario, Scheduling, ShareLimit};

/// What a run of `case` promises of the time that real-time work leaves to others. `None` if
/// the scenario limits no shares, or the case is not gang-scheduled: nobody limits it then.
pub fn share_claim(scenario: &Scenario, case: &Case) -> Option<ShareClaim> {
    match (scenario.share, case.scheduling) {
        (
            ShareLimit::Limited {
                limit_ns,
                window_ns,
            },
            Scheduling::Gang,
        ) => Some(ShareClaim {
            limit_ns,
            window_ns,
        }),
        (ShareLimit::Off, _) | (_, Scheduling::FixedPriority) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringfence_scenario::{Disk, parse};
    use std::path::Path;

    fn scenario(share: &str) -> Scenario {
        let source = format!(
            r#"
            {share}
            [scenario]
            name = "one"
            platform = "raspberry-pi-3"
            duration = "1 s"
            [[gang]]
            name = "gang"
            priority = 1
            [[gang.task]]
            name = "task"
            period = "100 ms"
            cores = "0"
            program = {{ kind = "compute", time = "1 ms" }}
            [[case]]
            name = "co-run"
            [[case]]
            name = "rt-gang"
            "#
        );
        parse(&source, "one.toml", Path::new(""), &Disk).unwrap()
    }

    #[test]
    fn only_gangs_with_a_limit_leave_a_share() {
        for (share, expected) in [
            (r#"share = "off""#, None),
            (
                r#"share = { limit = "3 ms", window = "4 ms" }"#,
                Some(ShareClaim {
                    limit_ns: 3_000_000,
                    window_ns: 4_000_000,
                }),
            ),
        ] {
            let scenario = scenario(share);
            let claim = |case| share_claim(&scenario, case);
            let claims: Vec<_> = scenario.cases.iter().map(claim).collect();
            assert_eq!(claims, [None, expected], "{share}");
        }
    }
}
