//! The rules of lending, one by one, as stated in lending.h.

use ringfence_policy::lending::{Pool, Vcpu};

const SHARE: u64 = 100;

/// A lender that used so much of its share in period 0.
fn lender(used: u64) -> (Pool, Vcpu) {
    let (mut pool, mut lender) = (Pool::new(), Vcpu::new());
    assert_eq!(lender.begin(&mut pool, 0, SHARE, true), 0, "none before it");
    assert_eq!(lender.used(used, SHARE), used);
    (pool, lender)
}

fn borrower(pool: &mut Pool, period: u64) -> Vcpu {
    let mut borrower = Vcpu::new();
    borrower.begin(pool, period, SHARE, false);
    borrower
}

#[test]
fn a_lender_keeps_twice_what_it_used_and_an_event() {
    for (used, gives) in [(0, 99), (10, 79), (49, 1), (50, 0), (99, 0), (100, 0)] {
        let (mut pool, mut lender) = lender(used);
        assert_eq!(lender.begin(&mut pool, 1, SHARE, true), gives);
        assert_eq!(pool.events(1), gives);
    }
}

#[test]
fn who_does_not_lend_gives_nothing() {
    let (mut pool, mut vcpu) = lender(0);
    assert_eq!(vcpu.begin(&mut pool, 1, SHARE, false), 0);
    assert_eq!(pool.events(1), 0);
}

#[test]
fn a_lender_that_wakes_has_its_whole_share_in_the_next_period() {
    let (mut pool, mut lender) = lender(0);
    assert_eq!(lender.begin(&mut pool, 1, SHARE, true), 99);
    assert_eq!(lender.used(1, 1), 1, "all that it kept");
    assert_eq!(lender.begin(&mut pool, 2, SHARE, true), 0);
    assert_eq!(lender.begin(&mut pool, 3, SHARE, true), 99, "idle again");
}

#[test]
fn a_lender_that_owes_all_of_a_period_gives_nothing_in_the_next() {
    let (mut pool, mut lender) = lender(0);
    assert_eq!(lender.begin(&mut pool, 1, 0, true), 0);
    assert_eq!(lender.begin(&mut pool, 2, SHARE, true), 0);
}

#[test]
fn a_lender_that_skipped_a_period_gives_nothing() {
    let (mut pool, mut lender) = lender(0);
    assert_eq!(lender.begin(&mut pool, 2, SHARE, true), 0);
    assert_eq!(lender.begin(&mut pool, 3, SHARE, true), 99);
}

#[test]
fn a_period_is_begun_once() {
    let (mut pool, mut lender) = lender(0);
    lender.begin(&mut pool, 1, SHARE, true);
    let before = (pool.clone(), lender.clone());
    for period in [0, 1, u64::MAX] {
        assert_eq!(lender.begin(&mut pool, period, SHARE, true), 0);
        assert_eq!((pool.clone(), lender.clone()), before);
    }
}

#[test]
fn a_borrower_gets_what_there_is_for_its_period() {
    let (mut pool, mut lender) = lender(0);
    let mut early = borrower(&mut pool, 1);
    assert_eq!(early.borrow(&mut pool, 50), 0, "nothing given yet");
    lender.begin(&mut pool, 1, SHARE, true);
    assert_eq!(early.borrow(&mut pool, 50), 50);
    assert_eq!(borrower(&mut pool, 0).borrow(&mut pool, 50), 0, "too late");
    assert_eq!(borrower(&mut pool, 2).borrow(&mut pool, 50), 0, "too early");
    assert_eq!(Vcpu::new().borrow(&mut pool, 50), 0, "in no period");
    assert_eq!(borrower(&mut pool, 1).borrow(&mut pool, 50), 49);
    assert_eq!(early.borrow(&mut pool, 50), 0);
}

#[test]
fn what_is_borrowed_is_used_first_and_ends_with_the_period() {
    let (mut pool, mut lender) = lender(0);
    lender.begin(&mut pool, 1, SHARE, true);
    let mut borrower = borrower(&mut pool, 1);
    borrower.borrow(&mut pool, 30);
    assert_eq!(borrower.used(20, 0), 0);
    assert_eq!(borrower.used(15, 0), 5, "beyond the loan: its own debt");
    borrower.borrow(&mut pool, 30);
    borrower.begin(&mut pool, 2, SHARE, false);
    assert_eq!(borrower.borrowed(), 0);
}

#[test]
fn what_nobody_borrowed_ends_with_the_period() {
    let (mut pool, mut lender) = lender(0);
    lender.begin(&mut pool, 1, SHARE, true);
    lender.begin(&mut pool, 2, SHARE, true);
    assert_eq!((pool.events(1), pool.events(2)), (0, 99));
}

#[test]
fn who_is_late_gives_nothing_and_takes_nothing_from_a_later_period() {
    let (mut pool, mut early) = lender(0);
    let mut late = Vcpu::new();
    late.begin(&mut pool, 0, SHARE, true);
    early.begin(&mut pool, 1, SHARE, true);
    early.begin(&mut pool, 2, SHARE, true);
    assert_eq!(late.begin(&mut pool, 1, SHARE, true), 0);
    assert_eq!(late.borrow(&mut pool, 10), 0);
    assert_eq!(pool.events(2), 99);
}
