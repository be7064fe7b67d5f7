//! A neural network, layer by layer, each shared by all threads.
//!
//! Where a layer has one point the threads share its outputs, otherwise its points.

use ringfence_scenario::network;

use super::Op;
use super::barriers::Barriers;
use super::matrix_product::{Cursor, MatrixProduct, Walk};
use super::serial_phase::{Framework, SerialPhase};
use super::task::Task;

#[derive(Debug, Clone)]
pub(crate) struct NeuralNetwork {
    /// This thread's part of each layer.
    parts: Vec<MatrixProduct>,
    /// This thread's part of the phase before the first layer, if there is one.
    serial: Option<SerialPhase>,
    /// Whether it is planned.
    serial_is_planned: bool,
    barriers: Barriers,
    cursor: Cursor,
    /// Walks that are planned, which of them comes next, and how far it is.
    walks: Vec<Walk>,
    walk: usize,
    step: u64,
    /// What comes after the walks.
    framework: Framework,
}

impl NeuralNetwork {
    pub(super) fn new(task: &Task, model: &network::NeuralNetwork, thread: u16) -> Self {
        let parts = parts(task, model, thread);
        let has_serial_phase = !model.serial.is_empty();
        let is_idle =
            parts.iter().all(MatrixProduct::is_empty) && !(thread == 0 && has_serial_phase);
        Self {
            parts,
            serial: has_serial_phase.then(|| SerialPhase::new(task, &model.serial, thread)),
            serial_is_planned: false,
            barriers: Barriers::new(model.phases(), task.endless && !is_idle),
            cursor: Cursor::default(),
            walks: Vec::new(),
            walk: 0,
            step: 0,
            framework: Framework::none(),
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Op> {
        loop {
            let Some(walk) = self.walks.get(self.walk) else {
                if let Some(op) = self.framework.next() {
                    return Some(op);
                }
                self.plan()?;
                continue;
            };
            if self.step < walk.steps() {
                self.step += 1;
                return Some(walk.op(self.step - 1));
            }
            self.walk += 1;
            self.step = 0;
        }
    }

    /// Plans more walks, perhaps none; `None` while the thread waits for others.
    fn plan(&mut self) -> Option<()> {
        self.walks.clear();
        self.walk = 0;
        let phase = self.barriers.phase()?;
        let has_more = match (&self.serial, phase) {
            (Some(_), 0) if self.serial_is_planned => false,
            (Some(serial), 0) => {
                self.walks.push(serial.read);
                self.framework = serial.framework.clone();
                self.serial_is_planned = true;
                true
            }
            (serial, _) => {
                let layer = phase - usize::from(serial.is_some());
                self.parts[layer].plan(&mut self.cursor, &mut self.walks)
            }
        };
        if !has_more {
            self.rewind();
            self.barriers.arrive();
        }
        Some(())
    }

    /// To the begin of a phase.
    fn rewind(&mut self) {
        self.cursor = Cursor::default();
        self.serial_is_planned = false;
    }

    pub(super) fn has_next(&self) -> bool {
        self.barriers.has_next()
    }

    pub(super) fn resume(&mut self) {
        self.barriers.resume();
    }

    pub(super) fn begin_job(&mut self) {
        self.barriers.begin_job();
        self.rewind();
        self.walks.clear();
        self.walk = 0;
        self.step = 0;
        self.framework = Framework::none();
    }
}

/// Lays the network out in memory: what the serial phase reads, input, weights and
/// output of each layer, blocks.
fn parts(task: &Task, model: &network::NeuralNetwork, thread: u16) -> Vec<MatrixProduct> {
    let mut end = model.serial.memory_bytes();
    let mut take = |bytes: u64| {
        end += bytes;
        end - bytes
    };
    let input = model.layers.first().map(|layer| layer.input);
    let mut input = take(input.map_or(0, |shape| model.activation_bytes(shape)));
    let mut parts: Vec<MatrixProduct> = Vec::new();
    for layer in &model.layers {
        let points = layer.output().points();
        let outputs = u64::from(layer.outputs);
        let (points, outputs) = match points {
            1 => (0..1, task.share(outputs, thread)),
            _ => (task.share(points, thread), 0..outputs),
        };
        let part = MatrixProduct {
            layer: *layer,
            weights: take(model.weight_bytes(layer)),
            input,
            output: take(model.activation_bytes(layer.output())),
            block: 0,
            points,
            outputs,
            value_bytes: model.bytes_per_value.into(),
            line_bytes: task.line_bytes.into(),
            threads: task.threads.into(),
            products_ps: task.clock.cycles(model.cycles_per_mac_milli.into()),
        };
        input = part.output;
        parts.push(part);
    }
    let block = end + u64::from(thread) * network::NeuralNetwork::block_bytes(task.threads.into());
    for part in &mut parts {
        part.block = block;
    }
    parts
}
