//! [`Shard`]: the views of one rank with their spectra, with which all ranks together order all
//! views by their correlation with one of them, or all pairs.
//!
//! Most memory is taken by spectra, so each rank holds those of some views, a [`Shard`]. For a
//! ranking, the rank with the reference sends its spectrum to the others, each rank ranks its own
//! views, and the lists are merged. For all pairs, the shards move around a ring in pieces, and
//! each rank correlates the spectra it receives with its own. Each correlation is computed from the
//! same numbers in the same way on any rank, so the lists are identical to those of one process.

use crate::{Error, Ranks, Reader, Result, Wire};
use perf_core::Job;
use perf_spectral::{
    AxisFilter, CheckedRank, Correlation, Filter, Match, PairMatch, Peak, Ranking, Real, Reference,
    Spectra,
};
use std::collections::HashMap;

/// Size of the pieces of spectra that move around the ring, in bytes.
const RING: usize = 16 << 20;

/// Views of a rank: their spectra, and their numbers among all views.
///
/// For all pairs, distribute views round-robin, view `v` to rank `v % size`, so that all ranks have
/// the same amount of work. For a ranking, blocks are equally good.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_mpi::{Ranks, Shard, mpi};
/// use perf_spectral::{AxisFilter, RankParams, Spectra};
/// let universe = mpi::initialize().ok_or("MPI was initialised before")?;
/// let ranks = Ranks::new(&universe.world());
/// // View v is on rank v % size.
/// let numbers: Vec<usize> = (ranks.rank()..100).step_by(ranks.size()).collect();
/// let mut builder = Spectra::<f64>::builder(&[8, 8])?;
/// for view in &numbers {
///     let values: Vec<f64> = (0..64).map(|cell| (cell * (view + 1) % 7) as f64).collect();
///     builder.extend(&[&values], &Job::default())?;
/// }
/// let spectra = builder.finish();
/// let shard = Shard::new(&ranks, &spectra, numbers)?;
/// let params = RankParams::default().top(10).check()?;
/// let list = shard.rank(&ranks, 0, &AxisFilter::all(2), &params, &Job::default())?;
/// assert_eq!(list.matches.len(), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Shard<'s, T: Real> {
    /// Spectra of the own views.
    spectra: &'s Spectra<T>,
    /// Number of each own view among all views, ascending.
    numbers: Vec<usize>,
    /// Index of each own view by its number.
    local: HashMap<usize, usize>,
}

impl<'s, T: Real + Wire> Shard<'s, T> {
    /// Creates a shard from spectra and the number of each of their views, ascending. Collective.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::Parameter`] if the numbers of views and spectra differ, or if the numbers
    ///   do not ascend.
    /// - Returns [`Error::Differs`] if shapes or precisions differ between ranks.
    /// - Returns [`Error::View`] if two ranks have the same number.
    pub fn new(ranks: &Ranks, spectra: &'s Spectra<T>, numbers: Vec<usize>) -> Result<Self> {
        let wrong = |value: usize| Error::Parameter {
            name: "numbers of views",
            value: value.to_string(),
            range: "one for each view, in ascending order",
        };
        let ascends = numbers.is_sorted_by(|a, b| a < b);
        let fits = if ascends && numbers.len() == spectra.views().len() {
            Ok(())
        } else {
            Err(wrong(numbers.len()))
        };
        ranks.agree(fits)?;
        let dims: Vec<usize> = spectra.plan().dims().to_vec();
        ranks.same("the shape of their views", &(dims, T::LEAST))?;
        let mut all = ranks.all_gather(&numbers)?.concat();
        all.sort_unstable();
        if let Some(twice) = all.windows(2).find(|two| two.first() == two.last()) {
            let view = twice.first().copied().unwrap_or_default();
            return Err(Error::View { view, ranks: 2 });
        }
        let local = numbers.iter().enumerate().map(|(at, view)| (*view, at));
        Ok(Shard {
            spectra,
            local: local.collect(),
            numbers,
        })
    }

