//! The statistics that are used throughout.

/// The middle of `values`, or the mean of the two in the middle; not a number when there are none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2);
    let lower = values.get((values.len().saturating_sub(1)) / 2);
    match (lower, upper) {
        (Some(lower), Some(upper)) => (lower + upper) / 2.0,
        _ => f64::NAN,
    }
}

/// The value below which this share of `ascending` lies; the last of them for a share of 1.
pub(crate) fn percentile(ascending: &[f64], share: f64) -> f64 {
    let rank = (ascending.len() as f64 * share).ceil() as usize;
    ascending.get(rank.clamp(1, ascending.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}

/// Jain's index of fairness: 1 when all have the same, and the share of those who have anything when they have the same.
pub(crate) fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    sum * sum / (values.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::{jain, median, percentile};

    #[test]
    fn jains_index_tells_how_evenly_something_is_shared() {
        assert_eq!(jain(&[2.0, 2.0, 2.0]), 1.0);
        assert_eq!(jain(&[4.0, 0.0]), 0.5);
        assert!((jain(&[3.0, 1.0]) - 0.8).abs() < 1e-12);
        assert!(jain(&[0.0, 0.0]).is_nan());
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_both_middles() {
        assert_eq!(median([3.0]), 3.0);
        assert_eq!(median([9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 100.0, 2.0]), 3.0);
        assert!(median([]).is_nan());
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(percentile(&values, 0.99), 198.0);
        assert_eq!(percentile(&values, 0.5), 100.0);
        assert_eq!(percentile(&values, 1.0), 200.0);
        assert_eq!(percentile(&values, 0.0), 1.0);
        assert!(percentile(&[], 0.5).is_nan());
    }
}
