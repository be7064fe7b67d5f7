//! Two kinds of machines. Their files are written by hand, after what such machines show, and
//! only as far as the doctor reads them.

use ringfence_linux::doctor::check::Level;
use ringfence_linux::doctor::modes::Regulation;
use ringfence_linux::doctor::probe::Probed;
use ringfence_linux::doctor::real_time_threads::warning;

use crate::{all_classes, check, event, examined, expect};

/// An arm64 board with the kernel that its maker gave it years ago.
pub const BOARD: &[(&str, &str)] = &[
    ("proc/sys/kernel/osrelease", "4.9.140-tegra"),
    (
        "proc/sys/kernel/version",
        "#1 SMP PREEMPT Wed Apr 8 18:10:49 PDT 2020",
    ),
    (
        "proc/cmdline",
        "console=ttyS0,115200n8 root=/dev/mmcblk0p1 rw",
    ),
    (
        "proc/cpuinfo",
        "processor\t: 0\nFeatures\t: fp asimd aes crc32\nCPU part\t: 0xd07",
    ),
    ("proc/filesystems", "nodev\tsysfs\nnodev\tcgroup\n\text4"),
    (
        "proc/mounts",
        "sysfs /sys sysfs rw 0 0\n\
         cgroup /sys/fs/cgroup/freezer cgroup rw,nosuid,nodev,noexec,relatime,freezer 0 0\n\
         cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0",
    ),
    ("sys/fs/cgroup/freezer/tasks", "1"),
    ("proc/self/timerslack_ns", "50000"),
    ("proc/sys/kernel/sched_rt_runtime_us", "950000"),
    ("proc/sys/kernel/sched_rt_period_us", "1000000"),
    ("sys/devices/system/cpu/online", "0-3"),
    ("sys/devices/system/cpu/isolated", ""),
    (
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "schedutil",
    ),
    (
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq",
        "102000",
    ),
    (
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq",
        "1479000",
    ),
    (
        "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
        "0",
    ),
    (
        "sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
        "1",
    ),
    (
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "arch_sys_counter",
    ),
    ("sys/bus/event_source/devices/armv8_pmuv3/type", "8"),
    ("sys/class/devfreq/57000000.gpu/cur_freq", "76800000"),
    (
        "proc/7/task/7/stat",
        "7 (rcu_preempt) S 2 0 0 0 -1 2097216 0 0 0 0 0 0 0 0 -2 0 1 0 3 0 0 0 \
         0 0 0 0 0 0 0 0 0 0 0 0 17 0 1 1 0 0 0 0 0 0 0 0 0 0 0",
    ),
    (
        "proc/812/task/814/stat",
        "814 (can rx) S 1 0 0 0 -1 1077936192 0 0 0 0 0 0 0 0 -61 0 1 0 900 0 \
         0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 2 60 1 0 0 0 0 0 0 0 0 0 0 0",
    ),
    (
        "proc/812/task/814/status",
        "Name:\tcan rx\nCpus_allowed_list:\t2-3",
    ),
];

