//! What programs touch, and how often.

mod arrays;
mod neural_network;

use std::collections::BTreeMap;

use ringfence_scenario::model::{self, Pattern, Phase, Program};

use super::*;
use crate::machine::pages::PAGE_BYTES;

const LINE_BYTES: u32 = 64;

fn task(threads: u16, endless: bool) -> Task {
    Task {
        threads,
        endless,
        line_bytes: LINE_BYTES,
        clock: Clock::new(1_000_000_000, 1000, 1),
        seed: 11,
    }
}

/// One stream per thread over memory that is mapped one to one.
fn streams(task: Task, program: &Program) -> Vec<Stream> {
    let sources = task.sources(program).unwrap();
    let pages = (sources.lines * u64::from(LINE_BYTES)).div_ceil(PAGE_BYTES) as u32;
    let region: Region = (0..pages).collect();
    sources
        .threads
        .into_iter()
        .map(|source| Stream::new(source, region.clone(), false, WayMask::ALL, LINE_BYTES))
        .collect()
}

/// The operations up to the end of the job or phase.
fn run(stream: &mut Stream) -> Vec<Op> {
    stream.resume();
    let mut ops = Vec::new();
    while let Some(op) = stream.peek() {
        ops.push(*op);
        stream.advance();
    }
    ops
}

fn visits(ops: &[Op]) -> BTreeMap<u64, u32> {
    let mut visits = BTreeMap::new();
    for op in ops {
        *visits.entry(op.line).or_insert(0) += 1;
    }
    visits
}

fn lists(working_set_bytes: u64, lists: u8, passes: u32) -> Program {
    Program::LinkedLists(model::LinkedLists {
        access: model::Access::Read,
        working_set_bytes,
        lists,
        bank: None,
        passes,
    })
}

#[test]
fn lists_that_keep_some_lines_visit_each_of_them_once_a_pass() {
    let program = lists(64 * 64, 2, 3);
    for mut stream in streams(task(2, false), &program) {
        let is_wanted = |line: u64| line % 4 == 2;
        stream.keep(is_wanted).unwrap();
        let found = visits(&run(&mut stream));
        assert_eq!(found.len(), 16);
        assert!(
            found
                .iter()
                .all(|(&line, &times)| is_wanted(line) && times == 3)
        );
        let before = run_again(&mut stream);
        assert_eq!(
            stream.keep(|line| line % 64 == 1),
            Err(1),
            "two lists, one line"
        );
        assert_eq!(run_again(&mut stream), before, "nothing has changed");
    }
}

fn run_again(stream: &mut Stream) -> Vec<u64> {
    stream.begin_job(0);
    run(stream).iter().map(|op| op.line).collect()
}

#[test]
fn threads_of_a_walk_split_the_array() {
    let program = Program::Bandwidth(model::Bandwidth {
        access: model::Access::Write,
        working_set_bytes: 101 * 64,
        passes: 3,
    });
    let mut all = Vec::new();
    for mut stream in streams(task(4, false), &program) {
        let ops = run(&mut stream);
        assert!(
            ops.windows(2)
                .filter(|pair| pair[1].line != pair[0].line + 1)
                .count()
                <= 2
        );
        all.extend(ops);
    }
    assert_eq!(visits(&all), (0..101).map(|line| (line, 3)).collect());
    assert!(all.iter().all(|op| op.access == Access::Store));
}

#[test]
fn each_list_visits_all_its_nodes_before_it_repeats() {
    for lists_in_parallel in [1, 3, 6] {
        let mut stream = streams(task(1, false), &lists(200 * 64, lists_in_parallel, 1)).remove(0);
        let ops = run(&mut stream);
        let mut by_chain: BTreeMap<usize, Vec<Op>> = BTreeMap::new();
        for op in &ops {
            by_chain
                .entry(op.order.chain().unwrap())
                .or_default()
                .push(*op);
        }
        assert_eq!(by_chain.len(), usize::from(lists_in_parallel));
        // Lists of unequal length: the shorter ones start over before the job ends.
        let shortest = 200 / u64::from(lists_in_parallel);
        for chain in by_chain.values() {
            let visits = visits(&chain[..shortest as usize]);
            assert_eq!(visits.len() as u64, shortest);
        }
        if lists_in_parallel == 1 {
            let ascending = ops
                .windows(2)
                .filter(|pair| pair[1].line == pair[0].line + 1)
                .count();
            assert!(ascending < 20, "the list is not shuffled");
        }
    }
}

#[test]
fn a_thread_without_work_ends_even_if_the_phases_are_endless() {
    let phase = Phase {
        compute_cycles: 1,
        read_bytes: 0,
        write_bytes: 0,
        working_set_bytes: 0,
        pattern: Pattern::Sequential,
    };
    let threads = streams(task(2, true), &Program::Phases(vec![phase]));
    let works: Vec<bool> = threads
        .into_iter()
        .map(|mut stream| {
            (0..10).all(|_| stream.peek().is_some().then(|| stream.advance()).is_some())
        })
        .collect();
    assert_eq!(works, [false, true]);
}

