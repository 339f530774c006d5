//! The ordered list, and how it is written.

use super::{Asked, call_path, grid, metric};
use perfkit::core::{
    CallPathId, CancelToken, Metric, MetricId, Profile, ProfileMetric, Scope, Severities, ValueType,
};
use perfkit::spectral::{AxisFilter, AxisPower, Match, Missing, RankParams, Spectra, stored_rows};
use perfkit::topology::Topology;
use perfkit_examples::cli::{Failure, Outcome, input};
use perfkit_examples::progress::Bar;
use perfkit_examples::table::{self, shortened};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// The ordered list, and what it was made of.
#[derive(Debug)]
pub(super) struct List<'a> {
    profile: &'a Profile,
    topology: Topology,
    axes: Vec<f64>,
    power: AxisPower,
    reference: (MetricId, CallPathId),
    rows: Vec<(MetricId, CallPathId)>,
    spectra: Spectra<f64>,
    matches: Vec<Match>,
}

impl<'a> List<'a> {
    pub(super) fn of(profile: &'a Profile, asked: &Asked) -> Result<Self, Failure> {
        let metric = metric(profile, asked.metric.as_deref())?;
        let reference = (metric, call_path(profile, &asked.path)?);
        let topology = match &asked.rule {
            Some(rule) => rule.lay(profile)?,
            None => grid::usual(profile)?,
        };
        let lens = topology.shape().lens();
        let axes = asked.axes.clone().unwrap_or_else(|| vec![1.0; lens.len()]);
        if axes.len() != lens.len() {
            let (given, count) = (axes.len(), lens.len());
            let dims = lens.iter().map(usize::to_string).collect::<Vec<_>>();
            return Err(Failure::Usage(format!(
                "--axes: {given} weights, but the grid {} has {count} axes",
                dims.join(" x ")
            )));
        }
        let usage = |error: perfkit::spectral::Error| Failure::Usage(error.to_string());
        let filter = AxisFilter::new(&axes);
        let filter = filter.map_err(|error| Failure::Usage(format!("--axes: {error}")))?;
        let metrics: Vec<MetricId> = match asked.same_metric {
            true => vec![metric],
            false => (0..profile.metrics().len())
                .filter_map(MetricId::from_index)
                .collect(),
        };
        let mut rows = stored_rows(profile, &metrics);
        let own = rows.iter().position(|row| *row == reference);
        let own = own.unwrap_or_else(|| {
            rows.push(reference);
            rows.len() - 1
        });
        let (bar, cancel) = (Bar::new(), CancelToken::new());
        let mut builder = Spectra::<f64>::builder(&lens).map_err(usage)?;
        builder
            .add_rows(profile, &topology, &rows, Missing::Fill, &bar, &cancel)
            .map_err(input)?;
        let spectra = builder.finish();
        let params = RankParams::default().check().map_err(usage)?;
        let others: Vec<usize> = (0..rows.len()).filter(|view| *view != own).collect();
        let ranking = spectra
            .rank_among(own, &others, &filter, &params, &bar, &cancel)
            .map_err(usage)?;
        let power = spectra.axis_power(own).map_err(usage)?;
        let matches = ranking.matches;
        Ok(List {
            profile,
            topology,
            axes,
            power,
            reference,
            rows,
            spectra,
            matches,
        })
    }

    fn name(&self, (metric, path): (MetricId, CallPathId)) -> (String, String) {
        let metric = self.profile.metrics().get(metric.index());
        let metric = metric.map_or_else(String::new, |metric| metric.metric.name.clone());
        (
            metric,
            self.profile.calls().name(path, self.profile.regions()),
        )
    }

    fn row(&self, found: &Match) -> (MetricId, CallPathId) {
        self.rows.get(found.view).copied().unwrap_or(self.reference)
    }

    fn dims(&self) -> Vec<serde_json::Value> {
        let axes = self.topology.shape().axes().iter();
        axes.map(|axis| json!({ "name": axis.name, "len": axis.len, "periodic": axis.periodic }))
            .collect()
    }

    pub(super) fn json(&self, top: usize) -> serde_json::Value {
        let (metric, path) = self.name(self.reference);
        let plan = self.spectra.plan();
        let views = self.matches.iter().take(top).map(|found| {
            let (metric, path) = self.name(self.row(found));
            let correlation = found.correlation;
            json!({
                "metric": metric,
                "path": path,
                "r": found.r(),
                "max": correlation.max.r,
                "max_shift": plan.shift(correlation.max),
                "min": correlation.min.r,
                "min_shift": plan.shift(correlation.min),
                "zero": correlation.zero,
                "pearson": found.pearson,
                "missing": found.missing,
            })
        });
        let check = self.topology.check();
        json!({
            "reference": { "metric": metric, "path": path },
            "axes": self.axes,
            "dims": self.topology.shape().lens(),
            "axis_names": self.dims(),
            "axis_power": self.power.share,
            "suggested_axes": self.power.rest().f(),
            "cells_missing": check.missing,
            "cells_shared": check.shared,
            "locations_unplaced": check.unplaced,
            "views": views.collect::<Vec<_>>(),
        })
    }

