//! [`Limits`]: bounds on the resources that an untrusted file may use.

/// Bounds on the resources that an untrusted file may use. A reader that exceeds a limit returns an
/// error that names the limit.
///
/// The defaults allow every plausible recording that fits in memory. Independent of the limits, a
/// reader rejects counts in a file that exceed the number of elements that the bytes of the file
/// can hold.
///
/// ```
/// use perf_core::Limits;
/// let limits = Limits::default().with_memory(2 << 30).with_depth(256);
/// assert_eq!((limits.memory, limits.depth, limits.string), (2_147_483_648, 256, 1_048_576));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Memory budget in bytes for the events of a recording; default unlimited. The OTF2 reader
    /// compares its estimate with the budget before it starts; other readers stop when they exceed
    /// it. The budget also bounds data that is unpacked as a whole: profiles and companion files of
    /// a trace.
    pub memory: u64,
    /// Deepest nesting of system nodes and call paths; default 4,096.
    pub depth: u32,
    /// Largest number of definitions of one kind; default 16,777,216 (2^24).
    pub definitions: u32,
    /// Longest string in bytes; default 1,048,576 (1 MiB).
    pub string: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            memory: u64::MAX,
            depth: 4096,
            definitions: 1 << 24,
            string: 1 << 20,
        }
    }
}

impl Limits {
    /// Sets the memory budget for events to `bytes`. Default: unlimited.
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the deepest nesting to `depth` levels. Default: 4,096.
    pub fn with_depth(mut self, depth: u32) -> Self {
        self.depth = depth;
        self
    }

    /// Sets the largest number of definitions of a kind to `count`. Default: 2^24.
    pub fn with_definitions(mut self, count: u32) -> Self {
        self.definitions = count;
        self
    }

    /// Sets the longest string to `bytes`. Default: 1 MiB.
    pub fn with_string(mut self, bytes: u32) -> Self {
        self.string = bytes;
        self
    }
}
