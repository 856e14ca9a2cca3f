//! Memory for what is simulated: chips and page caches of hundreds of megabytes, of which a run uses only a part.
//!
//! The address space is reserved at once and filled by the host on first touch, in huge pages where it has them:
//! a simulated gigabyte costs nothing until it is used, and random accesses do not miss the TLB at every page.

use memmap2::{MmapMut, MmapOptions};

/// Zeroed memory of a fixed size that is committed when it is touched.
pub struct Arena(MmapMut);

impl Arena {
    /// Reserves `bytes` of address space.
    ///
    /// Panics when the host has no address space left, as an allocation does.
    pub fn new(bytes: usize) -> Arena {
        let map = MmapOptions::new().len(bytes.max(1)).no_reserve_swap().map_anon();
        let map = map.unwrap_or_else(|error| panic!("no address space for {bytes} bytes of simulated memory: {error}"));
        // This is only a request to the host: without huge pages everything works, but more slowly.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Arena(map)
    }
}

impl std::ops::Deref for Arena {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl std::ops::DerefMut for Arena {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}
