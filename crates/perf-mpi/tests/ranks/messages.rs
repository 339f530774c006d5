//! Tests of the exchange of values between ranks.

use crate::{Outcome, Test, equal};
use perf_core::{Merge, ReplayCounts};
use perf_mpi::{Error, Ranks, Reader, Wire, mpi};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("values_of_all_ranks_come_by_rank", all_gather),
    ("long_values_go_in_pieces", pieces),
    ("each_rank_gets_what_is_for_it", all_to_all),
    ("parts_merge_on_all_and_on_one", merge),
    ("what_fails_on_one_rank_fails_on_all", failure),
    ("too_much_is_an_error_on_all", limit),
];

fn all_gather(ranks: &Ranks) -> Outcome {
    let own = vec![ranks.rank() as u64; ranks.rank() * 3];
    let all = ranks.all_gather(&own)?;
    for (rank, values) in all.iter().enumerate() {
        equal("values", values, &vec![rank as u64; rank * 3])?;
    }
    let last = ranks.size() - 1;
    let told = ranks.broadcast(
        last,
        (ranks.rank() == last).then_some(&String::from("last")),
    )?;
    equal("what was told", &told, &String::from("last"))?;
    let none: Result<u64, _> = ranks.broadcast(ranks.size(), Some(&3_u64));
    equal("no such rank", &none.is_err(), &true)?;
    let none: Result<u64, _> = ranks.broadcast(0, None);
    equal("nothing to tell", &none.is_err(), &true)
}

/// Tests long values with MPI calls of a few bytes each.
fn pieces(_: &Ranks) -> Outcome {
    let world = mpi::topology::SimpleCommunicator::world();
    let ranks = Ranks::new(&world).piece(7);
    let own = |rank: usize| -> Vec<u8> { (0..rank * 13 + 5).map(|at| (at * 7) as u8).collect() };
    let all = ranks.all_gather_bytes(&own(ranks.rank()))?;
    for (rank, bytes) in all.iter().enumerate() {
        equal("bytes", bytes, &own(rank))?;
    }
    let text = "a text of more than seven bytes".to_string();
    equal(
        "a text",
        &ranks.broadcast(0, ranks.is_root().then_some(&text))?,
        &text,
    )?;
    let before = (ranks.rank() + ranks.size() - 1) % ranks.size();
    equal(
        "from before",
        &ranks.shift(&own(ranks.rank()))?,
        &own(before),
    )?;
    all_to_all(&ranks)?;
    merge(&ranks)?;
    // The message is long enough for the receiver to acknowledge chunks.
    let long = |rank: usize| format!("{rank}, ").repeat(500);
    let own = Order(long(ranks.rank()));
    let all: String = (0..ranks.size()).map(long).collect();
    equal("a long text", &ranks.reduce(Ok(own))?, &Order(all))
}

fn all_to_all(ranks: &Ranks) -> Outcome {
    let parcel = |from: usize, to: usize| vec![(10 * from + to) as u8; 3 * to + from];
    let own: Vec<Vec<u8>> = (0..ranks.size())
        .map(|to| parcel(ranks.rank(), to))
        .collect();
    for (from, got) in ranks.all_to_all(&own)?.iter().enumerate() {
        equal("a parcel", got, &parcel(from, ranks.rank()))?;
    }
    equal("too few", &ranks.all_to_all(&own[1..]).is_err(), &true)
}

/// Text that records the order of merging.
#[derive(Debug, Default, PartialEq)]
struct Order(String);

impl Merge for Order {
    fn merge(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }
}

impl Wire for Order {
    const LEAST: usize = String::LEAST;

    fn write(&self, to: &mut Vec<u8>) {
        self.0.write(to);
    }

    fn read(from: &mut Reader<'_>) -> perf_mpi::Result<Self> {
        String::read(from).map(Order)
    }
}

fn merge(ranks: &Ranks) -> Outcome {
    let own = || Order(format!("{}, ", ranks.rank()));
    let all: String = (0..ranks.size()).map(|rank| format!("{rank}, ")).collect();
    equal("on all", &ranks.all_merge(&own())?.0, &all)?;
    let on_one = ranks.merge(own())?;
    let expected = ranks.is_root().then(|| Order(all.clone()));
    equal("on one", &on_one, &expected)?;
    equal("by a tree", &ranks.merge_to_all(own())?, &Order(all))?;
    // `ReplayCounts` can be merged but has no encoding of its own; its fields have one.
    let counts = ReplayCounts {
        top: ranks.rank() as u64 + 1,
        ..Default::default()
    };
    let top: u64 = ranks.all_gather(&counts.top)?.iter().sum();
    let size = ranks.size() as u64;
    equal("sum", &top, &(size * (size + 1) / 2))
}

fn failure(ranks: &Ranks) -> Outcome {
    let last = ranks.size() - 1;
    let own = if ranks.rank() == last {
        Err(Error::Background("planted".into()))
    } else {
        Ok(())
    };
    match ranks.agree(own) {
        Err(Error::Background(_)) if ranks.rank() == last => {}
        Err(Error::Elsewhere { rank, what }) if ranks.rank() != last => {
            equal("who", &rank, &last)?;
            equal("what", &what.contains("planted"), &true)?;
        }
        other => return Err(format!("{other:?}").into()),
    }
    ranks.agree(Ok(()))?;
    let same = ranks.same("a number", &ranks.rank());
    equal("ranks differ", &same.is_err(), &(ranks.size() > 1))
}

fn limit(_: &Ranks) -> Outcome {
    let world = mpi::topology::SimpleCommunicator::world();
    let ranks = Ranks::new(&world).limit(1 << 10);
    // Only one rank exceeds the limit.
    let own = vec![1_u8; if ranks.is_root() { 2000 } else { 1 }];
    match ranks.all_gather_bytes(&own) {
        Err(Error::TooLong { limit: 1024, .. }) => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}
