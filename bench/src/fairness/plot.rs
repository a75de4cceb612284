//! Rates over time: a panel for each case, a line for each flow.
use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use super::contest::Played;

const PANEL: (u32, u32) = (420, 240);
const COLUMNS: usize = 3;

/// Draws the last run of each case.
pub(super) fn rates(path: &Path, results: &[Played]) -> Result<()> {
    let columns = results.len().clamp(1, COLUMNS);
    let rows = results.len().div_ceil(columns).max(1);
    let size = (PANEL.0 * columns as u32, PANEL.1 * rows as u32);
    let area = SVGBackend::new(path, size).into_drawing_area();
    let failed = |error: &dyn std::fmt::Display| anyhow!("cannot draw {}: {error}", path.display());
    area.fill(&WHITE).map_err(|error| failed(&error))?;
    for (panel, played) in area.split_evenly((rows, columns)).iter().zip(results) {
        let Some(run) = played.runs.last() else {
            continue;
        };
        let points = || run.flows.iter().flat_map(|flow| &flow.series);
        let longest = points().map(|(at, _)| *at).fold(1.0, f64::max);
        let highest = points().map(|(_, rate)| rate / 1e6).fold(1.0, f64::max);
        let mut chart = ChartBuilder::on(panel)
            .caption(&played.case, ("sans-serif", 14))
            .margin(8)
            .x_label_area_size(30)
            .y_label_area_size(40)
            .build_cartesian_2d(0.0..longest, 0.0..highest * 1.1)
            .map_err(|error| failed(&error))?;
        chart
            .configure_mesh()
            .x_desc("s")
            .y_desc("Mbit/s")
            .light_line_style(WHITE)
            .draw()
            .map_err(|error| failed(&error))?;
        for (index, flow) in run.flows.iter().enumerate() {
            let ours = index < run.ours;
            let line = if ours { BLUE.mix(0.8) } else { RED.mix(0.6) };
            let series = flow.series.iter().map(|(at, rate)| (*at, rate / 1e6));
            let drawn = chart.draw_series(LineSeries::new(series, line)).map_err(|error| failed(&error))?;
            if index == 0 || index == run.ours {
                let name = played.sides[usize::from(!ours)];
                drawn.label(name).legend(move |(x, y)| PathElement::new([(x, y), (x + 14, y)], line));
            }
        }
        chart.configure_series_labels().background_style(WHITE.mix(0.8)).draw().map_err(|error| failed(&error))?;
    }
    area.present().map_err(|error| failed(&error))
}
