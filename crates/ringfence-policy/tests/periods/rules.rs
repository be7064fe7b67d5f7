//! The rules of periods, one by one, as stated in periods.h.

use ringfence_policy::periods::{Period, Periods, PeriodsError};

fn period(number: u64, begin_ns: u64, end_ns: u64) -> Period {
    Period {
        number,
        begin_ns,
        end_ns,
    }
}

#[test]
fn periods_lie_back_to_back_from_time_0_on() {
    let mut vm = Periods::new(1000).unwrap();
    assert_eq!(vm.at(0), period(0, 0, 1000));
    assert_eq!(vm.at(999), period(0, 0, 1000));
    assert_eq!(vm.at(1000), period(1, 1000, 2000));
    assert_eq!(vm.at(7_777_777), period(7777, 7_777_000, 7_778_000));
}

#[test]
fn a_longer_one_begins_where_the_shorter_one_ends() {
    let mut vm = Periods::new(1000).unwrap();
    assert_eq!(vm.change(2500, 1700), Ok(period(3, 3000, 4700)));
    assert_eq!(vm.at(2999), period(2, 2000, 3000));
    assert_eq!(vm.at(3000), period(3, 3000, 4700));
    assert_eq!(vm.at(4700), period(4, 4700, 6400));
}

#[test]
fn a_shorter_one_begins_where_the_longer_one_ends_and_not_on_a_grid_from_0() {
    let mut vm = Periods::new(1700).unwrap();
    assert_eq!(vm.change(0, 1000), Ok(period(1, 1700, 2700)));
    assert_eq!(vm.at(1699), period(0, 0, 1700));
    assert_eq!(vm.at(2699), period(1, 1700, 2700));
    assert_eq!(vm.at(10_000), period(9, 9700, 10_700));
}

#[test]
fn whoever_is_late_finds_the_change_in_force_since_its_time() {
    let mut vm = Periods::new(1000).unwrap();
    vm.change(0, 3000).unwrap();
    assert_eq!(vm.at(1_000_000), period(334, 1_000_000, 1_003_000));
}

#[test]
fn a_change_that_is_asked_for_at_the_end_of_a_period_waits_for_the_end_of_the_next() {
    let mut vm = Periods::new(1000).unwrap();
    assert_eq!(vm.change(1000, 2000), Ok(period(2, 2000, 4000)));
}

#[test]
fn one_change_waits_at_a_time() {
    let mut vm = Periods::new(1000).unwrap();
    vm.change(500, 2000).unwrap();
    let before = vm.clone();
    assert_eq!(vm.change(999, 5000), Err(PeriodsError::Pending));
    assert_eq!(vm, before);
    assert_eq!(vm.change(1000, 5000), Ok(period(2, 3000, 8000)));
}

#[test]
fn a_change_to_the_same_length_changes_nothing() {
    let mut vm = Periods::new(1000).unwrap();
    vm.change(500, 1000).unwrap();
    for now_ns in [999, 1000, 123_456] {
        assert_eq!(vm.at(now_ns), Periods::new(1000).unwrap().at(now_ns));
    }
}

#[test]
fn lengths_that_cannot_be_are_refused() {
    for length_ns in [0, 999, 1_000_000_001, u64::MAX] {
        assert_eq!(Periods::new(length_ns), Err(PeriodsError::BadLength));
        let mut vm = Periods::new(1000).unwrap();
        assert_eq!(vm.change(0, length_ns), Err(PeriodsError::BadLength));
        assert_eq!(vm, Periods::new(1000).unwrap());
    }
    for length_ns in [1000, 1_000_000_000] {
        assert_eq!(Periods::new(length_ns).unwrap().at(0).end_ns, length_ns);
    }
}
