//! The journal's parser, with bytes of any kind.

use proptest::prelude::*;
use ringfence_linux::changes::journal::{self, Entry, Owner};

use crate::model::{any_change, world};

/// A journal as a run writes it, and its entries.
fn any_journal() -> impl Strategy<Value = (Vec<u8>, Vec<Entry>)> {
    let changes = prop::collection::vec((any_change(), any::<bool>()), 0..8);
    changes.prop_map(|changes| {
        let owner = Owner {
            ringfence_journal: journal::VERSION,
            boot_id: "this boot".into(),
            pid: 7,
            command: "test".into(),
        };
        let mut text = serde_json::to_string(&owner).unwrap() + "\n";
        let mut left = Vec::new();
        for (index, ((subject, after), is_undone)) in changes.into_iter().enumerate() {
            let before = world()[&subject].clone();
            let entry = Entry {
                change: index as u64 + 1,
                subject,
                before,
                after,
            };
            text += &(serde_json::to_string(&entry).unwrap() + "\n");
            match is_undone {
                true => text += &format!("{{\"undone\":{}}}\n", entry.change),
                false => left.push(entry),
            }
        }
        (text.into_bytes(), left)
    })
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = journal::parse(&bytes);
    }

    /// Bytes that are nearly right get further than any.
    #[test]
    fn damaged_journals_are_read_or_refused(
        (mut bytes, _) in any_journal(),
        at in any::<prop::sample::Index>(),
        to in any::<u8>(),
    ) {
        let at = at.index(bytes.len());
        bytes[at] = to;
        let _ = journal::parse(&bytes);
    }

    #[test]
    fn what_is_written_is_read_back((bytes, left) in any_journal()) {
        let contents = journal::parse(&bytes).unwrap().unwrap();
        prop_assert_eq!(contents.entries, left);
    }

    /// Of a journal that ends early the whole lines count.
    #[test]
    fn a_line_that_is_cut_counts_for_nothing((bytes, _) in any_journal(), at in 0.0..1.0) {
        let cut = &bytes[..(bytes.len() as f64 * at) as usize];
        let whole = cut.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        prop_assert_eq!(journal::parse(cut).unwrap(), journal::parse(&cut[..whole]).unwrap());
    }
}

#[test]
fn what_ringfence_does_not_write_is_refused_with_its_line() {
    let owner = r#"{"ringfence_journal":1,"boot_id":"b","pid":1,"command":"c"}"#;
    let change = |number: u64, subject: &str, before: &str| {
        format!(r#"{{"change":{number},"subject":{subject},"before":{before},"after":null}}"#)
    };
    let value = r#"{"value":"/proc/sys/x"}"#;
    let text = r#"{"text":"1"}"#;
    for (lines, line, found) in [
        (vec!["nonsense".into()], 1, "expected"),
        (vec![owner.replace(":1,", ":2,")], 1, "version 2"),
        (vec![owner.into(), "{}".into()], 2, "did not match"),
        (vec![owner.into(), change(2, value, text)], 2, "change 2"),
        (
            vec![
                owner.into(),
                change(1, r#"{"value":"/proc/../etc/x"}"#, text),
            ],
            2,
            "goes up",
        ),
        (
            vec![owner.into(), change(1, r#"{"value":"etc/x"}"#, text)],
            2,
            "not absolute",
        ),
        (
            vec![owner.into(), change(1, value, r#"{"exists":true}"#)],
            2,
            "cannot be put",
        ),
        (
            vec![owner.into(), change(1, value, r#"{"text":"1\n2"}"#)],
            2,
            "cannot be put",
        ),
        (
            vec![owner.into(), r#"{"undone":1}"#.into()],
            2,
            "change 1 is undone",
        ),
    ] {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let error = journal::parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.found.contains(found), "{error}");
    }
}
