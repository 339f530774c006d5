//! [`judge_jump`]: distinguishes a damaged timestamp from a pause by the timestamps that follow it,
//! with one rule for all readers of ordered timestamps.

/// Number of timestamps after a jump that are examined.
pub(crate) const TIMESTAMPS_AHEAD: usize = 8;
/// Number of timestamps that must stay at the new level for a jump to be a pause.
const AGREE: usize = 2;

/// Verdict on a timestamp that lies far ahead of the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A pause: the timestamps that follow stay at the new level.
    Plausible,
    /// A damaged timestamp: most of those that follow return to the earlier level.
    Outlier,
    /// Too few timestamps follow to decide.
    Undecided,
}

/// Judges a timestamp `at` that lies more than `far` after `before`, by the next [`TIMESTAMPS_AHEAD`]
/// timestamps of its location or as many as there are. `before` is `None` for the first timestamp
/// of a location.
pub(crate) fn judge_jump(before: Option<u64>, at: u64, after: &[u64], far: u64) -> Verdict {
    let lowest = before.map_or(0, |before| before.saturating_sub(far));
    let level = at.saturating_sub(far);
    let returned = after.iter().filter(|time| (lowest..level).contains(time));
    let stayed = after.iter().filter(|time| **time >= level);
    let (returned, stayed) = (returned.count(), stayed.count());
    if returned > stayed {
        Verdict::Outlier
    } else if stayed >= AGREE || after.len() >= TIMESTAMPS_AHEAD {
        Verdict::Plausible
    } else {
        Verdict::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_jump_decides() {
        let judge = |before, at, after: &[u64]| judge_jump(before, at, after, 10);
        // A pause: time stays at the new level.
        assert_eq!(judge(Some(100), 5_000, &[5_001, 5_002]), Verdict::Plausible);
        // A lone jump, and three in a row.
        assert_eq!(judge(Some(100), 5_000, &[101, 102]), Verdict::Outlier);
        let three = [6_000, 7_000, 101, 102, 103, 104, 105, 106];
        assert_eq!(judge(Some(100), 5_000, &three), Verdict::Outlier);
        // At the end of a location, no timestamp follows that could decide.
        assert_eq!(judge(Some(100), 5_000, &[]), Verdict::Undecided);
        assert_eq!(judge(Some(100), 5_000, &[5_001]), Verdict::Undecided);
        // The first timestamp of a location.
        assert_eq!(judge(None, 5_000, &[7, 8, 9]), Verdict::Outlier);
        assert_eq!(judge(None, 7, &[8, 9]), Verdict::Plausible);
        // A clock that is set back does not return to the earlier level.
        let back = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(judge(Some(100), 5_000, &back), Verdict::Plausible);
    }
}
