//! [`Axes`]: value of option `--axes`, the weights by which variation along each axis of the grid
//! is kept or removed.

use crate::failure::Failure;
use crate::suggest;
use perfkit::topology::Shape;
use std::str::FromStr;

/// Weights of the variation along axes.
#[derive(Clone, Debug)]
pub(crate) enum Axes {
    /// Weight of each axis of the grid, in the order of the axes.
    Weights(Vec<f64>),
    /// Weights of axes by name, and the weight of all other axes.
    Named(Vec<(String, f64)>, f64),
}

impl FromStr for Axes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = || text.split(',').map(str::trim);
        if let Ok(weights) = words().map(str::parse).collect() {
            return Ok(Axes::Weights(weights));
        }
        let is_kept = |word: &str| !word.contains('=') && word.parse::<f64>().is_err();
        if words().all(|word| is_kept(word) && !word.is_empty()) {
            let kept = words().map(|name| (name.to_string(), 1.0));
            return Ok(Axes::Named(kept.collect(), 0.0));
        }
        let pair = |word: &str| {
            let (name, weight) = word.split_once('=')?;
            Some((name.trim().to_string(), weight.trim().parse().ok()?))
        };
        let named = words().map(pair).collect::<Option<_>>();
        let named =
            named.ok_or("expected weights (1,0), NAME=WEIGHT pairs, or names of axes to keep")?;
        Ok(Axes::Named(named, 1.0))
    }
}

impl Axes {
    /// Returns a weight for each axis of a grid.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] if the number of weights differs from the number of axes, or if
    /// the grid has no axis of a name.
    pub(super) fn weights(&self, shape: &Shape) -> Result<Vec<f64>, Failure> {
        let axes = shape.axes();
        let (named, others) = match self {
            Axes::Weights(weights) if weights.len() == axes.len() => return Ok(weights.clone()),
            Axes::Weights(weights) => {
                let (given, count) = (weights.len(), axes.len());
                let dims: Vec<_> = axes.iter().map(|axis| axis.len.to_string()).collect();
                return Err(Failure::Usage(format!(
                    "--axes: {given} weights, but the grid {} has {count} axes",
                    dims.join(" x ")
                )));
            }
            Axes::Named(named, others) => (named, *others),
        };
        let mut weights = vec![others; axes.len()];
        for (name, weight) in named {
            let at = axes.iter().position(|axis| axis.name == *name);
            let at = at.ok_or_else(|| {
                let known = axes.iter().map(|axis| axis.name.as_str());
                let known: Vec<&str> = known.filter(|name| !name.is_empty()).collect();
                let hint = match known.as_slice() {
                    [] => {
                        let example = vec!["1"; axes.len()].join(",");
                        format!("; its axes have no names: expected a weight for each, such as {example}")
                    }
                    known => suggest::hint(name, known.iter().copied()),
                };
                Failure::Usage(format!("--axes: the grid has no axis `{name}`{hint}"))
            })?;
            weights[at] = *weight;
        }
        Ok(weights)
    }
}
