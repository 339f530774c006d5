//! Intervals of recorded series: each scale is left out in turn and predicted.

use perf_core::{CallPathId, Job, Profile, Scope};
use perf_formats::cube::Cube;
use perf_formats::{Content, OpenOptions, open};
use perf_testdata::bundled::recording;
use perf_testdata::corpus::corpus;
use perf_track::scaling::{Measurements, ScalingModel};
use std::collections::BTreeMap;
use std::path::Path;

/// Values of each call path: scale and mean of a location.
type Series = BTreeMap<String, Vec<(Vec<f64>, f64)>>;

/// Adds the exclusive values of the first metric of a profile with this name.
fn add(series: &mut Series, profile: &Profile, metric: &str, scale: &[f64]) {
    let id = profile.metric(metric).expect("a known metric");
    let labels = profile.call_path_labels();
    let locations = profile.system().locations().len() as f64;
    for path in (0..profile.calls().paths().len()).filter_map(CallPathId::from_index) {
        let row = profile.scoped(id, path, Scope::Exclusive).expect("a row");
        let sum = row.map_or(0.0, |row| row.sum().as_f64());
        let point = (scale.to_vec(), sum / locations);
        series.entry(labels.label(path)).or_default().push(point);
    }
}

/// Returns the profile of the calls of a trace.
fn calls(path: &Path) -> Profile {
    let opened = open(path, &OpenOptions::new(), &Job::default()).expect("it can be read");
    let Content::Trace(trace) = opened.content else {
        panic!("{} is no trace", path.display());
    };
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).expect("calls");
    profile
}

/// Intervals of left-out scales.
#[derive(Default)]
struct Held {
    /// Logarithms of the upper divided by the lower limits.
    widths: Vec<f64>,
    /// Intervals that contain the value.
    held: usize,
    /// Predictions without an interval.
    none: usize,
}

impl Held {
    /// Leaves out each value of a parameter in turn.
    fn leave_out(&mut self, names: &[&str], series: &Series, parameter: usize) {
        for points in series
            .values()
            .filter(|points| points.iter().all(|point| point.1 > 0.0))
        {
            let mut levels: Vec<f64> = points.iter().map(|point| point.0[parameter]).collect();
            levels.sort_by(f64::total_cmp);
            levels.dedup();
            for level in levels {
                let mut data = Measurements::new(names.iter().copied());
                for (scale, value) in points.iter().filter(|point| point.0[parameter] != level) {
                    data.push(scale, *value).expect("positive");
                }
                let model = ScalingModel::fit(&data, 0.95, &Job::default()).expect("a level");
                let Some(model) = model else { continue };
                for (scale, value) in points.iter().filter(|point| point.0[parameter] == level) {
                    match model.predict(scale).expect("positive").interval {
                        Some((low, high)) => {
                            self.widths.push((high / low).ln());
                            self.held += usize::from(low <= *value && *value <= high);
                        }
                        None => self.none += 1,
                    }
                }
            }
        }
    }

    /// Prints the figures and requires that 90 % of the intervals hold.
    fn check(mut self, name: &str) {
        self.widths.sort_by(f64::total_cmp);
        let median = self
            .widths
            .get(self.widths.len() / 2)
            .copied()
            .unwrap_or(0.0);
        let (held, count) = (self.held, self.widths.len());
        println!(
            "{name}: {held} of {count} intervals hold, median factor {:.2} to either side, {} without an interval",
            (0.5 * median).exp(),
            self.none
        );
        assert!(
            held as f64 >= 0.9 * count as f64,
            "{name}: {held} of {count}"
        );
    }
}

#[test]
fn sizes_of_lulesh_are_predicted() {
    let Some(folder) = corpus("cube/lulesh") else {
        return;
    };
    let metrics = ["time", "visits"];
    let mut all = [Series::new(), Series::new()];
    for p in [27, 64, 343] {
        for size in [25, 30, 35, 40, 45] {
            let file = folder.join(format!("lulesh.p{p}.size{size}.r1.cubex"));
            let cube = Cube::open(file, &OpenOptions::new(), &Job::default()).expect("it opens");
            for (series, metric) in all.iter_mut().zip(metrics) {
                add(
                    series,
                    cube.profile(),
                    metric,
                    &[f64::from(p), f64::from(size)],
                );
            }
        }
    }
    for (series, metric) in all.iter().zip(metrics) {
        let mut held = Held::default();
        held.leave_out(&["p", "size"], series, 1);
        assert!(held.widths.len() > 100);
        held.check(&format!("{metric} of LULESH, each size left out"));
        // Two numbers of processes determine the dependence on them exactly.
        let mut held = Held::default();
        held.leave_out(&["p", "size"], series, 0);
        held.check(&format!(
            "{metric} of LULESH, each number of processes left out"
        ));
    }
}

fn jacobi() -> Series {
    let mut series = Series::new();
    for ranks in [4, 9, 16, 64] {
        let profile = calls(&recording(&format!("jacobi-{ranks}")));
        add(&mut series, &profile, "time", &[f64::from(ranks)]);
    }
    series
}

#[test]
fn ranks_of_jacobi_are_predicted() {
    let mut held = Held::default();
    held.leave_out(&["ranks"], &jacobi(), 0);
    assert!(!held.widths.is_empty());
    held.check("time of jacobi, each number of ranks left out");
}

#[test]
fn two_scales_of_epoch_have_no_interval() {
    let mut series = Series::new();
    for tasks in [2, 4, 16] {
        let Some(path) = corpus(&format!("paraver/epoch/epoch_{tasks}proc.prv.gz")) else {
            return;
        };
        add(&mut series, &calls(&path), "time", &[f64::from(tasks)]);
    }
    let mut held = Held::default();
    held.leave_out(&["tasks"], &series, 0);
    assert!(held.widths.is_empty() && held.none > 10);
}
