//! How it looks.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use ringfence_linux::live::Snapshot;

use super::view::{Screen, lines, text};
use crate::commands::live_example::snapshot;

fn screen(seen: &Result<Snapshot, String>, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| frame.render_widget(Screen(seen), frame.area()))
        .unwrap();
    terminal
}

#[test]
fn a_terminal_shows_all_of_it() {
    let terminal = screen(&Ok(snapshot()), 110, 20);
    insta::assert_snapshot!(lines(terminal.backend().buffer()));
}

#[test]
fn text_is_the_same_without_the_keys() {
    let terminal = screen(&Ok(snapshot()), 200, 19);
    let drawn = lines(terminal.backend().buffer());
    let without_keys = drawn.strip_suffix("q ends\n").unwrap();
    assert_eq!(text(&snapshot()).trim_end(), without_keys.trim_end());
}

#[test]
fn a_small_terminal_shows_what_fits() {
    let seen = Ok(snapshot());
    for (width, height) in [(1, 1), (20, 3), (60, 9), (0, 0)] {
        let terminal = screen(&seen, width, height);
        let drawn = lines(terminal.backend().buffer());
        assert_eq!(drawn.lines().count(), usize::from(height));
        let keys = &"q ends"[..usize::from(width.min(6))];
        assert!(
            height == 0 || drawn.ends_with(&format!("{keys}\n")),
            "{drawn}"
        );
    }
}

#[test]
fn what_needs_attention_has_a_colour() {
    let terminal = screen(&Ok(snapshot()), 110, 20);
    let buffer = terminal.backend().buffer();
    let drawn = lines(buffer);
    let colour = |word: &str| {
        let row = drawn.lines().position(|line| line.contains(word)).unwrap();
        buffer[(0, row as u16)].fg
    };
    assert_eq!(colour(" throttled "), Color::Red);
    assert_eq!(colour("used up"), Color::Yellow);
    assert_eq!(colour("slam      front"), Color::Yellow);
    assert_eq!(colour("braking   front"), Color::Green);
    assert_eq!(colour("may run"), Color::Reset);
}

#[test]
fn why_nothing_is_seen_is_told_and_wrapped() {
    let terminal = screen(&Err("nothing is enforced now".into()), 12, 4);
    let drawn = lines(terminal.backend().buffer());
    assert_eq!(drawn, "nothing is\nenforced now\n\nq ends\n");
}

/// A name cannot write to the terminal what is no text.
#[test]
fn names_have_no_control_characters() {
    let mut seen = snapshot();
    seen.gangs[0].name = "a\u{1b}[31mb\nc".into();
    assert!(!text(&seen).contains('\u{1b}'));
    assert_eq!(
        text(&seen).lines().count(),
        text(&snapshot()).lines().count()
    );
}
