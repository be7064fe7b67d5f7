//! What [`Machine`] promises, on both machines: the same stream, seen only
//! through the trait.

#[path = "common/board.rs"]
// Other test files use the rest of it.
#[allow(dead_code)]
mod board;

use board::board;
use ringfence_scenario::model::{Pattern, Phase, Program};
use ringfence_sim::machine::compute::{ComputeMachine, ComputeStream};
use ringfence_sim::machine::{ExactMachine, Machine, Picoseconds, Stop, StreamId};

const CORES: u16 = 2;
/// One job of each of the two streams, which only compute.
const WORK_PS: Picoseconds = 1_000_000;

fn exact(lookahead: Picoseconds) -> impl Machine {
    let mut machine = ExactMachine::new(&board(CORES), 1, lookahead).unwrap();
    let program = Program::Phases(vec![Phase {
        compute_cycles: WORK_PS / 1000,
        read_bytes: 0,
        write_bytes: 0,
        working_set_bytes: 64,
        pattern: Pattern::Sequential,
    }]);
    for name in ["first", "second"] {
        machine.add_task(name, &program, 1, false, None).unwrap();
    }
    machine
}

fn rate() -> impl Machine {
    let stream = |owner| ComputeStream {
        owner,
        work_ps: Some(WORK_PS),
        slowed_by: Vec::new(),
    };
    ComputeMachine::new(CORES, &[stream(0), stream(1)]).unwrap()
}

/// Runs `check` on a new machine of each kind.
macro_rules! on_both {
    ($check:expr) => {
        $check(rate());
        for lookahead in [1, 300_000, 50_000_000] {
            $check(exact(lookahead));
        }
    };
}

#[test]
fn stops_at_the_horizon_come_before_it_in_core_order() {
    fn check(mut machine: impl Machine) {
        machine.start(0, StreamId(0), 0);
        machine.start(1, StreamId(1), 0);
        machine.interrupt(1, WORK_PS / 2);
        assert_eq!(machine.run_until(WORK_PS / 2 - 1), Stop::Horizon);
        let interrupted = Stop::Interrupted {
            core: 1,
            time: WORK_PS / 2,
        };
        assert_eq!(machine.run_until(WORK_PS / 2), interrupted);
        assert_eq!(machine.run_until(WORK_PS / 2), Stop::Horizon);
        machine.start(1, StreamId(1), WORK_PS / 2);
        assert_eq!(machine.run_until(WORK_PS - 1), Stop::Horizon);
        let time = WORK_PS;
        assert_eq!(machine.run_until(time), Stop::Ended { core: 0, time });
        assert_eq!(machine.run_until(time), Stop::Ended { core: 1, time });
        assert_eq!(machine.run_until(time), Stop::Horizon);
    }
    on_both!(check);
}

#[test]
fn a_job_that_ends_when_it_is_interrupted_has_ended() {
    fn check(mut machine: impl Machine) {
        machine.start(0, StreamId(0), 0);
        machine.interrupt(0, WORK_PS);
        let time = WORK_PS;
        assert_eq!(machine.run_until(u64::MAX), Stop::Ended { core: 0, time });
    }
    on_both!(check);
}

#[test]
fn an_interrupt_asked_for_at_the_horizon_is_taken_there() {
    fn check(mut machine: impl Machine) {
        machine.start(0, StreamId(0), 0);
        let time = 123_457;
        assert_eq!(machine.run_until(time), Stop::Horizon);
        machine.interrupt(0, time);
        assert_eq!(machine.run_until(time), Stop::Interrupted { core: 0, time });
        machine.start(0, StreamId(0), time);
        let time = WORK_PS;
        assert_eq!(machine.run_until(u64::MAX), Stop::Ended { core: 0, time });
    }
    on_both!(check);
}
