//! Images of a partition of raw NAND: how they get on it, and what is saved of it. In SLC mode an image holds the pages that are used,
//! as `nandwrite` and `nanddump` see them.

use crate::ecc::Code;
use crate::error::SaveError;
use crate::is_erased;
use crate::partition::NandPartition;
use ffslab_ecc::Scheme;
use ffslab_flash::{ImageError, ImageLayout};
use std::io::Read;

/// Of these the chip tells whether an ECC can correct them ([`ffslab_flash::Chip::damaged_units`]).
const DAMAGE_UNIT_BYTES: usize = 256;

impl NandPartition {
    /// Puts an image of `bytes` bytes on the partition, as [`ffslab_flash::Chip::load_from`] does. The driver must be restarted
    /// afterwards.
    pub fn load_image(&self, name: &str, from: &mut dyn Read, bytes: u64, oob: bool) -> Result<u32, ImageError> {
        let (range, layout) = (self.range(), ImageLayout { oob, hamming_ecc: false });
        let Some(used) = &self.used_pages else {
            return self.with_chip(|chip| chip.load_from(name, from, bytes, range, layout));
        };
        let mut held = Vec::new();
        let unreadable = |error: std::io::Error| ImageError::Io { path: name.into(), why: error.to_string() };
        from.take(bytes).read_to_end(&mut held).map_err(unreadable)?;
        let image = used.to_image(&held, self.stride_bytes(oob));
        self.with_chip(|chip| chip.load_bytes(name, &image, range, layout))
    }

    /// With an ECC whose code a kernel expects in the image, and which we can compute, the OOB bytes hold it.
    pub(crate) fn saved_image(&self, oob: bool) -> Result<Vec<u8>, SaveError> {
        let ecc = self.driver().ecc;
        let has_code = oob && ecc.is_in_images(&self.geometry());
        let hamming_ecc = has_code && !ecc.engine.computes_bch;
        let mut image = Vec::new();
        self.with_chip(|chip| chip.write_image(&mut image, self.range(), ImageLayout { oob, hamming_ecc }))?;
        if has_code && ecc.engine.computes_bch {
            self.fill_bch(&ecc.code, &mut image);
        }
        Ok(match &self.used_pages {
            None => image,
            Some(used) => used.of_image(&image, self.stride_bytes(oob)),
        })
    }

    /// Puts the code of each step whose bytes are still erased into the OOB areas of an image.
    fn fill_bch(&self, code: &Code, image: &mut [u8]) {
        let geometry = self.geometry();
        let [page_bytes, oob_bytes, step_bytes] =
            [geometry.page_bytes, geometry.oob_bytes, code.step_bytes].map(|bytes| bytes as usize);
        let scheme = Scheme::software(page_bytes, oob_bytes, step_bytes, code.strength_bits as usize);
        let Some(scheme) = scheme else { return };
        let first = self.range().start * geometry.pages_per_block;
        let units = step_bytes / DAMAGE_UNIT_BYTES;
        for (page, bytes) in (first..).zip(image.chunks_exact_mut(page_bytes + oob_bytes)) {
            if is_erased(&bytes[..page_bytes]) {
                continue;
            }
            let damaged = self.with_chip(|chip| chip.damaged_units(page));
            scheme.fill(bytes, &|step| (step * units..(step + 1) * units).any(|unit| damaged >> unit & 1 == 1));
        }
    }

    /// Bytes of a page in an image.
    fn stride_bytes(&self, oob: bool) -> usize {
        self.page_bytes as usize + if oob { self.oob_bytes as usize } else { 0 }
    }
}
