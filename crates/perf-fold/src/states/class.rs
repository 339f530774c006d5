//! [`State`], [`ClassId`] and [`Classes`]: the possible states of a stream, their names, and their
//! codes in columns.

use crate::{Error, Result};
use perf_core::{Paradigm, RegionRole};
use std::collections::HashMap;

/// A class of states, such as `MPI` or `solve`: an index into [`Classes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[repr(transparent)]
pub struct ClassId(pub u32);

impl ClassId {
    /// Returns the index of the class in its table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Display for ClassId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// State of one stream at one time.
///
/// [`Ties::LowestStateId`](crate::Ties::LowestStateId) uses the order of the variants: classes by
/// id, then idle, then absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum State {
    /// The stream executes a region of this class.
    Class(ClassId),
    /// The call stack of the stream is empty. The paper calls this state `None`.
    Idle,
    /// The state is unknown or the stream does not exist: before its first event and after its
    /// last, while recording was off or the buffer was flushed, or where events are missing.
    Absent,
}

/// Codes of states as the columns store them. The codes are dense indices, so that counting needs
/// no map.
pub(crate) mod code {
    use super::{ClassId, State};

    pub(crate) const ABSENT: u32 = 0;
    pub(crate) const IDLE: u32 = 1;
    pub(crate) const FIRST: u32 = 2;

    pub(crate) fn of(state: State) -> u32 {
        match state {
            State::Absent => ABSENT,
            State::Idle => IDLE,
            State::Class(class) => class.0.saturating_add(FIRST),
        }
    }

    pub(crate) fn state(code: u32) -> State {
        match code {
            ABSENT => State::Absent,
            IDLE => State::Idle,
            class => State::Class(ClassId(class - FIRST)),
        }
    }
}

impl State {
    /// Returns the class, or `None` for idle and absent. The pictures of the paper do not
    /// distinguish these two either.
    pub fn class(self) -> Option<ClassId> {
        match self {
            State::Class(class) => Some(class),
            _ => None,
        }
    }
}

/// Table of classes: their unique names by [`ClassId`].
///
/// ```
/// use perf_fold::Classes;
/// let mut classes = Classes::default();
/// let mpi = classes.add("MPI")?;
/// assert_eq!(classes.add("MPI")?, mpi);
/// assert_eq!((classes.name(mpi), classes.id("MPI")), ("MPI", Some(mpi)));
/// # Ok::<(), perf_fold::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Classes {
    /// Names by class id.
    names: Vec<String>,
    /// Class ids by name.
    #[cfg_attr(feature = "serde", serde(skip))]
    ids: HashMap<String, ClassId>,
    /// Paradigm and role of the first region of each class.
    #[cfg_attr(feature = "serde", serde(skip))]
    origins: Vec<(Paradigm, RegionRole)>,
}

impl Classes {
    /// Returns the class called `name`, after adding it if it does not exist.
    ///
    /// # Errors
    /// Returns [`Error::TooManyClasses`] for more than 2^32 - 4 classes.
    pub fn add(&mut self, name: &str) -> Result<ClassId> {
        if let Some(id) = self.ids.get(name) {
            return Ok(*id);
        }
        // Codes need two values besides the classes.
        const LIMIT: u32 = u32::MAX - 3;
        let id = u32::try_from(self.names.len())
            .ok()
            .filter(|id| *id < LIMIT);
        let limit = u64::from(LIMIT);
        let id = ClassId(id.ok_or(Error::TooManyClasses { limit })?);
        self.names.push(name.to_owned());
        self.origins.push(Default::default());
        self.ids.insert(name.to_owned(), id);
        Ok(id)
    }

    /// Sets the paradigm and role of a class if they are not known yet. Pictures derive the hue of a
    /// class from them. A class of regions with one paradigm and different roles has no role.
    ///
    /// ```
    /// use perf_core::{Paradigm, RegionRole};
    /// use perf_fold::Classes;
    /// let mut classes = Classes::default();
    /// let wait = classes.add("wait for all")?;
    /// classes.describe(wait, Paradigm::Mpi, RegionRole::Collective);
    /// classes.describe(wait, Paradigm::User, RegionRole::Function);
    /// assert_eq!(classes.origin(wait), (Paradigm::Mpi, RegionRole::Collective));
    /// classes.describe(wait, Paradigm::Mpi, RegionRole::PointToPoint);
    /// assert_eq!(classes.origin(wait), (Paradigm::Mpi, RegionRole::Unknown));
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn describe(&mut self, id: ClassId, paradigm: Paradigm, role: RegionRole) {
        let Some(origin) = self.origins.get_mut(id.index()) else {
            return;
        };
        if *origin == Default::default() {
            *origin = (paradigm, role);
        } else if origin.0 == paradigm && origin.1 != role {
            origin.1 = RegionRole::Unknown;
        }
    }

    /// Returns the paradigm and role of a class, which are unknown unless
    /// [`describe`](Self::describe) has set them.
    pub fn origin(&self, id: ClassId) -> (Paradigm, RegionRole) {
        self.origins.get(id.index()).copied().unwrap_or_default()
    }

    /// Returns the number of classes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns `true` if there are no classes.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the class called `name`, or `None` if there is no such class.
    pub fn id(&self, name: &str) -> Option<ClassId> {
        self.ids.get(name).copied()
    }

    /// Returns the name of a class, empty for an unknown id.
    pub fn name(&self, id: ClassId) -> &str {
        self.names.get(id.index()).map_or("", String::as_str)
    }

    /// Returns all names by [`ClassId`].
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the name of a state: the name of its class, `idle` or `absent`. A class may be
    /// called `idle` or `absent` too, so these names are for display and not for use as keys.
    pub fn state_name(&self, state: State) -> &str {
        match state {
            State::Class(class) => self.name(class),
            State::Idle => "idle",
            State::Absent => "absent",
        }
    }
}

/// Returns the highest code that streams with these classes can have.
pub(crate) fn last_code(classes: &Classes) -> u32 {
    // `add` keeps the number of classes below 2^32 - 3.
    classes.len() as u32 + code::FIRST - 1
}
