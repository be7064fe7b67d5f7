use super::*;
use crate::disturbance::Disturbance;
use crate::figures::{FORMAT, Levels, MemoryFigures, OsFigures, Sharing};
use crate::knee::ParallelPoint;
use crate::statistics::Spread;
use proptest::prelude::*;
use ringfence_workloads::inventory::{Cache, Inventory};

fn spread(value: f64) -> Spread {
    Spread::of(vec![value, value, value * 1.1, value * 1.3])
}

fn cache(level: u32, size_bytes: u64, ways: u32, shared_by: &[u16]) -> Cache {
    Cache {
        level,
        size_bytes,
        ways,
        line_bytes: 64,
        shared_by: shared_by.to_vec(),
    }
}

/// A server's two cores.
fn server() -> Figures {
    let caches = vec![
        cache(1, 48 << 10, 12, &[0]),
        cache(2, 2 << 20, 16, &[0]),
        cache(3, 105 << 20, 15, &[0, 1]),
    ];
    Figures {
        format: FORMAT,
        architecture: "x86_64",
        cycle_ns: Some(spread(1.0 / 2.98)),
        os: OsFigures {
            context_switch_ns: spread(750.0),
            tick_ns: Some(4_000_000),
            interrupt_ns: Some(spread(3210.0)),
            arithmetic_beside_another: Some(1.0),
        },
        memory: Some(MemoryFigures {
            line_bytes: 64,
            private: caches[1].clone(),
            llc: caches[2].clone(),
            in_huge_pages: true,
            llc_seen_bytes: 105 << 20,
            arrays: Levels {
                private: 1 << 20,
                llc: 14 << 20,
                dram: 420 << 20,
            },
            latency_ns: Levels {
                private: spread(6.9),
                llc: spread(35.0),
                dram: spread(118.0),
            },
            latency_by_size: vec![(4096, 1.7), (1 << 30, 118.0)],
            read_by_size: vec![(4096, 0.7), (1 << 30, 4.4)],
            read_ns: Levels {
                private: spread(0.67),
                llc: spread(2.0),
                dram: spread(4.4),
            },
            write_ns: Levels {
                private: spread(1.3),
                llc: spread(2.4),
                dram: spread(5.5),
            },
            all_read_bytes_per_s: Some(Levels {
                private: 190e9,
                llc: 63e9,
                dram: 29e9,
            }),
            all_write_bytes_per_s: Some(Levels {
                private: 95e9,
                llc: 52e9,
                dram: 23e9,
            }),
            by_lists: [(1, 118.0), (8, 15.3), (16, 9.3), (32, 8.8)]
                .map(|(lists, ns)| ParallelPoint { lists, ns })
                .to_vec(),
            scattered_store_ns: spread(15.0),
            sharing: vec![Sharing {
                cpu: 1,
                ns: 40.0,
                is_shared: true,
            }],
        }),
        inventory: Inventory {
            cpus: vec![0, 1],
            siblings: Vec::new(),
            caches,
            memory_bytes: Some(24 << 30),
            stated_hz: None,
            is_virtual: true,
        },
        warnings: vec!["something long ".repeat(20)],
        disturbance: Disturbance::default(),
    }
}

fn family() -> Family {
    Family::built_in("ddr4-2400").unwrap()
}

fn written(figures: &Figures) -> Platform {
    let text = write(figures, &family(), None, |_| Ok(60.0)).unwrap();
    parse_platform(&text, "this").unwrap()
}

#[test]
fn the_file_has_what_was_measured() {
    let platform = written(&server());
    assert_eq!((platform.cores, platform.frequency_hz), (2, 2_980_000_000));
    assert_eq!(platform.os.context_switch_ns, 750);
    assert_eq!(
        (platform.os.interrupt_ns, platform.os.tick_ns),
        (3210, 4_000_000)
    );
    let memory = platform.memory.unwrap();
    // 6.9 and 35 ns at 2.98 GHz.
    assert_eq!(
        (memory.l1.latency_cycles, memory.llc.latency_cycles),
        (21, 104)
    );
    assert_eq!(
        (memory.l1.size_bytes, memory.llc.size_bytes),
        (2 << 20, 104 << 20)
    );
    // 118 / 8.8, 118 / 15, 118 / 4.4 less the first.
    assert_eq!(
        (memory.core.outstanding_misses, memory.core.store_buffer),
        (13, 8)
    );
    assert_eq!(memory.core.prefetcher.unwrap().outstanding, 14);
    // 2 x 29 and 4 x 23 GB/s over channels of 19.2 GB/s.
    assert_eq!(memory.dram.channels, 8);
    assert_eq!(memory.dram.controller.link_ps, 58_000);
    assert!(memory.dram.capacity_bytes() >= 24 << 30);
}

