//! The terminal, redrawn each interval.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use ringfence_linux::interruption::Interruption;
use ringfence_linux::live::{self, Snapshot};

use super::view::Screen;
use crate::outcome::Failure;

/// How soon a signal ends it.
const LOOK: Duration = Duration::from_millis(200);

/// Draws until a key or a signal ends it. Between the cases of a run nothing is enforced: then
/// it says so and goes on.
pub fn draw(
    folder: &Path,
    interval: Duration,
    first: Snapshot,
    interruption: &Interruption,
) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::Error(format!("the terminal: {error}"));
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let mut seen = Ok(first);
    let result = loop {
        match redraw(&mut terminal, &seen, interval, interruption) {
            Ok(true) => seen = live::find(folder).map_err(|error| error.to_string()),
            Ok(false) => break Ok(()),
            Err(error) => break Err(failed(error)),
        }
    };
    ratatui::restore();
    result
}

/// Draws, and waits for the next interval; whether there is one.
fn redraw(
    terminal: &mut DefaultTerminal,
    seen: &Result<Snapshot, String>,
    interval: Duration,
    interruption: &Interruption,
) -> io::Result<bool> {
    let begin = Instant::now();
    loop {
        terminal.draw(|frame| frame.render_widget(Screen(seen), frame.area()))?;
        // A change of size draws again.
        loop {
            let left = interval.saturating_sub(begin.elapsed());
            if interruption.signal().is_some() {
                return Ok(false);
            }
            if left.is_zero() {
                return Ok(true);
            }
            if event::poll(left.min(LOOK))? {
                match event::read()? {
                    Event::Key(key) if ends(key) => return Ok(false),
                    Event::Resize(..) => break,
                    _ => {}
                }
            }
        }
    }
}

fn ends(key: KeyEvent) -> bool {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => true,
        KeyCode::Char('c') => is_control,
        _ => false,
    }
}
