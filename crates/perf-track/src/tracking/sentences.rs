//! [`Tracking::sentence`]: events of tracked regions in words.

use super::result::{Event, TrackedRegion, Tracking};
use crate::ClusterId;

/// Returns a list in words, such as `1, 2 and 3`.
fn list(items: impl IntoIterator<Item = impl ToString>) -> String {
    let mut items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    match (items.pop(), items.is_empty()) {
        (None, _) => String::new(),
        (Some(last), true) => last,
        (Some(last), false) => format!("{} and {last}", items.join(", ")),
    }
}

/// Returns `s` for several items.
fn plural<T>(items: &[T]) -> &'static str {
    if items.len() == 1 { "" } else { "s" }
}

impl Tracking {
    /// Returns an event of a tracked region in words, to follow the name of the region: the experiments and
    /// clusters, and for clusters that the region shares with other regions the numbers of these regions.
    ///
    /// ```
    /// # use perf_core::Job;
    /// # use perf_track::tracking::{Observation, Tracking};
    /// # use perf_track::{ClusterId, Points};
    /// let (a, b) = (ClusterId(1), ClusterId(2));
    /// let (first, second) = ([0.2, 0.21, 0.8, 0.81], [0.2, 0.21]);
    /// let experiments = [
    ///     Observation::new("4 tasks", 4, Points::new(&first, 1)?, &[a, a, b, b], &[1.0; 4])?,
    ///     Observation::new("8 tasks", 8, Points::new(&second, 1)?, &[a, a], &[1.0; 2])?,
    /// ];
    /// let tracking = Tracking::of(&experiments, &Default::default(), &Job::default())?;
    /// let ended = &tracking.regions[1];
    /// assert_eq!(
    ///     tracking.sentence(ended, &ended.events[0]),
    ///     "ends after 4 tasks: no cluster of 8 tasks matches it"
    /// );
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    pub fn sentence(&self, region: &TrackedRegion, event: &Event) -> String {
        let name = |experiment: usize| {
            let known = self.experiments.get(experiment);
            known.map_or("", |experiment| experiment.name.as_str())
        };
        let before = |experiment: usize| name(experiment.wrapping_sub(1));
        let no_match = |experiment: usize| match self.experiments.get(experiment) {
            Some(of) if of.clusters == 0 => {
                format!("{} has no cluster to compare it with", of.name)
            }
            _ => format!("no cluster of {} matches it", name(experiment)),
        };
        if let Some(sentence) = self.shared(region, event) {
            return sentence;
        }
        match event {
            Event::Birth { experiment } => format!(
                "begins in {}: {}",
                name(*experiment),
                no_match(experiment.wrapping_sub(1))
            ),
            Event::Death { experiment } => format!(
                "ends after {}: {}",
                name(*experiment),
                no_match(experiment + 1)
            ),
            Event::Split {
                experiment,
                from,
                into,
            } => format!(
                "splits in {}: cluster {from} of {} becomes {}",
                name(*experiment),
                before(*experiment),
                list(into)
            ),
            Event::Merge {
                experiment,
                from,
                into,
            } => format!(
                "merges in {}: clusters {} of {} become {into}",
                name(*experiment),
                list(from),
                before(*experiment)
            ),
            Event::Gap {
                experiment,
                hidden_in: Some(host),
            } => format!("is hidden in {}: within cluster {host}", name(*experiment)),
            Event::Gap { experiment, .. } => format!("is missing from {}", name(*experiment)),
            Event::Unclustered {
                experiment,
                noise,
                dropped,
            } => format!(
                "is in no cluster of {}: the bursts of its program position are there, {noise} in noise and {dropped} \
                 dropped",
                name(*experiment)
            ),
        }
    }

    /// Describes a cluster that a region shares with other regions before regrouping by program position. `None`
    /// for events of the region's own clusters.
    fn shared(&self, region: &TrackedRegion, event: &Event) -> Option<String> {
        let (experiment, one, several, is_split) = match event {
            Event::Split {
                experiment,
                from,
                into,
            } => (*experiment, from, into, true),
            Event::Merge {
                experiment,
                from,
                into,
            } => (*experiment, into, from, false),
            _ => return None,
        };
        let before = experiment.checked_sub(1)?;
        let (of_one, of_several) = if is_split {
            (before, experiment)
        } else {
            (experiment, before)
        };
        let own: &Vec<ClusterId> = region.members.get(of_several)?;
        if several.iter().all(|id| own.contains(id)) {
            return None;
        }
        let others = self.regions.iter();
        let others = others.filter(|other| other.id != region.id && other.events.contains(event));
        let others: Vec<_> = others.map(|other| other.id).collect();
        let name = |experiment: usize| self.experiments.get(experiment).map(|of| of.name.as_str());
        Some(format!(
            "shares cluster {one} of {} with region{} {}, from which only its program position tells it apart; in {} \
             their metrics differ (clusters {})",
            name(of_one)?,
            plural(&others),
            list(&others),
            name(of_several)?,
            list(several)
        ))
    }
}
