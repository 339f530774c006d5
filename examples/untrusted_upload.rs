//! Reads an untrusted recording within limits of time and memory.

use perfkit::core::Limits;
use perfkit::formats::{Error, open};
use perfkit::prelude::{Job, OpenOptions};

/// Returns the answer to an upload.
fn answer(path: &str, limits: Limits) -> String {
    let options = OpenOptions::new().limits(limits).threads(1);
    match open(path, &options, &Job::default()) {
        Ok(recording) => {
            format!(
                "200 {}, {} repairs",
                recording.format,
                recording.diagnostics.repairs()
            )
        }
        Err(Error::Limit {
            what, got, limit, ..
        }) => format!("413 {what}: {got}, at most {limit}"),
        Err(Error::UnknownFormat { .. }) => "415 no known format".into(),
        Err(Error::Io { source, .. }) => format!("500 {source}"),
        Err(broken) => format!("422 {broken}"),
    }
}

fn main() {
    let small = Limits::default()
        .with_memory(100_000)
        .with_definitions(10_000)
        .with_string(4_096);
    let large = small.with_memory(64 << 20);
    println!("{}", answer("data/recordings/nwchem-md-4", small));
    println!("{}", answer("data/recordings/nwchem-md-4", large));
    println!("{}", answer("data/peers/otf2.c", large));
}
