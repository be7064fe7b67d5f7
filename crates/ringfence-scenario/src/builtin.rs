//! The platforms and memories that come with ringfence.

/// A platform file that is part of the program.
#[derive(Debug, Clone, Copy)]
pub struct BuiltinPlatform {
    /// Name for `scenario.platform`.
    pub name: &'static str,
    /// The text of its platform file, with the source of every figure.
    pub source: &'static str,
}

/// All of them, by name.
pub static PLATFORMS: &[BuiltinPlatform] = &[
    BuiltinPlatform {
        name: "jetson-nano",
        source: include_str!("../../../platforms/jetson-nano.toml"),
    },
    BuiltinPlatform {
        name: "raspberry-pi-3",
        source: include_str!("../../../platforms/raspberry-pi-3.toml"),
    },
];

impl BuiltinPlatform {
    /// Its file name in messages.
    pub fn file_name(&self) -> String {
        format!("platforms/{}.toml", self.name)
    }
}

/// A main memory that is part of the program: a file with the keys of `[memory.dram]`.
#[derive(Debug, Clone, Copy)]
pub struct BuiltinDram {
    /// Name for [`crate::load_dram`].
    pub name: &'static str,
    /// The text of its file, with the source of every figure.
    pub source: &'static str,
}

/// All of them, by name.
pub static DRAMS: &[BuiltinDram] = &[
    BuiltinDram {
        name: "ddr3-1600",
        source: include_str!("../../../platforms/dram/ddr3-1600.toml"),
    },
    BuiltinDram {
        name: "ddr4-2400",
        source: include_str!("../../../platforms/dram/ddr4-2400.toml"),
    },
    BuiltinDram {
        name: "ddr4-2400-reference",
        source: include_str!("../../../platforms/dram/ddr4-2400-reference.toml"),
    },
    BuiltinDram {
        name: "lpddr2-1066",
        source: include_str!("../../../platforms/dram/lpddr2-1066.toml"),
    },
    BuiltinDram {
        name: "lpddr3-1600",
        source: include_str!("../../../platforms/dram/lpddr3-1600.toml"),
    },
    BuiltinDram {
        name: "lpddr4-3200",
        source: include_str!("../../../platforms/dram/lpddr4-3200.toml"),
    },
];

impl BuiltinDram {
    /// Its file name in messages.
    pub fn file_name(&self) -> String {
        format!("platforms/dram/{}.toml", self.name)
    }
}
