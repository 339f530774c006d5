//! Description of the radius chosen for a clustering, with the reason for it, as a [`sentence`],
//! and the [`Neighbourhood`] of a second density for JSON.

use perfkit::track::cluster::{EpsChoice, EpsWhy};
use serde::Serialize;

/// Describes the choice of a radius in one sentence.
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

/// Radius of a neighbourhood, and its points, for `--json`.
#[derive(Debug, Serialize)]
pub struct Neighbourhood {
    /// Radius.
    eps: f64,
    /// Number of points.
    min_points: usize,
}

impl Neighbourhood {
    /// Returns the neighbourhood in which the noise of a first clustering was clustered.
    pub fn of_rest(rest: Option<(f64, usize)>) -> Option<Self> {
        rest.map(|(eps, min_points)| Neighbourhood { eps, min_points })
    }
}
