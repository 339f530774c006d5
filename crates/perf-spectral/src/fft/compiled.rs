//! [`Compiled`]: non-generic entry points, for `f64` and `f32`, of the methods of transforms and
//! spectra that take long to compile.
//!
//! Generic code is compiled in the crate that instantiates it: each program, test and example would
//! compile the transforms again. These methods are implemented for two concrete types, so they are
//! compiled once, in this crate. The public generic methods are thin wrappers around them.

use crate::correlation::CheckedRank;
use crate::correlation::PairMatch;
use crate::correlation::Ranking;
use crate::correlation::{Bound, Correlation, Match, Reference};
use crate::fft::{Scratch, Transform};
use crate::profile::Missing;
use crate::significance::{CheckedNull, Confidence};
use crate::spectra::Spectra;
use crate::spectra::builder::SpectraBuilder;
use crate::{ChanceBound, CheckedRelations, Filter, Kinship, Real, Relations, Result};
use perf_core::{CallPathId, Job, MetricId, Profile};
use perf_topology::Topology;
use std::fs::File;

macro_rules! compiled {
    ($($work:ident = $of:ident :: $method:ident($($name:ident: $type:ty),*) -> $result:ty;)*) => {
        /// Non-generic entry points of the analyses, see the module. Each method does the work of
        /// the public method that calls it.
        pub trait Compiled: Sized {
            $(fn $work($($name: $type),*) -> $result where Self: Real;)*
        }

        impl Compiled for f32 {
            $(#[inline(never)]
            fn $work($($name: $type),*) -> $result {
                $of::<Self>::$method($($name),*)
            })*
        }

        impl Compiled for f64 {
            $(#[inline(never)]
            fn $work($($name: $type),*) -> $result {
                $of::<Self>::$method($($name),*)
            })*
        }
    };
}

compiled! {
    plan = Transform::planned(dims: &[usize]) -> Result<Transform<Self>>;
    scratch = Transform::new_scratch(plan: &Transform<Self>) -> Scratch<Self>;
    forward = Transform::run_forward(
        plan: &Transform<Self>, view: &[Self], spectrum: &mut [Self], scratch: &mut Scratch<Self>
    ) -> Result<()>;
    inverse = Transform::run_inverse(
        plan: &Transform<Self>, spectrum: &[Self], view: &mut [Self], scratch: &mut Scratch<Self>
    ) -> Result<()>;
    relations = Spectra::all_relations(
        spectra: &Spectra<Self>, filter: &dyn Filter, kin: &Kinship, params: &CheckedRelations, job: &Job
    ) -> Result<Relations>;
    chance_bounds = Spectra::bounds_of(
        spectra: &Spectra<Self>, reference: (&Spectra<Self>, usize), found: &[Match],
        filter: &dyn Filter, job: &Job
    ) -> Result<Vec<ChanceBound>>;
    prepare = Transform::prepared(
        plan: &Transform<Self>, spectrum: &[Self], filter: &dyn Filter, job: &Job
    ) -> Result<Reference<Self>>;
    coefficient = Transform::one_of(
        plan: &Transform<Self>, spectrum: &[Self], k: &[i32]
    ) -> Option<(f64, f64)>;
    magnitudes = Transform::all_magnitudes(plan: &Transform<Self>, spectrum: &[Self]) -> Vec<f64>;
    builder_in = Spectra::new_builder_in(dims: &[usize], file: File) -> Result<SpectraBuilder<Self>>;
    extend = SpectraBuilder::add(
        to: &mut SpectraBuilder<Self>, views: &[&[f64]], mask: &[bool], job: &Job
    ) -> Result<()>;
    add_rows = SpectraBuilder::add_each(
        to: &mut SpectraBuilder<Self>, profile: &Profile, topology: &Topology,
        rows: (&[(MetricId, CallPathId)], Missing), job: &Job
    ) -> Result<()>;
    finish = SpectraBuilder::finished(builder: SpectraBuilder<Self>) -> Spectra<Self>;
    save = SpectraBuilder::saved(
        builder: SpectraBuilder<Self>, names: &[&str]
    ) -> Result<Spectra<Self>>;
    open = Spectra::opened(file: File) -> Result<Spectra<Self>>;
    spectrum = Spectra::copied(spectra: &Spectra<Self>, view: usize) -> Result<Option<Vec<Self>>>;
    reference = Spectra::referred(
        spectra: &Spectra<Self>, view: usize, filter: &dyn Filter, job: &Job
    ) -> Result<Option<Reference<Self>>>;
    correlate = Spectra::correlated(
        spectra: &Spectra<Self>, reference: &Reference<Self>, view: usize, tolerance: f64,
        job: &Job
    ) -> Result<Correlation>;
    filtered = Spectra::passed(
        spectra: &Spectra<Self>, view: usize, filter: &dyn Filter
    ) -> Result<Vec<f64>>;
    bound = Spectra::bounded(
        spectra: &Spectra<Self>, reference: &Reference<Self>, view: usize,
        job: &Job
    ) -> Result<Bound>;
    rank = Spectra::ranked(
        spectra: &Spectra<Self>, reference: usize, candidates: &[usize], filter: &dyn Filter,
        params: &CheckedRank, job: &Job
    ) -> Result<Ranking>;
    rank_with = Spectra::ranked_with(
        spectra: &Spectra<Self>, prepared: (Option<&Reference<Self>>, Option<&Reference<Self>>),
        candidates: &[usize], params: &CheckedRank, job: &Job
    ) -> Result<Ranking>;
    pairs = Spectra::all_pairs(
        spectra: &Spectra<Self>, filter: &dyn Filter, params: &CheckedRank,
        job: &Job
    ) -> Result<Vec<PairMatch>>;
    chosen_pairs = Spectra::chosen_pairs(
        spectra: &Spectra<Self>, pairs: &[(usize, usize)], filter: &dyn Filter,
        params: &CheckedRank, job: &Job
    ) -> Result<Vec<PairMatch>>;
    confidence = Spectra::chances(
        spectra: &Spectra<Self>, reference: usize, views: &[usize], filter: &dyn Filter,
        params: &CheckedNull, job: &Job
    ) -> Result<Confidence>;
}
