//! Output of `wait` as one Cube profile with times, wait states, delay costs and critical path.

use super::Analysis;
use crate::failure::{Outcome, input};
use crate::output;
use crate::progress::Bar;
use perfkit::core::{JoinedRows, MetricId, Profile, ProfileMetric, TraceView};
use perfkit::formats::cube;
use std::path::Path;
use std::sync::Arc;

/// Returns the metrics of all profiles, with the numbers of their parents adapted.
fn metrics(profiles: &[Profile]) -> Vec<ProfileMetric> {
    let mut all: Vec<ProfileMetric> = Vec::new();
    for profile in profiles {
        let before = all.len();
        for metric in profile.metrics() {
            let mut metric = metric.clone();
            let parent = metric.metric.parent;
            metric.metric.parent = parent.and_then(|it| MetricId::from_index(before + it.index()));
            all.push(metric);
        }
    }
    all
}

/// Writes the profile of an analysis as Cube.
///
/// # Errors
/// Returns [`Failure::Input`](crate::failure::Failure::Input) if the file cannot be written.
pub(super) fn write(view: TraceView<'_>, analysis: &Analysis, path: &Path) -> Outcome {
    let profile = joined(view, analysis)?;
    output::whole(path, |to| {
        let options = cube::WriteOptions::new();
        cube::write(&profile, to, &options, &Bar::job()).map_err(input)?;
        Ok(())
    })
}

/// Returns times, wait states, delay costs and critical path as one profile. The times are included
/// only if the trace has the same call tree as the analysis, which is the case without accelerators.
fn joined(view: TraceView<'_>, analysis: &Analysis) -> Result<Profile, crate::failure::Failure> {
    let (times, _) = Profile::from_trace(view, &Bar::job()).map_err(input)?;
    let waits = analysis.waits.profile();
    let own = [waits, analysis.delays.profile(), analysis.path.profile()];
    let mut profiles: Vec<Profile> = own.into_iter().cloned().collect();
    if times.calls().paths() == waits.calls().paths() {
        profiles.insert(0, times);
    }
    let mut rows = JoinedRows::default();
    for profile in &profiles {
        rows.extend(
            Arc::clone(profile.rows()),
            0..profile.metrics().len() as u32,
        );
    }
    let definitions = view.definitions();
    let topologies = profiles.first().map(|it| it.topologies().to_vec());
    let profile = Profile::new(
        definitions.system.clone(),
        definitions.regions.clone(),
        waits.calls().clone(),
        metrics(&profiles),
        Arc::new(rows),
    );
    let profile = profile.map_err(input)?;
    Ok(profile.with_topologies(topologies.unwrap_or_default()))
}
