//! State maps: from the call stack of a stream to the class of its state.

use crate::{ClassId, Classes, Result};
use perf_core::{Definitions, Paradigm, Region, RegionId, RegionRole, Unify};

/// Turns the open regions of a stream into a class: the parameter of a fold that decides what
/// its colours mean.
///
/// [`RegionMap`] covers the usual cases; implement this for one's own, such as one class for
/// everything below a certain function.
///
/// ```
/// use perf_core::RegionId;
/// use perf_fold::{ClassId, Classes, StateMap};
/// /// Inside or outside of one region.
/// #[derive(Debug)]
/// struct Inside { region: RegionId, classes: Classes }
/// impl StateMap for Inside {
///     fn classes(&self) -> &Classes { &self.classes }
///     fn class(&self, stack: &[RegionId]) -> Option<ClassId> {
///         Some(ClassId(u32::from(!stack.contains(&self.region))))
///     }
/// }
/// ```
pub trait StateMap: Sync {
    /// The classes that [`class`](Self::class) speaks of.
    fn classes(&self) -> &Classes;

    /// The class of a stream whose open regions are `stack`, outermost first and never empty.
    /// `None` makes it idle. Called for each enter and leave: must be cheap.
    ///
    /// On a location whose regions [overlap](perf_core::LocationView::overlaps) these are the ones still
    /// open, in the order in which they were entered. Where more than 256 were open at once it may be the
    /// inner part of them only.
    fn class(&self, stack: &[RegionId]) -> Option<ClassId>;
}

/// Classes by region: that of the innermost open region, or of the frame at a depth.
///
/// ```
/// use perf_core::{Definitions, Region, RegionId};
/// use perf_fold::{RegionMap, StateMap};
/// let mut definitions = Definitions::default();
/// definitions.regions = ["main", "solve"].map(Region::named).to_vec();
/// let map = RegionMap::by_name(&definitions)?;
/// let stack = [RegionId(0), RegionId(1)];
/// assert_eq!(map.class(&stack), map.classes().id("solve"));
/// assert_eq!(map.at_depth(0).class(&stack), map.classes().id("main"));
/// # Ok::<(), perf_fold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RegionMap {
    /// By region; the last one is for regions that are not defined.
    table: Vec<ClassId>,
    classes: Classes,
    depth: Option<usize>,
}

impl RegionMap {
    /// Makes each function a class of its own, named after it.
    ///
    /// Regions of one name, source file and line are one function ([`Unify::Location`]). Two functions of one
    /// name are told apart by their [labels](Unify::labels).
    ///
    /// # Errors
    /// [`Error::TooManyClasses`](crate::Error::TooManyClasses).
    pub fn by_name(definitions: &Definitions) -> Result<Self> {
        RegionGroups::new().plan(definitions)
    }

    /// The same classes, but of the frame at `depth` (0 for the outermost) instead of the
    /// innermost one. Where the stack is not that deep, the innermost frame counts.
    pub fn at_depth(&self, depth: usize) -> Self {
        RegionMap {
            depth: Some(depth),
            ..self.clone()
        }
    }

    /// The class of one region.
    pub fn of(&self, region: RegionId) -> Option<ClassId> {
        let class = self.table.get(region.index());
        class.or(self.table.last()).copied()
    }
}

impl StateMap for RegionMap {
    fn classes(&self) -> &Classes {
        &self.classes
    }

    #[inline]
    fn class(&self, stack: &[RegionId]) -> Option<ClassId> {
        let frame = match self.depth {
            None => stack.last(),
            Some(depth) => stack.get(depth).or(stack.last()),
        };
        self.of(*frame?)
    }
}

/// Groups of regions by pattern, to make a [`RegionMap`] of: `MPI`, a module of the code, copies.
///
/// Rules are tried in the order they were given and the first that fits wins. Folds of large
/// applications need groups: among hundreds of regions no two ranks are in the same one.
///
/// ```
/// use perf_core::{Definitions, Region};
/// use perf_fold::{RegionGroups, StateMap};
/// let mut definitions = Definitions::default();
/// definitions.regions = ["MPI_Wait", "MPI_Send", "cosmo_step", "main"].map(Region::named).to_vec();
/// let map = RegionGroups::new()
///     .name("MPI", "MPI_*")
///     .name("COSMO", "cosmo_*")
///     .others_into("other")
///     .plan(&definitions)?;
/// assert_eq!(map.classes().names(), ["MPI", "COSMO", "other"]);
/// # Ok::<(), perf_fold::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionGroups {
    rules: Vec<(String, Rule)>,
    others: Option<String>,
    unify: Unify,
}

