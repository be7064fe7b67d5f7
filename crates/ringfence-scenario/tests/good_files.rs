//! Good files mean what they say.

use std::io::{Cursor, Read};
use std::path::Path;

use ringfence_scenario::model::*;
use ringfence_scenario::vm::{Guest, Image, Ram, Reservation, Statistics};
use ringfence_scenario::{FileKind, Files, NoFiles, PLATFORMS, load, parse};

fn good(name: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/good")
        .join(name);
    load(&path).unwrap_or_else(|diagnostics| panic!("{diagnostics}"))
}

#[test]
fn every_key_arrives_in_the_model() {
    let scenario = good("complete.toml");
    assert_eq!(scenario.name, "complete");
    assert_eq!(scenario.description, "Every key of a scenario file");
    assert_eq!(scenario.platform.name, "raspberry-pi-3");
    assert_eq!(scenario.duration_ns, 2_000_000_000);
    assert_eq!(scenario.seed, 7);
    assert_eq!(scenario.regulation.period_ns, 500_000);
    assert_eq!(scenario.observe.counters_every_ns, 2_000_000);
    assert_eq!(
        scenario.share,
        ShareLimit::Limited {
            limit_ns: 900_000_000,
            window_ns: 1_000_000_000
        }
    );
    let cores: Vec<_> = scenario
        .partitions
        .iter()
        .map(|p| p.cores.clone())
        .collect();
    assert_eq!(cores, [[0, 1], [2, 3]]);
}

#[test]
fn gangs_and_tasks_arrive_in_the_model() {
    let scenario = good("complete.toml");
    let vision = &scenario.gangs[0];
    assert_eq!((vision.partition, vision.priority), (0, 10));
    assert_eq!(
        vision.tolerance,
        Tolerance {
            read_bytes_per_second: Some(200_000_000),
            write_bytes_per_second: Some(0)
        }
    );
    let corners = &vision.tasks[0];
    assert_eq!(
        (corners.period_ns, corners.deadline_ns, corners.offset_ns),
        (20_000_000, 15_500_000, 1_000_000)
    );
    assert_eq!((corners.threads, corners.overrun), (2, Overrun::Skip));
    assert_eq!(
        corners.known,
        Known {
            wcet_ns: Some(4_000_000),
            jitter_ns: 10_000,
            non_preemptive_ns: 5_000,
            llc_accesses: Some(20_000)
        }
    );
    assert_eq!(
        corners.program,
        Program::Bandwidth(Bandwidth {
            access: Access::Read,
            working_set_bytes: 384 * 1024,
            passes: 3
        })
    );
    let tracks = &vision.tasks[1];
    assert_eq!(tracks.deadline_ns, tracks.period_ns);
    assert_eq!((tracks.threads, &tracks.cores[..]), (1, &[0, 1][..]));
    let Program::Phases(phases) = &scenario.gangs[1].tasks[0].program else {
        panic!("not phases");
    };
    assert_eq!(
        phases[1],
        Phase {
            compute_cycles: 0,
            read_bytes: 0,
            write_bytes: 128 * 1024,
            working_set_bytes: 128 * 1024,
            pattern: Pattern::Random
        }
    );
    let logger = &scenario.gangs[2];
    assert_eq!(logger.tolerance, Tolerance::UNLIMITED);
    assert_eq!(
        logger.tasks[1].program,
        Program::Streams(Streams {
            reads: 19,
            writes: 18,
            array_bytes: 1 << 20,
            stride_bytes: 4096,
            compute_cycles: 3500,
            passes: 2
        })
    );
    assert_eq!(
        logger.tasks[2].program,
        Program::Strided(Strided {
            working_set_bytes: 512 << 10,
            change_stride_bytes: 131_073,
            read_stride_bytes: 33,
            compute_cycles: 12,
            passes: 2
        })
    );
    assert!(scenario.best_effort[0].pinned);
    assert_eq!(scenario.best_effort[1].cores, [0, 1, 2, 3]);
}

#[test]
fn classes_of_service_arrive_in_the_model() {
    let scenario = good("complete.toml");
    let [most, some] = &scenario.classes_of_service[..] else {
        panic!("not two classes of service");
    };
    assert_eq!(most.way_mask, 0xfff0);
    assert_eq!(most.colours, [1, 2, 3, 4, 5, 7]);
    // 512 KiB in 16 ways: 32 KiB a way, 8 pages.
    assert_eq!((some.way_mask, some.colours.len()), (0b1001, 8));
    let of_gangs = scenario.gangs.iter().map(|gang| gang.class_of_service);
    assert_eq!(of_gangs.collect::<Vec<_>>(), [Some(0), None, None]);
    let of_best_effort = scenario
        .best_effort
        .iter()
        .map(|work| work.class_of_service);
    assert_eq!(of_best_effort.collect::<Vec<_>>(), [Some(1), None]);
    let allocated = scenario.cases.iter().filter(|case| case.cache_allocation);
    assert_eq!(
        allocated.map(|case| &case.name[..]).collect::<Vec<_>>(),
        ["unregulated"]
    );
}

