//! Results as tables: one per case, a row per metric, a column per side.
use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};

use super::{Figure, Line};

/// Everything that `lines` hold, as Markdown that also reads well in a terminal.
pub(crate) fn tables(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        if let Line::Machine { bench, machine } = line {
            let _ = writeln!(text, "# {bench}\n");
            for fact in machine.lines() {
                let _ = writeln!(text, "- {fact}");
            }
        }
    }
    let figures = || {
        lines.iter().filter_map(|line| match line {
            Line::Figure(figure) => Some(figure),
            _ => None,
        })
    };
    for case in distinct(figures().map(|figure| figure.case.as_str())) {
        let of_case: Vec<_> = figures().filter(|figure| figure.case == case).collect();
        let _ = writeln!(text, "\n## {case}\n\n{}", table(&of_case));
    }
    for line in lines {
        if let Line::Verdict { verdict, .. } = line {
            let _ = writeln!(text, "\n{verdict}");
        }
    }
    text
}

fn table(figures: &[&Figure]) -> Table {
    let sides = distinct(figures.iter().map(|figure| figure.side.as_str()));
    let metrics = distinct(figures.iter().map(|figure| figure.metric.as_str()));
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([""].iter().chain(&sides));
    for metric in metrics {
        let of = |side: &str| {
            let mut row = figures.iter().filter(|figure| figure.metric == metric);
            row.find(|figure| figure.side == side)
        };
        let unit = figures.iter().find(|figure| figure.metric == metric);
        let unit = unit.map_or("", |figure| figure.unit.as_str());
        let separator = if unit.is_empty() { "" } else { ", " };
        let name = format!("{}{separator}{unit}", metric.replace('_', " "));
        let cells = sides.iter().map(|side| of(side).map_or(String::new(), |figure| cell(figure)));
        table.add_row([name].into_iter().chain(cells));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn cell(figure: &Figure) -> String {
    let value = number(figure.value);
    match figure.ratio {
        Some(ratio) => format!("{value} ({ratio:.2} ×)"),
        None => value,
    }
}

/// Four digits that matter, and thousands apart.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        large if large >= 100.0 => 0,
        whole if whole.fract() == 0.0 => 0,
        tens if tens >= 10.0 => 1,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + fraction
}

/// In the order of their first appearance.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}