/// An x86 server with Intel RDT and a kernel from 6.12 on.
pub const SERVER: &[(&str, &str)] = &[
    ("proc/sys/kernel/osrelease", "6.18.15+deb13-amd64"),
    (
        "proc/sys/kernel/version",
        "#1 SMP PREEMPT_DYNAMIC Debian 6.18.15-1~bpo13+1",
    ),
    (
        "sys/kernel/debug/sched/preempt",
        "none voluntary (full) lazy",
    ),
    (
        "proc/cmdline",
        "root=/dev/sda1 isolcpus=2-3 nohz_full=2-3 rcu_nocbs=2-3",
    ),
    (
        "proc/cpuinfo",
        "flags\t\t: fpu vme cat_l3 cdp_l3 mba cqm_llc",
    ),
    (
        "proc/filesystems",
        "nodev\tsysfs\nnodev\tcgroup2\nnodev\tresctrl",
    ),
    (
        "proc/mounts",
        "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime 0 0\n\
         resctrl /sys/fs/resctrl resctrl rw,relatime 0 0",
    ),
    ("sys/fs/cgroup/cgroup.procs", "1"),
    ("sys/fs/resctrl/info/L3/cbm_mask", "7ff"),
    ("sys/fs/resctrl/info/L3/num_closids", "16"),
    ("sys/fs/resctrl/info/MB/num_closids", "8"),
    ("sys/fs/resctrl/info/MB/min_bandwidth", "10"),
    ("sys/fs/resctrl/info/MB/bandwidth_gran", "10"),
    ("sys/fs/resctrl/info/L3_MON/num_rmids", "112"),
    ("proc/self/timerslack_ns", "50000"),
    ("proc/sys/kernel/sched_rt_runtime_us", "-1"),
    ("proc/sys/kernel/sched_rt_period_us", "1000000"),
    ("sys/devices/system/cpu/online", "0-3"),
    ("sys/devices/system/cpu/isolated", "2-3"),
    ("sys/devices/system/cpu/nohz_full", "2-3"),
    (
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "performance",
    ),
    (
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
        "performance",
    ),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "0"),
    (
        "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
        "0,2",
    ),
    (
        "sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
        "1,3",
    ),
    (
        "sys/devices/system/cpu/cpu2/topology/thread_siblings_list",
        "0,2",
    ),
    (
        "sys/devices/system/cpu/cpu3/topology/thread_siblings_list",
        "1,3",
    ),
    (
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "hpet",
    ),
    (
        "sys/devices/system/clocksource/clocksource0/available_clocksource",
        "tsc hpet acpi_pm",
    ),
    ("sys/bus/event_source/devices/cpu/type", "4"),
    ("sys/kernel/sched_ext/state", "disabled"),
    (
        "proc/driver/nvidia/gpus/0000:01:00.0/information",
        "Model: \t\t NVIDIA A2",
    ),
];

#[test]
fn an_old_board_keeps_gangs_apart_in_portable_mode_and_throttles_by_time() {
    let probed = Probed {
        classes: all_classes(),
        events: vec![
            event("cycles", false, "0-3"),
            event("l2d_cache_refill", true, "0-3"),
        ],
        recorder: Some(Ok(())),
        ..Probed::default()
    };
    let found = examined(BOARD, probed);
    expect(
        &found,
        "kernel",
        Level::Usable,
        &["4.9.140-tegra", "4 CPUs online (0-3)"],
    );
    expect(&found, "hypervisor", Level::Usable, &[]);
    expect(
        &found,
        "scheduler classes",
        Level::Usable,
        &["fifo, rr, deadline"],
    );
    expect(
        &found,
        "sched_ext",
        Level::Unusable,
        &["/sys/kernel/sched_ext", "from 6.12 on"],
    );
    expect(
        &found,
        "control groups",
        Level::Usable,
        &["version 1 at /sys/fs/cgroup/freezer"],
    );
    expect(
        &found,
        "PMU events",
        Level::Usable,
        &["cycles, l2d_cache_refill"],
    );
    expect(
        &found,
        "resctrl",
        Level::Unusable,
        &["neither the kernel nor the processor"],
    );
    expect(
        &found,
        "frequency scaling",
        Level::Limited,
        &["schedutil on CPUs 0", "performance"],
    );
    expect(&found, "SMT siblings", Level::Usable, &[]);
    expect(&found, "isolated CPUs", Level::Limited, &["isolcpus="]);
    expect(&found, "clock source", Level::Usable, &["arch_sys_counter"]);
    expect(&found, "timer slack", Level::Usable, &["50 us"]);
    expect(
        &found,
        "RT throttling",
        Level::Usable,
        &["950000 us of each 1000000 us"],
    );
    expect(
        &found,
        "real-time threads",
        Level::Limited,
        &["can rx (814, fifo 60)", "1 of the"],
    );
    expect(
        &found,
        "GPU",
        Level::Limited,
        &["57000000.gpu, in the memory of the CPUs"],
    );
    let [sched_ext, portable] = found.modes.as_slice() else {
        panic!("{:?}", found.modes);
    };
    assert!(!sched_ext.works && portable.works);
    // The agent cannot use what its PMU counts.
    assert_eq!(portable.regulation, Some(Regulation::DutyCycle));
    assert_eq!(
        portable.missing,
        ["traffic is counted under sched_ext only"]
    );
    assert!(found.is_fit());
}