#[test]
fn a_job_starts_over_from_the_same_place() {
    let phases = Program::Phases(vec![phase(Pattern::Random)]);
    for program in [lists(64 * 64, 4, 2), phases] {
        let mut stream = streams(task(1, false), &program).remove(0);
        stream.begin_job(5);
        let first: Vec<u64> = run(&mut stream).iter().map(|op| op.line).collect();
        stream.begin_job(6);
        stream.peek();
        stream.begin_job(5);
        let second: Vec<u64> = run(&mut stream).iter().map(|op| op.line).collect();
        assert_eq!(first, second);
    }
}

fn phase(pattern: Pattern) -> Phase {
    Phase {
        compute_cycles: 1001,
        read_bytes: 300 * 64,
        write_bytes: 100 * 64,
        working_set_bytes: 64 * 64,
        pattern,
    }
}

#[test]
fn phases_execute_what_they_state_and_end_at_barriers() {
    let program = Program::Phases(vec![phase(Pattern::Sequential), phase(Pattern::Random)]);
    let mut streams = streams(task(3, false), &program);
    for last in [false, true] {
        let mut all = Vec::new();
        for stream in &mut streams {
            all.extend(run(stream));
            assert_eq!(stream.has_next_phase(), !last);
            assert!(stream.peek().is_none(), "a thread waits at the barrier");
        }
        assert_eq!(all.iter().map(|op| op.compute_ps).sum::<u64>(), 1001 * 1000);
        assert_eq!(
            all.iter().filter(|op| op.access == Access::Store).count(),
            100
        );
        assert_eq!(
            all.iter().filter(|op| op.access == Access::Load).count(),
            300
        );
        assert!(all.iter().all(|op| op.line < 64));
    }
}

#[test]
fn a_phase_without_accesses_only_computes() {
    let mut phase = phase(Pattern::Sequential);
    (phase.read_bytes, phase.write_bytes) = (0, 0);
    let mut stream = streams(task(1, false), &Program::Phases(vec![phase])).remove(0);
    let ops = run(&mut stream);
    assert_eq!(ops.len(), 1);
    assert_eq!(
        (ops[0].access, ops[0].compute_ps),
        (Access::None, 1001 * 1000)
    );
}

#[test]
fn endless_programs_do_not_end() {
    let walk = Program::Bandwidth(model::Bandwidth {
        access: model::Access::Read,
        working_set_bytes: 640,
        passes: 1,
    });
    let cpu = Program::Cpu(model::Cpu {
        working_set_bytes: 640,
        cycles_per_access: 1,
        accesses: 1,
    });
    let strided = Program::Strided(model::Strided {
        working_set_bytes: 640,
        change_stride_bytes: 161,
        read_stride_bytes: 33,
        compute_cycles: 0,
        passes: 1,
    });
    for program in [
        walk,
        cpu,
        lists(640, 2, 1),
        arrays::arrays(2, 1, 10, 3, 1),
        strided,
        Program::Phases(vec![phase(Pattern::Random); 2]),
    ] {
        let mut stream = streams(task(1, true), &program).remove(0);
        for _ in 0..5000 {
            assert!(stream.peek().is_some());
            stream.advance();
        }
    }
}

#[test]
fn a_trace_is_replayed_line_by_line() {
    use ringfence_trace::{Kind, Metadata, Writer};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two-jobs.rftrace");
    let metadata = Metadata {
        program: "test".into(),
        arguments: Vec::new(),
        isa: "none".into(),
        compilers: Vec::new(),
        program_sha256: String::new(),
        recorder: "test".into(),
        address_granularity_bytes: 1,
        marked_jobs: true,
        instruction_lines: false,
    };
    let access = |address, instructions_before, size, kind| ringfence_trace::Access {
        address,
        instructions_before,
        size,
        kind,
    };
    let mut writer = Writer::new(std::fs::File::create(&path).unwrap(), &metadata).unwrap();
    for access in [
        access(0, 10, 8, Kind::Load),
        access(8, 5, 8, Kind::Store),
        access(60, 2, 8, Kind::Load),
        access(4096, 1, 4, Kind::Store),
    ] {
        writer.access(access).unwrap();
    }
    writer.end_job(7).unwrap();
    writer.access(access(128, 0, 4, Kind::Modify)).unwrap();
    writer.end_job(0).unwrap();
    writer.finish().unwrap();

    let program = |job| {
        Program::Trace(model::Trace {
            path: path.clone(),
            job,
        })
    };
    let mut stream = streams(task(1, false), &program(None)).remove(0);
    let summary = |ops: &[Op]| -> Vec<(u64, Access, u64)> {
        ops.iter()
            .map(|op| (op.line, op.access, op.compute_ps / 1000))
            .collect()
    };
    // The second access is the same line as the first: 10 + 5 instructions and one issue.
    let first = [
        (0, Access::Modify, 10 + 5 + 1 + 2 + 1),
        (1, Access::Load, 0),
        (64, Access::Store, 1),
        (0, Access::None, 7),
    ];
    assert_eq!(summary(&run(&mut stream)), first);
    stream.begin_job(1);
    assert_eq!(summary(&run(&mut stream))[0], (2, Access::Modify, 0));
    stream.begin_job(2);
    assert_eq!(summary(&run(&mut stream)), first, "jobs start over");

    let mut fixed = streams(task(1, false), &program(Some(1))).remove(0);
    fixed.begin_job(0);
    assert_eq!(run(&mut fixed)[0].line, 2);
    let error = task(1, false).sources(&program(Some(2))).err().unwrap();
    assert!(error.to_string().contains("expected 0 to 1"), "{error}");
}
