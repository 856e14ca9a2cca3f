//! The emulated SLC mode of Linux 5.8 and later for partitions of MLC (`drivers/mtd/mtdcore.c`, `mtd_io_emulated_slc`; the flag
//! `MTD_SLC_ON_MLC_EMULATION` of a partition, `slc-mode` in a device tree, `slc` in `mtdparts=`).
//!
//! Of the pages that share their cells only the first is used, so that no program can harm an earlier one. An erase block is erased
//! whole, and holds as many pages as it has pairs.

use ffslab_flash::Pairing;
use std::rc::Rc;
use thiserror::Error;

/// Why a partition has no SLC mode.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SlcModeError {
    #[error("slc_mode: it is not known which pages of the chip share their cells (`pairing` of the part)")]
    NoPairing,
    #[error(
        "slc_mode: {used_pages} of {pages_per_block} pages of an erase block would be used, which is no power of two"
    )]
    Pages { used_pages: u32, pages_per_block: u32 },
}

/// The pages of an erase block that SLC mode uses.
#[derive(Clone)]
pub(crate) struct UsedPages {
    /// Their places in the block.
    places: Rc<[u32]>,
    /// All pages of a block.
    pages_per_block: u32,
}

impl UsedPages {
    pub fn new(pairing: Option<&Pairing>, pages_per_block: u32) -> Result<UsedPages, SlcModeError> {
        let pairing = pairing.ok_or(SlcModeError::NoPairing)?;
        let places: Rc<[u32]> = (0..pages_per_block).filter(|&page| !pairing.is_upper(page)).collect();
        let used_pages = places.len() as u32;
        if !used_pages.is_power_of_two() {
            return Err(SlcModeError::Pages { used_pages, pages_per_block });
        }
        Ok(UsedPages { places, pages_per_block })
    }

    /// How many of a block there are.
    pub fn per_block(&self) -> u32 {
        self.places.len() as u32
    }

    /// Page of the chip that is used page number `page` from the beginning of block `first_block` on.
    #[inline]
    pub fn page_of_chip(&self, first_block: u32, page: u32) -> u32 {
        let per_block = self.per_block();
        (first_block + page / per_block) * self.pages_per_block + self.places[(page % per_block) as usize]
    }

    /// Of the image of whole blocks what the used pages hold. A page takes `stride_bytes` of it.
    pub fn of_image(&self, image: &[u8], stride_bytes: usize) -> Vec<u8> {
        let blocks = image.chunks_exact(stride_bytes * self.pages_per_block as usize);
        let used = blocks.flat_map(|block| {
            self.places.iter().flat_map(move |&place| &block[place as usize * stride_bytes..][..stride_bytes])
        });
        used.copied().collect()
    }

    /// The image of whole blocks whose used pages hold this one; it may end within a block.
    pub fn to_image(&self, used: &[u8], stride_bytes: usize) -> Vec<u8> {
        let mut image = Vec::new();
        for of_block in used.chunks(stride_bytes * self.places.len()) {
            let begin = image.len();
            image.resize(begin + stride_bytes * self.pages_per_block as usize, 0xFF);
            for (page, &place) in of_block.chunks(stride_bytes).zip(&*self.places) {
                image[begin + place as usize * stride_bytes..][..page.len()].copy_from_slice(page);
            }
        }
        image
    }
}
