//! [`Work`] and [`WorkRules`]: classification of device work as compute, communication, copy or set.

use crate::{RegionGroups, RegionMap, Result};
use perf_core::{Definitions, Region, RegionId, RegionRole};
use std::sync::OnceLock;

/// Kind of a piece of work on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Work {
    /// Computing kernel. Work that no rule matches is also of this kind.
    #[default]
    Compute,
    /// Kernel that exchanges data with other devices, such as a collective of NCCL or RCCL.
    Communication,
    /// Copy between memories.
    Copy,
    /// Fill of memory with a value.
    Set,
}

impl Work {
    /// All kinds in order.
    pub const ALL: [Work; 4] = [Work::Compute, Work::Communication, Work::Copy, Work::Set];

    /// Returns the name of the kind and of its class in folds: `compute`, `communication`, `copy`
    /// or `set`.
    pub fn name(self) -> &'static str {
        match self {
            Work::Compute => "compute",
            Work::Communication => "communication",
            Work::Copy => "copy",
            Work::Set => "set",
        }
    }
}

/// Rules that classify work by name pattern. Rules are tried in order and the first match wins.
/// Work that matches no rule is computation.
///
/// The default rules cover the names that CUDA and HIP tools give to copies and sets, regions of
/// role [`RegionRole::DataTransfer`], and the communication kernels of common libraries:
///
/// | work | patterns |
/// |---|---|
/// | set | `Memset*`, `memset*`, `MEMSET*`, `[CUDA memset*`, `[CUDA Unified Memory memset*`, `__amd_rocclr_fillBuffer*` |
/// | copy | `Memcpy*`, `memcpy*`, `MEMCPY*`, `[CUDA memcpy*`, `[CUDA Unified Memory memcpy*`, `CopyDeviceTo*`, `CopyHostTo*`, `MEMORY_COPY_*`, `__amd_rocclr_copyBuffer*`, `dma*`; of XLA `copy-start*`, `copy-done*` |
/// | compute | `triton_*_fused_*`: a kernel that fuses operators is named after all of them; reductions within a warp or a block: `*warpAllReduce*`, `*WarpAllReduce*`, `*blockAllReduce*`, `*BlockAllReduce*`, `*all_reduce_within_block*` |
/// | communication: libraries | `*nccl*`, `*rccl*`, `*msccl*`, `*oneccl*`, `hcom_*`, `*nvshmem*`, `*rocshmem*`, `*ishmem*`, `*userbuffers*`, `*symmetric_memory::*` |
/// | communication: collectives | all reduce, all gather, reduce scatter and all to all, each as `*AllReduce*`, `*allReduce*`, `*Allreduce*`, `*allreduce*`, `*all_reduce*` and `*all-reduce*` |
/// | communication: serving engines | `*cross_device_reduce*`, `*quickreduce*`, `*intranode::*`, `*internode::*`, `*internode_ll::*`, the same three mangled in `deep_ep`, `*EpDispatch*`, `*EpCombine*`, `*hybrid_ep::dispatch*`, `*hybrid_ep::combine*`, `*moeA2ADispatchKernel*`, `*moeA2ACombineKernel*`, `*a2a_dispatch*`, `*a2a_combine*`; the bare names `dispatch` and `combine`, also with parameters; `notify_dispatch*`, `cached_notify_dispatch*`, `cached_notify_combine*` |
/// | communication: XLA | `collective-*`, `async-collective-*`, and `send` and `recv`, alone or before `.` or `-` |
/// | copy | all others of role [`RegionRole::DataTransfer`] |
///
/// ```
/// use perf_core::Region;
/// use perf_fold::{Work, WorkRules};
/// let work = |rules: &WorkRules, name: &str| rules.work(&Region::named(name));
/// let rules = WorkRules::default();
/// assert_eq!(work(&rules, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"), Work::Communication);
/// assert_eq!(work(&rules, "Memcpy DtoH (Device -> Pinned)"), Work::Copy);
/// assert_eq!(work(&rules, "halo_pack"), Work::Compute);
/// let own = rules.before(Work::Communication, "halo_*");
/// assert_eq!(work(&own, "halo_pack"), Work::Communication);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WorkRules {
    /// User-defined rules, the last added rule first.
    own: Vec<(Work, String)>,
    /// All rules in the order in which they are tried.
    rules: Vec<(Work, Rule)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    /// Pattern for the name.
    Name(&'static str),
    /// Role of the region.
    Role(RegionRole),
}

