//! [`Counted`]: allocator that counts the bytes in use and fails above a limit, and the peak memory
//! of some work, for comparison with estimates.
//!
//! A program enables it with `#[global_allocator] static COUNTED: Counted =
//! Counted::up_to(usize::MAX);`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes in use, and their maximum.
static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// System allocator with counters.
#[derive(Debug)]
pub struct Counted {
    /// Largest number of bytes in use.
    most: usize,
}

impl Counted {
    /// Creates an allocator that fails beyond this many bytes in use, which ends the process.
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
// SAFETY: all memory comes from the system allocator, with the layouts of the caller.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if self.take(layout.size()) {
            // SAFETY: guaranteed by the caller.
            unsafe { System.alloc(layout) }
        } else {
            std::ptr::null_mut()
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if self.take(layout.size()) {
            // SAFETY: guaranteed by the caller.
            unsafe { System.alloc_zeroed(layout) }
        } else {
            std::ptr::null_mut()
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        give(layout.size());
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Large blocks grow in place, because the system remaps their pages.
        give(layout.size());
        let is_granted = self.take(size);
        if is_granted {
            // SAFETY: guaranteed by the caller.
            unsafe { System.realloc(memory, layout, size) }
        } else {
            give(size);
            NOW.fetch_add(layout.size(), Relaxed);
            std::ptr::null_mut()
        }
    }
}

/// Restarts the measurement of the peak.
pub fn reset() {
    PEAK.store(NOW.load(Relaxed), Relaxed);
}

/// Returns the largest number of bytes in use since [`reset`]; 0 if the allocator is not enabled.
pub fn peak() -> usize {
    PEAK.load(Relaxed)
}

/// Returns the result of `work`, and the largest number of bytes in use during it in addition to
/// those before.
///
/// Other threads are counted too.
pub fn of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    reset();
    let before = peak();
    let given = work();
    (given, peak().saturating_sub(before))
}
