//! One thread's part of a layer of a neural network, as a blocked matrix product.
//!
//! A layer is a product: its weights times the patches of its input that the
//! kernel sees, one patch a point of the output. The loops are those of Eigen,
//! which TensorFlow computes with on a CPU (GeneralBlockPanelKernel.h): the sums
//! are formed in slices; patches are gathered into a block, as many as fit it;
//! for each panel of weights, which stays in the first-level cache, the block is
//! walked, a few patches at a time.
//!
//! Not modelled: that Eigen gathers the weights, too, and that its last slice is shorter.

use std::ops::Range;

use ringfence_scenario::network::{Layer, NeuralNetwork};

use super::{Access, Op, Order};
use crate::machine::Picoseconds;

/// Outputs of a panel of weights: three registers of four values.
const PANEL_OUTPUTS: u64 = 12;
/// Patches that are multiplied with a panel at a time.
const GROUP_PATCHES: u64 = 4;
/// Most products of a slice, with one thread and with several: panel and patches,
/// 64 B a product of four-byte values, have to fit a first-level cache of 32 KiB.
const SLICE_MAX: u64 = 504;
const SLICE_MAX_OF_SEVERAL: u64 = 320;

/// Lines that are accessed one after the other; without lines, computation alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk {
    pub(super) first: u64,
    pub(super) lines: u64,
    pub(super) access: Access,
    /// Spread over the lines.
    pub(super) compute_ps: Picoseconds,
}

impl Walk {
    /// Operations of the walk.
    pub(super) fn steps(&self) -> u64 {
        self.lines.max(1)
    }

    #[inline]
    pub(super) fn op(&self, step: u64) -> Op {
        let rest_ps = self.compute_ps % self.steps();
        Op {
            compute_ps: self.compute_ps / self.steps() + u64::from(step < rest_ps),
            line: self.first + step,
            access: self.access,
            // What was loaded is multiplied before the next load.
            order: match self.access.reads() {
                true => Order::AfterMisses,
                false => Order::Independent,
            },
        }
    }
}

/// Bytes of memory.
type Bytes = Range<u64>;

/// A thread's part of one layer.
#[derive(Debug, Clone)]
pub(super) struct MatrixProduct {
    pub(super) layer: Layer,
    /// First bytes of weights, input, output, and of the thread's block.
    pub(super) weights: u64,
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) block: u64,
    /// Points of the output that the thread computes, and which outputs of each.
    pub(super) points: Range<u64>,
    pub(super) outputs: Range<u64>,
    pub(super) value_bytes: u64,
    pub(super) line_bytes: u64,
    /// Threads that share the network.
    pub(super) threads: u64,
    /// Time of a thousand products.
    pub(super) products_ps: Picoseconds,
}

/// What comes next.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cursor {
    slice: u64,
    /// First point of the block, counted from the thread's first.
    block: u64,
    /// First output of the panel, counted from the thread's first; `None` while gathering.
    panel: Option<u64>,
    /// First point of the group, counted from the block's first.
    group: u64,
}

impl MatrixProduct {
    pub(super) fn is_empty(&self) -> bool {
        self.points.is_empty() || self.outputs.is_empty()
    }

    /// Adds the next walks, perhaps none; says whether there can be more.
    pub(super) fn plan(&self, cursor: &mut Cursor, walks: &mut Vec<Walk>) -> bool {
        if self.is_empty() || cursor.slice == self.slices() {
            return false;
        }
        let slice = self.slice(cursor.slice);
        let block = self.block_points(cursor);
        let first = block.start + cursor.group;
        let group = first..block.end.min(first + GROUP_PATCHES);
        let patches = self.patches(&slice, cursor.group, group.end - group.start);
        match cursor.panel {
            None if self.gathers() => self.gather(&slice, group, patches, walks),
            None => {}
            Some(panel) => {
                let first = self.outputs.start + panel;
                let panel = first..self.outputs.end.min(first + PANEL_OUTPUTS);
                self.multiply(&slice, group, panel, patches, walks);
            }
        }
        self.advance(cursor);
        true
    }

    fn advance(&self, cursor: &mut Cursor) {
        let block = self.block_points(cursor);
        cursor.group += GROUP_PATCHES;
        if cursor.group < block.end - block.start {
            return;
        }
        cursor.group = 0;
        let next = cursor.panel.map_or(0, |panel| panel + PANEL_OUTPUTS);
        cursor.panel = Some(next).filter(|&next| next < self.outputs.end - self.outputs.start);
        if cursor.panel.is_some() {
            return;
        }
        cursor.block += self.block_patches();
        if self.points.start + cursor.block >= self.points.end {
            cursor.block = 0;
            cursor.slice += 1;
        }
    }

