//! What the system does not say, measured.

mod arrays;
mod bandwidth;
mod latency;
mod os;
mod parallel;
mod sharing;
mod slices;

use ringfence_scenario::quantity::SIZE;
use ringfence_workloads::aggressor::{Access, ShapeError};

use crate::disturbance::{Disturbance, Watch};
use crate::figures::{FORMAT, Figures, MemoryFigures};
use crate::statistics::Spread;
use ringfence_workloads::cpu;
use ringfence_workloads::cycles;
use ringfence_workloads::inventory::Inventory;

pub use arrays::Arrays;
pub(crate) use slices::ATTEMPTS;
pub use slices::{Effort, lists, timed, walk};

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// No array of the wanted size.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The system refused.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// The list of processors is empty.
    #[error("no processor to measure; expected at least one of those that this process may use")]
    NoProcessor,
}

impl MeasureError {
    pub(crate) fn system(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}

/// Slowdown of arithmetic from which on two processors are taken for threads of one core.
const ONE_CORE: f64 = 1.3;

/// Measures the machine. `tell` gets a line about what comes next.
///
/// The calling thread stays pinned to the first processor.
///
/// # Errors
/// When the system refuses what every measurement needs.
pub fn measure(
    inventory: &Inventory,
    effort: Effort,
    tell: &dyn Fn(&str),
) -> Result<Figures, MeasureError> {
    let first = *inventory.cpus.first().ok_or(MeasureError::NoProcessor)?;
    cpu::pin(first).map_err(MeasureError::system("pinning to a processor"))?;
    let mut watch = Watch::start();
    let mut warnings = Vec::new();
    tell("clock");
    let stated = inventory.stated_hz.filter(|&hz| hz > 0);
    let stated = stated.map(|hz| Spread::of(vec![1e9 / hz as f64]));
    let cycle_ns = cycles::additions(1).map(|_| cycle_ns(effort, &mut watch));
    tell("context switch, timer tick");
    let os = os::measure(inventory, effort)?;
    let memory = match inventory.modelled() {
        Some(_) => Some(memory(inventory, effort, tell, &mut watch, &mut warnings)?),
        None => {
            warnings.push(
                "the system shows fewer than two levels of caches: the file has no [memory], so that \
                 only `compute` programs can run on it; run this on the machine itself, or let its \
                 virtual machine see the caches"
                    .to_owned(),
            );
            None
        }
    };
    if let Some(factor) = os
        .arithmetic_beside_another
        .filter(|&factor| factor >= ONE_CORE)
    {
        warnings.push(format!(
            "arithmetic on one processor takes {factor:.2} times as long beside the same on the next: \
             they look like two threads of one core, whose contention inside the core no platform models"
        ));
    }
    let disturbance = watch.stop();
    warnings.extend(disturbed(&disturbance, inventory));
    Ok(Figures {
        format: FORMAT,
        architecture: std::env::consts::ARCH,
        inventory: inventory.clone(),
        cycle_ns: cycle_ns.or(stated),
        os,
        memory,
        warnings,
        disturbance,
    })
}

/// Nanoseconds of a cycle of the core that runs this, by a chain of additions.
fn cycle_ns(effort: Effort, watch: &mut Watch) -> Spread {
    timed(effort, watch, |count| {
        cycles::additions(count).unwrap_or(count)
    })
}

/// A sentence about other work, if there was much.
pub fn disturbed(seen: &Disturbance, inventory: &Inventory) -> Option<String> {
    let slices = seen.slices_kept + seen.slices_dropped;
    let many_dropped = seen.slices_dropped * 10 > slices;
    let busy = seen.load > inventory.cpus.len() as f64 + 0.5;
    (many_dropped || busy || seen.stolen_ms > 0).then(|| {
        let Disturbance {
            stolen_ms,
            load,
            slices_dropped,
            ..
        } = seen;
        format!(
            "other work ran beside the measurement: {slices_dropped} of {slices} slices thrown away, \
             {stolen_ms} ms taken by the hypervisor, load average up to {load:.2} on {} processors; \
             repeat it when the machine is calm",
            inventory.cpus.len()
        )
    })
}

fn memory(
    inventory: &Inventory,
    effort: Effort,
    tell: &dyn Fn(&str),
    watch: &mut Watch,
    warnings: &mut Vec<String>,
) -> Result<MemoryFigures, MeasureError> {
    let (private, llc) = inventory.modelled().expect("asked before");
    let line_bytes = llc.line_bytes;
    let arrays = Arrays::of(private, llc, inventory.memory_bytes, inventory.cpus.len());
    if arrays.is_small {
        warnings.push(
            "the memory is too small for an array of four times the last-level cache: what is \
             said of main memory may be partly of the cache"
                .to_owned(),
        );
    }
    tell("latency by size");
    let sweep = latency::by_size(private, llc, &arrays, effort, watch)?;
    let sizes = arrays.within(sweep.chase_seen_bytes, private, inventory.cpus.len());
    if sweep.chase_seen_bytes * 2 < llc.size_bytes {
        warnings.push(format!(
            "the last-level cache has {}; a pointer chase finds {} of it and a walk in order {}: other \
             machines on the same processor may use the rest, and how much changes with what they do",
            SIZE.format(llc.size_bytes),
            SIZE.format(sweep.chase_seen_bytes),
            SIZE.format(sweep.llc_seen_bytes)
        ));
    }
    tell("latency");
    let latency_ns = sizes.try_map(|&bytes| latency::of(bytes, line_bytes, llc, effort, watch))?;
    tell("bandwidth of one core");
    let read_ns = sizes.try_map(|&bytes| bandwidth::read(bytes, line_bytes, effort, watch))?;
    let write_ns = sizes.try_map(|&bytes| bandwidth::write(bytes, line_bytes, effort, watch))?;
    tell("bandwidth of all cores");
    let cpus = &inventory.cpus;
    let all = |access| bandwidth::all(cpus, &sizes, line_bytes, access, effort);
    let (all_read_bytes_per_s, all_write_bytes_per_s) = match cpus.len() {
        1 => (None, None),
        _ => (Some(all(Access::Read)?), Some(all(Access::Write)?)),
    };
    tell("parallel misses");
    let by_lists = parallel::by_lists(sizes.dram, line_bytes, llc, effort, watch)?;
    let scattered_store_ns = parallel::scattered_stores(sizes.dram, line_bytes, effort, watch)?;
    tell("who shares the last-level cache");
    let sharing = sharing::measure(cpus, private, sizes.llc, &latency_ns, effort)?;
    cpu::pin(cpus[0]).map_err(MeasureError::system("pinning to a processor"))?;
    Ok(MemoryFigures {
        line_bytes,
        private: private.clone(),
        llc: llc.clone(),
        in_huge_pages: sweep.in_huge_pages,
        llc_seen_bytes: sweep.llc_seen_bytes,
        arrays: sizes,
        latency_ns,
        latency_by_size: sweep.chase,
        read_by_size: sweep.walk,
        read_ns,
        write_ns,
        all_read_bytes_per_s,
        all_write_bytes_per_s,
        by_lists,
        scattered_store_ns,
        sharing,
    })
}
