//! The file of an image made plain before anybody looks for a file system in it: what a controller or a layer below has done to
//! its bytes is undone, and bits that its ECC shows to be wrong are put right.

mod across;
mod controllers;
mod ecc;
mod fat_pages;
mod interleaved;
mod oob_apart;
mod plain;
mod volume_pages;
mod wear_levelling;
mod yaffs2;

pub use interleaved::Pieces;

use crate::file::{hold_file, ImageError};
use crate::format::{Given, ImageFs};
use crate::held::Held;
use crate::recognise::part::Part;
use crate::recognise::parts::{self, Wanted};
use crate::recognise::recognise;
use crate::ubifs;
use crate::unrecognised::Unrecognised;
use controllers::Coded;
use ffslab_text::quoting::quoted;
use plain::Plain;
use std::path::Path;

/// The bytes of an image as file systems have them.
pub struct Dump {
    pub image: Held,
    undone: Vec<String>,
    doubts: Vec<String>,
    /// Sizes of pages and OOB areas that are given with the pieces of which pages are made.
    sizes_bytes: Option<(u32, u32)>,
    /// The ECC of the whole image, where a controller has written one that is known.
    coded: Option<Coded>,
}

/// Undoes one thing, where it was done.
type Step = fn(&[u8]) -> Option<Plain>;

impl Dump {
    /// Reads the file of an image.
    pub fn read(path: &Path, wanted: &Wanted) -> Result<Dump, ImageError> {
        Ok(Dump::of(hold_file(path)?, wanted.pieces, &wanted.given))
    }

    fn of(image: Held, pieces: Option<Pieces>, given: &Given) -> Dump {
        let mut dump = Dump { image, undone: Vec::new(), doubts: Vec::new(), sizes_bytes: None, coded: None };
        if let Some(pieces) = pieces {
            dump.take(pieces.put_together(&dump.image, "as given"));
        }
        dump.sizes_bytes = pieces.map(Pieces::sizes_bytes);
        if pieces.is_none() && given.has_oob != Some(false) && given.oob_bytes != Some(0) {
            let apart = oob_apart::undo(&dump.image, given);
            apart.into_iter().for_each(|plain| dump.take(plain));
        }
        dump.correct(given);
        if pieces.is_none() && dump.coded.is_none() {
            dump.undo(&[interleaved::undo]);
        }
        // Where an ECC is known, what stands in the OOB areas is no other one.
        let yaffs2: Step = if dump.coded.is_some() { yaffs2::undo_corrected } else { yaffs2::undo };
        dump.undo(&[yaffs2]);
        let fat = match &mut dump.coded {
            Some(coded) => {
                let of_sizes = |image: &[u8], page, oob| {
                    fat_pages::undo_of(image, page, oob).or_else(|| volume_pages::undo_of(image, page, oob))
                };
                coded.leave_out_oob(of_sizes, &dump.image)
            }
            None => {
                let given = dump.sizes_of(given);
                fat_pages::undo(&dump.image, &given).or_else(|| volume_pages::undo(&dump.image, &given))
            }
        };
        fat.into_iter().for_each(|plain| dump.take(plain));
        dump.undo(&[wear_levelling::undo, old_magic]);
        dump
    }

    /// What is given, with the sizes that follow from the pieces of pages.
    fn sizes_of(&self, given: &Given) -> Given {
        let (page_bytes, oob_bytes) = self.sizes_bytes.unzip();
        Given { page_bytes: page_bytes.or(given.page_bytes), oob_bytes: oob_bytes.or(given.oob_bytes), ..*given }
    }

    fn correct(&mut self, given: &Given) {
        if let Some((image, coded)) = controllers::undo(&self.image, &self.sizes_of(given)) {
            (self.image, self.coded) = (image.into(), Some(coded));
        }
    }

    fn undo(&mut self, steps: &[Step]) {
        for step in steps {
            if let Some(plain) = step(&self.image) {
                self.take(plain);
            }
        }
    }

