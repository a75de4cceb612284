//! Result lines: what `--json` prints, `--save` keeps and `render` reads.
mod table;

use std::{fs, io::Write as _, path::Path};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

pub(crate) use table::tables;

use crate::{machine::Machine, marks::Verdict};

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

/// Where results go.
pub(crate) struct Report {
    lines: Vec<Line>,
}

impl Report {
    pub(crate) fn new(bench: &str, machine: Machine, figures: &[Figure]) -> Self {
        let bench = bench.into();
        let mut lines = vec![Line::Machine { bench, machine }];
        lines.extend(figures.iter().cloned().map(Line::Figure));
        Self { lines }
    }

    pub(crate) fn conclude(&mut self, bench: &str, verdict: Verdict) {
        let bench = bench.into();
        self.lines.push(Line::Verdict { bench, verdict });
    }

    /// Prints the results as JSON lines or as tables.
    pub(crate) fn print(&self, json: bool) -> Result<()> {
        let text = if json { self.json()? } else { tables(&self.lines) };
        Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
    }

    pub(crate) fn save(&self, path: &Path) -> Result<()> {
        fs::write(path, self.json()?).with_context(|| format!("cannot write {}", path.display()))
    }

    fn json(&self) -> Result<String> {
        let mut text = String::new();
        for line in &self.lines {
            text.push_str(&serde_json::to_string(line)?);
            text.push('\n');
        }
        Ok(text)
    }
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
