//! The machine without memory against a reference that counts single picoseconds in fractions.

use proptest::prelude::*;
use ringfence_sim::machine::compute::{ComputeError, ComputeMachine, ComputeStream, Slowdown};
use ringfence_sim::machine::{Machine, Stop, StreamId};

const MS: u64 = 1_000_000_000;

fn stream(owner: usize, work_ps: u64, slowed_by: &[(usize, u32)]) -> ComputeStream {
    ComputeStream {
        owner,
        work_ps: Some(work_ps),
        slowed_by: slowed_by
            .iter()
            .map(|&(owner, factor_milli)| Slowdown {
                owner,
                factor_milli,
            })
            .collect(),
    }
}

#[test]
fn ten_times_slower_for_four_milliseconds_leaves_the_rest_exactly() {
    let streams = [stream(0, 2 * MS, &[(1, 10_000)]), stream(1, 4 * MS, &[])];
    let mut machine = ComputeMachine::new(2, &streams).unwrap();
    machine.start(0, StreamId(0), 0);
    machine.start(1, StreamId(1), 0);
    let time = 4 * MS;
    assert_eq!(machine.run_until(u64::MAX), Stop::Ended { core: 1, time });
    let time = 4 * MS + 8 * MS / 5;
    assert_eq!(machine.run_until(u64::MAX), Stop::Ended { core: 0, time });
}

#[test]
fn slowdowns_beyond_128_bits_are_refused() {
    let slowed_by: Vec<_> = (0..12).map(|owner| (owner, 1_000_003)).collect();
    let error = ComputeMachine::new(1, &[stream(0, MS, &slowed_by)]).unwrap_err();
    assert!(matches!(error, ComputeError::TooFine { slowdowns: 12, .. }));
}

/// A non-negative fraction.
#[derive(Clone, Copy)]
struct Fraction(u128, u128);

impl Fraction {
    fn plus(self, other: Self) -> Self {
        Self(self.0 * other.1 + other.0 * self.1, self.1 * other.1).reduced()
    }

    fn reduced(self) -> Self {
        let (mut divisor, mut rest) = (self.0, self.1);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        Self(self.0 / divisor, self.1 / divisor)
    }
}

/// One core's orders: from when to execute its stream, and when to interrupt it.
#[derive(Debug, Clone)]
struct Order {
    from: u64,
    interrupt: Option<u64>,
    work: Option<u64>,
    slowed_by: Vec<(usize, u32)>,
}

/// Steps through every picosecond; owner `i` is core `i`'s stream.
fn reference(orders: &[Order], horizon: u64) -> Vec<Stop> {
    let mut done = vec![Fraction(0, 1); orders.len()];
    let mut busy = vec![true; orders.len()];
    let mut stops = Vec::new();
    for time in 0..=horizon {
        for (index, order) in orders.iter().enumerate() {
            if !busy[index] || time < order.from {
                continue;
            }
            let core = u16::try_from(index).unwrap();
            let ended = order
                .work
                .is_some_and(|work| done[index].0 >= u128::from(work) * done[index].1);
            if ended {
                stops.push(Stop::Ended { core, time });
                busy[index] = false;
            } else if order.interrupt.is_some_and(|at| at <= time) {
                stops.push(Stop::Interrupted { core, time });
                busy[index] = false;
            }
        }
        for (index, order) in orders.iter().enumerate() {
            if !busy[index] || time < order.from {
                continue;
            }
            let mut rate = Fraction(1, 1);
            for &(owner, factor) in &order.slowed_by {
                if busy.get(owner) == Some(&true) && orders[owner].from <= time {
                    rate = Fraction(rate.0 * 1000, rate.1 * u128::from(factor)).reduced();
                }
            }
            done[index] = done[index].plus(rate);
        }
    }
    stops
}

/// Factors whose fractions keep the reference's denominators within 128 bits.
fn factor() -> impl Strategy<Value = u32> {
    prop_oneof![
        Just(1_000_u32),
        Just(1_200),
        Just(1_250),
        Just(2_800),
        Just(3_000),
        Just(10_000)
    ]
}

fn order() -> impl Strategy<Value = Order> {
    (
        0_u64..20,
        proptest::option::weighted(0.4, 0_u64..120),
        proptest::option::weighted(0.9, 0_u64..80),
        proptest::collection::vec((0_usize..4, factor()), 0..3),
    )
        .prop_map(|(from, interrupt, work, slowed_by)| Order {
            from,
            interrupt,
            work,
            slowed_by,
        })
}

proptest! {
    #[test]
    fn stops_where_the_reference_stops(orders in proptest::collection::vec(order(), 1..4)) {
        let streams: Vec<_> = orders
            .iter()
            .enumerate()
            .map(|(owner, order)| ComputeStream {
                work_ps: order.work,
                ..stream(owner, 0, &order.slowed_by)
            })
            .collect();
        let cores = u16::try_from(orders.len()).unwrap();
        let mut machine = ComputeMachine::new(cores, &streams).unwrap();
        for (core, order) in (0..cores).zip(&orders) {
            machine.start(core, StreamId(u32::from(core)), order.from);
            if let Some(at) = order.interrupt {
                machine.interrupt(core, at);
            }
        }
        let mut stops = Vec::new();
        loop {
            match machine.run_until(400) {
                Stop::Horizon => break,
                stop => stops.push(stop),
            }
        }
        prop_assert_eq!(stops, reference(&orders, 400));
    }
}
