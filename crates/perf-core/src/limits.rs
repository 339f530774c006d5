//! [`Limits`]: what a reader grants an untrusted file.

/// What a reader grants an untrusted file before it gives up with an error that names the limit.
///
/// The defaults let every sane recording pass on a machine that can hold it. Counts in a file
/// are never believed beyond what the bytes of the file can hold, whatever the limits say.
///
/// ```
/// use perf_core::Limits;
/// let limits = Limits::default().with_memory(2 << 30).with_depth(256);
/// assert_eq!((limits.memory, limits.depth, limits.string), (2_147_483_648, 256, 1_048_576));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Most bytes of events of a recording to hold in memory, default no limit. OTF2 compares its estimate
    /// with this before it starts, other readers stop where they pass it; what is unpacked into memory as a
    /// whole (profiles, companions of a trace) takes no more either.
    pub memory: u64,
    /// Deepest nesting of system nodes and call paths, default 4,096.
    pub depth: u32,
    /// Most definitions of one kind, default 16,777,216 (2^24).
    pub definitions: u32,
    /// Longest string in bytes, default 1,048,576 (1 MiB).
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
    /// The same limits with at most `bytes` of events in memory. Default: no limit.
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// The same limits with at most `depth` levels. Default: 4,096.
    pub fn with_depth(mut self, depth: u32) -> Self {
        self.depth = depth;
        self
    }

    /// The same limits with at most `count` definitions of a kind. Default: 2^24.
    pub fn with_definitions(mut self, count: u32) -> Self {
        self.definitions = count;
        self
    }

    /// The same limits with strings of at most `bytes`. Default: 1 MiB.
    pub fn with_string(mut self, bytes: u32) -> Self {
        self.string = bytes;
        self
    }
}
