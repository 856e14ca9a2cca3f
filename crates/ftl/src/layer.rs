//! What all translation layers offer.

use ffslab_sim::{Reason, ReasonGuard};

use crate::config::FtlError;
use crate::flash::Shape;
use crate::statistics::Statistics;

/// A translation layer: logical pages that can be written again and again.
pub trait Ftl {
    fn shape(&self) -> Shape;

    /// Pages that the host sees.
    fn logical_pages(&self) -> u32;

    /// Operations happen for this reason as long as what is returned lives.
    fn because(&self, reason: &'static Reason) -> Option<ReasonGuard>;

    /// Reads a logical page, which can be used after [`Ftl::settle_reads`]; zeros where nothing was written.
    fn read(&mut self, logical_page: u32, data: &mut [u8]) -> Result<(), FtlError>;

    /// Waits for the pages that are being read.
    fn settle_reads(&self) {}

    /// The pages that are written next belong to a request of so many pages of the host, until another hint comes. Mappings that do
    /// not tell requests apart ignore it.
    fn hint_request_pages(&mut self, _pages: u32) {}

    /// The page that is read next is one of a request that goes on for so many pages. Layers that do not read in rows ignore it.
    fn hint_read_pages(&mut self, _further_pages: u32) {}

    /// Writes a logical page, which is on flash when this returns, or after [`Ftl::flush`] where several dies work or with cache commands. `hot`: it will
    /// soon be written again.
    fn write(&mut self, logical_page: u32, data: &[u8], hot: bool) -> Result<(), FtlError>;

    /// Writes a logical page again with a block that leaves the write buffer; the host did not write it. Layers that do not tell
    /// the two apart count a write of the host.
    fn pad(&mut self, logical_page: u32, data: &[u8]) -> Result<(), FtlError> {
        self.write(logical_page, data, false)
    }

    /// Whether [`Ftl::trim`] does anything.
    fn can_trim(&self) -> bool {
        true
    }

    /// Forgets a logical page, which reads as zeros. It lasts after [`Ftl::flush`].
    fn trim(&mut self, logical_page: u32) -> Result<(), FtlError>;

    fn flush(&mut self) -> Result<(), FtlError>;

    /// Work that the device does while nobody wants anything of it; `false`: there is no more of it.
    fn idle(&mut self) -> Result<bool, FtlError> {
        Ok(false)
    }

    /// Ends the run if a policy gave an answer that is none: from then on the layer's own rule decided.
    fn tell_refusal(&self);

    fn statistics(&self) -> &Statistics;

    /// Erases of each block, as far as the device knows them.
    fn erase_counts(&self) -> Vec<u32>;

    /// RAM that a controller needs for the map.
    fn map_bytes(&self) -> u64;
}
