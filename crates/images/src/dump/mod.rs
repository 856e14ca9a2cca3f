//! The file of an image made plain before anybody looks for a file system in it: what a controller or a layer below has done to
//! its bytes is undone, and bits that its ECC shows to be wrong are put right.

mod ecc;
mod interleaved;
mod wear_levelling;
mod yaffs2;

use crate::file::{read_file, ImageError};
use crate::format::ImageFs;
use crate::recognise::parts::{self, Part, Wanted};
use crate::unrecognised::Unrecognised;
use std::path::Path;

/// The bytes of an image as file systems have them.
pub struct Dump {
    pub image: Vec<u8>,
    undone: Vec<String>,
    doubts: Vec<String>,
}

/// An image of which something was undone.
struct Plain {
    image: Vec<u8>,
    /// What was undone, in a sentence each.
    said: Vec<String>,
    /// Why its content may be wrong.
    doubts: Vec<String>,
}

impl Dump {
    /// Reads the file of an image.
    pub fn read(path: &Path) -> Result<Dump, ImageError> {
        Ok(Dump::of(read_file(path)?))
    }

    fn of(image: Vec<u8>) -> Dump {
        let mut dump = Dump { image, undone: Vec::new(), doubts: Vec::new() };
        for undo in [interleaved::undo, yaffs2::undo, wear_levelling::undo, old_magic] {
            if let Some(Plain { image, said, doubts }) = undo(&dump.image) {
                dump.image = image;
                dump.undone.extend(said);
                dump.doubts.extend(doubts);
            }
        }
        dump
    }

    /// Its partitions, with wrong bits of their pages corrected.
    ///
    /// Errors: as [`parts::find`].
    pub fn parts(&mut self, wanted: &Wanted, formats: &[ImageFs]) -> Result<Vec<Part>, Unrecognised> {
        let mut found = parts::find(&self.image, wanted, formats)?;
        for part in &mut found {
            if let Ok(layout) = &mut part.layout {
                layout.undone.clone_from(&self.undone);
                layout.doubts.clone_from(&self.doubts);
                ecc::use_it(&mut self.image[part.place_bytes.clone()], layout);
            }
        }
        Ok(found)
    }
}

/// JFFS2 of before 2001.
fn old_magic(image: &[u8]) -> Option<Plain> {
    let image = ffslab_jffs2::probe::old::renewed(image)?;
    let said = "its nodes have the magic number of before 2001 (0x1984), and are read with that of today".to_string();
    Some(Plain { image, said: vec![said], doubts: Vec::new() })
}
