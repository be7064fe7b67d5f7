//! The rules of reservations, one by one, as stated in reservation.h.

use ringfence_policy::reservation::{Reservation, ReservationError, Split, Verdict};

fn vm(budget: u64, weights: &[u32]) -> Reservation {
    Reservation::new(budget, Split::Weighted(weights)).unwrap()
}

fn begin(vm: &mut Reservation, vcpus: u32, period: u64) -> Vec<u64> {
    let share = |vcpu| {
        vm.refill(vcpu, period).unwrap();
        vm.share(vcpu).unwrap()
    };
    (0..vcpus).map(share).collect()
}

#[test]
fn equal_shares_add_up_to_a_budget_that_does_not_divide() {
    let mut vm = Reservation::new(10, Split::Balanced(3)).unwrap();
    assert_eq!(begin(&mut vm, 3, 0), [3, 3, 4]);
}

#[test]
fn given_shares_add_up_to_the_budget_however_large() {
    assert_eq!(begin(&mut vm(1000, &[50, 30, 20]), 3, 0), [500, 300, 200]);
    assert_eq!(begin(&mut vm(7, &[0, 1, 0, 1]), 4, 0), [0, 3, 0, 4]);
    let most = u64::MAX - 1;
    let shares = begin(&mut vm(most, &[u32::MAX - 1, 1]), 2, 0);
    assert_eq!(shares.iter().sum::<u64>(), most);
    assert_eq!(shares[1], most.div_ceil(u64::from(u32::MAX)));
}

#[test]
fn before_its_first_period_a_vcpu_is_throttled_and_owes_what_it_uses() {
    let mut vm = vm(10, &[1]);
    assert_eq!(vm.remaining(0), Ok(0));
    assert_eq!(vm.charge(0, 4), Ok(Verdict::Throttle));
    assert_eq!(vm.refill(0, 17), Ok(Verdict::Run));
    assert_eq!(vm.remaining(0), Ok(6));
}

#[test]
fn a_vcpu_is_throttled_at_its_share_and_not_before() {
    let mut vm = vm(10, &[1, 1]);
    begin(&mut vm, 2, 0);
    assert_eq!(vm.charge(0, 4), Ok(Verdict::Run));
    assert_eq!(vm.charge(0, 1), Ok(Verdict::Throttle));
    assert_eq!(vm.charge(0, 0), Ok(Verdict::Throttle));
    assert_eq!(vm.remaining(1), Ok(5), "the other vCPU has its own share");
    assert_eq!(vm.refill(0, 1), Ok(Verdict::Run));
}

#[test]
fn a_share_of_zero_throttles_before_any_event() {
    let mut vm = vm(0, &[1]);
    assert_eq!(vm.refill(0, 0), Ok(Verdict::Throttle));
}

#[test]
fn overshoot_is_paid_out_of_the_next_periods() {
    let mut vm = vm(10, &[1]);
    vm.refill(0, 0).unwrap();
    assert_eq!(vm.charge(0, 33), Ok(Verdict::Throttle));
    assert_eq!(vm.debt(0), Ok(23));
    assert_eq!(vm.refill(0, 1), Ok(Verdict::Throttle));
    assert_eq!(vm.refill(0, 2), Ok(Verdict::Throttle));
    assert_eq!(vm.refill(0, 3), Ok(Verdict::Run));
    assert_eq!(vm.remaining(0), Ok(7));
}

#[test]
fn skipped_periods_give_nothing_and_pay_nothing() {
    let mut vm = vm(10, &[1]);
    vm.refill(0, 0).unwrap();
    vm.charge(0, 13).unwrap();
    vm.refill(0, 1000).unwrap();
    assert_eq!(vm.remaining(0), Ok(7));
    vm.refill(0, 2000).unwrap();
    assert_eq!(vm.remaining(0), Ok(10));
}

#[test]
fn a_vcpu_with_something_left_goes_on_by_the_short_way() {
    let mut vm = vm(10, &[1]);
    assert_eq!(vm.go_on(0, 0), Ok(None), "it is in no period yet");
    vm.refill(0, 0).unwrap();
    vm.charge(0, 3).unwrap();
    assert_eq!(vm.go_on(0, 6), Ok(Some(10)));
    assert_eq!(vm.refill(0, 1), Err(ReservationError::BadPeriod));
    assert_eq!(vm.go_on(0, 10), Ok(None), "all of it");
    assert_eq!(vm.remaining(0), Ok(10));
}