#[derive(Clone, Debug, PartialEq)]
enum Rule {
    Name(String),
    Paradigm(Paradigm),
    Role(RegionRole),
    Mpi,
}

impl RegionGroups {
    /// No groups yet: every region stands for itself.
    pub fn new() -> Self {
        Self::default()
    }

    /// Regions whose name fits `pattern`, where `*` stands for any characters and `?` for one.
    pub fn name(self, class: impl Into<String>, pattern: impl Into<String>) -> Self {
        self.rule(class, Rule::Name(pattern.into()))
    }

    /// Regions of a programming model.
    pub fn paradigm(self, class: impl Into<String>, paradigm: Paradigm) -> Self {
        self.rule(class, Rule::Paradigm(paradigm))
    }

    /// Regions of a role, such as barriers.
    pub fn role(self, class: impl Into<String>, role: RegionRole) -> Self {
        self.rule(class, Rule::Role(role))
    }

    /// Regions that [`Region::is_mpi`] takes for MPI, by paradigm or by name.
    pub fn mpi(self, class: impl Into<String>) -> Self {
        self.rule(class, Rule::Mpi)
    }

    /// Puts all other regions into one class. Without this each keeps its own name.
    pub fn others_into(mut self, class: impl Into<String>) -> Self {
        self.others = Some(class.into());
        self
    }

    /// Sets the rule that decides which regions are one function, for regions that keep their own name.
    /// Default: [`Unify::Location`].
    ///
    /// ```
    /// use perf_core::{Definitions, Region, Unify};
    /// use perf_fold::{RegionGroups, StateMap};
    /// let mut definitions = Definitions::default();
    /// let of = |file: &str| Region { file: Some(file.into()), ..Region::named("init") };
    /// definitions.regions = vec![of("a.c"), of("b.c")];
    /// let names = |groups: RegionGroups| Ok::<_, perf_fold::Error>(groups.plan(&definitions)?.classes().names().to_vec());
    /// let all = RegionGroups::new().others_into("other").name("init", "init");
    /// assert_eq!(names(all)?, ["init", "other"]);
    /// let location = names(RegionGroups::new())?;
    /// assert_eq!(location[..2], ["init (a.c)", "init (b.c)"]);
    /// let name = names(RegionGroups::new().unify(Unify::Name))?;
    /// assert_eq!(name[0], "init");
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn unify(mut self, unify: Unify) -> Self {
        self.unify = unify;
        self
    }

    fn rule(mut self, class: impl Into<String>, rule: Rule) -> Self {
        self.rules.push((class.into(), rule));
        self
    }

    /// Applies the rules to the regions of a recording.
    ///
    /// The classes of the rules come first and in their order, so that their ids, and the colours
    /// made of them, do not depend on the recording.
    ///
    /// # Errors
    /// [`Error::TooManyClasses`](crate::Error::TooManyClasses).
    pub fn plan(&self, definitions: &Definitions) -> Result<RegionMap> {
        let mut classes = Classes::default();
        for (class, _) in &self.rules {
            classes.add(class)?;
        }
        let mut table = Vec::with_capacity(definitions.regions.len() + 1);
        let labels = self.unify.labels(&definitions.regions);
        for (region, label) in definitions.regions.iter().zip(&labels) {
            table.push(classes.add(self.class_of(region, label))?);
        }
        // Events may name regions that no definition tells of.
        let unknown = self.others.as_deref().unwrap_or("undefined region");
        table.push(classes.add(unknown)?);
        Ok(RegionMap {
            table,
            classes,
            depth: None,
        })
    }

    fn class_of<'a>(&'a self, region: &Region, label: &'a str) -> &'a str {
        let fits = |rule: &Rule| match rule {
            Rule::Name(pattern) => perf_core::fits(pattern, &region.name),
            Rule::Paradigm(paradigm) => region.paradigm == *paradigm,
            Rule::Role(role) => region.role == *role,
            Rule::Mpi => region.is_mpi(),
        };
        let found = self.rules.iter().find(|(_, rule)| fits(rule));
        match (found, &self.others) {
            (Some((class, _)), _) => class,
            (None, Some(others)) => others,
            (None, None) => label,
        }
    }
}
