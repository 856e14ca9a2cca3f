//! What the partition holds, beside all time: put there as an image, and taken from it as one.

use super::Stack;
use crate::file_systems;
use ffslab_images::recognise::arranged::{arranged, Arranged, Said};
use ffslab_images::{file, ImageSpec};
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
        file::load_bytes(&self.medium, spec, image)
    }

    /// As [`Stack::load`], arranged as is found in the image.
    ///
    /// Errors: as [`Stack::load`]; an image of another file system or chip, or one that the stack cannot mount so.
    pub fn load_found(&mut self, path: &Path, said: &Said, image: &[u8]) -> Result<(), String> {
        let settings = self.spec.fs.as_ref();
        let fs = settings.and_then(|settings| file_systems::image_fs(settings.fs().name));
        let found = arranged(image, said, fs, &self.spec.partition.geometry, &file_systems::image_formats())?;
        settings.map_or(Ok(()), |settings| settings.check_image(&found))?;
        let Arranged { place_bytes, oob, autoplace, .. } = found;
        let spec = ImageSpec { path: path.to_path_buf(), oob, autoplace, place_bytes: place_bytes.clone() };
        self.load(&spec, &image[place_bytes])
    }

    /// As [`Stack::load`], for a stack that was just made, with the image's OOB areas as the chip's.
    pub fn put(&mut self, path: &Path, from: &mut dyn Read, bytes: u64, oob: bool) -> Result<(), String> {
        file::put(&self.medium, path, from, bytes, oob)
    }
}
