//! How a snapshot looks, on a terminal and as text.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style, Stylize};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Paragraph, Row, Table, Widget, Wrap};
use ringfence_linux::live::Snapshot;
use ringfence_linux::live::snapshot::{
    BestEffort, Budget, Cpu, Gang, GangState, Mode, Partition, Resource, Share,
};
use ringfence_workloads::cpu;

/// What is not known.
const UNKNOWN: &str = "?";
/// What there is none of.
const NONE: &str = "-";
/// Blanks between columns.
const GAP: u16 = 2;

/// A snapshot, or why there is none, with the keys below it.
pub struct Screen<'a>(pub &'a Result<Snapshot, String>);

impl Widget for Screen<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let [body, keys] =
            Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(area);
        match self.0 {
            Ok(snapshot) => draw(snapshot, body, buffer),
            Err(why) => Paragraph::new(why.as_str())
                .wrap(Wrap { trim: true })
                .render(body, buffer),
        }
        Line::from("q ends").dim().render(keys, buffer);
    }
}

/// The snapshot as lines of text, as wide as they must be.
pub fn text(snapshot: &Snapshot) -> String {
    let blocks = blocks(snapshot);
    let width = blocks.iter().map(Block::width).max().unwrap_or(0);
    let height = 1 + blocks.iter().map(|block| block.height() + 1).sum::<u16>();
    let title = title(snapshot);
    let area = Rect::new(0, 0, width.max(title.width() as u16), height);
    let mut buffer = Buffer::empty(area);
    draw(snapshot, area, &mut buffer);
    lines(&buffer)
}

/// The cells of a buffer, without blanks at the ends of lines.
pub fn lines(buffer: &Buffer) -> String {
    let row = |y| -> String {
        let row: String = (0..buffer.area.width)
            .map(|x| buffer[(x, y)].symbol())
            .collect();
        row.trim_end().to_owned() + "\n"
    };
    (0..buffer.area.height).map(row).collect()
}

fn draw(snapshot: &Snapshot, area: Rect, buffer: &mut Buffer) {
    let blocks = blocks(snapshot);
    let heights = blocks.iter().map(|block| block.height() + 1);
    let constraints = std::iter::once(1).chain(heights).map(Constraint::Length);
    // What has no room is cut at the bottom, from the last block on.
    let tall = Rect {
        height: area.height.max(u16::MAX / 2),
        ..area
    };
    let places = Layout::vertical(constraints).split(tall);
    title(snapshot).render(places[0].intersection(area), buffer);
    for (block, place) in blocks.into_iter().zip(&places[1..]) {
        let below = Rect {
            y: place.y + 1,
            height: place.height - 1,
            ..*place
        };
        block.table().render(below.intersection(area), buffer);
    }
}

fn title(snapshot: &Snapshot) -> Line<'static> {
    let mode = match snapshot.mode {
        Mode::SchedExt => "sched_ext",
        Mode::Portable => "portable mode",
    };
    let since_s = snapshot.time_unix_ms.saturating_sub(snapshot.since_unix_ms) / 1000;
    let (hours, minutes, seconds) = (since_s / 3600, since_s / 60 % 60, since_s % 60);
    Line::from(format!(
        "case {} of {}, {mode}, process {}, for {hours}:{minutes:02}:{seconds:02}",
        snapshot.case, snapshot.scenario, snapshot.process
    ))
    .bold()
}

/// Rows below a header.
struct Block {
    header: Vec<&'static str>,
    rows: Vec<(Vec<String>, Style)>,
}

impl Block {
    fn height(&self) -> u16 {
        1 + self.rows.len() as u16
    }

    /// Columns of text of each of its columns.
    fn widths(&self) -> Vec<u16> {
        let columns = 0..self.header.len();
        let width = |column: usize| {
            let rows = self.rows.iter().map(|(row, _)| row[column].as_str());
            let cells = rows.chain([self.header[column]]);
            cells
                .map(|cell| Text::from(cell).width())
                .max()
                .unwrap_or(0) as u16
        };
        columns.map(width).collect()
    }

    fn width(&self) -> u16 {
        self.widths().into_iter().map(|width| width + GAP).sum()
    }

    fn table(self) -> Table<'static> {
        let widths = self.widths().into_iter().map(Constraint::Length);
        let header = Row::new(self.header.clone()).style(Modifier::REVERSED);
        let rows = self.rows.into_iter();
        let rows = rows.map(|(row, style)| Row::new(row).style(style));
        Table::new(rows, widths.collect::<Vec<_>>())
            .header(header)
            .column_spacing(GAP)
    }
}

