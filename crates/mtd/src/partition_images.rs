//! Images of a partition of raw NAND: how they get on it, and what is saved of it. In SLC mode an image holds the pages that are used,
//! as `nandwrite` and `nanddump` see them.

use crate::error::SaveError;
use crate::partition::NandPartition;
use ffslab_flash::{ImageError, ImageLayout};
use std::io::Read;

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
        let hamming_ecc = oob && self.driver().ecc.is_in_images(&self.geometry());
        let mut image = Vec::new();
        self.with_chip(|chip| chip.write_image(&mut image, self.range(), ImageLayout { oob, hamming_ecc }))?;
        Ok(match &self.used_pages {
            None => image,
            Some(used) => used.of_image(&image, self.stride_bytes(oob)),
        })
    }

    /// Bytes of a page in an image.
    fn stride_bytes(&self, oob: bool) -> usize {
        self.page_bytes as usize + if oob { self.oob_bytes as usize } else { 0 }
    }
}