#[test]
fn real_time_threads_are_told_one_from_another() {
    let found = examined(BOARD, Probed::default()).real_time_threads;
    let [first, second] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!((first.name.as_str(), first.tid), ("can rx", 814));
    assert_eq!((first.class, first.priority), ("fifo", Some(60)));
    assert_eq!((first.cpus.as_str(), first.is_kernel), ("2-3", false));
    assert_eq!(
        (second.name.as_str(), second.is_kernel),
        ("rcu_preempt", true)
    );
    let warned = warning(&found).expect("one of another program");
    assert!(
        warned.contains("programs: can rx (814, fifo 60); they outrank"),
        "{warned}"
    );
    assert_eq!(warning(&found[1..]), None);
}

#[test]
fn a_server_has_everything_but_quiet() {
    let probed = Probed {
        classes: all_classes(),
        events: vec![event("cache-misses", true, "0-3")],
        scheduler: Some(Ok(())),
        recorder: Some(Ok(())),
        resolution_ns: Some(1),
    };
    let found = examined(SERVER, probed);
    expect(&found, "kernel", Level::Usable, &["preemptible"]);
    expect(&found, "sched_ext", Level::Usable, &[]);
    expect(
        &found,
        "control groups",
        Level::Usable,
        &["version 2 at /sys/fs/cgroup"],
    );
    expect(
        &found,
        "resctrl",
        Level::Usable,
        &[
            "L3: 11 ways, 16 classes",
            "MB: from 10 in steps of 10, 8 classes",
        ],
    );
    expect(
        &found,
        "frequency scaling",
        Level::Limited,
        &["boost on", "no_turbo"],
    );
    expect(&found, "SMT siblings", Level::Limited, &["0,2; 1,3"]);
    expect(
        &found,
        "isolated CPUs",
        Level::Usable,
        &["2-3, without the timer tick 2-3, without RCU callbacks 2-3"],
    );
    expect(
        &found,
        "clock source",
        Level::Limited,
        &["hpet", "write tsc to"],
    );
    expect(&found, "RT throttling", Level::Usable, &["off"]);
    expect(&found, "real-time threads", Level::Usable, &["none"]);
    expect(&found, "GPU", Level::Limited, &["NVIDIA A2"]);
    assert!(found.modes.iter().all(|mode| mode.works));
    assert!(found.modes[0].missing.is_empty());
    assert!(
        matches!(&found.modes[0].regulation, Some(Regulation::PmuEvents { events }) if !events.is_empty())
    );
}

#[test]
fn one_file_makes_the_difference() {
    let with = |path: &'static str, text: &'static str| {
        let mut files = SERVER.to_vec();
        files.push((path, text));
        examined(&files, Probed::default())
    };
    for (path, text, name, state, word) in [
        (
            "sys/kernel/debug/sched/preempt",
            "(none) voluntary full",
            "kernel",
            Level::Limited,
            "preempt=full",
        ),
        (
            "proc/sys/kernel/osrelease",
            "3.10.0",
            "kernel",
            Level::Unusable,
            "3.14",
        ),
        (
            "proc/cpuinfo",
            "flags\t\t: fpu hypervisor",
            "hypervisor",
            Level::Limited,
            "a virtual machine",
        ),
        (
            "proc/filesystems",
            "nodev\tsysfs",
            "resctrl",
            Level::Unusable,
            "the processor has L3 allocation",
        ),
        (
            "proc/mounts",
            "sysfs /sys sysfs rw 0 0",
            "control groups",
            Level::Unusable,
            "mount -t cgroup2",
        ),
        (
            "sys/devices/system/cpu/intel_pstate/no_turbo",
            "1",
            "frequency scaling",
            Level::Usable,
            "performance on CPUs 0-1",
        ),
        (
            "proc/self/timerslack_ns",
            "1000",
            "timer slack",
            Level::Usable,
            "1000 ns",
        ),
    ] {
        expect(&with(path, text), name, state, &[word]);
    }
    // Version 2 could not freeze before 5.2.
    let old = with("proc/sys/kernel/osrelease", "5.1.21");
    expect(&old, "control groups", Level::Unusable, &["no freezer"]);
    let coarse = Probed {
        resolution_ns: Some(4_000_000),
        ..Probed::default()
    };
    let coarse = examined(SERVER, coarse);
    expect(
        &coarse,
        "clock source",
        Level::Unusable,
        &["timers of 4000 us"],
    );
    assert!(check(&coarse, "clock source").remedy.is_some());
}