    /// Ranks the views of all ranks by their correlation with `reference`. Collective.
    ///
    /// The list is the same on all ranks, and equals that of [`Spectra::rank`] over all views,
    /// except for [`Ranking::transforms`], because each rank prunes separately. Reports progress on
    /// own views in the phase `correlate`.
    ///
    /// # Errors
    ///
    /// - Returns [`Error::View`] if no rank has the reference.
    /// - Returns [`Error::Spectral`] if [`Spectra::rank_among`] fails.
    pub fn rank(
        &self,
        ranks: &Ranks,
        reference: usize,
        filter: &(impl Filter + ?Sized),
        params: &CheckedRank,
        job: &Job,
    ) -> Result<Ranking> {
        let own = self.local.get(&reference).copied();
        let owners = ranks.all_gather(&own.is_some())?;
        let owner = owners.iter().position(|has| *has);
        let owner = owner.ok_or(Error::View {
            view: reference,
            ranks: 0,
        })?;
        let guest = own.map(|at| self.guest(at, filter, job));
        let guest = ranks.agree(guest.transpose())?;
        let guest: Guest<T> = ranks.broadcast(owner, guest.as_ref())?;
        let others = self.numbers.iter().enumerate();
        let others = others.filter(|(_, view)| **view != reference);
        let candidates: Vec<usize> = others.map(|(at, _)| at).collect();
        let own = self.by_guest(&guest, &candidates, filter, params, job);
        let own = ranks.agree(own)?;
        let counts = (own.matches, own.skipped, own.transforms);
        let mut ranking = Ranking::default();
        for (matches, skipped, transforms) in ranks.all_gather(&counts)? {
            ranking.matches.extend(matches);
            ranking.skipped.extend(skipped);
            ranking.transforms += transforms;
        }
        ranking.matches.sort_by(|a, b| {
            let by_score = b.r().abs().total_cmp(&a.r().abs());
            by_score.then(a.view.cmp(&b.view))
        });
        ranking.matches.truncate(params.longest());
        ranking.skipped.sort_unstable();
        Ok(ranking)
    }

    /// Ranks all pairs of views of all ranks, with the lower number as the reference. Collective.
    ///
    /// The list is the same on all ranks, and equals that of [`Spectra::pairs`] over all views.
    /// Reports progress on references in the phase `pairs`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Spectral`] if a correlation fails as in [`Spectra::pairs`].
    pub fn pairs(
        &self,
        ranks: &Ranks,
        filter: &(impl Filter + ?Sized),
        params: &CheckedRank,
        job: &Job,
    ) -> Result<Vec<PairMatch>> {
        let mut best = Best {
            pairs: Vec::new(),
            params: params.clone(),
        };
        let each = (RING / (self.spectra.plan().len() * T::LEAST).max(1)).max(1);
        let most = ranks.all_gather(&self.numbers.len())?;
        let pieces = most
            .iter()
            .copied()
            .max()
            .unwrap_or_default()
            .div_ceil(each);
        let total: u64 = most.iter().map(|views| *views as u64).sum();
        for piece in 0..pieces {
            let from = (piece * each).min(self.numbers.len());
            let to = (from + each).min(self.numbers.len());
            let guests: Result<Vec<(usize, Guest<T>)>> = (from..to)
                .filter_map(|at| Some((*self.numbers.get(at)?, at)))
                .filter(|(_, at)| !self.is_skipped(*at))
                .map(|(view, at)| Ok((view, self.guest(at, filter, job)?)))
                .collect();
            let mut guests = ranks.agree(guests)?;
            for step in 0..ranks.size() {
                if step > 0 {
                    let passed = ranks.shift(&guests.to_bytes())?;
                    guests = ranks.agree(<Vec<(usize, Guest<T>)>>::from_bytes(&passed))?;
                }
                let found = guests.iter().try_for_each(|(view, guest)| {
                    self.add_pairs(*view, guest, filter, &mut best, job)?;
                    job.advance("pairs", 1, total);
                    Ok(())
                });
                ranks.agree(found)?;
            }
        }
        let own: Vec<(usize, Match)> = best
            .pairs
            .iter()
            .map(|pair| (pair.reference, pair.found))
            .collect();
        let all = ranks.all_gather(&own)?.into_iter().flatten();
        best.pairs = all
            .map(|(reference, found)| pair(reference, found))
            .collect();
        best.tighten();
        Ok(best.pairs)
    }

    fn is_skipped(&self, at: usize) -> bool {
        let view = self.spectra.views().get(at);
        view.is_some_and(perf_spectral::View::is_skipped)
    }

    /// Returns the data of a view that other ranks need.
    fn guest(&self, at: usize, filter: &(impl Filter + ?Sized), job: &Job) -> Result<Guest<T>> {
        let plain = AxisFilter::all(self.spectra.plan().dims().len());
        Ok(Guest {
            varies: self.spectra.reference(at, filter, job)?.is_some(),
            varies_plain: self.spectra.reference(at, &plain, job)?.is_some(),
            spectrum: self.spectra.spectrum(at)?,
        })
    }

