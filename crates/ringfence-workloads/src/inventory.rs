//! What the system says about the machine: processors, caches, memory.

use std::path::Path;

use crate::cpu::parse_list;
use serde::Serialize;

/// What was found below `/sys` and `/proc`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inventory {
    /// Processors that measurements use: those that this process may run on, one of each
    /// physical core; ascending.
    pub cpus: Vec<u16>,
    /// Processors left out because they share a core with one of `cpus`.
    pub siblings: Vec<u16>,
    /// Data and unified caches of the first of `cpus`, from the core outwards. Empty where
    /// the system hides them.
    pub caches: Vec<Cache>,
    /// Memory of the machine in bytes, if the system says.
    pub memory_bytes: Option<u64>,
    /// Highest clock that the system states, in hertz.
    pub stated_hz: Option<u64>,
    /// Whether a hypervisor runs below: clocks, caches and cores may then be shared with others.
    pub is_virtual: bool,
}

/// A cache as the system describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// 1 is next to the core.
    pub level: u32,
    /// Capacity in bytes.
    pub size_bytes: u64,
    /// Associativity; 0 where the system does not say.
    pub ways: u32,
    /// Bytes of a line.
    pub line_bytes: u64,
    /// Processors that share it, ascending.
    pub shared_by: Vec<u16>,
}

impl Inventory {
    /// Reads the files below `root`, which is `/` but in tests, for the processors `allowed`.
    pub fn read(root: &Path, allowed: &[u16]) -> Self {
        let cpu_folder = |cpu: u16| root.join(format!("sys/devices/system/cpu/cpu{cpu}"));
        let (mut cpus, mut siblings): (Vec<u16>, Vec<u16>) = (Vec::new(), Vec::new());
        for &cpu in allowed {
            let threads = text(&cpu_folder(cpu).join("topology/thread_siblings_list"));
            let threads = threads
                .and_then(|list| parse_list(&list))
                .unwrap_or_default();
            match cpus.iter().any(|taken| threads.contains(taken)) {
                true => siblings.push(cpu),
                false => cpus.push(cpu),
            }
        }
        let first = cpus.first().map(|&cpu| cpu_folder(cpu));
        let caches = first.as_ref().map_or_else(Vec::new, |cpu| caches(cpu));
        let stated_khz = first.and_then(|cpu| number(&cpu.join("cpufreq/cpuinfo_max_freq")));
        let cpu_info = text(&root.join("proc/cpuinfo")).unwrap_or_default();
        let flags = cpu_info.lines().find(|line| line.starts_with("flags"));
        let is_virtual = flags
            .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
            || root.join("sys/hypervisor/type").exists();
        Self {
            cpus,
            siblings,
            caches,
            memory_bytes: text(&root.join("proc/meminfo")).and_then(|info| memory_bytes(&info)),
            stated_hz: stated_khz.map(|khz: u64| khz * 1000),
            is_virtual,
        }
    }

    /// The last-level cache and the last private one before it: the two that the model has.
    ///
    /// `None` when the system shows fewer than two levels. A level in between that is
    /// smaller than its predecessor is left out, as nothing would miss into it.
    pub fn modelled(&self) -> Option<(&Cache, &Cache)> {
        let (llc, inner) = self.caches.split_last()?;
        let private = inner
            .iter()
            .rfind(|cache| cache.size_bytes < llc.size_bytes)?;
        Some((private, llc))
    }
}

