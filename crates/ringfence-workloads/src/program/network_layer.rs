//! One thread's part of a layer, computed as a blocked matrix product.
//!
//! The loops are those of Eigen, which TensorFlow computes with on a CPU: the sums are
//! formed in slices; patches of the input are gathered into a block, as many as fit it;
//! for each panel of weights, which stays in the first-level cache, the block is walked,
//! a few patches at a time. Weights lie panel after panel, as Eigen packs them.

use std::ops::{AddAssign, Mul, Range};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use ringfence_scenario::network::{Layer, NeuralNetwork};

/// Outputs of a panel of weights, and patches that are multiplied with it at a time; as
/// the simulator's model of the same loops has them, with their reasons.
const PANEL_OUTPUTS: usize = 12;
const GROUP_PATCHES: usize = 4;
/// Most products of a slice, with one thread and with several.
const SLICE_MAX: u64 = 504;
const SLICE_MAX_OF_SEVERAL: u64 = 320;

/// A number of a network.
pub(super) trait Value:
    Copy + Default + PartialOrd + Mul<Output = Self> + AddAssign + Send + Sync + 'static
{
    /// It in memory that threads share.
    type Cell: Default + Send + Sync;
    fn load(cell: &Self::Cell) -> Self;
    fn store(self, cell: &Self::Cell);
    fn of(value: f64) -> Self;
}

impl Value for f32 {
    type Cell = AtomicU32;

    fn load(cell: &AtomicU32) -> Self {
        Self::from_bits(cell.load(Relaxed))
    }

    fn store(self, cell: &AtomicU32) {
        cell.store(self.to_bits(), Relaxed);
    }

    fn of(value: f64) -> Self {
        value as Self
    }
}

impl Value for f64 {
    type Cell = AtomicU64;

    fn load(cell: &AtomicU64) -> Self {
        Self::from_bits(cell.load(Relaxed))
    }

    fn store(self, cell: &AtomicU64) {
        cell.store(self.to_bits(), Relaxed);
    }

    fn of(value: f64) -> Self {
        value
    }
}

/// How a layer's products are divided; the same for all of its threads.
#[derive(Debug, Clone)]
pub(super) struct Division {
    layer: Layer,
    /// Products of a slice; the last one may be shorter.
    slice_products: usize,
    /// Outputs of each thread: all of them, or a part of a layer with one point.
    outputs: Vec<Range<usize>>,
    /// Points of each thread.
    points: Vec<Range<usize>>,
    /// Patches that fit a block, whole groups.
    block_patches: usize,
}

impl Division {
    pub(super) fn new(layer: &Layer, threads: u16, value_bytes: usize) -> Self {
        let threads = u64::from(threads);
        let share = |total: u64, thread: u64| {
            let range = super::share(total, thread, threads);
            range.start as usize..range.end as usize
        };
        let (points, outputs) = (layer.output().points(), u64::from(layer.outputs));
        let (points, outputs) = match points {
            1 => (
                vec![0..1; threads as usize],
                (0..threads).map(|thread| share(outputs, thread)).collect(),
            ),
            _ => (
                (0..threads).map(|thread| share(points, thread)).collect(),
                vec![0..outputs as usize; threads as usize],
            ),
        };
        let most = match threads {
            1 => SLICE_MAX,
            _ => SLICE_MAX_OF_SEVERAL,
        };
        let slices = layer.depth().div_ceil(most);
        let slice_products = layer.depth().div_ceil(slices) as usize;
        let patches = NeuralNetwork::block_bytes(threads) as usize / (slice_products * value_bytes);
        Self {
            layer: *layer,
            slice_products,
            outputs,
            points,
            block_patches: (patches / GROUP_PATCHES).max(1) * GROUP_PATCHES,
        }
    }

    /// Values of a block.
    pub(super) fn block_values(&self) -> usize {
        self.block_patches * self.slice_products
    }

    /// Values of all weights.
    pub(super) fn weights(&self) -> usize {
        self.layer.depth() as usize * self.layer.outputs as usize
    }

    fn slices(&self) -> impl Iterator<Item = Range<usize>> {
        let depth = self.layer.depth() as usize;
        let starts = (0..depth).step_by(self.slice_products);
        starts.map(move |start| start..depth.min(start + self.slice_products))
    }

    /// Hands over each product's and output's number, in the order of the weights.
    pub(super) fn each_weight(&self, mut weight: impl FnMut(usize, usize)) {
        // Threads with all outputs share their panels.
        let outputs = match self.outputs.first() {
            Some(all) if all.len() == self.layer.outputs as usize => &self.outputs[..1],
            _ => &self.outputs[..],
        };
        for slice in self.slices() {
            for panel in outputs.iter().flat_map(panels) {
                for product in slice.clone() {
                    panel.clone().for_each(|output| weight(product, output));
                }
            }
        }
    }
}

fn panels(outputs: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = outputs.end;
    let starts = outputs.clone().step_by(PANEL_OUTPUTS);
    starts.map(move |start| start..end.min(start + PANEL_OUTPUTS))
}

/// A layer's values in memory that its threads share.
pub(super) struct Values<V: Value> {
    pub(super) weights: Arc<[V]>,
    pub(super) input: Arc<[V::Cell]>,
    pub(super) output: Arc<[V::Cell]>,
}

/// A thread's part of a layer.
pub(super) struct LayerPart<V: Value> {
    pub(super) division: Arc<Division>,
    pub(super) values: Values<V>,
    pub(super) thread: usize,
    /// Whether negative outputs become zero: all layers but the last (Nair and Hinton,
    /// "Rectified Linear Units Improve Restricted Boltzmann Machines", ICML 2010).
    pub(super) rectifies: bool,
}

