//! [`StateMap`]: assigns a class to the call stack of a stream; [`RegionMap`] does so by region,
//! and [`RegionGroups`] by rules for names, paradigms and roles.

use crate::{ClassId, Classes, Result};
use perf_core::{Definitions, Paradigm, Region, RegionId, RegionRole, Unify};

/// Maps the open regions of a stream to a class. The classes are the colours of a fold.
///
/// [`RegionMap`] covers the usual cases. Implement this trait for other rules, such as one class
/// for all calls below a certain function.
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
    /// Returns the classes that [`class`](Self::class) refers to.
    fn classes(&self) -> &Classes;

    /// Returns the class of a stream whose open regions are `stack`, outermost first and never
    /// empty. `None` makes the stream idle. This method is called for each enter and leave, so it
    /// must be fast.
    ///
    /// On a location whose regions [overlap](perf_core::LocationView::overlaps), `stack` holds the
    /// open regions in the order in which they were entered. If more than 256 regions were open at
    /// once, `stack` may lack the outer regions.
    fn class(&self, stack: &[RegionId]) -> Option<ClassId>;
}

/// Assigns the class of the innermost open region, or of the stack frame at a fixed depth.
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
    /// Class of each region; the last entry is for undefined regions.
    table: Vec<ClassId>,
    /// Table of class names.
    classes: Classes,
    /// Depth of the stack frame that determines the class; `None` for the innermost frame.
    depth: Option<usize>,
}

impl RegionMap {
    /// Creates one class for each function, with the name of the function.
    ///
    /// Regions with the same name, source file and line are one function ([`Unify::Location`]). Two
    /// functions of the same name are distinguished by their [labels](Unify::labels).
    ///
    /// # Errors
    /// Returns [`Error::TooManyClasses`](crate::Error::TooManyClasses) if there are more functions
    /// than class ids.
    pub fn by_name(definitions: &Definitions) -> Result<Self> {
        RegionGroups::new().plan(definitions)
    }

    /// Returns a map with the same classes that uses the stack frame at `depth` (0 for the
    /// outermost) instead of the innermost frame. On a shallower stack it uses the innermost frame.
    pub fn at_depth(&self, depth: usize) -> Self {
        RegionMap {
            depth: Some(depth),
            ..self.clone()
        }
    }

    /// Returns the class of one region. An undefined region has the class of undefined regions.
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

/// Groups of regions, such as `MPI`, a module of the application, or copies, from which a
/// [`RegionMap`] is built.
///
/// Rules are tried in the order in which they were added, and the first match wins. Folds of large
/// applications need groups, because with hundreds of regions two ranks are rarely in the same
/// region.
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
    /// Class names with their rules, in order.
    rules: Vec<(String, Rule)>,
    /// Class of all regions that match no rule.
    others: Option<String>,
    /// Rule that decides which regions are one function.
    unify: Unify,
}

#[derive(Clone, Debug, PartialEq)]
enum Rule {
    /// Pattern for the name.
    Name(String),
    /// Programming model.
    Paradigm(Paradigm),
    /// Role of the region.
    Role(RegionRole),
    /// MPI, by paradigm or name.
    Mpi,
}

impl RegionGroups {
    /// Returns an empty set of groups: every region is a class with its own name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the regions whose name matches `pattern`, where `*` stands for any characters and `?`
    /// for one.
    pub fn name(self, class: impl Into<String>, pattern: impl Into<String>) -> Self {
        self.rule(class, Rule::Name(pattern.into()))
    }

    /// Adds the regions of a programming model.
    pub fn paradigm(self, class: impl Into<String>, paradigm: Paradigm) -> Self {
        self.rule(class, Rule::Paradigm(paradigm))
    }

    /// Adds the regions of a role, such as barriers.
    pub fn role(self, class: impl Into<String>, role: RegionRole) -> Self {
        self.rule(class, Rule::Role(role))
    }

    /// Adds the regions that [`Region::is_mpi`] classifies as MPI, by paradigm or by name.
    pub fn mpi(self, class: impl Into<String>) -> Self {
        self.rule(class, Rule::Mpi)
    }

    /// Puts all other regions into one class. By default each of them keeps its own name.
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
    /// The classes of the rules come first, in the order of the rules. Their ids, and colours
    /// derived from the ids, therefore do not depend on the recording.
    ///
    /// # Errors
    /// Returns [`Error::TooManyClasses`](crate::Error::TooManyClasses) if there are more classes
    /// than ids.
    pub fn plan(&self, definitions: &Definitions) -> Result<RegionMap> {
        let mut classes = Classes::default();
        for (class, _) in &self.rules {
            classes.add(class)?;
        }
        let mut table = Vec::with_capacity(definitions.regions.len() + 1);
        let labels = self.unify.labels(&definitions.regions);
        for (region, label) in definitions.regions.iter().zip(&labels) {
            let class = classes.add(self.class_of(region, label))?;
            classes.describe(class, region.paradigm, region.role);
            table.push(class);
        }
        // Events may refer to undefined regions.
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