    /// Ranks own views by a reference that may be from another rank, and returns their numbers
    /// among all views.
    fn by_guest(
        &self,
        guest: &Guest<T>,
        candidates: &[usize],
        filter: &(impl Filter + ?Sized),
        params: &CheckedRank,
        job: &Job,
    ) -> Result<Ranking> {
        let plan = self.spectra.plan();
        let plain = AxisFilter::all(plan.dims().len());
        let spectrum = guest.spectrum.as_deref();
        let filtered = spectrum.filter(|_| guest.varies);
        let filtered: Option<Reference<T>> =
            filtered.map(|it| plan.reference(it, filter)).transpose()?;
        let plain = match spectrum.filter(|_| guest.varies_plain) {
            Some(spectrum) => Some(plan.reference(spectrum, &plain)?),
            None => None,
        };
        let references = (filtered.as_ref(), plain.as_ref());
        let (reference, plain) = references;
        let spectra = self.spectra;
        let mut found = spectra.rank_with(reference, plain, candidates, params, job)?;
        let number = |at: usize| self.numbers[at];
        for one in &mut found.matches {
            one.view = number(one.view);
        }
        for one in &mut found.skipped {
            *one = number(*one);
        }
        Ok(found)
    }

    /// Adds the pairs of a reference with own views that have higher numbers.
    fn add_pairs(
        &self,
        reference: usize,
        guest: &Guest<T>,
        filter: &(impl Filter + ?Sized),
        best: &mut Best,
        job: &Job,
    ) -> Result<()> {
        job.check()?;
        let first = self.numbers.partition_point(|view| *view <= reference);
        let others: Vec<usize> = (first..self.numbers.len()).collect();
        if others.is_empty() {
            return Ok(());
        }
        let found = self.by_guest(
            guest,
            &others,
            filter,
            &best.params,
            &job.without_progress(),
        )?;
        let found = found.matches.into_iter();
        best.pairs.extend(found.map(|found| pair(reference, found)));
        best.tighten();
        Ok(())
    }
}

/// Best pairs so far, and the score that further pairs must exceed.
struct Best {
    /// Best pairs, the strongest first.
    pairs: Vec<PairMatch>,
    /// Parameters with the lowest score that is still of interest.
    params: CheckedRank,
}

impl Best {
    fn tighten(&mut self) {
        self.pairs.sort_by(|a, b| {
            let by_score = b.found.r().abs().total_cmp(&a.found.r().abs());
            let key = |pair: &PairMatch| (pair.reference, pair.found.view);
            by_score.then(key(a).cmp(&key(b)))
        });
        self.pairs.truncate(self.params.longest());
        if self.pairs.len() == self.params.longest()
            && let Some(last) = self.pairs.last()
        {
            self.params.raise(last.found.r().abs());
        }
    }
}

fn pair(reference: usize, found: Match) -> PairMatch {
    let mut pair = PairMatch::default();
    (pair.reference, pair.found) = (reference, found);
    pair
}

/// View in a message.
#[derive(Clone, Debug)]
struct Guest<T> {
    /// Spectrum; `None` if the view is constant.
    spectrum: Option<Vec<T>>,
    /// `true` if the view varies after filtering.
    varies: bool,
    /// `true` if the view varies without a filter.
    varies_plain: bool,
}

impl<T: Wire> Wire for Guest<T> {
    const LEAST: usize = 3;

    fn write(&self, to: &mut Vec<u8>) {
        self.spectrum.write(to);
        self.varies.write(to);
        self.varies_plain.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Guest {
            spectrum: Wire::read(from)?,
            varies: Wire::read(from)?,
            varies_plain: Wire::read(from)?,
        })
    }
}

impl Wire for Peak {
    const LEAST: usize = 24;

    fn write(&self, to: &mut Vec<u8>) {
        (self.r, self.at, self.norm).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let (r, at, norm) = Wire::read(from)?;
        Ok(Peak { r, at, norm })
    }
}

impl Wire for Match {
    const LEAST: usize = 8 + 4 * Peak::LEAST + 8 + 1 + 8;

    fn write(&self, to: &mut Vec<u8>) {
        let Correlation {
            max,
            min,
            zero,
            chosen,
            ..
        } = self.correlation;
        (self.view, max, min, zero).write(to);
        (chosen, self.peak, self.pearson, self.missing).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let mut one = Match::default();
        let to = &mut one.correlation;
        (one.view, to.max, to.min, to.zero) = Wire::read(from)?;
        (to.chosen, one.peak, one.pearson, one.missing) = Wire::read(from)?;
        Ok(one)
    }
}