impl<V: Value> LayerPart<V> {
    /// Bytes of the weights that the thread uses, and of the outputs that it writes.
    pub(super) fn bytes(&self) -> u64 {
        let outputs = self.division.outputs[self.thread].len();
        let points = self.division.points[self.thread].len();
        let weights = self.division.layer.depth() as usize * outputs;
        (size_of::<V>() * (weights + points * outputs)) as u64
    }

    /// Computes it; `block` has room for [`Division::block_values`].
    pub(super) fn compute(&self, block: &mut [V]) {
        let division = &*self.division;
        let points = &division.points[self.thread];
        let depth = division.layer.depth() as usize;
        if division.outputs[self.thread].is_empty() {
            return;
        }
        for slice in division.slices() {
            for first in points.clone().step_by(division.block_patches) {
                let points = first..points.end.min(first + division.block_patches);
                self.gather(&slice, &points, block);
                let patches = &block[..points.len() * slice.len()];
                self.multiply(&slice, &points, patches, slice.end == depth);
            }
        }
    }

    /// Copies the slice of each point's patch into the block.
    fn gather(&self, slice: &Range<usize>, points: &Range<usize>, block: &mut [V]) {
        let layer = &self.division.layer;
        let (columns, channels) = (layer.input.columns as usize, layer.input.channels as usize);
        let (kernel, stride) = (layer.kernel as usize, layer.stride as usize);
        let output_columns = layer.output().columns as usize;
        let row_products = kernel * channels;
        for (point, patch) in points.clone().zip(block.chunks_exact_mut(slice.len())) {
            let (row, column) = (point / output_columns, point % output_columns);
            let mut filled = 0;
            while filled < slice.len() {
                let product = slice.start + filled;
                let (kernel_row, within) = (product / row_products, product % row_products);
                let length = (row_products - within).min(slice.len() - filled);
                let corner = (row * stride + kernel_row) * columns + column * stride;
                let from = corner * channels + within;
                let cells = &self.values.input[from..from + length];
                let values = &mut patch[filled..filled + length];
                values
                    .iter_mut()
                    .zip(cells)
                    .for_each(|(value, cell)| *value = V::load(cell));
                filled += length;
            }
        }
    }

    /// Multiplies the gathered patches with all panels of the thread's outputs.
    fn multiply(&self, slice: &Range<usize>, points: &Range<usize>, patches: &[V], is_last: bool) {
        let all_outputs = self.division.layer.outputs as usize;
        let depth = slice.len();
        for panel in panels(&self.division.outputs[self.thread]) {
            let before = slice.start * all_outputs + panel.start * depth;
            let weights = &self.values.weights[before..before + panel.len() * depth];
            let groups = patches.chunks(GROUP_PATCHES * depth);
            for (group, first) in groups.zip(points.clone().step_by(GROUP_PATCHES)) {
                let sums = match (group.len() / depth, panel.len()) {
                    (GROUP_PATCHES, PANEL_OUTPUTS) => whole::<V, GROUP_PATCHES>(group, weights),
                    (1, PANEL_OUTPUTS) => whole::<V, 1>(group, weights),
                    _ => ragged(group, weights, depth, panel.len()),
                };
                for (point, sums) in (first..points.end).zip(&sums[..group.len() / depth]) {
                    let start = point * all_outputs + panel.start;
                    let cells = &self.values.output[start..start + panel.len()];
                    self.add(cells, sums, slice.start == 0, is_last);
                }
            }
        }
    }

    /// Adds sums of a slice to outputs.
    fn add(&self, cells: &[V::Cell], sums: &[V], is_first: bool, is_last: bool) {
        for (cell, sum) in cells.iter().zip(sums) {
            let mut value = *sum;
            if !is_first {
                value += V::load(cell);
            }
            if is_last && self.rectifies && value < V::default() {
                value = V::default();
            }
            value.store(cell);
        }
    }
}

type Sums<V> = [[V; PANEL_OUTPUTS]; GROUP_PATCHES];

/// `PATCHES` patches times a panel of [`PANEL_OUTPUTS`]: all sums stay in registers.
#[inline(never)]
fn whole<V: Value, const PATCHES: usize>(patches: &[V], weights: &[V]) -> Sums<V> {
    let depth = patches.len() / PATCHES;
    let rows: [&[V]; PATCHES] = std::array::from_fn(|patch| &patches[patch * depth..][..depth]);
    let mut sums = [[V::default(); PANEL_OUTPUTS]; PATCHES];
    for (product, weights) in weights.as_chunks::<PANEL_OUTPUTS>().0.iter().enumerate() {
        for (sums, row) in sums.iter_mut().zip(&rows) {
            let value = row[product];
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += value * *weight;
            }
        }
    }
    let mut all = [[V::default(); PANEL_OUTPUTS]; GROUP_PATCHES];
    all[..PATCHES].copy_from_slice(&sums);
    all
}

/// Fewer patches or outputs, at the ends.
#[inline(never)]
fn ragged<V: Value>(patches: &[V], weights: &[V], depth: usize, outputs: usize) -> Sums<V> {
    let mut sums = [[V::default(); PANEL_OUTPUTS]; GROUP_PATCHES];
    for (sums, row) in sums.iter_mut().zip(patches.chunks_exact(depth)) {
        for (value, weights) in row.iter().zip(weights.chunks_exact(outputs)) {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += *value * *weight;
            }
        }
    }
    sums
}
