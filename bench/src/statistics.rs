//! The one statistic used throughout.

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

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_both_middles() {
        assert_eq!(median([3.0]), 3.0);
        assert_eq!(median([9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 100.0, 2.0]), 3.0);
        assert!(median([]).is_nan());
    }
}
