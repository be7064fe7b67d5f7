//! Networks against the sums that a layer is defined by.

use std::collections::BTreeSet;
use std::ops::Range;

use proptest::prelude::*;
use ringfence_scenario::network::{Layer, NeuralNetwork, SerialPhase, Shape};

use super::*;

const CYCLES_PER_MAC_MILLI: u32 = 2000;
const VALUE_BYTES: u64 = 4;

fn network(layers: Vec<Layer>, serial: SerialPhase) -> NeuralNetwork {
    NeuralNetwork {
        layers,
        bytes_per_value: VALUE_BYTES as u8,
        cycles_per_mac_milli: CYCLES_PER_MAC_MILLI,
        serial,
    }
}

fn serial_phases() -> impl Strategy<Value = SerialPhase> {
    let framework = prop_oneof![Just((0, 0)), (1_u64..300, 1_u64..5000)];
    let phases = (0_u64..1000, 0_u64..1000, framework).prop_map(
        |(cycles, read_bytes, (accesses, working_set_bytes))| SerialPhase {
            cycles,
            read_bytes,
            accesses,
            working_set_bytes,
        },
    );
    prop_oneof![Just(SerialPhase::default()), phases]
}

/// One or two convolutions and a fully connected layer.
fn networks() -> impl Strategy<Value = NeuralNetwork> {
    let shape = (5_u32..24, 5_u32..24, 1_u32..40).prop_map(|(rows, columns, channels)| Shape {
        rows,
        columns,
        channels,
    });
    let kernels = prop::collection::vec((1_u32..=5, 1_u32..=3, 1_u32..40), 0..3);
    (shape, kernels, 1_u32..50, serial_phases()).prop_map(
        |(mut input, kernels, outputs, serial)| {
            let mut layers = Vec::new();
            for (kernel, stride, outputs) in kernels {
                let layer = Layer {
                    input,
                    kernel: kernel.min(input.rows).min(input.columns),
                    stride,
                    outputs,
                };
                input = layer.output();
                layers.push(layer);
            }
            layers.push(Layer {
                input: input.flat().unwrap(),
                kernel: 1,
                stride: 1,
                outputs,
            });
            network(layers, serial)
        },
    )
}

/// The lines that hold these values of the region that starts at byte `region`.
fn lines_of(region: u64, values: Range<u64>) -> Range<u64> {
    let first = region + values.start * VALUE_BYTES;
    let end = region + values.end * VALUE_BYTES;
    first / u64::from(LINE_BYTES)..end.div_ceil(LINE_BYTES.into())
}

/// All lines of the input that some kernel position covers, point by point.
fn seen(layer: &Layer, region: u64) -> BTreeSet<u64> {
    let mut lines = BTreeSet::new();
    let output = layer.output();
    for row in 0..output.rows {
        for column in 0..output.columns {
            for (y, x) in (0..layer.kernel).flat_map(|y| (0..layer.kernel).map(move |x| (y, x))) {
                let (row, column) = (row * layer.stride + y, column * layer.stride + x);
                let point = u64::from(row * layer.input.columns + column);
                let channels = u64::from(layer.input.channels);
                lines.extend(lines_of(region, point * channels..(point + 1) * channels));
            }
        }
    }
    lines
}

fn touched(
    phase: &[Vec<Op>],
    wanted: impl Fn(Access) -> bool,
    within: Range<u64>,
) -> BTreeSet<u64> {
    let ops = phase.iter().flatten();
    ops.filter(|op| wanted(op.access) && within.contains(&op.line))
        .map(|op| op.line)
        .collect()
}

/// What each thread does in each phase.
fn phases(network: &NeuralNetwork, threads: u16) -> Vec<Vec<Vec<Op>>> {
    let program = Program::NeuralNetwork(network.clone());
    let mut streams = streams(task(threads, false), &program);
    (0..network.phases())
        .map(|_| streams.iter_mut().map(run).collect())
        .collect()
}

