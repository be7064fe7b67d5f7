//! The rules of the regulator, one by one, as stated in budget.h and regulator.h.

use ringfence_policy::CpuSet;
use ringfence_policy::regulator::{Budget, Charge, Domain, RegulatorError, events_per_period};

const fn budget(reads: u64, writes: u64) -> Budget {
    Budget { reads, writes }
}

fn cpus<const N: usize>(cpus: [u16; N]) -> CpuSet {
    cpus.into_iter().collect()
}

fn domain() -> Domain {
    Domain::new(&cpus([0, 1, 511])).unwrap()
}

#[test]
fn without_a_gang_nothing_is_limited_or_counted() {
    let mut domain = domain();
    assert_eq!(domain.threshold(), None);
    assert_eq!(domain.charge(0, u64::MAX, u64::MAX), Charge::Continue);
    assert_eq!(domain.remaining(0), Budget::UNLIMITED);
    assert!(domain.gang_running(0, budget(1, 1)).is_empty());
    assert_eq!(domain.remaining(0), budget(1, 1));
}

#[test]
fn a_core_is_throttled_when_its_budget_is_used_in_either_direction() {
    let mut domain = domain();
    domain.gang_running(3, budget(10, 5));
    assert_eq!(domain.charge(0, 9, 4), Charge::Continue);
    assert_eq!(domain.remaining(0), budget(1, 1));
    assert_eq!(domain.charge(0, 1, 0), Charge::Throttle);
    assert_eq!(domain.remaining(0), budget(0, 0));
    assert_eq!(domain.charge(511, 0, 5), Charge::Throttle);
    assert!(!domain.is_throttled(1));
    assert_eq!(domain.refill(), cpus([0, 511]));
    assert_eq!(domain.remaining(0), budget(10, 5));
}

#[test]
fn tolerance_zero_throttles_before_any_event() {
    for tolerance in [budget(0, 9), budget(9, 0), budget(0, u64::MAX)] {
        let mut domain = domain();
        assert_eq!(domain.gang_running(0, tolerance), cpus([0, 1, 511]));
        assert!(domain.refill().is_empty());
        assert_eq!(domain.charge(0, 0, 0), Charge::Throttle);
        assert_eq!(domain.gang_stopped(0), cpus([0, 1, 511]));
    }
}

#[test]
fn the_threshold_is_the_strictest_tolerance_in_each_direction() {
    let mut domain = domain();
    domain.gang_running(0, budget(10, 90));
    domain.gang_running(63, budget(50, 30));
    assert_eq!(domain.threshold(), Some(budget(10, 30)));
    domain.gang_stopped(0);
    assert_eq!(domain.threshold(), Some(budget(50, 30)));
    domain.gang_running(63, Budget::UNLIMITED);
    assert_eq!(domain.threshold(), Some(Budget::UNLIMITED));
    domain.gang_stopped(63);
    assert_eq!(domain.threshold(), None);
}

#[test]
fn a_stricter_gang_throttles_at_once_what_has_used_its_tolerance() {
    let mut domain = domain();
    domain.gang_running(0, budget(100, 100));
    domain.charge(0, 20, 0);
    domain.charge(1, 19, 0);
    assert_eq!(domain.gang_running(1, budget(20, 20)), cpus([0]));
    assert_eq!(domain.remaining(1), budget(1, 20));
    assert_eq!(
        domain.debt(0),
        budget(0, 0),
        "use within a budget is no debt"
    );
}

#[test]
fn the_end_of_one_gang_of_two_unthrottles_nothing() {
    let mut domain = domain();
    domain.gang_running(0, budget(10, 10));
    domain.gang_running(1, budget(20, 20));
    domain.charge(0, 10, 0);
    assert!(domain.gang_stopped(0).is_empty());
    assert!(domain.is_throttled(0), "only the refill gives budget");
    assert!(domain.gang_running(1, budget(99, 99)).is_empty());
    assert!(domain.is_throttled(0));
    assert_eq!(domain.gang_stopped(1), cpus([0]), "now no gang runs");
}

#[test]
fn overshoot_is_paid_out_of_the_next_periods() {
    let mut domain = domain();
    domain.gang_running(0, budget(10, 10));
    domain.charge(0, 33, 0);
    assert_eq!(domain.debt(0), budget(23, 0));
    assert!(domain.refill().is_empty(), "10 of 23 paid, nothing left");
    assert!(domain.refill().is_empty(), "20 of 23 paid, nothing left");
    assert_eq!(domain.refill(), cpus([0]));
    assert_eq!(domain.remaining(0), budget(7, 10));
}

#[test]
fn a_gang_that_comes_and_goes_gives_no_second_budget_and_forgives_nothing() {
    let mut domain = domain();
    domain.gang_running(0, budget(10, 10));
    domain.charge(0, 13, 0);
    assert_eq!(domain.gang_stopped(0), cpus([0]));
    domain.charge(0, 1000, 0);
    assert_eq!(domain.gang_running(0, budget(10, 10)), cpus([0]));
    domain.gang_stopped(0);
    assert!(domain.refill().is_empty(), "nothing is throttled");
    assert_eq!(domain.debt(0), budget(3, 0), "idle time pays no debt");
    domain.gang_running(0, budget(10, 10));
    assert_eq!(domain.remaining(0), budget(7, 10));
}

#[test]
fn debt_saturates_instead_of_wrapping() {
    let mut domain = domain();
    domain.gang_running(0, budget(1, 1));
    domain.charge(0, u64::MAX, 0);
    domain.charge(0, u64::MAX, 0);
    assert_eq!(domain.debt(0), budget(u64::MAX, 0));
    assert!(domain.refill().is_empty());
}

#[test]
fn an_empty_domain_is_refused() {
    assert_eq!(
        Domain::new(&CpuSet::new()).unwrap_err(),
        RegulatorError::EmptyDomain
    );
}

#[test]
#[should_panic(expected = "CPU 2: expected a CPU of the regulated domain")]
fn a_cpu_outside_the_domain_is_refused() {
    domain().charge(2, 1, 1);
}

#[test]
#[should_panic(expected = "partition 64: expected 0 to 63")]
fn a_partition_that_does_not_exist_is_refused() {
    domain().gang_running(64, budget(1, 1));
}

#[test]
fn one_hundred_megabytes_per_second_at_one_millisecond() {
    assert_eq!(events_per_period(100 << 20, 1_000_000, 64), Some(1638));
}
