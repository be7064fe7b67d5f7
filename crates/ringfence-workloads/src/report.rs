//! What programs print in the end.

use std::io::Write as _;

use serde::Serialize;

/// A report, as text for people or as JSON.
pub trait Report: Serialize {
    /// As text.
    fn text(&self) -> String;

    /// Prints it.
    ///
    /// # Errors
    /// When the standard output takes no more.
    fn print(&self, json: bool) -> Result<(), String> {
        let text = match json {
            true => serde_json::to_string_pretty(self).map_err(|error| error.to_string())? + "\n",
            false => self.text(),
        };
        let printed = std::io::stdout().write_all(text.as_bytes());
        printed.map_err(|error| format!("cannot write to the standard output: {error}"))
    }
}
