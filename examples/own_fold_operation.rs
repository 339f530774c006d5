//! Counts the ranks that compute at each moment.

use perfkit::fold::{Choice, Counts, FoldOp, State, Value};
use perfkit::prelude::*;

/// Counts the streams of a class.
#[derive(Debug)]
struct Computing(State);

impl FoldOp for Computing {
    fn fold(&self, counts: &Counts<'_>) -> Choice {
        let mine = counts.entries().iter().find(|entry| entry.state == self.0);
        let weight = mine.map_or(0, |entry| entry.weight);
        Choice {
            value: Value::Number(weight as f32),
            winning: weight,
        }
    }

    fn selects(&self) -> bool {
        false // It returns numbers instead of states.
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = Job::default();
    let trace = open_trace("data/recordings/jacobi-16")?;
    let classes = RegionGroups::new().mpi("MPI").others_into("computing");
    let timelines = Timelines::new(trace.view(), &classes.plan(trace.definitions())?, &job)?;
    let computing = timelines.classes().id("computing").ok_or("no such class")?;
    let own = Computing(State::Class(computing));
    let params = Folder::params().columns(500).own_op(own).check()?;
    let folder = Folder::new(&timelines, Groups::by(&timelines, GroupBy::All), params)?;
    let fold = folder.fold(timelines.range(), &job)?;
    let numbers = fold.cells().iter().filter_map(|cell| cell.value.number());
    let mean = numbers.clone().sum::<f32>() / fold.cells().len() as f32;
    println!("of 16 ranks, {mean:.1} compute on average");
    println!("{} at most", numbers.fold(0.0, f32::max));
    Ok(())
}
