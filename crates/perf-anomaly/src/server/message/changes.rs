//! [`ReportedChange`]: change of a function that clients reported; changes of several clients that are the same are
//! one.

use super::Delta;
use crate::format_version::{Reader, Writer};
use crate::server::ranking::tree;
use crate::{Change, FunctionId, Result};
use perf_core::Nanos;

/// Largest number of changes that a server keeps. Those that began first are kept.
const CHANGES: usize = 1024;
/// Largest number of clients that are known for each change. Further ones are counted.
const CLIENTS: usize = 1024;

/// Change of a function that one or several clients reported.
///
/// Changes of a function that different clients reported are the same if both are slower or both faster, and their
/// windows share steps. Run times are then geometric means with the numbers of ranks as weights.
///
/// ```
/// use perf_anomaly::server::ReportedChange;
/// use perf_anomaly::Change;
/// use perf_core::Nanos;
/// let mut change = Change::default();
/// (change.step, change.ranks) = (700, 8);
/// (change.from, change.to) = (Nanos(1_000_000), Nanos(1_500_000));
/// let one = ReportedChange { change, clients: 1 };
/// assert_eq!(one.sentence("solve"), "solve slowed from 1.00 ms to 1.50 ms at about step 700");
/// let all = ReportedChange { change, clients: 8 };
/// assert_eq!(all.sentence("solve"), "solve slowed from 1.00 ms to 1.50 ms at about step 700 on 8 ranks");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ReportedChange {
    /// Change with the server's function number: its first step, the sum of calls and ranks, and the largest score of
    /// all clients.
    pub change: Change,
    /// Number of clients that reported it.
    pub clients: u64,
}

impl AsRef<Change> for ReportedChange {
    fn as_ref(&self) -> &Change {
        &self.change
    }
}

impl ReportedChange {
    /// Returns the [sentence](Change::sentence) about the change of a function with a name, with the number of ranks
    /// if several clients reported it.
    pub fn sentence(&self, name: &str) -> String {
        let sentence = self.change.sentence(name);
        match (self.clients, self.change.ranks) {
            (0 | 1, _) => sentence,
            (_, ranks) => format!("{sentence} on {ranks} ranks"),
        }
    }
}

/// Change with the clients that reported it.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Change and number of clients.
    reported: ReportedChange,
    /// First clients.
    clients: Vec<u64>,
}

impl Known {
    /// Returns the distance of the run times if a client reports the same change; a client reports a change once.
    fn distance(&self, client: u64, change: &Change) -> Option<f64> {
        let own = &self.reported.change;
        let is_same = own.function == change.function
            && own.is_slower() == change.is_slower()
            && own.step <= change.until
            && change.step <= own.until
            && !self.clients.contains(&client);
        let apart = |one: Nanos, other: Nanos| (log(one) - log(other)).abs();
        is_same.then(|| apart(own.from, change.from) + apart(own.to, change.to))
    }

    fn add(&mut self, client: u64, change: &Change) {
        let own = &mut self.reported.change;
        let (mine, theirs) = (own.ranks.max(1) as f64, change.ranks.max(1) as f64);
        let mean = |one: Nanos, other: Nanos| {
            let log = (mine * log(one) + theirs * log(other)) / (mine + theirs);
            Nanos(log.exp().round() as i64)
        };
        own.from = mean(own.from, change.from);
        own.to = mean(own.to, change.to);
        own.step = own.step.min(change.step);
        own.until = own.until.max(change.until);
        own.calls = own.calls.saturating_add(change.calls);
        own.ranks = own.ranks.saturating_add(change.ranks);
        if change.score.abs() > own.score.abs() {
            own.score = change.score;
        }
        self.reported.clients = self.reported.clients.saturating_add(1);
        if self.clients.len() < CLIENTS {
            self.clients.push(client);
        }
    }
}

/// Returns the logarithm of a run time of at least 1 ns.
fn log(time: Nanos) -> f64 {
    (time.0.max(1) as f64).ln()
}

/// Changes that clients reported, in order of step and function, at most [`CHANGES`].
#[derive(Clone, Debug, Default)]
pub(in crate::server) struct ReportedChanges(Vec<Known>);

impl ReportedChanges {
    /// Adds a change with the server's function number. Returns `false` if a change was dropped because there are too
    /// many.
    pub(in crate::server) fn add(&mut self, client: u64, change: &Change) -> bool {
        let all = self.0.iter().enumerate();
        let same = all.filter_map(|(at, known)| Some((known.distance(client, change)?, at)));
        let nearest = same.min_by(|one, other| one.0.total_cmp(&other.0));
        let known = match nearest {
            Some((_, at)) => {
                let mut known = self.0.remove(at);
                known.add(client, change);
                known
            }
            None => Known {
                reported: ReportedChange {
                    change: *change,
                    clients: 1,
                },
                clients: vec![client],
            },
        };
        self.insert(known);
        let is_kept = self.0.len() <= CHANGES;
        self.0.truncate(CHANGES);
        is_kept
    }

    fn insert(&mut self, known: Known) {
        let key = |one: &Known| one.reported.change.key();
        let at = self.0.partition_point(|one| key(one) <= key(&known));
        self.0.insert(at, known);
    }

    pub(in crate::server) fn iter(&self) -> impl Iterator<Item = ReportedChange> {
        self.0.iter().map(|known| known.reported)
    }

    /// Returns the memory in bytes.
    pub(in crate::server) fn memory(&self) -> usize {
        let clients = self
            .0
            .iter()
            .map(|known| tree(known.clients.len(), size_of::<u64>()));
        self.0.capacity() * size_of::<Known>() + clients.sum::<usize>()
    }

