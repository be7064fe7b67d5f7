//! A made-up way of a head, and where it was thought to be: turned and shifted, as one who does not
//! know where he began, and off by more where nothing was enforced.

use ringfence_record::accuracy::{Accuracy, Alignment, Measure, Quantity, Trajectory};
use ringfence_record::event::Event;

const LIMIT_UM: u64 = 300_000;
const STEPS: i64 = 60;
const STEP_NS: u64 = 50_000_000;
const SEEDS: i64 = 10;

/// What every case that tells of it declares.
pub fn accuracy() -> Accuracy {
    Accuracy {
        trajectories: vec![Trajectory {
            name: "head".into(),
            alignment: Alignment::Rigid,
            median_limit_um: Some(LIMIT_UM),
        }],
        measures: vec![Measure {
            name: "median error".into(),
            quantity: Quantity::Length,
            limit: Some(LIMIT_UM.cast_signed()),
        }],
    }
}

/// Told when the case ends; `off_um` is how wrong it is at most.
pub fn events(time_ns: u64, off_um: i64) -> Vec<Event> {
    let mut events = Vec::new();
    for step in 0..STEPS {
        let [x, y, z] = way_um(step);
        let at_ns = step.cast_unsigned() * STEP_NS;
        events.push(Event::TruePosition {
            time_ns,
            trajectory: 0,
            at_ns,
            position_um: [x, y, z],
        });
        // One moment is dropped.
        if step == STEPS / 2 {
            continue;
        }
        let wrong = swing(step * 7, off_um);
        events.push(Event::Position {
            time_ns,
            trajectory: 0,
            at_ns,
            position_um: [y + 3_000_000 + wrong, -x + 500_000, z - wrong / 2],
        });
    }
    events.extend((0..SEEDS).map(|seed| Event::Measured {
        time_ns,
        measure: 0,
        value: off_um / 2 + seed * seed * off_um / 100,
    }));
    events
}

fn way_um(step: i64) -> [i64; 3] {
    [
        swing(step, 8_000_000),
        swing(step * 2 + 5, 3_000_000),
        1_500_000 + swing(step * 3, 400_000),
    ]
}

/// To `height` and back in 60 steps.
fn swing(step: i64, height: i64) -> i64 {
    let step = step.rem_euclid(60);
    height * step.min(60 - step) / 30
}
