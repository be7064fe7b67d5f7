//! Files of the kernel's that hold a value.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// More than any value of the kernel's has: a page.
const LARGEST_BYTES: u64 = 1 << 16;

/// The text of a file, at most 64 KiB.
pub fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(LARGEST_BYTES)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// The value in a file, without blanks around it; of several words the one in brackets.
pub fn value(path: &Path) -> io::Result<String> {
    let text = text(path)?;
    Ok(chosen(&text).unwrap_or(text.trim()).to_owned())
}

/// The one word in brackets, as in `always [madvise] never`.
fn chosen(text: &str) -> Option<&str> {
    let (before, rest) = text.split_once('[')?;
    let (word, after) = rest.split_once(']')?;
    let is_word = !word.is_empty() && !word.contains(char::is_whitespace);
    let is_only = !after.contains(['[', ']']);
    let is_apart = before.is_empty() || before.ends_with(' ');
    (is_word && is_only && is_apart).then_some(word)
}

/// Writes a line into a file that there is: at once, as the kernel wants it.
pub fn write(path: &Path, value: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    let line = format!("{value}\n");
    match file.write(line.as_bytes())? {
        written if written == line.len() => Ok(()),
        written => Err(io::Error::other(format!(
            "the kernel took {written} of {} bytes",
            line.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_words_the_chosen_one_is_the_value() {
        assert_eq!(chosen("always [madvise] never\n"), Some("madvise"));
        assert_eq!(chosen("[none] mq-deadline"), Some("none"));
        for text in ["performance\n", "a[0] = [1]", "[a] [b]", "[]", "x[1]", "]["] {
            assert_eq!(chosen(text), None, "{text}");
        }
    }

    #[test]
    fn writing_makes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("absent");
        assert!(write(&path, "1").is_err());
        assert!(!path.exists());
        std::fs::write(&path, "a long value\n").unwrap();
        write(&path, "1").unwrap();
        assert_eq!(value(&path).unwrap(), "1");
    }
}
