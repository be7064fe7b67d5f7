//! A neural network, layer by layer, each shared by all threads.
//!
//! Layers, sizes and the split over threads are the scenario's; the numbers are
//! single or double precision, and weights and input are random ones of a usual size.
//! Unlike the model, a layer whose kernel covers all of its input gathers that, too.

use std::sync::Arc;

use ringfence_scenario::network::{self, Layer};

use super::network_layer::{Division, LayerPart, Value, Values};
use super::serial_phase::SerialPhase;
use super::{Barrier, Part, ProgramError, Setting};
use ringfence_victims::random::Random;

struct NeuralNetwork<V: Value> {
    parts: Vec<LayerPart<V>>,
    has_serial_phase: bool,
    /// Of the first thread.
    serial: Option<SerialPhase>,
    barrier: Arc<Barrier>,
    block: Vec<V>,
    line_bytes: u64,
    /// Phase that comes next in endless work.
    next: usize,
}

pub(super) fn prepare(
    model: &network::NeuralNetwork,
    setting: &Setting,
) -> Result<Vec<Box<dyn Part>>, ProgramError> {
    match model.bytes_per_value {
        4 => prepare_for::<f32>(model, setting),
        8 => prepare_for::<f64>(model, setting),
        bytes => Err(ProgramError::ValueBytes(bytes)),
    }
}

fn prepare_for<V: Value>(
    model: &network::NeuralNetwork,
    setting: &Setting,
) -> Result<Vec<Box<dyn Part>>, ProgramError> {
    let networks = networks::<V>(model, setting)?;
    let boxed = networks
        .into_iter()
        .map(|network| Box::new(network) as Box<dyn Part>);
    Ok(boxed.collect())
}

fn networks<V: Value>(
    model: &network::NeuralNetwork,
    setting: &Setting,
) -> Result<Vec<NeuralNetwork<V>>, ProgramError> {
    check(model)?;
    // Not having what is allocated below would end the process: it is tried first.
    drop(super::map(model.memory_bytes(setting.threads.into()))?);
    let inputs = model.layers.first().map_or(0, |layer| values(layer.input));
    let input: Arc<[V::Cell]> = (0..inputs).map(|_| V::Cell::default()).collect();
    input
        .iter()
        .zip(input_values(setting.seed))
        .for_each(|(cell, value)| V::of(value).store(cell));
    let barrier = Arc::new(Barrier::new(setting.threads));
    let mut networks = (0..setting.threads)
        .map(|thread| {
            let serial = (thread == 0 && !model.serial.is_empty())
                .then(|| SerialPhase::new(&model.serial, setting));
            Ok(NeuralNetwork {
                parts: Vec::new(),
                has_serial_phase: !model.serial.is_empty(),
                serial: serial.transpose()?,
                barrier: Arc::clone(&barrier),
                block: Vec::new(),
                line_bytes: setting.line_bytes,
                next: 0,
            })
        })
        .collect::<Result<Vec<_>, ProgramError>>()?;
    let mut input = input;
    for (number, layer) in model.layers.iter().enumerate() {
        let division = Arc::new(Division::new(layer, setting.threads, size_of::<V>()));
        let weights = weights::<V>(&division, layer, setting.seed, number);
        let outputs = values(layer.output());
        let output: Arc<[V::Cell]> = (0..outputs).map(|_| V::Cell::default()).collect();
        for (thread, network) in networks.iter_mut().enumerate() {
            network.parts.push(LayerPart {
                division: Arc::clone(&division),
                values: Values {
                    weights: Arc::clone(&weights),
                    input: Arc::clone(&input),
                    output: Arc::clone(&output),
                },
                thread,
                rectifies: number + 1 < model.layers.len(),
            });
            let values = network.block.len().max(division.block_values());
            // Written, so that it is there.
            network.block = vec![V::of(1.0); values];
        }
        input = output;
    }
    Ok(networks)
}

/// Whether the layers fit each other, as those of a scenario do.
fn check(model: &network::NeuralNetwork) -> Result<(), ProgramError> {
    let mut before = model.layers.first().map(|layer| layer.input);
    for (number, layer) in model.layers.iter().enumerate() {
        let shape = layer.input;
        let is_layer = layer.stride > 0
            && layer.outputs > 0
            && (1..=shape.rows.min(shape.columns)).contains(&layer.kernel)
            && shape.channels > 0;
        // Fully connected layers see all values as those of one point.
        let fits = before.is_some_and(|before| before == shape || before.flat() == Some(shape));
        if !is_layer || !fits {
            return Err(ProgramError::Layer(number));
        }
        before = Some(layer.output());
    }
    Ok(())
}