    /// Copies the patches of a group into the block.
    fn gather(&self, slice: &Range<u64>, group: Range<u64>, to: Bytes, walks: &mut Vec<Walk>) {
        let Layer {
            input,
            kernel,
            stride,
            ..
        } = self.layer;
        let (kernel, stride) = (u64::from(kernel), u64::from(stride));
        let (columns, channels) = (u64::from(input.columns), u64::from(input.channels));
        let output_columns = u64::from(self.layer.output().columns);
        let row_products = kernel * channels;
        let kernel_rows = slice.start / row_products..slice.end.div_ceil(row_products);
        for point in group {
            let (row, column) = (point / output_columns, point % output_columns);
            for kernel_row in kernel_rows.clone() {
                let before = kernel_row * row_products;
                let from = slice.start.max(before) - before;
                let until = slice.end.min(before + row_products) - before;
                let corner = (row * stride + kernel_row) * columns + column * stride;
                let first = corner * channels;
                let read = self.bytes(self.input, first + from, until - from);
                walks.push(self.walk(read, Access::Load));
            }
        }
        walks.push(self.walk(to, Access::Store));
    }

    /// Multiplies a group of patches with a panel of weights.
    fn multiply(
        &self,
        slice: &Range<u64>,
        group: Range<u64>,
        panel: Range<u64>,
        patches: Bytes,
        walks: &mut Vec<Walk>,
    ) {
        let depth = slice.end - slice.start;
        let panel_outputs = panel.end - panel.start;
        let all_outputs = u64::from(self.layer.outputs);
        let products = depth * panel_outputs * (group.end - group.start);
        let compute_ps = products * self.products_ps / 1000;

        let before = slice.start * all_outputs + panel.start * depth;
        let weights = self.bytes(self.weights, before, panel_outputs * depth);
        let mut patches = self.walk(patches, Access::Load);
        let mut weights = self.walk(weights, Access::Load);
        patches.compute_ps = compute_ps * patches.lines / (patches.lines + weights.lines);
        weights.compute_ps = compute_ps - patches.compute_ps;
        walks.extend([patches, weights]);

        let access = match slice.start {
            0 => Access::Store,
            _ => Access::Modify,
        };
        for point in group {
            let first = point * all_outputs + panel.start;
            let sums = self.bytes(self.output, first, panel_outputs);
            walks.push(self.walk(sums, access));
        }
    }

    /// The only patch of a kernel that covers all points is the input itself.
    fn gathers(&self) -> bool {
        let Layer { input, kernel, .. } = self.layer;
        (input.rows, input.columns) != (kernel, kernel)
    }

    /// Where the patches of a group are: in the block, or in the input itself.
    fn patches(&self, slice: &Range<u64>, group: u64, patches: u64) -> Bytes {
        let depth = slice.end - slice.start;
        match self.gathers() {
            true => self.bytes(self.block, group * depth, patches * depth),
            false => self.bytes(self.input, slice.start, depth),
        }
    }

    fn slices(&self) -> u64 {
        let most = match self.threads {
            1 => SLICE_MAX,
            _ => SLICE_MAX_OF_SEVERAL,
        };
        self.layer.depth().div_ceil(most)
    }

    fn slice_products(&self) -> u64 {
        self.layer.depth().div_ceil(self.slices())
    }

    fn slice(&self, slice: u64) -> Range<u64> {
        let start = slice * self.slice_products();
        start..self.layer.depth().min(start + self.slice_products())
    }

    /// Patches that fit the block, in whole groups.
    fn block_patches(&self) -> u64 {
        let patches =
            NeuralNetwork::block_bytes(self.threads) / (self.slice_products() * self.value_bytes);
        patches / GROUP_PATCHES * GROUP_PATCHES
    }

    fn block_points(&self, cursor: &Cursor) -> Range<u64> {
        let start = self.points.start + cursor.block;
        start..self.points.end.min(start + self.block_patches())
    }

    fn bytes(&self, region: u64, first: u64, values: u64) -> Bytes {
        let start = region + first * self.value_bytes;
        start..start + values * self.value_bytes
    }

    fn walk(&self, bytes: Bytes, access: Access) -> Walk {
        let first = bytes.start / self.line_bytes;
        Walk {
            first,
            lines: bytes.end.div_ceil(self.line_bytes) - first,
            access,
            compute_ps: 0,
        }
    }
}