const SETS: [&str; 6] = [
    "Memset*",
    "memset*",
    "MEMSET*",
    "[CUDA memset*",
    "[CUDA Unified Memory memset*",
    "__amd_rocclr_fillBuffer*",
];

const COPIES: [&str; 12] = [
    "Memcpy*",
    "memcpy*",
    "MEMCPY*",
    "[CUDA memcpy*",
    "[CUDA Unified Memory memcpy*",
    "CopyDeviceTo*",
    "CopyHostTo*",
    "MEMORY_COPY_*",
    "__amd_rocclr_copyBuffer*",
    "dma*",
    // XLA: an asynchronous transfer between memories and the wait for its end.
    "copy-start*",
    "copy-done*",
];

/// Computing kernels whose names contain names of collectives. A fused kernel is named after its
/// operators, and a reduction within a warp or block is not an exchange between devices.
const COMPUTE: [&str; 6] = [
    "triton_*_fused_*",
    "*warpAllReduce*",
    "*WarpAllReduce*",
    "*blockAllReduce*",
    "*BlockAllReduce*",
    "*all_reduce_within_block*",
];

const COMMUNICATION: [&str; 70] = [
    // Libraries of collectives, of one-sided communication and of Transformer Engine.
    "*nccl*",
    "*rccl*",
    "*msccl*",
    "*oneccl*",
    "hcom_*",
    "*nvshmem*",
    "*rocshmem*",
    "*ishmem*",
    "*userbuffers*",
    "*symmetric_memory::*",
    // Collectives, as spelled by libraries, serving engines and compilers.
    "*AllReduce*",
    "*allReduce*",
    "*Allreduce*",
    "*allreduce*",
    "*all_reduce*",
    "*all-reduce*",
    "*AllGather*",
    "*allGather*",
    "*Allgather*",
    "*allgather*",
    "*all_gather*",
    "*all-gather*",
    "*ReduceScatter*",
    "*reduceScatter*",
    "*Reducescatter*",
    "*reducescatter*",
    "*reduce_scatter*",
    "*reduce-scatter*",
    "*AllToAll*",
    "*allToAll*",
    "*Alltoall*",
    "*alltoall*",
    "*AlltoAll*",
    "*all_to_all*",
    "*all-to-all*",
    // vLLM, SGLang and AITER; expert parallelism: DeepEP, MORI, TensorRT-LLM, pplx.
    "*cross_device_reduce*",
    "*quickreduce*",
    "*intranode::*",
    "*internode::*",
    "*internode_ll::*",
    "*deep_ep9intranode*",
    "*deep_ep9internode*",
    "*deep_ep12internode_ll*",
    "*EpDispatch*",
    "*EpCombine*",
    "*hybrid_ep::dispatch*",
    "*hybrid_ep::combine*",
    "*moeA2ADispatchKernel*",
    "*moeA2ACombineKernel*",
    "*a2a_dispatch*",
    "*a2a_combine*",
    // The same kernels of DeepEP with the short names that Nsight Systems prints.
    "dispatch",
    "dispatch<*",
    "dispatch(*",
    "void dispatch<*",
    "combine",
    "combine<*",
    "combine(*",
    "void combine<*",
    "notify_dispatch*",
    "cached_notify_dispatch*",
    "cached_notify_combine*",
    // XLA instructions.
    "collective-*",
    "async-collective-*",
    "send",
    "send.*",
    "send-*",
    "recv",
    "recv.*",
    "recv-*",
];

impl Default for WorkRules {
    fn default() -> Self {
        let names = |work, patterns: &'static [&'static str]| {
            patterns.iter().map(move |it| (work, Rule::Name(it)))
        };
        let rules = names(Work::Set, &SETS)
            .chain(names(Work::Copy, &COPIES))
            .chain(names(Work::Compute, &COMPUTE))
            .chain(names(Work::Communication, &COMMUNICATION))
            .chain([(Work::Copy, Rule::Role(RegionRole::DataTransfer))]);
        WorkRules {
            own: Vec::new(),
            rules: rules.collect(),
        }
    }
}

