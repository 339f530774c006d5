//! Tests of reductions over all ranks.

use crate::{Outcome, Test, alone, equal};
use perf_core::Merge;
use perf_mpi::{Error, Ranks, Reader, Wire, mpi};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("a_sum_of_shards_is_the_same_to_the_bit", shards),
    ("a_part_that_is_none_is_an_error_on_all", failure),
    ("what_cannot_be_read_is_an_error_on_all", hostile),
    ("parts_that_are_too_long_are_an_error_on_all", limit),
];

/// Sum with rounding errors.
#[derive(Debug, Default, PartialEq)]
struct Sum(f64);

impl Merge for Sum {
    fn merge(&mut self, other: &Self) {
        self.0 += other.0;
    }
}

impl Wire for Sum {
    const LEAST: usize = 8;

    fn write(&self, to: &mut Vec<u8>) {
        self.0.write(to);
    }

    fn read(from: &mut Reader<'_>) -> perf_mpi::Result<Self> {
        f64::read(from).map(Sum)
    }
}

fn shards(ranks: &Ranks) -> Outcome {
    let value = |shard: usize| Ok(Sum(1.0 / (0.1 + shard as f64)));
    // The counts include fewer shards than ranks.
    for count in [0, 1, 2, 3, 7, 64, 1000, 4097] {
        let all = ranks.reduce_shards(count, value)?;
        let one = alone().reduce_shards(count, value)?;
        equal("a sum", &all.0.to_bits(), &one.0.to_bits())?;
    }
    let failing = |shard: usize| match shard {
        5 => Err(Error::Background("planted".into())),
        _ => Ok(Sum(1.0)),
    };
    equal("a shard", &ranks.reduce_shards(9, failing).is_err(), &true)
}

fn failure(ranks: &Ranks) -> Outcome {
    for wrong in 0..ranks.size() {
        let own = if ranks.rank() == wrong {
            Err(Error::Background("planted".into()))
        } else {
            Ok(Sum(1.0))
        };
        match ranks.reduce(own) {
            Err(Error::Background(_)) if ranks.rank() == wrong => {}
            Err(Error::Elsewhere { rank, what }) if rank == wrong => {
                equal("what", &what.contains("planted"), &true)?;
            }
            other => return Err(format!("{other:?}").into()),
        }
        let size = ranks.size() as f64;
        equal("after it", &ranks.reduce(Ok(Sum(1.0)))?, &Sum(size))?;
    }
    Ok(())
}

/// Value that the last rank encodes wrongly.
#[derive(Debug, Default)]
struct Odd(bool);

impl Merge for Odd {
    fn merge(&mut self, _: &Self) {}
}

impl Wire for Odd {
    const LEAST: usize = 1;

    fn write(&self, to: &mut Vec<u8>) {
        if self.0 {
            to.extend([77; 5])
        } else {
            to.push(1)
        }
    }

    fn read(from: &mut Reader<'_>) -> perf_mpi::Result<Self> {
        match u8::read(from)? {
            1 => Ok(Odd(false)),
            _ => Err(from.error(0, "a one before here").into()),
        }
    }
}

fn hostile(ranks: &Ranks) -> Outcome {
    let last = ranks.size() - 1;
    if last == 0 {
        return Ok(());
    }
    match ranks.reduce(Ok(Odd(ranks.rank() == last))) {
        // The first rank that receives it reports the sender and the position.
        Err(Error::Message { rank, at, .. }) => {
            equal("of whom", &rank, &last)?;
            equal("where", &(at > 0), &true)?;
        }
        Err(Error::Elsewhere { what, .. }) => {
            equal("what", &what.contains("expected a one"), &true)?;
        }
        other => return Err(format!("{other:?}").into()),
    }
    ranks.reduce(Ok(Odd(false)))?;
    let gathered = ranks.all_gather(&Odd(ranks.rank() == last));
    equal("gathered", &gathered.is_err(), &true)?;
    let told = ranks.broadcast(last, (ranks.rank() == last).then_some(&Odd(true)));
    equal("told", &told.is_err(), &true)?;
    ranks.barrier();
    Ok(())
}

/// Value of any number of bytes.
#[derive(Debug, Default)]
struct Long(Vec<u8>);

impl Merge for Long {
    fn merge(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }
}

impl Wire for Long {
    const LEAST: usize = 8;

    fn write(&self, to: &mut Vec<u8>) {
        self.0.write(to);
    }

    fn read(from: &mut Reader<'_>) -> perf_mpi::Result<Self> {
        Wire::read(from).map(Long)
    }
}

fn limit(_: &Ranks) -> Outcome {
    let world = mpi::topology::SimpleCommunicator::world();
    let ranks = Ranks::new(&world).limit(1 << 10);
    if ranks.size() == 1 {
        return Ok(());
    }
    // One rank alone exceeds the limit, or all together do.
    for own in [[0, 2000][usize::from(ranks.rank() == 1)], 900] {
        match ranks.reduce(Ok(Long(vec![1; own]))) {
            Err(Error::TooLong { limit: 1024, .. } | Error::Elsewhere { .. }) => {}
            other => return Err(format!("{other:?}").into()),
        }
    }
    equal(
        "short ones",
        &ranks.reduce(Ok(Long(vec![1; 9])))?.0.len(),
        &(9 * ranks.size()),
    )
}