fn weights<V: Value>(division: &Division, layer: &Layer, seed: u64, number: usize) -> Arc<[V]> {
    let mut weights = Vec::with_capacity(division.weights());
    division.each_weight(|product, output| {
        weights.push(V::of(weight(layer, seed, number, product, output)));
    });
    weights.into()
}

/// Weight of product `product` of output `output` in layer `number`; it does not depend on
/// the threads.
///
/// Products go over the kernel's rows, in these over its columns, in these over the
/// channels. Weights are random and keep the size of values from layer to layer (K. He and
/// others, "Delving Deep into Rectifiers", ICCV 2015).
pub fn weight(layer: &Layer, seed: u64, number: usize, product: usize, output: usize) -> f64 {
    let place = (product as u64) << 32 | output as u64;
    let seed = seed.wrapping_add(number as u64);
    let mut random = Random::new(Random::new(seed ^ place).next_bits());
    signed(&mut random) * (6.0 / layer.depth() as f64).sqrt()
}

/// What networks are given: random values from -1 to 1, point after point with the values
/// of its channels.
pub fn input_values(seed: u64) -> impl Iterator<Item = f64> {
    let mut random = Random::new(seed);
    std::iter::repeat_with(move || signed(&mut random))
}

/// What the network computes of [`input_values`] in single precision, for comparison with
/// others that compute the same: the last layer's values, point after point.
///
/// # Errors
/// When it cannot run here.
pub fn outputs(
    model: &network::NeuralNetwork,
    setting: &Setting,
) -> Result<Vec<f32>, ProgramError> {
    let mut networks = networks::<f32>(model, setting)?;
    let part = networks.first().and_then(|network| network.parts.last());
    let output = part.map_or_else(|| [].into(), |part| Arc::clone(&part.values.output));
    std::thread::scope(|scope| {
        for network in &mut networks {
            scope.spawn(|| network.job(0));
        }
    });
    Ok(output.iter().map(f32::load).collect())
}

/// A number from -1 to 1.
fn signed(random: &mut Random) -> f64 {
    let bits = (random.next_bits() >> 11) as f64;
    bits / (1_u64 << 52) as f64 - 1.0
}

fn values(shape: network::Shape) -> usize {
    (shape.points() * u64::from(shape.channels)) as usize
}

impl<V: Value> Part for NeuralNetwork<V> {
    fn job(&mut self, _job: u64) {
        if self.has_serial_phase {
            if let Some(serial) = &mut self.serial {
                serial.run();
            }
            self.barrier.wait();
        }
        for part in &self.parts {
            part.compute(&mut self.block);
            self.barrier.wait();
        }
    }

