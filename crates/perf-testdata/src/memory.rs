//! An allocator that counts, for programs that compare what memory they take with what was said before.
//!
//! A program that wants it says `#[global_allocator] static COUNTED: Counted = Counted::up_to(usize::MAX);`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes in use, and the most there were.
static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The allocator of the system, counted.
#[derive(Debug)]
pub struct Counted {
    most: usize,
}

impl Counted {
    /// One that refuses memory beyond so many bytes in use, which ends the process.
    pub const fn up_to(most: usize) -> Self {
        Counted { most }
    }

    fn take(&self, size: usize) -> bool {
        let now = NOW.fetch_add(size, Relaxed) + size;
        PEAK.fetch_max(now, Relaxed);
        now <= self.most
    }
}

fn give(size: usize) {
    NOW.fetch_sub(size, Relaxed);
}

#[allow(
    unsafe_code,
    reason = "an allocator cannot be written without; each call is passed on as it came"
)]
// SAFETY: all memory is that of the system's allocator, asked with the layouts that came in.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.take(layout.size()) {
            // SAFETY: as the caller promised.
            true => unsafe { System.alloc(layout) },
            false => std::ptr::null_mut(),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match self.take(layout.size()) {
            // SAFETY: as the caller promised.
            true => unsafe { System.alloc_zeroed(layout) },
            false => std::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        give(layout.size());
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Large memory grows in place: the system gives its pages another address.
        give(layout.size());
        let is_granted = self.take(size);
        match is_granted {
            // SAFETY: as the caller promised.
            true => unsafe { System.realloc(memory, layout, size) },
            false => {
                give(size);
                NOW.fetch_add(layout.size(), Relaxed);
                std::ptr::null_mut()
            }
        }
    }
}

/// Counts the peak from here on.
pub fn reset() {
    PEAK.store(NOW.load(Relaxed), Relaxed);
}

/// Most bytes in use since [`reset`]; 0 where nobody counts.
pub fn peak() -> usize {
    PEAK.load(Relaxed)
}

/// What `work` gives, and the most bytes that were in use during it beyond those before.
///
/// Threads beside it are counted, too.
pub fn of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    reset();
    let before = peak();
    let given = work();
    (given, peak().saturating_sub(before))
}
