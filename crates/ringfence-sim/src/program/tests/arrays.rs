//! Arrays in lockstep, and strided walkers.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ringfence_scenario::model::{self, Program};

use super::{LINE_BYTES, run, run_again, streams, task, visits};
use crate::program::{Access, Op};

pub(super) fn arrays(reads: u8, writes: u8, lines: u64, stride_lines: u64, passes: u32) -> Program {
    Program::Streams(model::Streams {
        reads,
        writes,
        array_bytes: lines * u64::from(LINE_BYTES),
        stride_bytes: stride_lines * u64::from(LINE_BYTES),
        compute_cycles: 7,
        passes,
    })
}

#[test]
fn a_triad_reads_two_lines_computes_and_writes_one() {
    let mut stream = streams(task(1, false), &arrays(2, 1, 3, 1, 1)).remove(0);
    let ops = run(&mut stream);
    let found: Vec<_> = ops
        .iter()
        .map(|op| (op.line, op.access, op.compute_ps / 1000))
        .collect();
    let step = |line| {
        [
            (line, Access::Load, 0),
            (3 + line, Access::Load, 0),
            (6 + line, Access::Store, 7),
        ]
    };
    assert_eq!(found, [step(0), step(1), step(2)].concat());
}

#[test]
fn a_stride_walks_down_the_columns() {
    let mut stream = streams(task(1, false), &arrays(1, 0, 10, 4, 1)).remove(0);
    let lines: Vec<u64> = run(&mut stream).iter().map(|op| op.line).collect();
    assert_eq!(lines, [0, 4, 8, 1, 5, 9, 2, 6, 3, 7]);
}

proptest! {
    /// Whatever the stride and however many threads: each line of each array
    /// once a pass, in lockstep, and computation once a step.
    #[test]
    fn streams_visit_every_line_of_every_array_once_a_pass(
        (reads, writes) in (0_u8..5, 0_u8..5).prop_filter("an array", |&(reads, writes)| reads + writes > 0),
        threads in 1_u16..5,
        lines in 5_u64..200,
        stride in 1_u64..50,
        passes in 1_u32..4,
    ) {
        let arrays_of = u64::from(reads) + u64::from(writes);
        let program = arrays(reads, writes, lines, stride, passes);
        let mut all = Vec::new();
        for stream in &mut streams(task(threads, false), &program) {
            let ops = run(stream);
            for step in ops.chunks(arrays_of as usize) {
                for (array, op) in step.iter().enumerate() {
                    prop_assert_eq!(op.line, step[0].line + array as u64 * lines);
                    let reads_it = array < usize::from(reads);
                    prop_assert_eq!(op.access, if reads_it { Access::Load } else { Access::Store });
                }
                prop_assert_eq!(step.iter().map(|op| op.compute_ps).sum::<u64>(), 7000);
            }
            let lines_of = |ops: &[Op]| ops.iter().map(|op| op.line).collect::<Vec<_>>();
            prop_assert_eq!(run_again(stream), lines_of(&ops), "a job is like the one before");
            all.extend(ops);
        }
        let expected: BTreeMap<u64, u32> = (0..arrays_of * lines).map(|line| (line, passes)).collect();
        prop_assert_eq!(visits(&all), expected);
    }

    /// Each sweep has a step for each byte; with an odd stride over a power of
    /// two the first walker comes by every byte of every line.
    #[test]
    fn strided_walkers_sweep_the_buffer(
        lines_log2 in 0_u32..7,
        half_stride in 0_u64..2000,
        read_stride in 1_u64..200,
        passes in 1_u32..4,
        threads in 1_u16..3,
    ) {
        let lines = 1_u64 << lines_log2;
        let bytes = lines * u64::from(LINE_BYTES);
        let program = Program::Strided(model::Strided {
            working_set_bytes: bytes,
            change_stride_bytes: (2 * half_stride + 1) % bytes,
            read_stride_bytes: read_stride.min(bytes),
            compute_cycles: 3,
            passes,
        });
        for stream in &mut streams(task(threads, false), &program) {
            let ops = run(stream);
            prop_assert_eq!(ops.len() as u64, 2 * bytes * u64::from(passes));
            for (sweep, ops) in ops.chunks(2 * bytes as usize).enumerate() {
                let changed: Vec<Op> = ops.iter().skip(1).step_by(2).copied().collect();
                let expected = if sweep % 2 == 0 { Access::Modify } else { Access::Load };
                prop_assert!(changed.iter().all(|op| op.access == expected));
                let every_byte = (0..lines).map(|line| (line, LINE_BYTES)).collect();
                prop_assert_eq!(visits(&changed), every_byte);
                prop_assert!(ops.iter().step_by(2).all(|op| op.access == Access::Load && op.line < lines));
            }
            let time: u64 = ops.iter().map(|op| op.compute_ps).sum();
            prop_assert_eq!(time, 3000 * bytes * u64::from(passes));
            prop_assert_eq!(run_again(stream), ops.iter().map(|op| op.line).collect::<Vec<_>>());
        }
    }
}

/// The strides of stress-ng: the first walker is in each quarter of the buffer in
/// turn and comes to a new line there in every 16th turn; the second comes to 33
/// new lines in 64 steps.
#[test]
fn the_strides_of_the_cache_stressor() {
    let bytes = 64 << 10;
    let program = Program::Strided(model::Strided {
        working_set_bytes: bytes,
        change_stride_bytes: bytes / 4 + 1,
        read_stride_bytes: 33,
        compute_cycles: 0,
        passes: 1,
    });
    let ops = run(&mut streams(task(1, false), &program).remove(0));
    let new_lines = |ops: &[&Op]| {
        let pairs = ops.windows(2);
        pairs.filter(|pair| pair[0].line != pair[1].line).count()
    };
    let reader: Vec<&Op> = ops.iter().step_by(2).collect();
    // One more or less: where a walker starts within its line is random.
    assert!(new_lines(&reader).abs_diff(33 * 1024) <= 1);
    for quarter in 0..4 {
        let changer: Vec<&Op> = ops.iter().skip(1 + 2 * quarter).step_by(8).collect();
        assert!(new_lines(&changer).abs_diff(1024) <= 1);
    }
}
