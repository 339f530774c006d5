//! Race of the parameter server under the load of many simulated ranks. perfkit runs alone, because
//! no other server is packaged; `docs/live.md` cites published results of another server.

use crate::compare::race::{Race, Runner};
use crate::compare::target::Target;
use crate::compare::{Options, missing, target_folder};
use crate::{cargo, execute, root};

/// Number of simulated ranks, each of which sends an update every second.
const RANKS: &str = "10240";
/// Number of updates of each rank, which is also the duration in seconds.
const UPDATES: &str = "60";

/// Builds the server and lists the races.
pub(crate) fn races(_: &Options) -> Result<Vec<Race>, String> {
    let arguments = ["build", "--quiet", "--release", "--locked"];
    execute(cargo(&arguments).args(["--package", "perf-live", "--features", "simulate"]))?;
    let program = target_folder()?.join("release/perfkit-live");
    let text = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
    let words = match missing(&[("python3", "python3"), ("taskset", "util-linux")]) {
        Some(package) => Err(package),
        None => Ok(vec![
            "python3".into(),
            text(root().join("data/peers/live.py")),
            text(program),
            text(root().join("data/recordings/nwchem-md-4")),
            RANKS.into(),
            UPDATES.into(),
        ]),
    };
    Ok(vec![Race {
        title: format!("a server of {RANKS} ranks, an update a second each for {UPDATES} s"),
        by: "cpu_s",
        work: "updates",
        asked: vec![Target::Seconds(60.0), Target::Wall(61.0)],
        runners: vec![Runner::new("perfkit-live, on one core", words)],
    }])
}
