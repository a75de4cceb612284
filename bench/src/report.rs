//! Result lines: what `--json` prints, `--save` keeps and `render` reads.
mod table;

use std::{fs, io::Write as _, path::Path};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

pub(crate) use table::tables;

use crate::{
    machine::Machine,
    marks::{self, Mark, Verdict},
    options::Output,
};

/// One measured figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) bench: String,
    pub(crate) case: String,
    pub(crate) side: String,
    pub(crate) metric: String,
    pub(crate) value: f64,
    pub(crate) unit: String,
    /// To the reference side of the same case, in the same rounds.
    pub(crate) ratio: Option<f64>,
}

/// What a line may hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Line {
    /// The first: what follows was measured here.
    Machine {
        bench: String,
        machine: Machine,
    },
    Figure(Figure),
    /// With `--check`, the last.
    Verdict {
        bench: String,
        verdict: Verdict,
    },
}

/// Judges the figures by their marks, if that was asked for, and saves and prints all. False when a mark is missed.
pub(crate) fn publish(
    bench: &str,
    machine: Machine,
    figures: &[Figure],
    marks: impl FnOnce() -> Vec<Mark>,
    output: &Output,
) -> Result<bool> {
    let mut lines = vec![Line::Machine { bench: bench.into(), machine }];
    lines.extend(figures.iter().cloned().map(Line::Figure));
    let mut passed = true;
    if output.check {
        let verdict = marks::judge(&marks(), figures);
        passed = verdict.passed();
        lines.push(Line::Verdict { bench: bench.into(), verdict });
    }
    let json = json(&lines)?;
    if let Some(path) = &output.save {
        fs::write(path, &json).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let text = if output.json { json } else { tables(&lines) };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(passed)
}

fn json(lines: &[Line]) -> Result<String> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&serde_json::to_string(line)?);
        text.push('\n');
    }
    Ok(text)
}

/// Reads lines that `--save` wrote.
pub(crate) fn load(path: &Path) -> Result<Vec<Line>> {
    let name = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    text.lines()
        .zip(1..)
        .map(|(line, number)| serde_json::from_str(line).with_context(|| format!("{name}, line {number}")))
        .collect()
}