/// Data and unified caches below the folder of a processor; those with files that make
/// no sense are left out.
fn caches(cpu: &Path) -> Vec<Cache> {
    let folders = (0..).map(|index| cpu.join(format!("cache/index{index}")));
    let mut caches: Vec<Cache> = folders
        .take_while(|folder| folder.exists())
        .filter(|folder| text(&folder.join("type")).as_deref() != Some("Instruction"))
        .filter_map(|folder| {
            Some(Cache {
                level: number(&folder.join("level"))?,
                size_bytes: size_bytes(&text(&folder.join("size"))?)?,
                ways: number(&folder.join("ways_of_associativity")).unwrap_or(0),
                line_bytes: number(&folder.join("coherency_line_size"))?,
                shared_by: parse_list(&text(&folder.join("shared_cpu_list"))?)
                    .filter(|cpus| !cpus.is_empty())?,
            })
        })
        .filter(|cache| cache.size_bytes > 0 && cache.line_bytes.is_power_of_two())
        .collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn text(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

fn number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}

/// A size as the kernel writes those of caches: `48K`, `2M`.
fn size_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let total = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder as Linux shows a machine: files by path.
    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
        folder
    }

    fn cache(cpu: u16, index: u32, fields: [&str; 6]) -> Vec<(String, String)> {
        let names = [
            "level",
            "type",
            "size",
            "ways_of_associativity",
            "coherency_line_size",
            "shared_cpu_list",
        ];
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
        let files = names.iter().zip(fields);
        files
            .map(|(name, text)| (format!("{folder}/{name}"), text.to_owned()))
            .collect()
    }

    fn with_caches(caches: &[Vec<(String, String)>], others: &[(&str, &str)]) -> tempfile::TempDir {
        let files = caches.iter().flatten();
        let mut files: Vec<(&str, &str)> = files.map(|(path, text)| (&**path, &**text)).collect();
        files.extend(others);
        machine(&files)
    }

    #[test]
    fn a_server_has_a_private_cache_before_the_shared_one() {
        let folder = with_caches(
            &[
                cache(0, 0, ["1", "Data", "48K", "12", "64", "0"]),
                cache(0, 1, ["1", "Instruction", "32K", "8", "64", "0"]),
                cache(0, 2, ["2", "Unified", "2048K", "16", "64", "0"]),
                cache(0, 3, ["3", "Unified", "107520K", "15", "64", "0-1"]),
            ],
            &[
                ("proc/cpuinfo", "processor: 0\nflags\t\t: fpu hypervisor ht"),
                ("proc/meminfo", "MemTotal:       24682416 kB\nMemFree: 1 kB"),
            ],
        );
        let found = Inventory::read(folder.path(), &[0, 1]);
        assert_eq!(found.cpus, [0, 1]);
        assert!(found.is_virtual && found.siblings.is_empty() && found.stated_hz.is_none());
        assert_eq!(found.memory_bytes, Some(24_682_416 << 10));
        let levels: Vec<u32> = found.caches.iter().map(|cache| cache.level).collect();
        assert_eq!(levels, [1, 2, 3]);
        let (private, llc) = found.modelled().unwrap();
        assert_eq!((private.level, private.size_bytes), (2, 2 << 20));
        assert_eq!((llc.level, llc.ways), (3, 15));
        assert_eq!(llc.shared_by, [0, 1]);
    }

    #[test]
    fn a_small_board_has_the_first_level_before_the_shared_one() {
        let folder = with_caches(
            &[
                cache(0, 0, ["1", "Data", "32K", "4", "64", "0"]),
                cache(0, 1, ["1", "Instruction", "32K", "2", "64", "0"]),
                cache(0, 2, ["2", "Unified", "512K", "16", "64", "0-3"]),
            ],
            &[(
                "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
                "1200000",
            )],
        );
        let found = Inventory::read(folder.path(), &[0, 1, 2, 3]);
        assert_eq!(found.stated_hz, Some(1_200_000_000));
        assert!(!found.is_virtual);
        let (private, llc) = found.modelled().unwrap();
        assert_eq!((private.level, llc.level), (1, 2));
    }

    #[test]
    fn one_thread_of_each_core_is_used() {
        let folder = machine(&[
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
        ]);
        let found = Inventory::read(folder.path(), &[0, 1, 2, 3]);
        assert_eq!((found.cpus, found.siblings), (vec![0, 1], vec![2, 3]));
        // A process that may not use the first thread uses the second.
        let found = Inventory::read(folder.path(), &[2, 3]);
        assert_eq!(found.cpus, [2, 3]);
    }

    #[test]
    fn what_is_hidden_or_makes_no_sense_is_missing_and_no_error() {
        let found = Inventory::read(machine(&[]).path(), &[0]);
        assert_eq!((found.caches.len(), found.memory_bytes), (0, None));
        assert!(found.modelled().is_none());
        let folder = with_caches(
            &[
                cache(0, 0, ["1", "Data", "much", "4", "64", "0"]),
                cache(0, 1, ["2", "Unified", "0K", "4", "64", "0"]),
                cache(0, 2, ["3", "Unified", "4M", "?", "64", "0-1"]),
                cache(0, 3, ["4", "Unified", "8M", "16", "64", ""]),
            ],
            &[("proc/meminfo", "MemTotal: all of it")],
        );
        let found = Inventory::read(folder.path(), &[0]);
        assert_eq!((found.caches.len(), found.caches[0].ways), (1, 0));
        assert!(found.modelled().is_none() && found.memory_bytes.is_none());
    }
}
