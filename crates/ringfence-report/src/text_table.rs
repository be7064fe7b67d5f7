//! Tables of plain text.

use std::io::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement};

pub use comfy_table::Table;

use crate::Error;

/// A table without borders; all columns after the first `texts` are numbers.
pub fn table(header: &[&str], texts: usize) -> Table {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.to_vec());
    for (index, column) in table.column_iter_mut().enumerate() {
        if index >= texts {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The table without the blanks at the ends of its lines.
pub fn text(table: &Table) -> String {
    let lines = table.lines();
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Writes the table and an empty line.
pub(crate) fn print(table: &Table, out: &mut impl Write) -> Result<(), Error> {
    writeln!(out, "{}", text(table))?;
    Ok(())
}
