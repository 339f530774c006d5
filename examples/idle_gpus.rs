//! Explains the idle times of GPUs.

use perfkit::fold::Cause;
use perfkit::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace = open_trace("data/gpu/planted-6x14.json.gz")?;
    let devices = Devices::new(trace.view(), &DeviceParams::new(), &Job::default())?;
    for device in devices.devices() {
        let span = device.utilisation.span as f64;
        let busy = 100.0 * device.utilisation.utilisation();
        print!("{}: {busy:.0} % busy; idle:", device.name);
        // Every idle time has one cause.
        for cause in Cause::ALL {
            let share = 100.0 * device.idle(cause) as f64 / span;
            if share > 0.1 {
                print!(" {} {share:.1} %", cause.name());
            }
        }
        println!();
    }
    Ok(())
}
