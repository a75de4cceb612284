//! `render`: saved result lines as Markdown tables and SVG plots beside them.
mod plot;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use clap::Args;

use crate::report::{self, Figure, Line};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Where the `.jsonl` files are; their `.md` and `.svg` are written beside them.
    #[arg(default_value = "bench/results")]
    directory: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let directory = arguments.directory.display();
    let entries = fs::read_dir(&arguments.directory);
    for entry in entries.with_context(|| format!("cannot read {directory}"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            render(&path)?;
        }
    }
    Ok(())
}

fn render(path: &Path) -> Result<()> {
    let lines = report::load(path)?;
    let table = path.with_extension("md");
    fs::write(&table, report::tables(&lines))?;
    println!("{}", table.display());

    let compared: Vec<&Figure> = lines.iter().filter_map(compared).collect();
    if !compared.is_empty() {
        let picture = path.with_extension("svg");
        plot::bars(&picture, &compared)?;
        println!("{}", picture.display());
    }
    Ok(())
}

/// Figures that have a ratio: these are what a plot can show side by side.
fn compared(line: &Line) -> Option<&Figure> {
    match line {
        Line::Figure(figure) if figure.ratio.is_some() => Some(figure),
        _ => None,
    }
}
