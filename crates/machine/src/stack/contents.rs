//! What the partition holds, beside all time: put there as an image, and taken from it as one.

use super::Stack;
use crate::file_systems;
use ffslab_images::recognise::arranged::{arranged, Arranged, Said};
use ffslab_images::{file, ImageSpec};
use ffslab_system::{SystemError, UbiState};
use std::io::Read;
use std::path::Path;

impl Stack {
    /// Puts an image on the partition, as a programmer does: what was there is gone, no time passes, nothing wears.
    ///
    /// Errors: something is mounted or attached; an image that does not fit.
    pub fn load(&mut self, spec: &ImageSpec, image: &[u8]) -> Result<(), SystemError> {
        if self.vfs.fs().is_some() {
            return Err(SystemError::Mounted { what: "the partition" });
        }
        if self.ubi.is_some() {
            return Err(UbiState::Attached.into());
        }
        self.spec.put_image(&self.medium, spec, image).map_err(refused)
    }

    /// As [`Stack::load`], arranged as is found in the image.
    ///
    /// Errors: as [`Stack::load`]; an image of another file system or chip, or one that the stack cannot mount so.
    pub fn load_found(&mut self, path: &Path, said: &Said, image: &[u8]) -> Result<(), SystemError> {
        let settings = self.spec.fs.as_ref();
        let is_whole = settings.map_or(Ok(false), |settings| settings.takes_whole(image)).map_err(refused)?;
        if is_whole && *said != Said::default() {
            return Err(refused("the whole image is put on the partition: leave the other keys of the step out"));
        }
        let of_settings = settings.filter(|_| !is_whole);
        let fs = of_settings.and_then(|settings| file_systems::image_fs(settings.fs().name));
        let found = arranged(image, said, fs, &self.spec.partition.geometry, &file_systems::image_formats())
            .map_err(refused)?;
        settings.map_or(Ok(()), |settings| settings.check_image(&found)).map_err(refused)?;
        let Arranged { place_bytes, oob, autoplace, .. } = found;
        let spec = ImageSpec { path: path.to_path_buf(), oob, autoplace, place_bytes: place_bytes.clone() };
        self.load(&spec, &image[place_bytes])
    }

    /// As [`Stack::load`], for a stack that was just made, with the image's OOB areas as the chip's.
    pub fn put(&mut self, path: &Path, from: &mut dyn Read, bytes: u64, oob: bool) -> Result<(), SystemError> {
        file::put(&self.medium, path, from, bytes, oob).map_err(refused)
    }
}

/// What is wrong with an image.
fn refused(why: impl ToString) -> SystemError {
    SystemError::Image { says: why.to_string() }
}
