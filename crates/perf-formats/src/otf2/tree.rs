//! A loser tree: the least of many streams, with one comparison a level.

/// The streams of a merge by the time of their next event; ties go to the lower stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoserTree {
    /// The loser of each match; node `i` has the children `2i` and `2i + 1`, and the leaf of
    /// stream `s` would be node `len + s`.
    losers: Vec<Entry>,
    winner: Option<Entry>,
}

/// A time and a stream. No time is past all times: the stream has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    /// The time, and above it whether the stream has ended.
    time: u128,
    stream: usize,
}

const ENDED: u128 = 1 << 64;

impl Entry {
    fn new(time: Option<u64>, stream: usize) -> Self {
        Entry {
            time: time.map_or(ENDED, u128::from),
            stream,
        }
    }
}

impl LoserTree {
    /// The tree of streams whose next events are at `times`.
    pub(crate) fn new(times: Vec<Option<u64>>) -> Self {
        let len = times.len().next_power_of_two();
        let leaf = |at: usize| Entry::new(times.get(at).copied().flatten(), at);
        let mut round: Vec<Entry> = (0..len).map(leaf).collect();
        let mut losers = vec![Entry::new(None, usize::MAX); len];
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
            winner: round.first().copied(),
        }
    }

    /// The stream with the least time; `None` once all have ended.
    #[inline]
    pub(crate) fn winner(&self) -> Option<usize> {
        let winner = self.winner.as_ref().filter(|entry| entry.time < ENDED);
        winner.map(|entry| entry.stream)
    }

    /// Gives the winner's stream its next time.
    #[inline]
    pub(crate) fn replace(&mut self, time: Option<u64>) {
        let Some(winner) = self.winner else { return };
        let mut entry = Entry::new(time, winner.stream);
        let mut node = (self.losers.len() + winner.stream) / 2;
        while node > 0 {
            if let Some(loser) = self.losers.get_mut(node)
                && *loser < entry
            {
                std::mem::swap(loser, &mut entry);
            }
            node /= 2;
        }
        self.winner = Some(entry);
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