    /// The list as text.
    pub(super) fn text(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let (metric, path) = self.name(self.reference);
        let lens: Vec<String> = self
            .topology
            .shape()
            .lens()
            .iter()
            .map(usize::to_string)
            .collect();
        let check = self.topology.check();
        writeln!(out, "  reference   {metric} of {path}")?;
        let shared = match check.shared {
            0 => String::new(),
            shared => format!(", {shared} shared"),
        };
        writeln!(
            out,
            "  topology    {}, {} of {} locations placed, {} cells empty{shared}",
            format!("{} {}", lens.join(" x "), self.topology.name()).trim_end(),
            check.placed,
            check.locations,
            check.missing
        )?;
        if check.missing > 0 {
            writeln!(
                out,
                "  note        empty cells count as the mean of the others"
            )?;
        }
        let percent = |share: &f64| format!("{:.0} %", 100.0 * share);
        let shares: Vec<String> = self.power.share.iter().map(percent).collect();
        writeln!(out, "  its power   {} along the axes", shares.join(", "))?;
        if self.power.share.iter().all(|share| *share == 0.0) {
            writeln!(
                out,
                "  note        the reference is the same everywhere, so that nothing follows it"
            )?;
        }
        let text = |f: &[f64]| f.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let rest = text(self.power.rest().f());
        writeln!(
            out,
            "  filter      {} (what lies behind: --axes {rest})",
            text(&self.axes)
        )?;
        let rows = self.matches.iter().take(top).map(|found| {
            let (metric, path) = self.name(self.row(found));
            let shift: Vec<String> = self
                .spectra
                .plan()
                .shift(found.peak)
                .iter()
                .map(usize::to_string)
                .collect();
            let pearson = found
                .pearson
                .map_or_else(String::new, |r| format!("{r:+.3}"));
            vec![
                format!("  {}", shortened(&path, 56)),
                metric,
                format!("{:+.3}", found.r()),
                shift.join(","),
                format!("{:+.3}", found.correlation.zero),
                pearson,
            ]
        });
        let head = [
            "  call path",
            "metric",
            "r",
            "shift",
            "unshifted",
            "Pearson",
        ];
        table::write(out, &head, &rows.collect::<Vec<_>>())?;
        Ok(())
    }

    /// All views as a table with a head, separated by commas.
    pub(super) fn csv(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let plan = self.spectra.plan();
        let shift = |peak| {
            let shift = plan
                .shift(peak)
                .iter()
                .map(usize::to_string)
                .collect::<Vec<_>>();
            shift.join(" ")
        };
        writeln!(
            out,
            "metric,path,r,max,max_shift,min,min_shift,zero,pearson"
        )?;
        for found in &self.matches {
            let (metric, path) = self.name(self.row(found));
            let correlation = found.correlation;
            writeln!(
                out,
                "{},{},{},{},{},{},{},{},{}",
                quoted(&metric),
                quoted(&path),
                found.r(),
                correlation.max.r,
                shift(correlation.max),
                correlation.min.r,
                shift(correlation.min),
                correlation.zero,
                found.pearson.unwrap_or_default(),
            )?;
        }
        Ok(())
    }

    /// The profile with one more metric for each that was compared: r_f of a call path, at the
    /// first location, so that its sum over locations is r_f.
    pub(super) fn cube(&self, file: &Path) -> Outcome {
        let mut by_metric: BTreeMap<MetricId, Vec<(CallPathId, Severities)>> = BTreeMap::new();
        let locations = self.profile.system().locations().len();
        for found in &self.matches {
            let (metric, path) = self.row(found);
            let mut row = vec![0.0; locations];
            if let Some(first) = row.first_mut() {
                *first = found.r();
            }
            by_metric
                .entry(metric)
                .or_default()
                .push((path, Severities::F64(row)));
        }
        let mut profile = self.profile.clone();
        let (metric, path) = self.name(self.reference);
        for (of, rows) in by_metric {
            let (name, _) = self.name((of, self.reference.1));
            let about = ProfileMetric {
                metric: Metric {
                    name: format!("correlation of {name}"),
                    description: format!("r_f with {metric} of {path}, axes {:?}", self.axes),
                    unit: "1".into(),
                    value_type: ValueType::F64,
                    ..Default::default()
                },
                scope: Scope::Exclusive,
                ..Default::default()
            };
            (profile, _) = profile.with_metric(about, rows).map_err(input)?;
        }
        let failed = |error: std::io::Error| Failure::Input(format!("{}: {error}", file.display()));
        let to = std::io::BufWriter::new(std::fs::File::create(file).map_err(failed)?);
        perfkit::formats::cube::write(&profile, to, &Default::default()).map_err(input)?;
        Ok(())
    }
}
