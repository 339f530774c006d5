//! Reads a damaged recording and lists the repairs.

use perfkit::formats::otf2::{MemoryArchive, Reader};
use perfkit::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = Job::default();
    let mut archive = MemoryArchive::read("data/recordings/jacobi-4".as_ref())?;
    let events = archive
        .get_mut("eztrace_log/0.evt")
        .ok_or("no such member")?;
    events.truncate(events.len() / 2);

    let (trace, found) = Reader::new(archive.clone(), &OpenOptions::new(), &job)?.read()?;
    println!("{} events; what was found:\n{found}", trace.len());

    let strict = OpenOptions::new().strict(true);
    match Reader::new(archive, &strict, &job).and_then(|reader| reader.read()) {
        Ok(_) => println!("strict: no damage"),
        Err(error) => println!("strict: {error}"),
    }
    Ok(())
}
