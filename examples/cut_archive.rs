//! Cuts the interesting part out of a large archive.

use perfkit::formats::otf2::{Cut, NewArchive, Reader, cut};
use perfkit::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = Job::default();
    let to = std::env::temp_dir().join(format!("perfkit-cut-{}", std::process::id()));
    let from = "data/recordings/jacobi-16".as_ref();
    let reader = Reader::open(from, &OpenOptions::new(), &job)?;
    let clock = reader.definitions().clock;
    let at = |ms: i64| {
        clock
            .ticks(Nanos(1_000_000 * ms))
            .ok_or("not a time of this clock")
    };
    let window = TimeRange::new(at(100)?, at(120)?).ok_or("it ends before it begins")?;
    let part = Cut::new()
        .window(window)
        .locations(vec![LocationId(5), LocationId(6)]);
    cut(&reader, &part, &mut NewArchive::new(&to)?, &job)?;

    let part = open_trace(&to)?;
    let ranks = part.definitions().system.locations().len();
    println!("{} events of {ranks} ranks in 20 ms", part.len());
    std::fs::remove_dir_all(&to)?;
    Ok(())
}
