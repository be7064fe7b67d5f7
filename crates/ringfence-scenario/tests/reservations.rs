//! Properties of reservations in scenario files: exact, complete, or refused.

use std::path::Path;

use proptest::prelude::*;
use ringfence_scenario::vm::{Reservation, Vm};
use ringfence_scenario::{NoFiles, load_platform, parse};

fn reservation(vcpus: usize, text: &str) -> Result<Reservation, String> {
    let source = format!(
        r#"
        [scenario]
        name = "one"
        platform = "zcu104"
        duration = "1 s"
        [[vm]]
        name = "writer"
        cores = "0-{}"
        reservation = {{ {text} }}
        [[case]]
        name = "reserved"
        "#,
        vcpus - 1
    );
    parse(&source, "one.toml", Path::new(""), &NoFiles)
        .map(|scenario| scenario.vms[0].reservation.clone().unwrap())
        .map_err(|diagnostics| diagnostics.to_string())
}

proptest! {
    /// A bandwidth becomes the most lines that are not above it.
    #[test]
    fn a_bandwidth_becomes_lines_rounded_down(
        bytes_per_second in 0_u64..1_000_000_000,
        period_us in 1_u64..=1_000_000,
    ) {
        let text = format!(r#"budget = "{bytes_per_second} B/s", period = "{period_us} us""#);
        let line_time = 64_u128 * 1_000_000;
        let traffic = u128::from(bytes_per_second) * u128::from(period_us);
        match reservation(1, &text) {
            Ok(reservation) => {
                let events = u128::from(reservation.budget_events);
                prop_assert!(events * line_time <= traffic && traffic < (events + 1) * line_time);
                prop_assert_eq!(reservation.requested_bytes_per_second, Some(bytes_per_second));
            }
            Err(said) => {
                prop_assert!(traffic < line_time, "{}", said);
                prop_assert!(said.contains("no event in a period"));
            }
        }
    }

    /// Shares add up to the budget and each is within an event of its exact part;
    /// a vCPU without a share is refused.
    #[test]
    fn shares_add_up_to_the_budget(
        budget in 1_u64..10_000,
        weights in prop::collection::vec(0_u32..50, 1..=4),
    ) {
        let text = format!(r#"budget = {budget}, period = "1 ms", shares = {weights:?}"#);
        let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        match reservation(weights.len(), &text) {
            Ok(reservation) => {
                prop_assert_eq!(reservation.shares.iter().sum::<u64>(), budget);
                for (&share, &weight) in reservation.shares.iter().zip(&weights) {
                    prop_assert!(share > 0);
                    let exact = budget * u64::from(weight);
                    prop_assert!((share * sum).abs_diff(exact) < sum);
                }
            }
            Err(said) if sum == 0 => prop_assert!(said.contains("add up to 0")),
            Err(said) => {
                prop_assert!(said.contains("which would never run"), "{}", said);
                let least = weights.iter().map(|&weight| budget * u64::from(weight)).min();
                prop_assert!(least.is_some_and(|least| least < sum));
            }
        }
    }
}

/// A DDR4-2400 whose accesses are writes to other rows of one bank: 17 + 12 + 4 + 18 + 17
/// clocks of 833 ps a line, and 312 + 17 of 9363 clocks for a refresh.
#[test]
fn a_memory_can_always_do_what_its_slowest_accesses_leave() {
    let memory = load_platform("zcu104").unwrap().memory.unwrap();
    let dram = &memory.dram;
    let line_s = f64::from(17 + 12 + 4 + 18 + 17) * 833e-12;
    let expected = 64.0 / line_s * (1.0 - f64::from(313 + 17) / 9363.0);
    let found = dram.guaranteed_bytes_per_second(64) as f64;
    assert!((found / expected - 1.0).abs() < 0.001, "{found} {expected}");
    assert!(dram.guaranteed_bytes_per_second(128) > dram.guaranteed_bytes_per_second(64));
    assert!(dram.guaranteed_bytes_per_second(64) < dram.peak_bytes_per_second());
}

/// The example says who lends and borrows, and who may change what.
#[test]
fn what_happens_at_run_time_arrives_in_the_model() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/hyp/lending.toml");
    let scenario = ringfence_scenario::load(&path).unwrap_or_else(|said| panic!("{said}"));
    assert_eq!(scenario.reservations_bytes_per_second, Some(300_000_000));
    let [changed, lender, borrower, manager] = &scenario.vms[..] else {
        panic!("four VMs");
    };
    let reservation = |vm: &Vm| vm.reservation.clone().unwrap();
    let bounds = reservation(changed).bounds.unwrap();
    assert_eq!(bounds.budget_events, 10..=300);
    assert_eq!(bounds.period_ns, 20_000..=1_000_000);
    assert!(!reservation(changed).takes_part());
    assert!(reservation(lender).lends && reservation(lender).borrows_events == 0);
    assert!(!reservation(borrower).lends && reservation(borrower).borrows_events == 16);
    assert_eq!(reservation(lender).bounds, None);
    assert_eq!(manager.may_change, [0]);
    assert!(
        [changed, lender, borrower]
            .iter()
            .all(|vm| vm.may_change.is_empty())
    );
}
