//! Flash images as files: how they get into a simulated chip and out of it.
//!
//! The layouts are those of `nanddump` and `nandwrite` of mtd-utils: page data only, or the data and the OOB area of
//! each page in turns.

use crate::held::Held;
use ffslab_flash::Geometry;
use ffslab_mtd::{MediumImage, Mtd, OobLayout, RestoreError};
use ffslab_text::input;
use ffslab_text::words::io_reason;
use std::borrow::Cow;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// An image to put on the chip before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSpec {
    pub path: PathBuf,
    /// Whether each page in the file is followed by its OOB area.
    pub oob: bool,
    /// Whether the OOB areas in the file begin with the bytes that belong into the free bytes of the chip's OOB areas
    /// (`nandwrite --autoplace`).
    pub autoplace: bool,
    /// The part of the file that is put on the chip.
    pub place_bytes: Range<usize>,
}

/// An image that cannot be used. One line, which begins with the path.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImageError {
    #[error("{path}: cannot read the image: {why}")]
    Unreadable { path: String, why: String },
    #[error("{path}: the image is empty")]
    Empty { path: String },
    /// Nothing in it is recognised, it is not what was given, or no file system mounts it.
    #[error("{path}: {why}")]
    Refused { path: String, why: String },
    #[error("{path}: the image has become shorter meanwhile")]
    Shorter { path: String },
    #[error("{path}: an image with OOB areas is for a medium that has them: leave the OOB areas out")]
    NoOob { path: String },
    #[error("{path}: {bytes} bytes do not fit: the partition holds {room_bytes} bytes")]
    TooLarge { path: String, bytes: u64, room_bytes: u64 },
    /// What a chip says of an image that is put on it.
    #[error(transparent)]
    Chip(#[from] ffslab_flash::ImageError),
    #[error(transparent)]
    Medium(#[from] RestoreError),
}

impl ImageError {
    fn unreadable(path: &Path, error: &io::Error) -> ImageError {
        ImageError::Unreadable { path: path.display().to_string(), why: io_reason(error) }
    }

    pub fn refused(path: &Path, why: impl ToString) -> ImageError {
        ImageError::Refused { path: path.display().to_string(), why: why.to_string() }
    }
}

/// Where a message is all that is left of an error.
impl From<ImageError> for String {
    fn from(error: ImageError) -> String {
        error.to_string()
    }
}

/// Reads the file of an image.
pub fn read_file(path: &Path) -> Result<Vec<u8>, ImageError> {
    let image = input::read(path, input::InputKind::Image).map_err(|error| ImageError::unreadable(path, &error))?;
    if image.is_empty() {
        return Err(ImageError::Empty { path: path.display().to_string() });
    }
    Ok(image)
}

/// As [`read_file`], of an image that is only looked at: a large one is mapped.
pub fn hold_file(path: &Path) -> Result<Held, ImageError> {
    let image = Held::of_file(path).map_err(|error| ImageError::unreadable(path, &error))?;
    if image.is_empty() {
        return Err(ImageError::Empty { path: path.display().to_string() });
    }
    Ok(image)
}

/// Puts an image on the partition. An image without OOB areas may end within a page, as those of `mkfs.jffs2` do: the rest
/// of the page is filled with 0xFF (`nandwrite --pad`).
///
/// Errors: the file cannot be read, or its size does not fit.
pub fn load(medium: &Mtd, spec: &ImageSpec) -> Result<(), ImageError> {
    let unreadable = |error: io::Error| ImageError::unreadable(&spec.path, &error);
    let place = &spec.place_bytes;
    let shorter = || ImageError::Shorter { path: spec.path.display().to_string() };
    let file = input::open(&spec.path, input::InputKind::Image).map_err(unreadable)?;
    match file.length_bytes() {
        // An image that goes on the chip unchanged is copied piece by piece, so that it is not in memory twice.
        Some(bytes) if bytes > 0 && bytes >= place.end as u64 && !spec.autoplace => {
            let mut from = BufReader::with_capacity(1 << 20, file);
            io::copy(&mut from.by_ref().take(place.start as u64), &mut io::sink()).map_err(unreadable)?;
            put(medium, &spec.path, &mut from.take(place.len() as u64), place.len() as u64, spec.oob)
        }
        _ => {
            let image = read_file(&spec.path)?;
            load_bytes(medium, spec, image.get(place.clone()).ok_or_else(shorter)?)
        }
    }
}

/// As [`load`], for an image that is in memory already.
pub fn load_bytes(medium: &Mtd, spec: &ImageSpec, image: &[u8]) -> Result<(), ImageError> {
    let mut image = Cow::Borrowed(image);
    if let (true, Some(nand)) = (spec.autoplace, medium.nand()) {
        autoplace(nand.geometry(), &nand.oob_layout(), image.to_mut());
    }
    put(medium, &spec.path, &mut &image[..], image.len() as u64, spec.oob)
}

/// Moves the first bytes of each OOB area to the bytes that the driver's layout leaves free, and fills the rest with
/// 0xFF.
fn autoplace(geometry: Geometry, layout: &OobLayout, image: &mut [u8]) {
    let page_bytes = geometry.page_bytes as usize;
    for page in image.chunks_exact_mut(page_bytes + geometry.oob_bytes as usize) {
        let oob = &mut page[page_bytes..];
        let free = oob[..layout.free_bytes()].to_vec();
        oob.fill(0xFF);
        layout.scatter(&free, oob);
    }
}

/// Puts the first `bytes` bytes of `from` on the partition. They are read piece by piece. `path` is for messages only.
pub fn put(medium: &Mtd, path: &Path, from: &mut dyn Read, bytes: u64, oob: bool) -> Result<(), ImageError> {
    let unit_bytes = match medium.nand() {
        Some(_) if oob => 1,
        Some(_) => u64::from(medium.page_bytes()),
        None => medium.size_bytes(),
    };
    let whole_bytes = bytes.next_multiple_of(unit_bytes);
    let mut padded = from.chain(io::repeat(0xFF).take(whole_bytes - bytes));
    let Some(nand) = medium.nand() else {
        return put_plain(medium, path, &mut padded, whole_bytes, oob);
    };
    let loaded = nand.load_image(&path.display().to_string(), &mut padded, whole_bytes, oob);
    nand.nand().restart();
    Ok(loaded.map(drop)?)
}

/// As [`put`], on a medium that holds nothing but bytes.
fn put_plain(medium: &Mtd, path: &Path, from: &mut dyn Read, bytes: u64, oob: bool) -> Result<(), ImageError> {
    let (name, room_bytes) = (path.display().to_string(), medium.size_bytes());
    if oob {
        return Err(ImageError::NoOob { path: name });
    }
    if bytes > room_bytes {
        return Err(ImageError::TooLarge { path: name, bytes, room_bytes });
    }
    let mut held = Vec::new();
    from.read_to_end(&mut held).map_err(|error| ImageError::unreadable(path, &error))?;
    Ok(medium.restore(&MediumImage::Bytes(held))?)
}
