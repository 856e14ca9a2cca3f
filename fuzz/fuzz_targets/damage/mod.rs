//! What an input means: see ../README.md. Each program uses a part of it.
#![allow(dead_code)]

pub mod drawn;

use ffslab_conformance::{hostile, Subject};
use ffslab_flash::Geometry;
use std::ops::Range;

/// More calls than any use of an image that ends.
const OPERATIONS_MAX: u64 = 1_000_000;

/// In the place of a page: the number of a structure.
pub const STRUCTURE: u16 = 0x8000;

/// The damaged image that an input stands for.
pub struct Damaged {
    /// Which of the images it was.
    pub number: usize,
    pub image: Vec<u8>,
    /// Checksums are to be made right again.
    pub reseal: bool,
}

/// Takes an image and applies the patches of `input` to it. `structures` of each image are places in it without OOB; where
/// there are none, only pages can be named. `None`: the input is empty.
pub fn apply(
    input: &[u8],
    images: &[Vec<u8>],
    structures: &[Vec<Range<usize>>],
    geometry: Geometry,
) -> Option<Damaged> {
    let (&choice, mut patches) = input.split_first()?;
    let number = usize::from(choice & 0x7F) % images.len();
    let structures = structures.get(number).map_or(&[][..], Vec::as_slice);
    let mut image = images[number].clone();
    let stride = (geometry.page_bytes + geometry.oob_bytes) as usize;
    while let [place_low, place_high, offset_low, offset_high, length, rest @ ..] = patches {
        let place = u16::from_le_bytes([*place_low, *place_high]);
        let offset = usize::from(u16::from_le_bytes([*offset_low, *offset_high]));
        let (page, offset) = if place & STRUCTURE == 0 || structures.is_empty() {
            (usize::from(place) % geometry.pages() as usize, offset % stride)
        } else {
            let structure = &structures[usize::from(place & !STRUCTURE) % structures.len()];
            let at = structure.start + offset % structure.len().max(1);
            (at / geometry.page_bytes as usize, at % geometry.page_bytes as usize)
        };
        let length = usize::from(*length).min(rest.len()).min(stride - offset);
        let start = page * stride + offset;
        image[start..start + length].copy_from_slice(&rest[..length]);
        patches = &rest[length..];
    }
    Some(Damaged { number, image, reseal: choice & 0x80 != 0 })
}

/// Damages an image as `input` says, see [`apply`], and uses it with what `subject_of` gives for the number of the image.
/// Panics at a finding.
pub fn check<'s, S: Subject + 's>(
    input: &[u8],
    images: &[Vec<u8>],
    structures: &[Vec<Range<usize>>],
    geometry: Geometry,
    subject_of: impl FnOnce(usize) -> &'s S,
) {
    let Some(mut damaged) = apply(input, images, structures, geometry) else { return };
    let subject = subject_of(damaged.number);
    if damaged.reseal {
        subject.reseal(&mut damaged.image);
    }
    if let Err(failure) = hostile::use_image(subject, &damaged.image, OPERATIONS_MAX) {
        panic!("{failure}");
    }
}
