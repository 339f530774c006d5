//! [`State`], [`ClassId`] and [`Classes`]: what a stream can be doing.

use crate::{Error, Result};
use std::collections::HashMap;

/// A class of states, such as `MPI` or `solve`: an index into [`Classes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[repr(transparent)]
pub struct ClassId(pub u32);

impl ClassId {
    /// The place of the class in its table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Display for ClassId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What one stream does at one time.
///
/// Ordered as the tie rule [`Ties::LowestStateId`](crate::Ties::LowestStateId) wants it: classes
/// by id, then idle, then absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum State {
    /// It runs code of this class.
    Class(ClassId),
    /// Its call stack is empty: the paper's no-state, `None`.
    Idle,
    /// Nobody knows or it does not exist: before its first event and after its last, while
    /// recording was off or the buffer was written out, or where its events are missing.
    Absent,
}

/// States as the columns hold them: a dense index, so that counting needs no map.
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
    /// The class, `None` for idle and absent: what the paper's pictures show.
    pub fn class(self) -> Option<ClassId> {
        match self {
            State::Class(class) => Some(class),
            _ => None,
        }
    }
}

/// The table of classes: their names, by [`ClassId`]. Names are unique.
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
    names: Vec<String>,
    #[cfg_attr(feature = "serde", serde(skip))]
    ids: HashMap<String, ClassId>,
}

impl Classes {
    /// The class called `name`, made if there is none yet.
    ///
    /// # Errors
    /// [`Error::TooManyClasses`] past 2^32 - 4 classes.
    pub fn add(&mut self, name: &str) -> Result<ClassId> {
        if let Some(id) = self.ids.get(name) {
            return Ok(*id);
        }
        // Codes need two values beside the classes.
        const LIMIT: u32 = u32::MAX - 3;
        let id = u32::try_from(self.names.len())
            .ok()
            .filter(|id| *id < LIMIT);
        let limit = u64::from(LIMIT);
        let id = ClassId(id.ok_or(Error::TooManyClasses { limit })?);
        self.names.push(name.to_owned());
        self.ids.insert(name.to_owned(), id);
        Ok(id)
    }

    /// Number of classes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The class called `name`.
    pub fn id(&self, name: &str) -> Option<ClassId> {
        self.ids.get(name).copied()
    }

    /// The name of a class, empty for one that is not there.
    pub fn name(&self, id: ClassId) -> &str {
        self.names.get(id.index()).map_or("", String::as_str)
    }

    /// All names, by [`ClassId`].
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A name for each state: that of the class, `idle`, or `absent`. A class may have one of the
    /// last two names as well, so these are for printing and not for keys.
    pub fn state_name(&self, state: State) -> &str {
        match state {
            State::Class(class) => self.name(class),
            State::Idle => "idle",
            State::Absent => "absent",
        }
    }
}

/// The highest code that streams of these classes can have.
pub(crate) fn last_code(classes: &Classes) -> u32 {
    // `add` keeps the number of classes below 2^32 - 3.
    classes.len() as u32 + code::FIRST - 1
}