    pub(in crate::server) fn write(&self, to: &mut Writer) {
        to.u32(self.0.len() as u32);
        for known in &self.0 {
            known.reported.change.write(to);
            to.varint(known.reported.clients);
            to.u32(known.clients.len() as u32);
            known.clients.iter().for_each(|client| to.u64(*client));
        }
    }

    pub(in crate::server) fn read_if_present(from: &mut Reader<'_>) -> Result<Self> {
        let mut all = ReportedChanges::default();
        if !from.context.has_changes {
            return Ok(all);
        }
        let expected = "a number of changes that fits the remaining bytes";
        for _ in 0..from.count(Change::LEAST + 5, expected)? {
            let change = Change::read(from)?;
            let clients = from.varint("a number of clients")?;
            let known = from.count(8, "a number of clients that fits the remaining bytes")?;
            let known = (0..known).map(|_| Ok(from.u64("a client")?));
            all.insert(Known {
                reported: ReportedChange { change, clients },
                clients: known.collect::<Result<_>>()?,
            });
        }
        Ok(all)
    }
}

/// Writes changes of clients.
pub(in crate::server) fn write_changes(changes: &[(u64, Change)], to: &mut Writer) {
    to.u32(changes.len() as u32);
    for (client, change) in changes {
        to.u64(*client);
        change.write(to);
    }
}

/// Reads changes of clients; none of messages of earlier versions.
pub(in crate::server) fn read_changes(from: &mut Reader<'_>) -> Result<Vec<(u64, Change)>> {
    if !from.context.has_changes {
        return Ok(Vec::new());
    }
    let expected = "a number of changes that fits the remaining bytes";
    let count = from.count(8 + Change::LEAST, expected)?;
    (0..count)
        .map(|_| Ok((from.u64("a client")?, Change::read(from)?)))
        .collect()
}

/// Returns the changes of a delta with its client.
pub(in crate::server) fn of_client(delta: &Delta) -> Vec<(u64, Change)> {
    let changes = delta.changes.iter();
    changes.map(|change| (delta.client, *change)).collect()
}

/// Returns changes with other function numbers; functions without a number are dropped.
pub(in crate::server) fn renumbered(
    changes: &[(u64, Change)],
    number: impl Fn(FunctionId) -> Option<FunctionId>,
) -> Vec<(u64, Change)> {
    let changes = changes.iter().filter_map(|(client, change)| {
        let function = number(change.function)?;
        Some((
            *client,
            Change {
                function,
                ..*change
            },
        ))
    });
    changes.collect()
}

/// Returns `true` if the numbers of all functions are below `end`.
pub(in crate::server) fn are_below(changes: &[(u64, Change)], end: u64) -> bool {
    let mut changes = changes.iter();
    changes.all(|(_, change)| u64::from(change.function.0) < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(function: u32, [step, until]: [u64; 2], [from, to]: [i64; 2]) -> Change {
        Change {
            function: FunctionId(function),
            step,
            until,
            from: Nanos(from),
            to: Nanos(to),
            calls: 10,
            ranks: 1,
            score: 5.0,
        }
    }

    fn listed(all: &ReportedChanges) -> Vec<(u32, u64, [i64; 2], [u64; 2])> {
        let all = all.iter().map(|one| {
            let change = one.change;
            let times = [change.from.0, change.to.0];
            (
                change.function.0,
                change.step,
                times,
                [change.ranks, one.clients],
            )
        });
        all.collect()
    }

    #[test]
    fn the_same_change_of_many_clients_is_one() {
        let mut all = ReportedChanges::default();
        for client in 0..5000 {
            let step = 700 + client % 7;
            assert!(all.add(client, &change(1, [step, step + 10], [1000, 1500])));
        }
        assert!(all.add(9, &change(2, [700, 710], [1000, 1500])));
        assert!(all.add(9, &change(1, [700, 710], [1500, 1000])));
        assert!(all.add(9, &change(1, [800, 810], [1000, 1500])));
        let expected = [
            (1, 700, [1000, 1500], [5000, 5000]),
            (1, 700, [1500, 1000], [1, 1]),
            (2, 700, [1000, 1500], [1, 1]),
            (1, 800, [1000, 1500], [1, 1]),
        ];
        assert_eq!(listed(&all), expected);
        let mut bytes = Writer::default();
        all.write(&mut bytes);
        let read = ReportedChanges::read_if_present(&mut Reader::new(&bytes.0)).expect("written");
        assert_eq!(listed(&read), expected);
    }

    /// All changes of a client are listed, even in the same steps, and those of another one are merged with the
    /// nearest.
    #[test]
    fn changes_of_one_client_stay_apart() {
        let mut all = ReportedChanges::default();
        for client in [3, 4] {
            for times in [[1000, 1500], [1500, 1000], [1000, 1500], [1500, 3000]] {
                all.add(client, &change(0, [8, 8], times));
            }
        }
        let times: Vec<_> = listed(&all).into_iter().map(|one| (one.2, one.3)).collect();
        let expected = [[1000, 1500], [1000, 1500], [1500, 1000], [1500, 3000]];
        assert_eq!(times, expected.map(|times| (times, [2, 2])));
    }

    #[test]
    fn changes_are_limited() {
        let mut all = ReportedChanges::default();
        for step in (0..2000).rev() {
            let kept = all.add(
                0,
                &change(0, [10 * step, 10 * step + 1], [i64::MIN, i64::MAX]),
            );
            assert_eq!(kept, step >= 2000 - CHANGES as u64, "{step}");
        }
        assert_eq!(all.iter().count(), CHANGES);
        assert_eq!(
            all.iter().last().map(|one| one.change.step),
            Some(10 * (CHANGES as u64 - 1))
        );
    }
}
