//! An allocator with a bound.

// An allocator is unsafe by its trait; this one counts and passes on.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that every reading may take, whatever it reads: buffers, and tables of decoders.
const FLOOR: usize = 8 << 20;
/// Bytes for each one that is read: deflate makes at most 1032 of one, with eight pixels of three bytes in each, which
/// may be there twice.
const EACH: usize = 2 * 1032 * 8 * 3;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The system's allocator, which ends the process where more is asked for than [`allowed`].
pub struct Bounded;

/// Runs `work` on `bytes` bytes; the process ends where it takes more memory at once than so many may need.
pub fn allowed<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let most = FLOOR + EACH * bytes;
    MOST.store(HELD.load(Ordering::Relaxed) + most, Ordering::Relaxed);
    let done = work();
    MOST.store(usize::MAX, Ordering::Relaxed);
    done
}

fn take(size: usize) {
    let held = HELD.fetch_add(size, Ordering::Relaxed) + size;
    let most = MOST.load(Ordering::Relaxed);
    if held > most {
        // What follows may allocate.
        MOST.store(usize::MAX, Ordering::Relaxed);
        eprintln!(
            "a parser asked for {size} bytes, and the bound is {FLOOR} and {EACH} for each byte of its input"
        );
        std::process::abort();
    }
}

// SAFETY: every call is the system's, with the layout that came in.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}