impl WorkRules {
    /// Returns an empty set of rules: all work is computation.
    pub fn none() -> Self {
        WorkRules {
            own: Vec::new(),
            rules: Vec::new(),
        }
    }

    /// Adds a rule that precedes all others: work whose name matches `pattern` has kind `work`. In
    /// the pattern, `*` stands for any characters and `?` for one.
    pub fn before(mut self, work: Work, pattern: impl Into<String>) -> Self {
        self.own.insert(0, (work, pattern.into()));
        self
    }

    /// Returns the rules that [`before`](Self::before) added, the last added rule first.
    ///
    /// ```
    /// use perf_fold::{Work, WorkRules};
    /// let rules = WorkRules::default().before(Work::Communication, "halo_*");
    /// assert!(rules.own().eq([(Work::Communication, "halo_*")]));
    /// ```
    pub fn own(&self) -> impl Iterator<Item = (Work, &str)> {
        self.own
            .iter()
            .map(|(work, pattern)| (*work, pattern.as_str()))
    }

    /// Returns the kind of the work of a region.
    pub fn work(&self, region: &Region) -> Work {
        let own = self.own.iter();
        let mut own = own.filter(|(_, pattern)| perf_core::fits(pattern, &region.name));
        if let Some((work, _)) = own.next() {
            return *work;
        }
        let fits = |rule: &Rule| match rule {
            Rule::Name(pattern) => {
                // Most patterns are a word between two stars. There are many patterns and the names
                // are long, so this case has a faster search.
                let inner = pattern
                    .strip_prefix('*')
                    .and_then(|it| it.strip_suffix('*'));
                match inner.filter(|it| !it.contains(['*', '?'])) {
                    Some(word) => region.name.contains(word),
                    None => perf_core::fits(pattern, &region.name),
                }
            }
            Rule::Role(role) => region.role == *role,
        };
        let found = self.rules.iter().find(|(_, rule)| fits(rule));
        found.map_or(Work::Compute, |(work, _)| *work)
    }

    /// Returns a map from regions to classes according to these rules. The classes are named by
    /// [`Work::name`]. Regions that match no rule, including host calls, are `compute`, so the map
    /// suits rows of devices.
    ///
    /// # Errors
    /// Returns [`Error::TooManyClasses`](crate::Error::TooManyClasses) if there are more classes
    /// than ids.
    pub fn plan(&self, definitions: &Definitions) -> Result<RegionMap> {
        self.groups().plan(definitions)
    }

    /// Returns these rules as [`RegionGroups`], to which further groups can be added.
    pub fn groups(&self) -> RegionGroups {
        let mut groups = RegionGroups::new();
        for (work, pattern) in &self.own {
            groups = groups.name(work.name(), pattern.as_str());
        }
        for (work, rule) in &self.rules {
            groups = match rule {
                Rule::Name(pattern) => groups.name(work.name(), *pattern),
                Rule::Role(role) => groups.role(work.name(), *role),
            };
        }
        groups.others_into(Work::Compute.name())
    }
}

/// Kind of work of each region, computed on first use and only for regions that devices execute.
pub(super) struct WorkTable<'a> {
    /// Rules that classify work.
    rules: &'a WorkRules,
    /// Regions of the recording.
    regions: &'a [Region],
    /// Kind of each region once it is known.
    known: Vec<OnceLock<Work>>,
}

impl<'a> WorkTable<'a> {
    pub(super) fn new(rules: &'a WorkRules, definitions: &'a Definitions) -> Self {
        let regions = definitions.regions.as_slice();
        let known = regions.iter().map(|_| OnceLock::new()).collect();
        WorkTable {
            rules,
            regions,
            known,
        }
    }

    /// Returns the kind of work of a region. Undefined regions are computation.
    pub(super) fn work(&self, region: RegionId) -> Work {
        let index = region.index();
        match (self.known.get(index), self.regions.get(index)) {
            (Some(known), Some(region)) => *known.get_or_init(|| self.rules.work(region)),
            _ => Work::Compute,
        }
    }
}