/// A file system on which every file is a Raspberry Pi 3 with a larger last-level cache.
struct LargeCache(&'static str);

impl Files for LargeCache {
    fn open(&self, _: FileKind, _: &Path, _: &Path) -> std::io::Result<Box<dyn Read>> {
        let named = |platform: &&ringfence_scenario::Builtin| platform.name == "raspberry-pi-3";
        let source = PLATFORMS.iter().find(named).unwrap().source;
        assert_eq!(source.matches("\"512 KiB\"").count(), 1);
        let source = source.replace("\"512 KiB\"", &format!("{:?}", self.0));
        Ok(Box::new(Cursor::new(source)))
    }
}

#[test]
fn every_colour_of_a_large_cache_has_a_number() {
    let complete = include_str!("good/complete.toml");
    let source = complete
        .split("[[gang]]")
        .next()
        .unwrap()
        .replace("\"raspberry-pi-3\"", "\"board.toml\"")
        .replace("\"1-5,7\"", "\"500-32767\"")
        + r#"
            [[gang]]
            name = "vision"
            partition = "critical"
            priority = 1
            [[gang.task]]
            name = "corners"
            period = "20 ms"
            program = { kind = "bandwidth", access = "read", working_set = "384 KiB" }
            [[case]]
            name = "rt-gang"
        "#;
    // 512 MiB in 16 ways: 32 MiB a way, 8192 pages.
    let scenario = |colours| {
        let source = source.replace("32767", colours);
        parse(
            &source,
            "scenario.toml",
            Path::new(""),
            &LargeCache("512 MiB"),
        )
    };
    let most = &scenario("8191").unwrap().classes_of_service[0];
    assert_eq!(most.colours, (500..8192).collect::<Vec<_>>());
    let refused = scenario("8192").unwrap_err().to_string();
    assert!(refused.contains("expected colours 0 to 8191"), "{refused}");
    let refused = scenario("32768").unwrap_err().to_string();
    assert!(
        refused.contains("expected colour numbers from 0 to 32767"),
        "{refused}"
    );
}

#[test]
fn presets_expand() {
    let scenario = good("complete.toml");
    let names: Vec<_> = scenario
        .cases
        .iter()
        .map(|case| case.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "solo/vision",
            "solo/control",
            "solo/logger",
            "co-run",
            "rt-gang",
            "unregulated"
        ]
    );
    let case = |index: usize| {
        let case = &scenario.cases[index];
        (
            case.scheduling,
            case.regulation,
            case.interference,
            &case.gangs[..],
            &case.best_effort[..],
        )
    };
    let (fixed, gang) = (Scheduling::FixedPriority, Scheduling::Gang);
    assert_eq!(case(1), (fixed, false, true, &[1][..], &[][..]));
    assert_eq!(case(3), (fixed, false, true, &[0, 1, 2][..], &[0, 1][..]));
    assert_eq!(case(4), (gang, true, true, &[0, 1, 2][..], &[0, 1][..]));
    assert_eq!(case(5), (gang, false, false, &[0, 1][..], &[][..]));
}

#[test]
fn a_schedule_needs_no_memory() {
    let scenario = good("schedule-only.toml");
    assert_eq!(scenario.platform.memory, None);
    assert_eq!(scenario.share, ShareLimit::Off);
    assert_eq!(scenario.partitions[0].name, "all");
    assert_eq!(
        scenario.gangs[0].tasks[0].program,
        Program::Compute(Compute {
            time_ns: 2_000_000,
            slowed_by: vec![("tau2".to_owned(), 10_000)]
        })
    );
}

