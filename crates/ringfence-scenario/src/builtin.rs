//! The platforms and memories that come with ringfence.

/// A file that is part of the program.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// Its name in scenario and platform files.
    pub name: &'static str,
    /// Its path from the top of the repository, for messages.
    pub path: &'static str,
    /// Its text, with the source of every figure.
    pub source: &'static str,
}

macro_rules! builtin {
    ($folder:literal, $name:literal) => {
        Builtin {
            name: $name,
            path: concat!($folder, "/", $name, ".toml"),
            source: include_str!(concat!("../../../", $folder, "/", $name, ".toml")),
        }
    };
}

/// All platforms, by name: what `scenario.platform` may be.
pub static PLATFORMS: &[Builtin] = &[
    builtin!("platforms", "celeron-j3455"),
    builtin!("platforms", "jetson-nano"),
    builtin!("platforms", "jetson-tx2"),
    builtin!("platforms", "raspberry-pi-3"),
    builtin!("platforms", "raspberry-pi-4"),
    builtin!("platforms", "zcu104"),
];

/// All main memories, by name, each a file with the keys of `[memory.dram]`: for
/// [`crate::load_dram`].
pub static DRAMS: &[Builtin] = &[
    builtin!("platforms/dram", "ddr3-1600"),
    builtin!("platforms/dram", "ddr4-2400"),
    builtin!("platforms/dram", "ddr4-2400-reference"),
    builtin!("platforms/dram", "ddr4-3200"),
    builtin!("platforms/dram", "lpddr2-1066"),
    builtin!("platforms/dram", "lpddr3-1600"),
    builtin!("platforms/dram", "lpddr4-3200"),
];
