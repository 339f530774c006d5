//! Converts a Chrome trace to OTF2.

use perfkit::formats::otf2::{NewArchive, WriteOptions, write};
use perfkit::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = Job::default();
    let to = std::env::temp_dir().join(format!("perfkit-converted-{}", std::process::id()));
    let trace = open_trace("data/gpu/planted-6x14.json.gz")?;
    let options = WriteOptions::default();
    let lost = write(trace.view(), &mut NewArchive::new(&to)?, &options, &job)?;
    println!("repairs: {}", lost.repairs());

    let back = open_trace(&to)?;
    for (name, trace) in [("Chrome", &trace), ("OTF2", &back)] {
        let devices = Devices::new(trace.view(), &DeviceParams::new(), &job)?;
        println!(
            "devices are busy for {:.1} % as {name}",
            100.0 * devices.utilisation()
        );
    }
    std::fs::remove_dir_all(&to)?;
    Ok(())
}
