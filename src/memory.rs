//! How large the pages are in which the system gives memory.
//!
//! In huge ones (2 MiB) a server with many sessions takes less time: what a session holds is cold whenever it is told something, and a good
//! part of fetching it is finding where it lies. But they cost an idle server 21 MiB. (Both in docs/performance.md.) So they come with the
//! sessions: the allocator asks for them (`madvise`), and until then the system is told to give none.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ARE_HELD_BACK: AtomicBool = AtomicBool::new(false);

/// No huge pages until [`allow_huge_pages`]. Where whoever started the process wants none, by `MIMALLOC_ALLOW_THP=0` for instance, there
/// are none at all; nor on other systems than Linux, for all that this says.
pub fn hold_huge_pages_back() {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{disable_transparent_huge_pages, transparent_huge_pages_are_disabled};
        let are_wanted = transparent_huge_pages_are_disabled() == Ok(false);
        ARE_HELD_BACK.store(are_wanted && disable_transparent_huge_pages(true).is_ok(), Relaxed);
    }
}

/// Whatever memory comes from now on may come in huge pages, if they were held back.
pub fn allow_huge_pages() {
    if ARE_HELD_BACK.load(Relaxed) && ARE_HELD_BACK.swap(false, Relaxed) {
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::disable_transparent_huge_pages(false);
    }
}
