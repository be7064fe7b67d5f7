//! The text that valgrind's tool lackey writes with `--trace-mem=yes`.
//!
//! One line an event, in order of execution (valgrind, `lackey/lk_main.c`,
//! comment on `--trace-mem`): `I  ADDRESS,SIZE` is an instruction, followed by
//! its data accesses, ` L`, ` S` and ` M` for load, store and modify. Addresses
//! are hexadecimal, sizes decimal bytes. Valgrind's own messages go to the same
//! stream and begin with `==`, `--` or `**`.

use crate::access::Kind;

/// Most bytes of one access that lackey reports (`MAX_DSIZE` there).
const MAX_SIZE_BYTES: u64 = 512;

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// The next instruction.
    Instruction {
        /// First byte, virtual.
        address: u64,
        /// Bytes, 1 to 512.
        size: u64,
    },
    /// A data access of the last instruction.
    Access {
        /// What it does.
        kind: Kind,
        /// First byte, virtual.
        address: u64,
        /// Bytes, 1 to 512.
        size: u64,
    },
    /// A message of valgrind's, or an empty line.
    Message(&'a [u8]),
}

/// Reads one line, without its line feed. Also the entry for fuzzing.
///
/// # Errors
/// What the line should be.
pub fn parse_line(line: &[u8]) -> Result<Line<'_>, &'static str> {
    let kind = match line {
        [b'I', b' ', ..] => None,
        [b' ', b'L', b' ', ..] => Some(Kind::Load),
        [b' ', b'S', b' ', ..] => Some(Kind::Store),
        [b' ', b'M', b' ', ..] => Some(Kind::Modify),
        [] | [b'=', b'=', ..] | [b'-', b'-', ..] | [b'*', b'*', ..] => {
            return Ok(Line::Message(line));
        }
        _ => {
            return Err("expected `I ADDRESS,SIZE`, ` L …`, ` S …`, ` M …` or a valgrind message");
        }
    };
    let rest = line[2..].trim_ascii_start();
    let comma = rest.iter().position(|byte| *byte == b',');
    let (address, size) = rest.split_at(comma.ok_or("expected ADDRESS,SIZE")?);
    let address = number(address, 16).ok_or("expected a hexadecimal address of up to 64 bits")?;
    let size = number(&size[1..], 10)
        .filter(|size| (1..=MAX_SIZE_BYTES).contains(size))
        .ok_or("expected a size of 1 to 512 bytes")?;
    Ok(match kind {
        None => Line::Instruction { address, size },
        Some(kind) => Line::Access {
            kind,
            address,
            size,
        },
    })
}

/// A number of digits only.
fn number(digits: &[u8], radix: u32) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, digit| {
        let digit = char::from(*digit).to_digit(radix)?;
        value
            .checked_mul(radix.into())?
            .checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_lackey() {
        let instruction = Line::Instruction {
            address: 0x401_ab70,
            size: 3,
        };
        assert_eq!(parse_line(b"I  0401ab70,3"), Ok(instruction));
        let store = Line::Access {
            kind: Kind::Store,
            address: 0x1f_ff00_0698,
            size: 8,
        };
        assert_eq!(parse_line(b" S 1fff000698,8"), Ok(store));
        assert_eq!(parse_line(b"==12== x"), Ok(Line::Message(b"==12== x")));
    }

    #[test]
    fn bad_lines() {
        for line in [
            " X 10,4",
            " L 10",
            " L ,4",
            " L 1g,4",
            " L 10,",
            " L 10,0",
            " L 10,513",
            " L +1,4",
            " L 11112222333344445,4",
            "I",
            "valgrind: x",
        ] {
            assert!(parse_line(line.as_bytes()).is_err(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn accesses_round_trip(address: u64, size in 1..=512u64) {
            let text = format!(" M {address:08x},{size}");
            let kind = Kind::Modify;
            prop_assert_eq!(parse_line(text.as_bytes()), Ok(Line::Access { kind, address, size }));
        }

        #[test]
        fn any_line_is_read_or_refused(line: Vec<u8>) {
            let _ = parse_line(&line);
        }
    }
}