#[test]
fn vms_arrive_in_the_model() {
    let scenario = good("vms.toml");
    let [critical, writer, rest] = &scenario.vms[..] else {
        panic!("not three VMs");
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good");
    assert_eq!(
        critical.memory,
        Some(Ram {
            size_bytes: 256 << 20,
            guest_address: 0x8000_0000,
            address: Some(0x6000_0000)
        })
    );
    assert_eq!(
        critical.guest,
        Some(Guest::Linux {
            kernel: folder.join("Image"),
            initrd: Some(folder.join("initrd.gz")),
            command_line: "console=ttyAMA0".into()
        })
    );
    let uart = &critical.devices[0];
    assert_eq!(
        (uart.address, uart.size_bytes, &uart.interrupts[..]),
        (0xff01_0000, 4096, &[54][..])
    );
    assert_eq!(critical.reservation, None);
    assert_eq!(
        writer.guest,
        Some(Guest::BareMetal {
            image: Image::BuiltIn("writer".into()),
            entry: 0x4000_0000,
            arguments: vec![100_000, 50, 2]
        })
    );
    // 100 MB/s are 156.25 lines in 100 us; a third of 156 is 52.
    assert_eq!(
        writer.reservation,
        Some(Reservation {
            budget_events: 156,
            requested_bytes_per_second: Some(100_000_000),
            period_ns: 100_000,
            weights: vec![1, 2],
            shares: vec![52, 104],
            lends: false,
            borrows_events: 0,
            bounds: None,
        })
    );
    assert_eq!(
        rest.guest,
        Some(Guest::BareMetal {
            image: Image::File(folder.join("images/rest.bin")),
            entry: Ram::GUEST_ADDRESS,
            arguments: vec![]
        })
    );
}

#[test]
fn the_work_of_a_vm_is_in_a_partition_of_its_cores() {
    let scenario = good("vms.toml");
    let cores: Vec<_> = scenario.partitions.iter().map(|p| &p.cores[..]).collect();
    assert_eq!(cores, [&[0][..], &[1, 3][..], &[2][..]]);
    assert_eq!(scenario.vms[1].cores, [3, 1]);
    assert_eq!(scenario.share, ShareLimit::Off);
    let gang = &scenario.gangs[0];
    assert_eq!((&gang.name[..], gang.partition), ("critical", 0));
    assert_eq!(gang.tasks[0].cores, [0]);
    assert_eq!(scenario.best_effort[0].cores, [3, 1]);
    let of_vms: Vec<_> = scenario
        .vms
        .iter()
        .map(|vm| (vm.gang, &vm.best_effort[..]))
        .collect();
    assert_eq!(
        of_vms,
        [(Some(0), &[][..]), (None, &[0][..]), (None, &[][..])]
    );
    let cases: Vec<_> = scenario
        .cases
        .iter()
        .map(|case| {
            let Case {
                name,
                gangs,
                best_effort,
                vms,
                reservations,
                ..
            } = case;
            (
                &name[..],
                &gangs[..],
                &best_effort[..],
                &vms[..],
                *reservations,
            )
        })
        .collect();
    assert_eq!(
        cases,
        [
            ("solo/critical", &[0][..], &[][..], &[0][..], false),
            ("solo/writer", &[][..], &[0][..], &[1][..], false),
            ("co-run", &[0][..], &[0][..], &[0, 1, 2][..], false),
            ("reserved", &[0][..], &[0][..], &[0, 1, 2][..], true),
            ("half", &[][..], &[0][..], &[1][..], true),
        ]
    );
}

#[test]
fn colours_statistics_and_input_of_vms_arrive_in_the_model() {
    let scenario = good("colours.toml");
    assert_eq!(scenario.platform.page_colours(), Some(32));
    let [critical, other, network] = &scenario.vms[..] else {
        panic!("not three VMs");
    };
    assert_eq!(critical.colours.as_deref(), Some(&[0, 1, 2, 3, 8][..]));
    assert_eq!(other.colours.as_ref().unwrap().len(), 23);
    assert_eq!(network.colours.as_ref().unwrap().len(), 32);
    let statistics = Statistics {
        of: vec![0, 2],
        guest_address: 0x4100_0000,
    };
    assert_eq!(critical.statistics, Some(statistics));
    assert_eq!(other.statistics, None);
    assert_eq!((critical.input, other.input), (false, true));
    let allocates: Vec<bool> = scenario
        .cases
        .iter()
        .map(|it| it.cache_allocation)
        .collect();
    assert_eq!(allocates, [false, true]);
    // Nothing is simulated here that could take a share of a cache.
    assert!(scenario.classes_of_service.is_empty());
}

/// In a simulation the work of a VM has its colours, and all ways.
#[test]
fn the_work_of_a_vm_is_in_a_class_of_service_of_its_colours() {
    let source = r#"
        [scenario]
        name = "two"
        platform = "zcu104"
        duration = "20 ms"
        [[vm]]
        name = "critical"
        cores = "0"
        colours = "0-3"
        [[vm.task]]
        name = "victim"
        period = "10 ms"
        program = { kind = "bandwidth", access = "read", working_set = "384 KiB" }
        [[vm]]
        name = "writer"
        cores = "1-3"
        colours = "4-15"
        [[vm.best_effort]]
        name = "write"
        program = { kind = "bandwidth", access = "write", working_set = "3 MiB" }
        [[case]]
        name = "coloured"
        cache_allocation = true
    "#;
    let scenario = parse(source, "two.toml", Path::new(""), &NoFiles)
        .unwrap_or_else(|error| panic!("{error}"));
    let [critical, writer] = &scenario.classes_of_service[..] else {
        panic!("not two classes");
    };
    assert_eq!(
        (&critical.name[..], critical.way_mask),
        ("critical", 0xffff)
    );
    assert_eq!(
        (&critical.colours[..], writer.colours.len()),
        (&[0, 1, 2, 3][..], 12)
    );
    assert_eq!(scenario.gangs[0].class_of_service, Some(0));
    assert_eq!(scenario.best_effort[0].class_of_service, Some(1));
}