#[test]
fn a_period_is_begun_once_and_never_again() {
    let mut vm = vm(10, &[1]);
    vm.refill(0, 5).unwrap();
    vm.charge(0, 10).unwrap();
    for period in [5, 4, u64::MAX] {
        assert_eq!(vm.refill(0, period), Err(ReservationError::BadPeriod));
        assert_eq!(vm.remaining(0), Ok(0));
    }
}

#[test]
fn a_change_holds_from_its_period_on_whenever_a_core_gets_there() {
    let mut vm = vm(10, &[1, 1]);
    begin(&mut vm, 2, 0);
    vm.change(2, 30).unwrap();
    assert_eq!(vm.remaining(0), Ok(5), "not in the period that runs");
    vm.refill(0, 1).unwrap();
    assert_eq!(vm.share(0), Ok(5));
    vm.refill(0, 2).unwrap();
    assert_eq!(vm.share(0), Ok(15));
    vm.refill(1, 1).unwrap();
    assert_eq!(
        vm.share(1),
        Ok(5),
        "this core is late, its period's budget is not"
    );
    vm.refill(1, 2).unwrap();
    assert_eq!(vm.share(1), Ok(15));
}

#[test]
fn a_period_that_a_vcpu_has_begun_is_not_changed() {
    let mut vm = vm(10, &[1, 1]);
    vm.refill(1, 3).unwrap();
    for period in [0, 3, u64::MAX] {
        assert_eq!(vm.change(period, 30), Err(ReservationError::BadPeriod));
    }
    assert_eq!(vm.change(4, u64::MAX), Err(ReservationError::BadBudget));
    vm.refill(0, 4).unwrap();
    assert_eq!(vm.share(0), Ok(5));
}

#[test]
fn one_change_waits_and_an_earlier_one_takes_its_place() {
    let mut vm = vm(10, &[1]);
    vm.change(5, 50).unwrap();
    assert_eq!(vm.change(6, 60), Err(ReservationError::Pending));
    vm.change(5, 40).unwrap();
    vm.change(3, 30).unwrap();
    let shares: Vec<u64> = (2..=6).flat_map(|p| begin(&mut vm, 1, p)).collect();
    assert_eq!(shares, [10, 30, 30, 30, 30]);
}

#[test]
fn a_vcpu_that_lags_misses_periods_and_holds_up_no_change() {
    let mut vm = vm(10, &[1, 1]);
    begin(&mut vm, 2, 0);
    vm.change(2, 20).unwrap();
    vm.refill(0, 2).unwrap();
    vm.change(3, 30).unwrap();
    assert_eq!(vm.refill(1, 1), Err(ReservationError::BadPeriod));
    vm.refill(1, 2).unwrap();
    assert_eq!(vm.share(1), Ok(10));
}

#[test]
fn debt_saturates_instead_of_wrapping() {
    let mut vm = vm(1, &[1]);
    vm.charge(0, u64::MAX).unwrap();
    vm.charge(0, u64::MAX).unwrap();
    assert_eq!(vm.debt(0), Ok(u64::MAX));
    assert_eq!(vm.refill(0, 0), Ok(Verdict::Throttle));
}

#[test]
fn vms_that_cannot_be_are_refused() {
    let refused = |budget, split| Reservation::new(budget, split).unwrap_err();
    assert_eq!(refused(1, Split::Balanced(0)), ReservationError::BadVcpu);
    assert_eq!(refused(1, Split::Balanced(9)), ReservationError::BadVcpu);
    assert_eq!(
        refused(1, Split::Weighted(&[1; 9])),
        ReservationError::BadVcpu
    );
    assert_eq!(
        refused(u64::MAX, Split::Balanced(1)),
        ReservationError::BadBudget
    );
    assert_eq!(
        refused(1, Split::Weighted(&[0, 0])),
        ReservationError::BadWeights
    );
    assert_eq!(
        refused(1, Split::Weighted(&[u32::MAX, 1])),
        ReservationError::BadWeights
    );
    assert!(Reservation::new(1, Split::Balanced(8)).is_ok());
}

#[test]
fn vcpus_that_the_vm_does_not_have_are_refused() {
    let mut vm = vm(10, &[1, 1]);
    for vcpu in [2, 8, u32::MAX] {
        assert_eq!(vm.refill(vcpu, 0), Err(ReservationError::BadVcpu));
        assert_eq!(vm.charge(vcpu, 1), Err(ReservationError::BadVcpu));
        assert_eq!(vm.remaining(vcpu), Err(ReservationError::BadVcpu));
        assert_eq!(vm.go_on(vcpu, 1), Err(ReservationError::BadVcpu));
    }
}
