//! Bars: how every side's first compared metric stands to the reference, case by case.
use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use crate::report::Figure;

const SIZE: (u32, u32) = (860, 420);
/// Share of a case's width that its bars fill.
const FILLED: f64 = 0.8;

/// Draws the ratios of the metric that comes first in `figures`.
pub(crate) fn bars(path: &Path, figures: &[&Figure]) -> Result<()> {
    let metric = figures.first().map_or("", |figure| figure.metric.as_str());
    let figures: Vec<&Figure> = figures.iter().copied().filter(|f| f.metric == metric).collect();
    let (mut cases, mut sides) = (Vec::new(), Vec::new());
    for figure in &figures {
        note(&mut cases, &figure.case);
        note(&mut sides, &figure.side);
    }
    let ratio = |figure: &Figure| figure.ratio.unwrap_or(0.0);
    let highest = figures.iter().map(|figure| ratio(figure)).fold(1.0, f64::max);
    let width = FILLED / sides.len() as f64;

    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    let failed = |error: &dyn std::fmt::Display| anyhow!("cannot draw {}: {error}", path.display());
    area.fill(&WHITE).map_err(|error| failed(&error))?;
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{} ÷ reference", metric.replace('_', " ")), ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(30)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..cases.len() as f64, 0.0..highest * 1.25)
        .map_err(|error| failed(&error))?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(2 * cases.len() + 1)
        .x_label_formatter(&|x| {
            middle_of(*x).and_then(|case| cases.get(case)).map_or(String::new(), |case| (*case).into())
        })
        .draw()
        .map_err(|error| failed(&error))?;

    for (index, side) in sides.iter().enumerate() {
        let colour = Palette99::pick(index).to_rgba();
        let bars = figures.iter().filter(|figure| figure.side == *side).filter_map(|figure| {
            let case = cases.iter().position(|case| *case == figure.case)? as f64;
            let from = case + (1.0 - FILLED) / 2.0 + width * index as f64;
            let corners = [(from, 0.0), (from + width * 0.92, ratio(figure))];
            Some(Rectangle::new(corners, colour.filled()))
        });
        chart
            .draw_series(bars)
            .map_err(|error| failed(&error))?
            .label(*side)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
    }
    chart
        .configure_series_labels()
        .border_style(BLACK)
        .background_style(WHITE)
        .draw()
        .map_err(|error| failed(&error))?;
    area.present().map_err(|error| failed(&error))
}

/// Labels stand at .5 of each case.
fn middle_of(x: f64) -> Option<usize> {
    ((x.fract() - 0.5).abs() < 0.01).then_some(x as usize)
}

fn note<'a>(names: &mut Vec<&'a str>, name: &'a str) {
    if !names.contains(&name) {
        names.push(name);
    }
}
