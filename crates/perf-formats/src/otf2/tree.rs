//! A loser tree: the least of many streams, with one comparison a level.

/// The streams of a merge by the time of their next event; ties go to the lower stream.
#[derive(Clone, Debug)]
pub(crate) struct LoserTree {
    /// The loser of each match; node `i` has the children `2i` and `2i + 1`, and the leaf of
    /// stream `s` would be node `len + s`.
    losers: Vec<Entry>,
    winner: Entry,
}

/// Whether the stream has ended, its time and its number, from the highest bits to the lowest: one
/// number, since a match is then a minimum and a maximum, without a branch that nobody can guess.
type Entry = u128;

const ENDED: Entry = 1 << 96;

fn entry(time: Option<u64>, stream: u32) -> Entry {
    time.map_or(ENDED, |time| u128::from(time) << 32) | u128::from(stream)
}

impl LoserTree {
    /// The tree of streams whose next events are at `times`; at most 2^32 - 1 of them.
    pub(crate) fn new(times: Vec<Option<u64>>) -> Self {
        let len = times.len().next_power_of_two();
        let none = std::iter::repeat_n(None, len - times.len());
        let all = times.into_iter().chain(none);
        let mut round: Vec<Entry> = (0..).zip(all).map(|(at, time)| entry(time, at)).collect();
        let mut losers = vec![ENDED; len];
        while round.len() > 1 {
            let first = round.len() / 2;
            let mut winners = Vec::with_capacity(first);
            for (at, pair) in round.chunks_exact(2).enumerate() {
                let [a, b] = pair else { continue };
                winners.push(*a.min(b));
                if let Some(slot) = losers.get_mut(first + at) {
                    *slot = *a.max(b);
                }
            }
            round = winners;
        }
        LoserTree {
            losers,
            winner: round.first().copied().unwrap_or(ENDED),
        }
    }

    /// The stream with the least time; `None` once all have ended.
    #[inline]
    pub(crate) fn winner(&self) -> Option<usize> {
        (self.winner < ENDED).then_some(self.winner as u32 as usize)
    }

    /// Gives the winner's stream its next time.
    #[inline]
    pub(crate) fn replace(&mut self, time: Option<u64>) {
        let stream = self.winner as u32;
        let mut best = entry(time, stream);
        let mut node = (self.losers.len() + stream as usize) / 2;
        while node > 0 {
            if let Some(loser) = self.losers.get_mut(node) {
                let (low, high) = (best.min(*loser), best.max(*loser));
                *loser = high;
                best = low;
            }
            node /= 2;
        }
        self.winner = best;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merging_is_sorting(streams in prop::collection::vec(prop::collection::vec(0u64..9, 0..9), 0..9)) {
            let mut all = Vec::new();
            let streams: Vec<Vec<u64>> = streams.into_iter().map(|mut times| { times.sort_unstable(); times }).collect();
            for (stream, times) in streams.iter().enumerate() {
                all.extend(times.iter().map(|time| (*time, stream)));
            }
            all.sort_unstable();
            let mut next = vec![0; streams.len()];
            let mut tree = LoserTree::new(streams.iter().map(|times| times.first().copied()).collect());
            let mut merged = Vec::new();
            while let Some(stream) = tree.winner() {
                merged.push((streams[stream][next[stream]], stream));
                next[stream] += 1;
                tree.replace(streams[stream].get(next[stream]).copied());
            }
            prop_assert_eq!(merged, all);
        }
    }
}
