//! The platforms that come with ringfence.

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
