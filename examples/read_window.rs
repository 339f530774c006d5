//! Reads ten milliseconds of a huge trace.

use perfkit::core::Limits;
use perfkit::formats::{open, otf2::Reader};
use perfkit::prelude::{Job, Nanos, OpenOptions, TimeRange};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (path, job) = ("data/recordings/nwchem-md-4", Job::default());
    // Read the definitions of the archive, without its events.
    let reader = Reader::open(path.as_ref(), &OpenOptions::new(), &job)?;
    let estimate = reader.estimate()?;
    println!(
        "{} events, about {} bytes in memory",
        estimate.events, estimate.memory
    );

    let clock = reader.definitions().clock;
    let at = |ms: i64| {
        clock
            .ticks(Nanos(1_000_000 * ms))
            .ok_or("not a time of this clock")
    };
    let window = TimeRange::new(at(100)?, at(110)?).ok_or("it ends before it begins")?;
    let locations = reader.definitions().system.locations();
    let keys: Vec<u64> = locations
        .iter()
        .take(2)
        .map(|location| location.key)
        .collect();
    let limits = Limits::default().with_memory(1 << 30);
    let options = OpenOptions::new()
        .window(window)
        .locations(keys)
        .limits(limits);
    let trace = open(path, &options, &job)?
        .into_trace()
        .ok_or("holds no trace")?;
    println!("{} events of two ranks in 10 ms", trace.len());
    Ok(())
}