fn blocks(snapshot: &Snapshot) -> [Block; 3] {
    [
        Block {
            header: vec![
                "PARTITION",
                "CPUS",
                "ACTIVE GANG",
                "BLOCKED GANGS",
                "SHARE OF TIME",
            ],
            rows: snapshot.partitions.iter().map(partition).collect(),
        },
        Block {
            header: vec![
                "CPU",
                "PARTITION",
                "HELD BY",
                "BEST-EFFORT",
                "USED OF BUDGET",
                "THROTTLED",
            ],
            rows: snapshot.cpus.iter().map(of_cpu).collect(),
        },
        Block {
            header: vec![
                "GANG",
                "PARTITION",
                "PRIORITY",
                "STATE",
                "ACTIVE TIME",
                "JOBS",
                "MISSES",
            ],
            rows: snapshot.gangs.iter().map(gang).collect(),
        },
    ]
}

fn partition(partition: &Partition) -> (Vec<String>, Style) {
    let style = match partition.share {
        Some(share) if share.is_exhausted => Style::new().yellow(),
        _ => Style::new(),
    };
    let row = vec![
        partition.name.clone(),
        cpu::write_list(&partition.cpus),
        names(&partition.active_gangs),
        names(&partition.blocked_gangs),
        partition.share.map_or(NONE.into(), share),
    ];
    (row, style)
}

fn share(share: Share) -> String {
    let ms = |time_ns: u64| time_ns as f64 / 1e6;
    let end = if share.is_exhausted { ", used up" } else { "" };
    format!(
        "{:.0} of {} ms in {} ms{end}",
        ms(share.used_ns),
        ms(share.limit_ns),
        ms(share.window_ns)
    )
}

fn of_cpu(cpu: &Cpu) -> (Vec<String>, Style) {
    let best_effort = cpu.best_effort.as_ref();
    let is_throttled = best_effort.is_some_and(|it| it.is_throttled);
    let style = match is_throttled {
        true => Style::new().red(),
        false => Style::new(),
    };
    let row = vec![
        cpu.cpu.to_string(),
        cpu.partition.clone().unwrap_or(NONE.into()),
        names(&cpu.held_by),
        match (best_effort, is_throttled) {
            (None, _) => "not regulated".into(),
            (_, true) => "throttled".into(),
            (_, false) => "may run".into(),
        },
        best_effort.map_or(NONE.into(), budgets),
        best_effort.map_or(NONE.into(), |it| format!("{} times", it.times_throttled)),
    ];
    (row, style)
}

fn budgets(best_effort: &BestEffort) -> String {
    let period_us = best_effort.period_ns as f64 / 1e3;
    let budgets = best_effort.budgets.iter().map(budget);
    let budgets: Vec<String> = budgets.collect();
    let is_limited = |budget: &Budget| budget.budget.is_some();
    match best_effort.budgets.iter().any(is_limited) {
        true => format!("{} in {period_us} us", budgets.join(", ")),
        false => "no limit now".into(),
    }
}

fn budget(budget: &Budget) -> String {
    let (unit, scale) = match budget.of {
        Resource::TimeNs => ("us", 1e3),
        Resource::ReadEvents => ("reads", 1.0),
        Resource::WriteEvents => ("writes", 1.0),
    };
    let number = |number: u64| format!("{:.0}", number as f64 / scale);
    match (budget.used.map(number), budget.budget.map(number)) {
        (Some(used), Some(budget)) => format!("{used} of {budget} {unit}"),
        (None, Some(budget)) => format!("{UNKNOWN} of {budget} {unit}"),
        (Some(used), None) => format!("{used} {unit}"),
        (None, None) => format!("{UNKNOWN} {unit}"),
    }
}

fn gang(gang: &Gang) -> (Vec<String>, Style) {
    let (state, style) = match gang.state {
        GangState::Active => ("active", Style::new().green()),
        GangState::Blocked => ("blocked", Style::new().yellow()),
        GangState::Sleeping => ("sleeping", Style::new()),
    };
    let count = |count: Option<u64>| count.map_or(UNKNOWN.into(), |count| count.to_string());
    let row = vec![
        gang.name.clone(),
        gang.partition.clone(),
        gang.priority.to_string(),
        state.into(),
        format!("{:.2} s", gang.active_ns as f64 / 1e9),
        count(gang.jobs),
        count(gang.deadline_misses),
    ];
    (row, style)
}

/// Gangs side by side are one virtual gang.
fn names(gangs: &[String]) -> String {
    match gangs {
        [] => NONE.into(),
        gangs => gangs.join(" "),
    }
}