    fn take(&mut self, Plain { image, said, doubts }: Plain) {
        // What was given is what the file has, and no longer what is read.
        if self.image.len() != image.len() {
            self.sizes_bytes = None;
        }
        self.image = image.into();
        self.undone.extend(said);
        self.doubts.extend(doubts);
    }

    /// Its partitions, with wrong bits of their pages corrected.
    ///
    /// Errors: as [`parts::find`].
    pub fn parts(&mut self, wanted: &Wanted, formats: &[ImageFs]) -> Result<Vec<Part>, Unrecognised> {
        let wanted = Wanted { given: self.sizes_of(&wanted.given), ..wanted.clone() };
        let mut found = parts::find(&self.image, &wanted, formats)?;
        let has_volumes = found.iter().any(|part| part.layout.as_ref().is_ok_and(|found| found.ubi_at_bytes.is_some()));
        if let Some(name) = wanted.volume.as_ref().filter(|_| !has_volumes) {
            return Err(Unrecognised::NoVolumes { name: name.clone() });
        }
        self.check_volume(&found, wanted.volume.as_deref())?;
        for part in &mut found {
            if !part.name.is_empty() {
                self.level(part, &wanted.given, formats);
            }
            if let Ok(layout) = &mut part.layout {
                layout.volume.clone_from(&wanted.volume);
                layout.keys.clone_from(&wanted.keys);
                layout.undone.splice(..0, self.undone.iter().cloned());
                layout.doubts.extend(self.doubts.iter().cloned());
                match &self.coded {
                    Some(coded) => coded.tell(&part.place_bytes, layout),
                    None => ecc::use_it(&mut self.image[part.place_bytes.clone()], layout),
                }
            }
        }
        Ok(found)
    }

    /// Errors: a volume is wanted that no UBI has.
    fn check_volume(&self, found: &[Part], wanted: Option<&str>) -> Result<(), Unrecognised> {
        let Some(wanted) = wanted else { return Ok(()) };
        let known: Vec<(u32, String)> = (found.iter())
            .filter_map(|part| Some((part.layout.as_ref().ok()?, &self.image[part.place_bytes.clone()])))
            .flat_map(|(layout, image)| ubifs::all_volumes(image, layout))
            .collect();
        if known.is_empty() || known.iter().any(|(id, name)| name == wanted || id.to_string() == wanted) {
            return Ok(());
        }
        let name_of = |(id, name): (u32, String)| format!("{} ({id})", quoted(name.as_bytes()));
        let known = known.into_iter().map(name_of).collect::<Vec<_>>().join(", ");
        Err(Unrecognised::NoVolume { name: quoted(wanted.as_bytes()).to_string(), known })
    }

    /// Undoes ESP-IDF's wear levelling in a partition, in its place: its content is shorter than what it takes.
    fn level(&mut self, part: &mut Part, given: &Given, formats: &[ImageFs]) {
        let from = part.place_bytes.start;
        let Some(Plain { image, said, doubts }) = wear_levelling::undo(&self.image[part.place_bytes.clone()]) else {
            return;
        };
        part.place_bytes = from..from + image.len();
        self.image[part.place_bytes.clone()].copy_from_slice(&image);
        let given = Given { starts_at_bytes: from as u64, ..*given };
        part.layout = recognise(&image, &given, formats).map(|mut layout| {
            layout.undone.extend(said);
            layout.doubts.extend(doubts);
            layout
        });
    }
}

/// The partitions of an image and what each of them holds. An image that is not of a whole chip is one partition
/// without a name.
///
/// Errors: see [`parts::find`].
pub fn parts_of_file(path: &Path, wanted: &Wanted, formats: &[ImageFs]) -> Result<Vec<Part>, ImageError> {
    Dump::read(path, wanted)?.parts(wanted, formats).map_err(|why| ImageError::refused(path, why))
}

/// JFFS2 of before 2001.
fn old_magic(image: &[u8]) -> Option<Plain> {
    let image = ffslab_jffs2::probe::old::renewed(image)?;
    let said = "its nodes have the magic number of before 2001 (0x1984), and are read with that of today".to_string();
    Some(Plain { image, said: vec![said], doubts: Vec::new() })
}
