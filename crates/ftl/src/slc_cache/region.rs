//! A part of the medium's blocks, in one of two modes, as a medium of its own.

use std::rc::Rc;

use ffslab_mtd::MtdError;
use ffslab_sim::{Reason, ReasonGuard};

use crate::flash::{CellMode, Flash, Shape};
use crate::tag::{Found, Tag};

pub(crate) struct Region<F> {
    flash: Rc<F>,
    first_block: u32,
    first_page: u32,
    shape: Shape,
    mode: CellMode,
}

impl<F: Flash> Region<F> {
    /// `blocks` blocks from `first_block` on, of which the first `pages_per_block` pages are used.
    pub fn new(flash: &Rc<F>, first_block: u32, blocks: u32, pages_per_block: u32, mode: CellMode) -> Region<F> {
        let of_all = flash.shape();
        let shape = Shape { blocks, pages_per_block, page_bytes: of_all.page_bytes };
        let first_page = first_block * of_all.pages_per_block;
        Region { flash: flash.clone(), first_block, first_page, shape, mode }
    }

    /// The number on the medium of a page of the region.
    fn on_medium(&self, page: u32) -> u32 {
        let stride_pages = self.flash.shape().pages_per_block;
        self.first_page + page / self.shape.pages_per_block * stride_pages + page % self.shape.pages_per_block
    }
}

impl<F: Flash> Flash for Region<F> {
    const KEEPS_BYTES: bool = F::KEEPS_BYTES;

    fn shape(&self) -> Shape {
        self.shape
    }

    fn because(&self, reason: &'static Reason) -> Option<ReasonGuard> {
        self.flash.because(reason)
    }

    fn set_mode(&self, mode: CellMode) {
        self.flash.set_mode(mode);
    }

    fn program(&self, page: u32, data: &[u8], tag: &Tag) -> Result<(), MtdError> {
        self.flash.set_mode(self.mode);
        self.flash.program(self.on_medium(page), data, tag)
    }

    fn read(&self, page: u32, data: &mut [u8]) -> (Found, Result<bool, MtdError>) {
        self.flash.set_mode(self.mode);
        self.flash.read(self.on_medium(page), data)
    }

    fn read_tag(&self, page: u32) -> Result<Found, MtdError> {
        self.flash.set_mode(self.mode);
        self.flash.read_tag(self.on_medium(page))
    }

    fn erase(&self, block: u32) -> Result<(), MtdError> {
        self.flash.erase(self.first_block + block)
    }

    fn is_bad(&self, block: u32) -> bool {
        self.flash.is_bad(self.first_block + block)
    }

    fn mark_bad(&self, block: u32) -> Result<(), MtdError> {
        self.flash.mark_bad(self.first_block + block)
    }

    fn now_ns(&self) -> u64 {
        self.flash.now_ns()
    }

    fn found_ns(&self) -> u64 {
        self.flash.found_ns()
    }
}