    fn step(&mut self) -> u64 {
        let phases = self.parts.len() + usize::from(self.has_serial_phase);
        let phase = self.next;
        self.next = (phase + 1) % phases.max(1);
        let layer = phase.checked_sub(usize::from(self.has_serial_phase));
        match layer.and_then(|layer| self.parts.get(layer)) {
            Some(part) => {
                part.compute(&mut self.block);
                part.bytes().div_ceil(self.line_bytes)
            }
            None => self.serial.as_mut().map_or(0, |serial| {
                serial.run();
                serial.accesses()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ringfence_scenario::network::{SerialPhase, Shape};

    fn layer(input: Shape, kernel: u32, stride: u32, outputs: u32) -> Layer {
        Layer {
            input,
            kernel,
            stride,
            outputs,
        }
    }

    /// Two convolutions, then what is left of the input fully connected.
    fn network(
        input: Shape,
        outputs: [u32; 3],
        kernel: u32,
        stride: u32,
    ) -> network::NeuralNetwork {
        let first = layer(input, kernel, stride, outputs[0]);
        let second = layer(first.output(), 1, 1, outputs[1]);
        let third = layer(second.output().flat().unwrap(), 1, 1, outputs[2]);
        network::NeuralNetwork {
            layers: vec![first, second, third],
            bytes_per_value: 8,
            cycles_per_mac_milli: 1000,
            serial: SerialPhase {
                cycles: 100,
                read_bytes: 256,
                accesses: 10,
                working_set_bytes: 512,
            },
        }
    }

    /// The definition of a convolution, output by output.
    fn reference(model: &network::NeuralNetwork, seed: u64, input: &[f64]) -> Vec<f64> {
        let mut values = input.to_vec();
        for (number, layer) in model.layers.iter().enumerate() {
            let bound = (6.0 / layer.depth() as f64).sqrt();
            let weight = |product: usize, output: usize| {
                let place = (product as u64) << 32 | output as u64;
                let seed = seed.wrapping_add(number as u64);
                signed(&mut Random::new(Random::new(seed ^ place).next_bits())) * bound
            };
            let (columns, channels) = (layer.input.columns as usize, layer.input.channels as usize);
            let (kernel, stride) = (layer.kernel as usize, layer.stride as usize);
            let shape = layer.output();
            let mut next = Vec::new();
            for point in 0..shape.points() as usize {
                let (row, column) = (
                    point / shape.columns as usize,
                    point % shape.columns as usize,
                );
                for output in 0..layer.outputs as usize {
                    let mut sum = 0.0;
                    for (y, x, channel) in (0..kernel)
                        .flat_map(|y| (0..kernel).map(move |x| (y, x)))
                        .flat_map(|(y, x)| (0..channels).map(move |channel| (y, x, channel)))
                    {
                        let at = (row * stride + y) * columns + column * stride + x;
                        let product = (y * kernel + x) * channels + channel;
                        sum += values[at * channels + channel] * weight(product, output);
                    }
                    let is_last = number + 1 == model.layers.len();
                    next.push(if is_last { sum } else { sum.max(0.0) });
                }
            }
            values = next;
        }
        values
    }

    fn run(model: &network::NeuralNetwork, threads: u16) -> (Vec<f64>, Vec<f64>) {
        let setting = Setting {
            threads,
            line_bytes: 64,
            bank_functions: Vec::new(),
            seed: 7,
        };
        let mut networks = networks::<f64>(model, &setting).unwrap();
        let load = |cells: &[<f64 as Value>::Cell]| cells.iter().map(f64::load).collect();
        let first = &networks[0].parts[0].values.input;
        let last = Arc::clone(&networks[0].parts.last().unwrap().values.output);
        let input = load(first);
        // The second job finds what the first one left.
        for job in 0..2 {
            std::thread::scope(|scope| {
                for network in &mut networks {
                    scope.spawn(move || network.job(job));
                }
            });
        }
        (input, load(&last))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// Whatever the sizes and threads, every output is the sum of its products.
        #[test]
        fn layers_are_what_convolutions_are_defined_to_be(
            rows in 3_u32..12,
            columns in 3_u32..12,
            channels in 1_u32..40,
            outputs in [1_u32..30, 1_u32..30, 1_u32..40],
            kernel in 1_u32..4,
            stride in 1_u32..3,
            threads in 1_u16..5,
        ) {
            let model = network(Shape { rows, columns, channels }, outputs, kernel, stride);
            let (input, found) = run(&model, threads);
            let expected = reference(&model, 7, &input);
            prop_assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert!((found - expected).abs() < 1e-9, "{} {}", found, expected);
            }
        }
    }

    /// Long sums in several slices, blocks that do not hold all patches.
    #[test]
    fn slices_and_blocks_join() {
        let input = Shape {
            rows: 20,
            columns: 30,
            channels: 64,
        };
        let model = network(input, [25, 13, 50], 3, 1);
        for threads in [1, 3] {
            let (input, found) = run(&model, threads);
            let expected = reference(&model, 7, &input);
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-9, "{found} {expected}");
            }
            // A small network may be a constant, this one is none.
            assert!(expected.iter().any(|value| *value != 0.0));
        }
    }

    #[test]
    fn endless_work_goes_through_all_phases_without_others() {
        let input = Shape {
            rows: 4,
            columns: 4,
            channels: 2,
        };
        let model = network(input, [3, 3, 3], 3, 1);
        let setting = Setting {
            threads: 2,
            line_bytes: 64,
            bank_functions: Vec::new(),
            seed: 7,
        };
        let mut networks = networks::<f64>(&model, &setting).unwrap();
        let steps: Vec<u64> = (0..5).map(|_| networks[0].step()).collect();
        // 4 lines read and 10 accesses; weights and own outputs of each layer in lines.
        assert_eq!(steps[0], 14);
        assert_eq!(steps[4], 14);
        assert!(
            steps[1..4].iter().all(|&accesses| accesses > 0),
            "{steps:?}"
        );
        assert_eq!(
            networks[1].step(),
            0,
            "the first thread does the serial phase"
        );
    }
}
