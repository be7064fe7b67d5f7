//! The names that papers give aggressors, such as `BwWrite(LLC)`, and the sizes that go
//! with them on this machine.

use std::fmt;
use std::str::FromStr;

use super::{Access, Bank, Kind, Shape};
use crate::inventory::Inventory;
use ringfence_scenario::quantity::SIZE;

/// Lists of a named PLL: about the misses that a core of the papers' boards has under way.
pub const LISTS: usize = 6;
/// At most this share of the memory goes into one array.
const MEMORY_SHARE: u64 = 4;

/// An aggressor as papers name it (Bechtel and Yun, RTAS 2019).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    /// What it is.
    pub pattern: Pattern,
    /// Loads or stores.
    pub access: Access,
    /// Where its array lies.
    pub level: Level,
}

/// How a named aggressor walks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// `Bw`: line after line.
    Bandwidth,
    /// `PLL`: parallel linked lists.
    LinkedLists,
    /// `BkPLL`: those in one bank.
    BankLinkedLists,
}

/// Where the array of a named aggressor lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// It fits a core's share of the last-level cache and no cache before it.
    Llc,
    /// It is twice the last-level cache.
    Dram,
}

/// Why a name cannot be an aggressor here.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not a name.
    #[error(
        "the unknown aggressor {0:?}; expected Bw, PLL or BkPLL, then Read or Write, then (LLC) or (DRAM), such as BwWrite(LLC)"
    )]
    Unknown(String),
    /// The system does not tell its caches.
    #[error(
        "the system shows no caches of two levels, so the size that a name stands for is unknown; give --size"
    )]
    NoCaches,
    /// A core's share of the last-level cache is no larger than the cache before it.
    #[error(
        "a core's share of the last-level cache has {share}, and the cache before it {private}: no array lies in the one alone; give --size"
    )]
    NoShare {
        /// Of a core.
        share: String,
        /// The last private cache.
        private: String,
    },
    /// Not enough memory.
    #[error("twice the last-level cache is {0}, over a quarter of the memory; give --size")]
    Memory(String),
    /// A bank-aware one without a bank.
    #[error(
        "{0} needs to know a bank of this machine's last-level cache; give --bank and --bank-functions"
    )]
    NoBank(Name),
    /// A bank for one that takes all.
    #[error("{0} walks all banks; a bank is for BkPLL")]
    Bank(Name),
    /// Lists for one that has none.
    #[error("{0} walks no lists; these are for PLL and BkPLL")]
    Lists(Name),
}

impl Name {
    /// The aggressor on the machine of `inventory`.
    ///
    /// # Errors
    /// When it cannot be there, with what would help.
    pub fn shape(
        self,
        inventory: &Inventory,
        size_bytes: Option<u64>,
        lists: Option<usize>,
        bank: Option<Bank>,
    ) -> Result<Shape, NameError> {
        match (self.pattern, &bank) {
            (Pattern::BankLinkedLists, None) => return Err(NameError::NoBank(self)),
            (Pattern::Bandwidth | Pattern::LinkedLists, Some(_)) => {
                return Err(NameError::Bank(self));
            }
            (Pattern::Bandwidth, None) if lists.is_some() => return Err(NameError::Lists(self)),
            _ => {}
        }
        let line_bytes = inventory.modelled().map_or(64, |(_, llc)| llc.line_bytes);
        let parts = bank
            .as_ref()
            .map_or(1, |bank| bank.parts_of_lines(line_bytes));
        let size_bytes = match size_bytes {
            Some(bytes) => bytes,
            None => self.level.size_bytes(inventory, parts)?,
        };
        Ok(Shape {
            kind: match self.pattern {
                Pattern::Bandwidth => Kind::Bandwidth,
                _ => Kind::LinkedLists {
                    lists: lists.unwrap_or(LISTS),
                    bank,
                },
            },
            access: self.access,
            size_bytes,
            line_bytes,
        })
    }
}

impl Level {
    /// Bytes of an array of which one in `parts` lines is used.
    fn size_bytes(self, inventory: &Inventory, parts: u64) -> Result<u64, NameError> {
        let (private, llc) = inventory.modelled().ok_or(NameError::NoCaches)?;
        match self {
            Self::Llc => {
                let share = llc.size_bytes / llc.shared_by.len().max(1) as u64;
                if share <= private.size_bytes {
                    return Err(NameError::NoShare {
                        share: SIZE.format(share),
                        private: SIZE.format(private.size_bytes),
                    });
                }
                // Half of it leaves room for what else the core needs, unless too much of
                // that would lie in the private cache.
                let middle = match share / 2 >= private.size_bytes.saturating_mul(2) {
                    true => share / 2,
                    false => private.size_bytes.midpoint(share),
                };
                Ok(middle.saturating_mul(parts).min(share) / llc.line_bytes * llc.line_bytes)
            }
            Self::Dram => {
                let bytes = llc.size_bytes.saturating_mul(2);
                let is_too_much = inventory
                    .memory_bytes
                    .is_some_and(|memory| bytes > memory / MEMORY_SHARE);
                match is_too_much {
                    true => Err(NameError::Memory(SIZE.format(bytes))),
                    false => Ok(bytes),
                }
            }
        }
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::all()
            .find(|name| name.to_string().eq_ignore_ascii_case(text))
            .ok_or_else(|| NameError::Unknown(text.to_owned()))
    }
}

