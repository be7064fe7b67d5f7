//! The short way into another period against the three calls that it stands for.

use ringfence_policy::reservation::{Reservation, Verdict};

use crate::reference::Reference;

/// Has `vcpu` go on into `period`, behind the one that it is in and with the same share, both
/// in the policy and in the reference. Whether the policy is then where the three calls would
/// have brought it, or where it was if they are needed.
pub fn is_the_three_calls(
    vm: &mut Reservation,
    reference: &mut Reference,
    vcpu: u32,
    period: u64,
    events: u64,
) -> bool {
    let before = vm.clone();
    let mut three = vm.clone();
    let charged = three.charge(vcpu, events).unwrap();
    three.refill(vcpu, period).unwrap();
    let remains = three.remaining(vcpu).unwrap();
    match vm.go_on(vcpu, events).unwrap() {
        Some(left) => {
            reference.charge(vcpu as usize, events).unwrap();
            reference.refill(vcpu as usize, period).unwrap();
            charged == Verdict::Run && left == remains && *vm == three
        }
        None => charged == Verdict::Throttle && *vm == before,
    }
}