proptest! {
    #[test]
    fn a_layer_reads_what_its_sums_need_and_writes_all_of_them(
        network in networks(),
        threads in 1_u16..5,
    ) {
        let mut phases = phases(&network, threads).into_iter();
        let mut input = network.serial.memory_bytes();
        if !network.serial.is_empty() {
            let serial = phases.next().unwrap();
            let compute_ps: u64 = serial.iter().flatten().map(|op| op.compute_ps).sum();
            prop_assert_eq!(compute_ps, network.serial.cycles * 1000);
            let read_end = network.serial.read_end() / u64::from(LINE_BYTES);
            prop_assert_eq!(touched(&serial, Access::reads, 0..read_end), (0..read_end).collect());
            let working_set = read_end..input / u64::from(LINE_BYTES);
            let fetched = serial[0].iter().filter(|op| working_set.contains(&op.line));
            let fetched = fetched.filter(|op| op.access.reads() && op.order == Order::Fetch);
            prop_assert_eq!(fetched.count() as u64, network.serial.accesses);
            prop_assert!(serial.iter().flatten().all(|op| !op.access.writes()));
            prop_assert!(serial[1..].iter().flatten().all(|op| op.access == Access::None));
        }
        let mut end = input + network.activation_bytes(network.layers[0].input);
        for (layer, phase) in network.layers.iter().zip(phases) {
            let weights = end;
            let output = weights + network.weight_bytes(layer);
            end = output + network.activation_bytes(layer.output());
            let (depth, outputs) = (layer.depth(), u64::from(layer.outputs));
            let points = layer.output().points();

            let inputs = lines_of(input, 0..layer.input.points() * u64::from(layer.input.channels));
            prop_assert_eq!(touched(&phase, Access::reads, inputs), seen(layer, input));
            let all = lines_of(weights, 0..depth * outputs);
            prop_assert_eq!(touched(&phase, Access::reads, all.clone()), all.collect());
            let all = lines_of(output, 0..points * outputs);
            prop_assert_eq!(touched(&phase, Access::writes, all.clone()), all.collect());

            let compute_ps: u64 = phase.iter().flatten().map(|op| op.compute_ps).sum();
            let exact_ps = depth * outputs * points * u64::from(CYCLES_PER_MAC_MILLI);
            prop_assert_eq!(compute_ps, exact_ps);
            input = output;
        }
    }

    #[test]
    fn threads_stay_in_their_memory_and_share_the_sums(network in networks(), threads in 1_u16..5) {
        let lines = network.memory_bytes(threads.into()) / u64::from(LINE_BYTES);
        let blocks = lines - u64::from(threads) * NeuralNetwork::block_bytes(threads.into()) / u64::from(LINE_BYTES);
        for phase in phases(&network, threads) {
            let mut gathered = BTreeSet::new();
            for ops in phase {
                prop_assert!(ops.iter().all(|op| op.line < lines));
                let own = touched(&[ops], Access::writes, blocks..lines);
                prop_assert!(gathered.is_disjoint(&own), "two threads gather into one block");
                gathered.extend(own);
            }
        }
    }

    #[test]
    fn an_interrupted_thread_goes_on_where_it_was(network in networks(), every in 1_usize..50) {
        let program = Program::NeuralNetwork(network.clone());
        let lines = |ops: &[Op]| ops.iter().map(|op| op.line).collect::<Vec<_>>();
        let mut undisturbed = streams(task(1, false), &program).remove(0);
        let mut interrupted = undisturbed.clone();
        for _ in 0..network.phases() {
            let expected = lines(&run(&mut undisturbed));
            let mut ops = Vec::new();
            interrupted.resume();
            while let Some(op) = interrupted.peek() {
                ops.push(*op);
                interrupted.advance();
                // The core was taken from the thread and given back.
                if ops.len() % every == 0 && interrupted.peek().is_some() {
                    interrupted.resume();
                }
            }
            prop_assert_eq!(lines(&ops), expected);
        }
    }

    #[test]
    fn every_job_is_the_same(network in networks()) {
        let mut stream = streams(task(1, false), &Program::NeuralNetwork(network)).remove(0);
        let mut job = || {
            stream.begin_job(0);
            let mut lines = Vec::new();
            loop {
                lines.extend(run(&mut stream).iter().map(|op| (op.line, op.compute_ps)));
                if !stream.has_next_phase() {
                    return lines;
                }
            }
        };
        prop_assert_eq!(job(), job());
    }
}

#[test]
fn a_thread_without_work_ends_even_if_the_network_is_endless() {
    let layer = Layer {
        input: Shape {
            rows: 1,
            columns: 1,
            channels: 4,
        },
        kernel: 1,
        stride: 1,
        outputs: 1,
    };
    let program = Program::NeuralNetwork(network(vec![layer], SerialPhase::default()));
    let mut streams = streams(task(2, true), &program);
    let works: Vec<bool> = streams
        .iter_mut()
        .map(|stream| stream.peek().is_some())
        .collect();
    assert_eq!(works, [false, true]);
}

/// DAVE-2 as its paper draws it: Bojarski et al., "End to End Learning for
/// Self-Driving Cars", 2016, figure 4: about 27 million connections.
#[test]
fn dave_2_has_the_published_number_of_connections() {
    let convolutions = [(5, 2, 24), (5, 2, 36), (5, 2, 48), (3, 1, 64), (3, 1, 64)];
    let mut input = Shape {
        rows: 66,
        columns: 200,
        channels: 3,
    };
    let mut layers = Vec::new();
    for (kernel, stride, outputs) in convolutions {
        layers.push(Layer {
            input,
            kernel,
            stride,
            outputs,
        });
        input = layers[layers.len() - 1].output();
    }
    assert_eq!(
        input,
        Shape {
            rows: 1,
            columns: 18,
            channels: 64
        }
    );
    let of_layer =
        |layer: &Layer| layer.depth() * u64::from(layer.outputs) * layer.output().points();
    let connections: u64 = layers.iter().map(of_layer).sum();
    assert!(
        (26_500_000..27_500_000).contains(&connections),
        "{connections}"
    );
}
