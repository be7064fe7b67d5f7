//! VMs on the modelled board: what a reservation gives, and what it costs.

mod common;

use std::path::Path;

use common::{case, cases, outcome, record, responses_ns};
use ringfence_analysis::case::{CaseRun, CoreRun};
use ringfence_analysis::verdict::{ClaimKind, Outcome};
use ringfence_record::event::UnthrottleReason;
use ringfence_scenario::model::Scenario;
use ringfence_scenario::{NoFiles, parse};
use ringfence_sim::os::Fault;

const LINE_BYTES: u64 = 64;
/// What an interrupt of the hypervisor costs on the `zcu104`.
const INTERRUPT_NS: u64 = 143;

const WRITE: &str = r#"kind = "bandwidth", access = "write", working_set = "3 MiB""#;
/// Stays in the L1.
const COMPUTE: &str = r#"kind = "cpu", working_set = "4 KiB", cycles_per_access = 10"#;

/// A VM with a task on core 0, and one with `program` on cores 1 to 3 and `reservation`.
fn scenario(program: &str, reservation: &str) -> Scenario {
    let source = format!(
        r#"
        [scenario]
        name = "reservations"
        platform = "zcu104"
        duration = "6 ms"
        [[vm]]
        name = "critical"
        cores = "0"
        [[vm.task]]
        name = "victim"
        period = "4 ms"
        offset = "1 ms" # when all others have their lines
        program = {{ kind = "bandwidth", access = "read", working_set = "256 KiB" }}
        [[vm]]
        name = "rest"
        cores = "1-3"
        reservation = {{ {reservation} }}
        [[vm.best_effort]]
        name = "rest"
        threads = 3
        pinned = true
        program = {{ {program} }}
        [[case]]
        name = "co-run"
        [[case]]
        name = "reserved"
        "#
    );
    parse(&source, "reservations.toml", Path::new(""), &NoFiles)
        .unwrap_or_else(|said| panic!("{said}"))
}

fn reserved(program: &str, reservation: &str) -> CaseRun {
    let cases = cases(&scenario(program, reservation), None);
    case(&cases, "reserved").clone()
}

fn moved_lines(core: &CoreRun) -> u64 {
    let counters = core.samples.last().unwrap().counters;
    (counters.read_bytes + counters.write_bytes) / LINE_BYTES
}

fn executed(run: &CaseRun) -> u64 {
    run.threads
        .iter()
        .filter_map(|thread| thread.accesses)
        .sum()
}

#[test]
fn lines_a_period_are_the_share_of_each_core() {
    for (budget, period_us, shares) in [
        (24, 10, [8, 8, 8]),
        (100, 10, [33, 33, 34]),
        (100, 25, [33, 33, 34]),
        (300, 100, [50, 100, 150]),
    ] {
        let weights = match budget {
            300 => ", shares = [1, 2, 3]",
            _ => "",
        };
        let reservation = format!(r#"budget = {budget}, period = "{period_us} us"{weights}"#);
        let run = reserved(WRITE, &reservation);
        let periods = 6000 / period_us;
        let claim = &run.case.claims.reservations[0];
        let quantum = claim.quantum_bytes / LINE_BYTES;
        for (share, core) in shares.into_iter().zip(&run.cores[1..]) {
            let (moved, given) = (moved_lines(core), share * periods);
            // One quantum beyond all its shares, and what the last period could not use.
            assert!(
                moved <= given + quantum,
                "{reservation}: {moved} of {given}"
            );
            assert!(moved + share >= given, "{reservation}: {moved} of {given}");
        }
        let (passed, evidence) = outcome(&run, ClaimKind::Reservations);
        assert_eq!(passed, Outcome::Pass, "{reservation}: {evidence}");
    }
}

#[test]
fn a_core_that_stays_within_its_share_is_never_throttled() {
    // A line a microsecond, in bursts of the prefetcher's: of two periods' it is too many.
    let program =
        r#"kind = "streams", reads = 1, writes = 0, array = "8 MiB", compute_cycles = 1200"#;
    let run = reserved(program, r#"budget = 48, period = "10 us""#);
    for core in &run.cores[1..] {
        assert!(moved_lines(core) > 4000, "{}", moved_lines(core));
        assert!(core.throttles.is_empty());
    }
}

#[test]
fn a_throttled_core_goes_on_when_its_next_period_begins() {
    let run = reserved(WRITE, r#"budget = 90, period = "20 us""#);
    for core in &run.cores[1..] {
        assert!(core.throttles.len() > 90, "{}", core.throttles.len());
        for throttle in &core.throttles {
            let Some(reason) = throttle.reason else {
                continue;
            };
            assert_eq!(reason, UnthrottleReason::Refill);
            assert_eq!(throttle.to_ns % 20_000, 0);
            let again = core
                .occupations
                .iter()
                .find(|on| on.from_ns >= throttle.to_ns);
            // At the period's begin, when the hypervisor's timer is taken.
            assert!(
                again.is_none_or(|on| on.from_ns == throttle.to_ns),
                "{again:?}"
            );
        }
    }
}

#[test]
fn a_timer_costs_its_part_of_the_period_and_a_vm_without_a_reservation_nothing() {
    for period_us in [1, 2, 10, 100] {
        // More than it can use: only the timer is there.
        let reservation = format!(r#"budget = 1_000_000, period = "{period_us} us""#);
        let cases = cases(&scenario(COMPUTE, &reservation), None);
        let (free, held) = (case(&cases, "co-run"), case(&cases, "reserved"));
        let left = executed(held) as f64 / executed(free) as f64;
        let expected = 1.0 - INTERRUPT_NS as f64 / (period_us * 1000) as f64;
        // An interrupt waits for the instruction that it finds.
        assert!(
            (left - expected).abs() < 0.012,
            "{period_us} us: {left} of {expected}"
        );
        assert!(held.cores[1..].iter().all(|core| core.throttles.is_empty()));
        assert_eq!(responses_ns(free, "victim"), responses_ns(held, "victim"));
    }
}

#[test]
fn a_hypervisor_that_does_not_throttle_fails_its_verdict() {
    let scenario = scenario(WRITE, r#"budget = 100, period = "10 us""#);
    let runs = cases(&scenario, Some(Fault::NoThrottle));
    let (broken, _) = outcome(case(&runs, "reserved"), ClaimKind::Reservations);
    assert_eq!(broken, Outcome::Fail);
    let (unclaimed, _) = outcome(case(&runs, "co-run"), ClaimKind::Reservations);
    assert_eq!(unclaimed, Outcome::NotClaimed);
}

#[test]
fn the_same_scenario_gives_the_same_bytes() {
    let scenario = scenario(WRITE, r#"budget = 100, period = "5 us""#);
    assert_eq!(record(&scenario, 1, None), record(&scenario, 2, None));
}
