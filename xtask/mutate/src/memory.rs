//! An allocator that counts, and refuses what no machine should be asked for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes in use, and the most there were.
static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Most bytes in use before memory is refused, which ends the process.
const MOST: usize = 4 << 30;

/// The allocator of the system, counted.
pub(crate) struct Counted;

fn take(size: usize) -> bool {
    let now = NOW.fetch_add(size, Relaxed) + size;
    PEAK.fetch_max(now, Relaxed);
    now <= MOST
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
        match take(layout.size()) {
            // SAFETY: as the caller promised.
            true => unsafe { System.alloc(layout) },
            false => std::ptr::null_mut(),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match take(layout.size()) {
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
        let is_granted = take(size);
        give(layout.size());
        match is_granted {
            // SAFETY: as the caller promised.
            true => unsafe { System.realloc(memory, layout, size) },
            false => std::ptr::null_mut(),
        }
    }
}

/// Counts the peak from here on.
pub(crate) fn reset() {
    PEAK.store(NOW.load(Relaxed), Relaxed);
}

/// Most bytes in use since [`reset`].
pub(crate) fn peak() -> usize {
    PEAK.load(Relaxed)
}
