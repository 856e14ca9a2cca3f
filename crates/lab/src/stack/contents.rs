//! What the partition holds, beside all time: put there as an image, and taken from it as one.

use super::{FsSpec, Stack};
use crate::image::{self, ImageSpec};
use crate::recognise::arranged::{arranged, Arranged, Said};
use crate::tree::ImageFs;
use ffslab_flash::{hamming, Geometry, ImageLayout};
use ffslab_jffs2::Endian;
use ffslab_mtd::Ecc;
use std::io::Read;
use std::path::Path;

impl Stack {
    /// Puts an image on the partition, as a programmer does: what was there is gone, no time passes, nothing wears.
    ///
    /// Errors: something is mounted or attached; an image that does not fit.
    pub fn load(&mut self, spec: &ImageSpec, image: &[u8]) -> Result<(), String> {
        if self.vfs.fs().is_some() {
            return Err("the partition is mounted: umount it first".to_string());
        }
        if self.ubi.is_some() {
            return Err("UBI is attached to the partition: detach it first (ubi_detach)".to_string());
        }
        let blocks = self.spec.first_block..self.spec.first_block + self.spec.partition_blocks;
        self.nand.with_chip(|chip| image::load_bytes(chip, &self.spec.driver, spec, image, blocks))?;
        self.nand.restart();
        Ok(())
    }

    /// As [`Stack::load`], arranged as is found in the image.
    ///
    /// Errors: as [`Stack::load`]; an image of another file system or chip, or one that the stack cannot mount so.
    pub fn load_found(&mut self, path: &Path, said: &Said, image: &[u8]) -> Result<(), String> {
        let (fs, inband, endian) = match &self.spec.fs {
            FsSpec::Jffs2(options) => (Some(ImageFs::Jffs2), None, Some(options.endian)),
            FsSpec::Yaffs2(options) => (Some(ImageFs::Yaffs2), Some(options.inband_tags), None),
            FsSpec::Ubifs(..) => (Some(ImageFs::Ubifs), None, None),
            FsSpec::None => (None, None, None),
        };
        let found = arranged(image, said, fs, &self.spec.geometry)?;
        let layout = found.layout.as_ref();
        if inband.zip(layout).is_some_and(|(inband, _)| inband != found.is_inband()) {
            let is = found.is_inband();
            return Err(format!(
                "its tags are {}in-band: set inband_tags = {is} in [stack]",
                if is { "" } else { "not " }
            ));
        }
        if let (Some(said), Some(found)) = (endian, layout.and_then(|layout| layout.endian)) {
            if said != found {
                let order = if found == Endian::Big { "big" } else { "little" };
                return Err(format!("its nodes are {order}-endian: set endian = \"{order}\" in [stack]"));
            }
        }
        let Arranged { place_bytes, oob, autoplace, .. } = found;
        let spec = ImageSpec { path: path.to_path_buf(), oob, autoplace, place_bytes: place_bytes.clone() };
        self.load(&spec, &image[place_bytes])
    }

    /// As [`Stack::load`], for a stack that was just made, with the image's OOB areas as the chip's.
    pub(crate) fn put(&mut self, path: &Path, from: &mut dyn Read, bytes: u64, oob: bool) -> Result<(), String> {
        let blocks = self.spec.first_block..self.spec.first_block + self.spec.partition_blocks;
        self.nand.with_chip(|chip| image::put(chip, path, from, bytes, oob, blocks))?;
        self.nand.restart();
        Ok(())
    }

    /// The partition's bytes, with OOB if wanted; takes no time. With software ECC the OOB bytes hold the ECC that a
    /// kernel with it expects.
    ///
    /// Errors: there is no room for ECC bytes.
    pub fn image(&self, oob: bool) -> Result<Vec<u8>, String> {
        let Geometry { page_bytes, oob_bytes, .. } = self.spec.geometry;
        let software = self.spec.driver.ecc == Ecc::Software;
        let hamming_ecc = oob && software && hamming::oob_place(page_bytes, oob_bytes, 0).is_some();
        let blocks = self.spec.first_block..self.spec.first_block + self.spec.partition_blocks;
        let mut image = Vec::new();
        self.nand
            .with_chip(|chip| chip.write_image(&mut image, blocks, ImageLayout { oob, hamming_ecc }))
            .map_err(|error| error.to_string())?;
        Ok(image)
    }
}
