//! The radius that was found: why it is that, and how much it matters.

use crate::table;
use perfkit::track::cluster::{EpsChoice, EpsWhy};
use serde_json::{Value, json};
use std::io::{self, Write};

/// One sentence.
pub fn sentence(choice: &EpsChoice) -> String {
    let why = match choice.why {
        EpsWhy::Stable { low, high } => {
            format!("the upper end of {low:.4} to {high:.4}, where clusters hardly change")
        }
        EpsWhy::Noise { from, noise } => format!(
            "the least above {from:.4} that leaves so little of the time in noise: {:.1} % instead of \
             {:.1} %",
            100.0 * choice.noise_weight,
            100.0 * noise
        ),
        EpsWhy::Single => {
            "the smallest that gives one cluster: no gap between the points is more than chance makes"
                .to_owned()
        }
        EpsWhy::Resolution => "the smallest that is tried: all points are equal".to_owned(),
        _ => "the largest that keeps most modes apart, since clusters change with every radius"
            .to_owned(),
    };
    format!(
        "eps {:.4} is {why}; knee {:.4}, sensitivity {:.2}",
        choice.eps, choice.knee, choice.sensitivity
    )
}

/// A table of the sweep.
///
/// # Errors
/// What `out` fails with.
pub fn sweep(choice: &EpsChoice, out: &mut dyn Write) -> io::Result<()> {
    let rows = choice.sweep.iter().enumerate().map(|(at, step)| {
        let is_last = at + 1 == choice.sweep.len();
        vec![
            format!("{:.4}", step.eps),
            step.clusters.to_string(),
            format!("{:.1} %", 100.0 * step.noise),
            format!("{:.1} %", 100.0 * step.noise_weight),
            match is_last {
                true => String::new(),
                false => format!("{:.3}", step.rand),
            },
        ]
    });
    let head = [
        "eps",
        "clusters",
        "noise",
        "of the time",
        "agreement with the next",
    ];
    table::write(out, &head, &rows.collect::<Vec<_>>())
}

/// All of it.
pub fn json(choice: &EpsChoice) -> Value {
    let stable = match choice.why {
        EpsWhy::Stable { low, high } => json!([low, high]),
        _ => Value::Null,
    };
    let taken_in = match choice.why {
        EpsWhy::Noise { from, noise } => json!({ "from": from, "noise_of_time": noise }),
        _ => Value::Null,
    };
    let sweep = choice.sweep.iter().map(|step| {
        json!({
            "eps": step.eps,
            "clusters": step.clusters,
            "noise": step.noise,
            "noise_of_time": step.noise_weight,
            "rand_with_next": step.rand,
        })
    });
    json!({
        "eps": choice.eps,
        "least": choice.least,
        "knee": choice.knee,
        "stable": stable,
        "noise_taken_in": taken_in,
        "sensitivity": choice.sensitivity,
        "clusters": choice.clusters,
        "noise": choice.noise,
        "noise_of_time": choice.noise_weight,
        "sweep": sweep.collect::<Vec<_>>(),
    })
}
