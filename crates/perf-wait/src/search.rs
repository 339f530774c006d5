//! [`up_to`]: number of elements of a sorted list up to a key, with a search that is fast for
//! nearly evenly spaced keys.

/// Returns the number of elements with a key of at most `limit`; keys ascend.
///
/// The search starts at the place that the key would have if keys were evenly spaced, and takes logarithmic time in the
/// distance from there.
pub(crate) fn up_to<T>(list: &[T], key: impl Fn(&T) -> u64, limit: u64) -> usize {
    let (Some(first), Some(last)) = (list.first(), list.last()) else {
        return 0;
    };
    let (first, last) = (key(first), key(last));
    if limit < first {
        return 0;
    }
    let share = (limit - first) as f64 / (last - first).max(1) as f64;
    let guess = ((share * list.len() as f64) as usize).min(list.len() - 1);
    let (mut from, mut to, mut step) = (guess, guess, 8);
    while from > 0 && key(&list[from]) > limit {
        from = from.saturating_sub(step);
        step *= 4;
    }
    step = 8;
    while to < list.len() && key(&list[to]) <= limit {
        to = to.saturating_add(step).min(list.len());
        step *= 4;
    }
    let to = to.max(from);
    from + list[from..to].partition_point(|it| key(it) <= limit)
}

#[cfg(test)]
mod tests {
    use super::up_to;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_binary_search(
            mut keys in prop::collection::vec(prop_oneof![0u64..900, Just(u64::MAX)], 0..200),
            limit in prop_oneof![0u64..900, Just(u64::MAX)],
        ) {
            keys.sort_unstable();
            let expected = keys.partition_point(|key| *key <= limit);
            prop_assert_eq!(up_to(&keys, |key| *key, limit), expected);
        }
    }
}
