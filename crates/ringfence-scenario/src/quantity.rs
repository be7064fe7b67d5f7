//! Numbers with units, exact: `"3.5 ms"` is 3 500 000 ns and nothing near it.
//!
//! A quantity is a decimal number, an optional space and a unit. It is turned
//! into a whole number of base units with integer arithmetic; a number that is
//! not a whole number of base units is refused, not rounded.

/// A unit and how many base units it holds.
type Unit = (&'static str, u64);

/// A kind of quantity: its base unit and the units it may be written in.
#[derive(Debug)]
pub struct Dimension {
    /// What it is, with its article: `a time`.
    pub name: &'static str,
    /// A correct example.
    pub example: &'static str,
    /// Units from small to large. The first has the shortest name of each size.
    pub units: &'static [Unit],
    /// The resolution, for messages: `1 ns`.
    pub resolution: &'static str,
}

/// Times in nanoseconds.
pub static TIME: Dimension = Dimension {
    name: "a time",
    example: "3.5 ms",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("μs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
    ],
    resolution: "1 ns",
};

/// Times on the command line in nanoseconds: rtla's `m`, `h` and `d` as well.
static COMMAND_LINE_TIME: Dimension = Dimension {
    name: "a time",
    example: "500ms",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("μs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ],
    resolution: "1 ns",
};

/// Short times in picoseconds, for hardware.
pub static FINE_TIME: Dimension = Dimension {
    name: "a time",
    example: "13.75 ns",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("μs", 1_000_000),
        ("ms", 1_000_000_000),
    ],
    resolution: "1 ps",
};

/// Sizes in bytes.
pub static SIZE: Dimension = Dimension {
    name: "a size",
    example: "384 KiB",
    units: &[
        ("B", 1),
        ("KB", 1_000),
        ("kB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
    ],
    resolution: "1 B",
};

/// Bandwidths in bytes per second.
pub static BANDWIDTH: Dimension = Dimension {
    name: "a bandwidth",
    example: "100 MB/s",
    units: &[
        ("B/s", 1),
        ("KB/s", 1_000),
        ("kB/s", 1_000),
        ("KiB/s", 1 << 10),
        ("MB/s", 1_000_000),
        ("MiB/s", 1 << 20),
        ("GB/s", 1_000_000_000),
        ("GiB/s", 1 << 30),
    ],
    resolution: "1 B/s",
};

/// Frequencies in hertz.
pub static FREQUENCY: Dimension = Dimension {
    name: "a frequency",
    example: "1.2 GHz",
    units: &[
        ("Hz", 1),
        ("kHz", 1_000),
        ("MHz", 1_000_000),
        ("GHz", 1_000_000_000),
    ],
    resolution: "1 Hz",
};

/// Why a text is no quantity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuantityError {
    /// It does not start with a decimal number.
    NotANumber,
    /// A number without a unit.
    NoUnit,
    /// A unit that the dimension does not have.
    UnknownUnit(String),
    /// Not a whole number of base units.
    TooFine,
    /// More base units than 64 bits hold.
    TooLarge,
}

impl Dimension {
    /// Reads a quantity into base units.
    ///
    /// # Errors
    ///
    /// See [`QuantityError`].
    pub fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        let text = text.trim();
        let unit_start = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(unit_start);
        let (digits, decimals) = parse_decimal(number)?;
        let scale = self.scale_of(unit.trim_start())?;
        let scaled = digits
            .checked_mul(u128::from(scale))
            .ok_or(QuantityError::TooLarge)?;
        let divisor = 10_u128.pow(decimals);
        if scaled % divisor != 0 {
            return Err(QuantityError::TooFine);
        }
        u64::try_from(scaled / divisor).map_err(|_| QuantityError::TooLarge)
    }

    fn scale_of(&self, unit: &str) -> Result<u64, QuantityError> {
        if unit.is_empty() {
            return Err(QuantityError::NoUnit);
        }
        self.units
            .iter()
            .find(|(name, _)| *name == unit)
            .map(|&(_, scale)| scale)
            .ok_or_else(|| QuantityError::UnknownUnit(unit.to_owned()))
    }

    /// Writes `value` base units exactly, in the unit that needs the fewest characters.
    pub fn format(&self, value: u64) -> String {
        self.units
            .iter()
            .filter_map(|&(unit, scale)| Some(format!("{} {unit}", exact_ratio(value, scale)?)))
            .min_by_key(|text| (text.chars().count(), text.contains('.')))
            .unwrap_or_default()
    }
}

/// Reads a time on the command line into nanoseconds, as rtla does: a number
/// alone is seconds, `m` is minutes. The units of [`TIME`] are known too.
///
/// # Errors
///
/// What was found and what was expected.
pub fn parse_command_line_time(text: &str) -> Result<u64, String> {
    let parsed = match COMMAND_LINE_TIME.parse(text) {
        Err(QuantityError::NoUnit) => COMMAND_LINE_TIME.parse(&format!("{} s", text.trim())),
        parsed => parsed,
    };
    parsed.map_err(|error| match error {
        QuantityError::TooFine => format!("found {text:?}, expected a multiple of 1 ns"),
        QuantityError::TooLarge => {
            format!("found {text:?}, expected a time that fits 64 bits in nanoseconds")
        }
        QuantityError::NotANumber | QuantityError::NoUnit | QuantityError::UnknownUnit(_) => {
            format!(
                "found {text:?}, expected a time such as 5 (seconds), 500ms, 10m (minutes) or \"2 s\""
            )
        }
    })
}

/// Splits `"3.50"` into 350 and 2 decimals, with trailing zeros dropped.
///
/// At most 18 decimals and 18 + 20 digits are meaningful in 64 bits.
pub(crate) fn parse_decimal(text: &str) -> Result<(u128, u32), QuantityError> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return Err(QuantityError::NotANumber);
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 18 {
        return Err(QuantityError::TooFine);
    }
    let digits = format!("{whole}{fraction}")
        .parse()
        .map_err(|_| QuantityError::TooLarge)?;
    Ok((digits, fraction.len() as u32))
}

/// `value / scale` as a decimal number, where that ends.
fn exact_ratio(value: u64, scale: u64) -> Option<String> {
    let whole = value / scale;
    let mut rest = u128::from(value % scale);
    let mut text = whole.to_string();
    if rest > 0 {
        text.push('.');
    }
    for _ in 0..30 {
        if rest == 0 {
            return Some(text);
        }
        rest *= 10;
        text.push(char::from(b'0' + (rest / u128::from(scale)) as u8));
        rest %= u128::from(scale);
    }
    (rest == 0).then_some(text)
}
