//! What each program touches and how much of it; no time is looked at.

use super::*;
use ringfence_scenario::model::{Access, Pattern};
use ringfence_scenario::network::{Layer, NeuralNetwork, SerialPhase, Shape};

fn setting(threads: u16) -> Setting {
    Setting {
        threads,
        line_bytes: 64,
        bank_functions: vec![0x40],
        seed: 1,
    }
}

fn every_program() -> Vec<Program> {
    let kib = |count: u64| count << 10;
    let scenario = [
        model::Program::Compute(model::Compute {
            time_ns: 100_000,
            slowed_by: Vec::new(),
        }),
        model::Program::Bandwidth(model::Bandwidth {
            access: Access::Write,
            working_set_bytes: kib(16),
            passes: 2,
        }),
        model::Program::LinkedLists(model::LinkedLists {
            access: Access::Read,
            working_set_bytes: kib(16),
            lists: 3,
            bank: Some(1),
            passes: 2,
        }),
        model::Program::Cpu(model::Cpu {
            working_set_bytes: kib(4),
            cycles_per_access: 3,
            accesses: 1000,
        }),
        model::Program::Streams(model::Streams {
            reads: 2,
            writes: 1,
            array_bytes: kib(8),
            stride_bytes: 256,
            compute_cycles: 70,
            passes: 2,
        }),
        model::Program::Strided(model::Strided {
            working_set_bytes: kib(4),
            change_stride_bytes: 1025,
            read_stride_bytes: 33,
            compute_cycles: 2,
            passes: 2,
        }),
        model::Program::Phases(vec![phase(Pattern::Sequential), phase(Pattern::Random)]),
        model::Program::NeuralNetwork(NeuralNetwork {
            layers: vec![network_layer(5), network_layer(3)],
            bytes_per_value: 4,
            cycles_per_mac_milli: 1000,
            serial: SerialPhase::default(),
        }),
    ];
    let image = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../ringfence-victims/images/camera.pgm"
    );
    scenario
        .into_iter()
        .map(Program::Scenario)
        .chain([
            Program::MatrixProduct { rows: 50 },
            Program::Corners {
                image: image.into(),
                threshold: 20,
            },
        ])
        .collect()
}

fn phase(pattern: Pattern) -> model::Phase {
    model::Phase {
        compute_cycles: 1000,
        read_bytes: 6400,
        write_bytes: 3200,
        working_set_bytes: 4096,
        pattern,
    }
}

/// A layer over `points` times as many points.
fn network_layer(points: u32) -> Layer {
    Layer {
        input: Shape {
            rows: points,
            columns: points,
            channels: 5,
        },
        kernel: 3,
        stride: 1,
        outputs: 5,
    }
}

/// Threads that meet at barriers come through all jobs together, and endless work goes
/// on alone.
#[test]
fn every_program_runs_its_jobs_and_goes_on_without_end() {
    for threads in [1, 3] {
        for program in every_program() {
            let mut parts = prepare(&program, &setting(threads)).unwrap();
            assert_eq!(parts.len(), usize::from(threads));
            std::thread::scope(|scope| {
                for part in &mut parts {
                    scope.spawn(move || (0..3).for_each(|job| part.job(job)));
                }
            });
            let accesses: u64 = (0..3).map(|_| parts[0].step()).sum();
            let is_memory = !matches!(&program, Program::Scenario(model::Program::Compute(_)));
            assert_eq!(accesses > 0, is_memory, "{program:?}");
        }
    }
}

/// A thread whose others never come does not end its job, however long it has.
#[test]
fn no_thread_ends_a_job_before_the_others_have_come() {
    let waits = |program: &Program| match program {
        Program::Scenario(program) => matches!(
            program,
            model::Program::Phases(_) | model::Program::NeuralNetwork(_)
        ),
        Program::MatrixProduct { .. } => true,
        Program::Corners { .. } => false,
    };
    for program in every_program().into_iter().filter(waits) {
        let mut parts = prepare(&program, &setting(2)).unwrap();
        let mut first = parts.remove(0);
        let alone = std::thread::spawn(move || first.job(0));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!alone.is_finished(), "{program:?}");
        parts[0].job(0);
        alone.join().unwrap();
    }
}

#[test]
fn compute_spends_time_of_the_thread_itself() {
    let program = model::Program::Compute(model::Compute {
        time_ns: 20_000_000,
        slowed_by: Vec::new(),
    });
    let mut parts = prepare(&Program::Scenario(program), &setting(1)).unwrap();
    let before_ns = crate::clock::thread_time_ns();
    // Asleep it spends nothing.
    std::thread::sleep(std::time::Duration::from_millis(30));
    let asleep_ns = crate::clock::thread_time_ns() - before_ns;
    parts[0].job(0);
    let spent_ns = crate::clock::thread_time_ns() - before_ns;
    assert!(
        asleep_ns < 20_000_000 && spent_ns >= 20_000_000,
        "{asleep_ns} {spent_ns}"
    );
}

#[test]
fn what_cannot_run_natively_is_refused_with_what_can() {
    let trace = model::Program::Trace(model::Trace {
        path: "susan.rftrace".into(),
        job: None,
    });
    let lists = |bank| {
        model::Program::LinkedLists(model::LinkedLists {
            access: Access::Read,
            working_set_bytes: 64,
            lists: 2,
            bank,
            passes: 1,
        })
    };
    let network = |bytes_per_value, layers| {
        model::Program::NeuralNetwork(NeuralNetwork {
            layers,
            bytes_per_value,
            cycles_per_mac_milli: 1,
            serial: SerialPhase::default(),
        })
    };
    let scenario = [
        (trace, "run the program itself"),
        (lists(Some(2)), "which has 2"),
        (lists(None), "1 lines"),
        (network(2, Vec::new()), "bytes_per_value = 4 or 8"),
        (network(4, vec![network_layer(2)]), "layer 0 does not"),
        (network(4, vec![network_layer(5); 2]), "layer 1 does not"),
    ];
    let missing = Program::Corners {
        image: "/nowhere.pgm".into(),
        threshold: 20,
    };
    let others = [
        (Program::MatrixProduct { rows: 0 }, "1 to 16384 rows"),
        (missing, "/nowhere.pgm: No such file"),
    ];
    let scenario = scenario.map(|(program, expected)| (Program::Scenario(program), expected));
    for (program, expected) in scenario.into_iter().chain(others) {
        let error = prepare(&program, &setting(1))
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
    for (threads, line_bytes, expected) in [(0, 64, "at least 1"), (1, 48, "a line of 48")] {
        let setting = Setting {
            line_bytes,
            ..setting(threads)
        };
        let program = Program::MatrixProduct { rows: 1 };
        let error = prepare(&program, &setting)
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn what_is_spread_adds_up_and_lies_evenly() {
    for (total, steps) in [(0, 3), (10, 3), (3, 10), (7, 7), (1000, 1)] {
        let mut spread = Spread::new(total, steps);
        let mut sum = 0;
        for step in 1..=steps {
            sum += spread.next();
            assert_eq!(sum, total * step / steps, "{total} over {steps}");
        }
    }
}

#[test]
fn programs_survive_the_way_to_another_process() {
    for program in every_program() {
        let json = serde_json::to_string(&program).unwrap();
        assert_eq!(
            serde_json::from_str::<Program>(&json).unwrap(),
            program,
            "{json}"
        );
    }
}