#[test]
fn every_figure_has_a_source() {
    let text = write(&server(), &family(), None, |_| Ok(60.0)).unwrap();
    for line in text.lines().filter(|line| line.contains(" = ")) {
        let is_text = line.starts_with("name") || line.starts_with("description");
        assert!(
            is_text || line.contains(" # ") || line.contains("turnaround"),
            "{line}"
        );
    }
    assert!(
        text.lines().all(|line| line.chars().count() < 140),
        "{text}"
    );
}

#[test]
fn stated_channels_replace_the_derived_ones() {
    let text = write(&server(), &family(), Some(2), |_| Ok(60.0)).unwrap();
    let platform = parse_platform(&text, "this").unwrap();
    assert_eq!(platform.memory.unwrap().dram.channels, 2);
}

#[test]
fn without_caches_there_is_a_platform_without_memory() {
    let figures = Figures {
        memory: None,
        ..server()
    };
    assert_eq!(written(&figures).memory, None);
}

#[test]
fn one_core_is_enough() {
    let mut figures = server();
    figures.inventory.cpus = vec![3];
    let memory = figures.memory.as_mut().unwrap();
    memory.all_read_bytes_per_s = None;
    memory.all_write_bytes_per_s = None;
    memory.sharing.clear();
    assert_eq!(written(&figures).cores, 1);
}

#[test]
fn what_is_missing_is_said() {
    let without_clock = Figures {
        cycle_ns: None,
        ..server()
    };
    let error = write(&without_clock, &family(), None, |_| Ok(60.0)).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("the clock of the cores is not known")
    );
    let broken = Family {
        source: "name = \"x\"".into(),
        name: "x.toml".into(),
    };
    let error = write(&server(), &broken, None, |_| Ok(60.0)).unwrap_err();
    assert!(error.to_string().contains("x.toml"), "{error}");
    let error = write(&server(), &family(), None, |_| Err("no".into())).unwrap_err();
    assert!(error.to_string().ends_with("modelled memory: no"));
}

proptest! {
    /// Whatever a machine shows, even what contradicts itself, gives a file that passes its
    /// check: a busy machine can measure a cache that is slower than memory.
    #[test]
    fn any_figures_give_a_platform_that_passes(
        clock in 0.1e9..6e9,
        cpus in 1_u16..300,
        ns in prop::collection::vec(0.05..3000.0, 10),
        private_kib in 4_u64..8192,
        factor in 1.01..500.0,
        seen in 0.01..1.0,
        ways in prop::collection::vec(0_u32..40, 2),
        rates in prop::collection::vec(1e7..1e12, 2),
        gib in prop::option::of(1_u64..4096),
        family in prop::sample::select(DRAMS.iter().collect::<Vec<_>>()),
        modelled_ns in 1.0..500.0,
    ) {
        let mut figures = server();
        figures.cycle_ns = Some(spread(1e9 / clock));
        figures.inventory.cpus = (0..cpus).collect();
        figures.inventory.memory_bytes = gib.map(|gib| gib << 30);
        let memory = figures.memory.as_mut().unwrap();
        let llc_bytes = ((private_kib << 10) as f64 * factor) as u64 / 64 * 64;
        memory.private = cache(2, private_kib << 10, ways[0], &[0]);
        memory.llc = cache(3, llc_bytes, ways[1], &[0]);
        memory.llc_seen_bytes = (llc_bytes as f64 * seen) as u64;
        let levels = |at: usize| Levels { private: spread(ns[at]), llc: spread(ns[at + 1]), dram: spread(ns[at + 2]) };
        memory.latency_ns = levels(0);
        memory.read_ns = levels(3);
        memory.write_ns = levels(6);
        memory.scattered_store_ns = spread(ns[9]);
        let all = |rate| Levels { private: rate, llc: rate, dram: rate / 2.0 };
        memory.all_read_bytes_per_s = (cpus > 1).then(|| all(rates[0]));
        memory.all_write_bytes_per_s = (cpus > 1).then(|| all(rates[1]));
        let family = Family::built_in(family.name).unwrap();
        let text = write(&figures, &family, None, |_| Ok(modelled_ns));
        prop_assert!(text.is_ok(), "{}", text.unwrap_err());
    }
}
