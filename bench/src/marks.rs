//! Marks: what the figures of a run must reach.
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::report::Figure;

/// What a figure must reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// Of the reference's value.
    RatioAtMost(f64),
    /// Of the reference's value.
    RatioAtLeast(f64),
    AtMost(f64),
    AtLeast(f64),
}

/// One mark.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) case: String,
    pub(crate) side: String,
    pub(crate) metric: String,
    pub(crate) bound: Bound,
}

/// How the figures stand against the marks, told by the one that stands worst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) marks: usize,
    pub(crate) missed: usize,
    pub(crate) worst: Option<Judged>,
}

/// One figure against its mark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Judged {
    pub(crate) case: String,
    pub(crate) side: String,
    pub(crate) metric: String,
    /// The figure, or its ratio where the mark is one; absent when it was not measured.
    pub(crate) found: Option<f64>,
    pub(crate) mark: String,
    pub(crate) met: bool,
}

/// Judges `figures` by `marks`. A figure that is absent misses its mark.
pub(crate) fn judge(marks: &[Mark], figures: &[Figure]) -> Verdict {
    let mut missed = 0;
    let mut worst: Option<(f64, Judged)> = None;
    for mark in marks {
        let (strain, judged) = mark.judge(figures);
        missed += usize::from(!judged.met);
        if worst.as_ref().is_none_or(|(most, _)| strain > *most) {
            worst = Some((strain, judged));
        }
    }
    Verdict { marks: marks.len(), missed, worst: worst.map(|(_, judged)| judged) }
}

impl Verdict {
    /// Whether there was something to judge and all of it passed.
    pub(crate) fn passed(&self) -> bool {
        self.marks > 0 && self.missed == 0
    }
}

impl Mark {
    /// The strain is 1 at the mark and grows with the distance by which it is missed.
    fn judge(&self, figures: &[Figure]) -> (f64, Judged) {
        let figure = figures
            .iter()
            .find(|figure| figure.case == self.case && figure.side == self.side && figure.metric == self.metric);
        let found = figure.and_then(|figure| match self.bound {
            Bound::RatioAtMost(_) | Bound::RatioAtLeast(_) => figure.ratio,
            Bound::AtMost(_) | Bound::AtLeast(_) => Some(figure.value),
        });
        let strain = found.map_or(f64::INFINITY, |found| self.bound.strain(found));
        let judged = Judged {
            case: self.case.clone(),
            side: self.side.clone(),
            metric: self.metric.clone(),
            found,
            mark: self.bound.to_string(),
            met: strain <= 1.0,
        };
        (strain, judged)
    }
}

impl Bound {
    fn strain(self, found: f64) -> f64 {
        let (over, under) = match self {
            Self::RatioAtMost(most) | Self::AtMost(most) => (found, most),
            Self::RatioAtLeast(least) | Self::AtLeast(least) => (least, found),
        };
        match over {
            _ if over.is_nan() || under.is_nan() => f64::INFINITY,
            _ if over <= 0.0 => 0.0,
            _ => over / under,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RatioAtMost(most) => write!(f, "≤ {most} × reference"),
            Self::RatioAtLeast(least) => write!(f, "≥ {least} × reference"),
            Self::AtMost(most) => write!(f, "≤ {most}"),
            Self::AtLeast(least) => write!(f, "≥ {least}"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(worst) = &self.worst else {
            return write!(f, "check: no marks");
        };
        let state = if self.missed == 0 { "all met" } else { "MISSED" };
        write!(f, "check: {} of {} marks missed, {state}; worst: ", self.missed, self.marks)?;
        write!(f, "{}, {}, {} ", worst.case, worst.side, worst.metric)?;
        match worst.found {
            Some(found) => write!(f, "{found:.3}")?,
            None => write!(f, "not measured")?,
        }
        write!(f, " (mark {})", worst.mark)
    }
}

#[cfg(test)]
mod tests;