impl Name {
    /// All that there are.
    pub fn all() -> impl Iterator<Item = Self> {
        let patterns = [
            Pattern::Bandwidth,
            Pattern::LinkedLists,
            Pattern::BankLinkedLists,
        ];
        let of_pattern = |pattern| {
            [Access::Read, Access::Write]
                .into_iter()
                .flat_map(move |access| {
                    [Level::Llc, Level::Dram].map(|level| Self {
                        pattern,
                        access,
                        level,
                    })
                })
        };
        patterns.into_iter().flat_map(of_pattern)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = match self.pattern {
            Pattern::Bandwidth => "Bw",
            Pattern::LinkedLists => "PLL",
            Pattern::BankLinkedLists => "BkPLL",
        };
        let access = match self.access {
            Access::Read => "Read",
            Access::Write => "Write",
        };
        let level = match self.level {
            Level::Llc => "LLC",
            Level::Dram => "DRAM",
        };
        write!(formatter, "{pattern}{access}({level})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Cache;

    fn machine(private: u64, llc: u64, cpus: u16) -> Inventory {
        let cache = |level, size_bytes, shared_by| Cache {
            level,
            size_bytes,
            ways: 16,
            line_bytes: 64,
            shared_by,
        };
        Inventory {
            cpus: (0..cpus).collect(),
            siblings: Vec::new(),
            caches: vec![
                cache(1, private, vec![0]),
                cache(2, llc, (0..cpus).collect()),
            ],
            memory_bytes: Some(1 << 30),
            stated_hz: None,
            is_virtual: false,
        }
    }

    fn bytes(name: &str, machine: &Inventory, bank: Option<Bank>) -> Result<u64, NameError> {
        let shape = name.parse::<Name>()?.shape(machine, None, None, bank)?;
        Ok(shape.size_bytes)
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        assert_eq!(Name::all().count(), 12);
        for name in Name::all() {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        let shape = "bkpllwrite(llc)".parse::<Name>().unwrap();
        assert_eq!(shape.to_string(), "BkPLLWrite(LLC)");
        for text in [
            "",
            "Bw",
            "BwRead",
            "BwRead(L2)",
            "BwRead(LLC",
            "PLLCopy(LLC)",
        ] {
            assert_eq!(text.parse::<Name>(), Err(NameError::Unknown(text.into())));
        }
    }

    /// The sizes that the ready-made programs of the simulator have on these boards.
    #[test]
    fn sizes_are_those_of_the_boards() {
        let pi_3 = machine(32 << 10, 512 << 10, 4);
        let nano = machine(32 << 10, 2 << 20, 4);
        assert_eq!(bytes("PLLRead(LLC)", &pi_3, None), Ok(64 << 10));
        // Half a share would hardly be larger than what the private cache holds.
        let pi_4 = machine(48 << 10, 512 << 10, 4);
        assert_eq!(bytes("PLLRead(LLC)", &pi_4, None), Ok(88 << 10));
        assert_eq!(bytes("BwWrite(DRAM)", &pi_3, None), Ok(1 << 20));
        let two_banks = Some(Bank::in_bits(0x40, 0));
        assert_eq!(bytes("BkPLLRead(LLC)", &nano, two_banks), Ok(512 << 10));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_helps() {
        let pi_3 = machine(32 << 10, 512 << 10, 4);
        let bank = || Some(Bank::in_bits(0x40, 0));
        let refused = |text: &str, machine: &Inventory, bank| {
            bytes(text, machine, bank).unwrap_err().to_string()
        };
        assert!(refused("BkPLLRead(LLC)", &pi_3, None).contains("--bank-functions"));
        assert!(refused("PLLRead(LLC)", &pi_3, bank()).contains("for BkPLL"));
        let many = machine(512 << 10, 1 << 20, 4);
        assert!(refused("BwRead(LLC)", &many, None).contains("256 KiB"));
        let large = machine(1 << 20, 1 << 30, 1);
        assert!(refused("BwRead(DRAM)", &large, None).contains("2 GiB"));
        let mut hidden = pi_3.clone();
        hidden.caches.clear();
        assert_eq!(
            bytes("BwRead(LLC)", &hidden, None),
            Err(NameError::NoCaches)
        );
        let shape = "BwRead(LLC)".parse::<Name>().unwrap();
        assert_eq!(
            shape
                .shape(&hidden, Some(4096), None, None)
                .map(|shape| shape.size_bytes),
            Ok(4096)
        );
        let lists = shape.shape(&pi_3, None, Some(2), None).unwrap_err();
        assert!(lists.to_string().contains("walks no lists"), "{lists}");
    }
}
