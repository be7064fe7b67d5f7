//! What a machine says of itself in files.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use ringfence_workloads::cpu;

/// The files of a machine.
#[derive(Debug, Clone)]
pub struct MachineFiles {
    root: PathBuf,
}

impl MachineFiles {
    /// Those below `root`, which is `/` for this machine.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder that they are below.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a file of the machine is.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Whether there is such a file or folder.
    pub fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The text of a file without blanks around it, if it can be read and there is any.
    pub fn text(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.path(path)).ok()?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// The number in a file.
    pub fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }

    /// The CPUs in a list such as `0-3,8`; none if there is no such file.
    pub fn cpus(&self, path: &str) -> Vec<u16> {
        let list = self.text(path).and_then(|text| cpu::parse_list(&text));
        list.unwrap_or_default()
    }

    /// The names in a folder, sorted; none if there is no such folder.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The value behind `key:` in a file of such lines.
    pub fn field(&self, path: &str, key: &str) -> Option<String> {
        let text = self.text(path)?;
        let value = text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim().to_owned())
        });
        value.filter(|value| !value.is_empty())
    }

    /// CPUs that are online.
    pub fn online(&self) -> Vec<u16> {
        self.cpus("/sys/devices/system/cpu/online")
    }

    /// The kernel's release, such as `6.18.15-amd64`.
    pub fn release(&self) -> Option<String> {
        self.text("/proc/sys/kernel/osrelease")
    }

    /// The first two numbers of the release.
    pub fn version(&self) -> Option<(u32, u32)> {
        let release = self.release()?;
        let mut numbers = release.split(|c: char| !c.is_ascii_digit());
        let mut next = || numbers.next()?.parse().ok();
        Some((next()?, next()?))
    }

    /// An option of the kernel's build, such as `CONFIG_BPF`; `None` if the kernel does not
    /// say how it was built.
    pub fn option(&self, name: &str) -> Option<bool> {
        let config = self.config()?;
        let set = [format!("{name}=y"), format!("{name}=m")];
        Some(config.lines().any(|line| set.iter().any(|set| line == set)))
    }

    fn config(&self) -> Option<String> {
        let mut text = String::new();
        if let Ok(file) = fs::File::open(self.path("/proc/config.gz")) {
            flate2::read::GzDecoder::new(file)
                .read_to_string(&mut text)
                .ok()?;
            return Some(text);
        }
        self.text(&format!("/boot/config-{}", self.release()?))
    }

    /// The word on the kernel's command line behind `name=`.
    pub fn boot_option(&self, name: &str) -> Option<String> {
        let line = self.text("/proc/cmdline")?;
        let words = line.split_whitespace();
        let mut values = words.filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        values.next_back().map(str::to_owned)
    }
}
