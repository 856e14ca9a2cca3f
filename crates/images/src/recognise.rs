//! What an image is, and the sizes of its pages, OOB areas and erase blocks. They are given by the user or guessed from
//! the content.
//!
//! Everything that takes an image asks here (`extract`, `inspect`, `mount`, `lifetime`, the step `load`, the stack's
//! key `image`), so that all of them find the same. The dump of a whole chip is first cut into its partitions by
//! [`parts`].

mod apart;
pub mod arranged;
mod content;
pub mod mtdparts;
mod owners;
pub mod part;
pub mod parts;
mod superblocks;
mod tables;
mod within;

use crate::format::{Evidence, Given, ImageFs, Layout};
use crate::unrecognised::Unrecognised;
use std::ops::Range;

/// Sizes of pages that may be given.
pub(crate) const PAGES_BYTES_GIVEN: Range<u32> = 512..(16 << 10) + 1;
pub(crate) const PAGES_BYTES: [u32; 5] = [2048, 4096, 512, 8192, 16384];
const OOBS_BYTES: [u32; 10] = [0, 16, 64, 128, 224, 256, 448, 512, 640, 32];
pub(crate) const BLOCK_PAGES: [u32; 7] = [64, 32, 128, 16, 256, 512, 8];
/// OOB areas that somebody may give.
pub(crate) const OOBS_BYTES_GIVEN: std::ops::RangeInclusive<u32> = 16..=2048;
pub const BLOCK_BYTES_USUAL: u32 = 128 << 10;

/// Finds out what the image is, of these formats.
///
/// Errors: one line; nothing in it is recognised, or what is given is impossible or contradicts the content.
pub fn recognise(image: &[u8], given: &Given, formats: &[ImageFs]) -> Result<Layout, Unrecognised> {
    check(given)?;
    if let Some(layout) = find(image, given, formats) {
        return Ok(layout);
    }
    // If the image is recognised when nothing is given, the message says what was found.
    if let Some(layout) = given.says_anything().then(|| find(image, &Given::default(), formats)).flatten() {
        return Err(Unrecognised::Contradiction { given: given.text(), found: layout.text() });
    }
    if let Some(hint) = asked(given, formats).find_map(|fs| fs.format().hint(fs, image, given)) {
        return Err(Unrecognised::Hint(hint));
    }
    if let Some(what) = crate::named::named(image).or_else(|| tables::environment(image)) {
        return Err(Unrecognised::Named(what));
    }
    Err(match given.fs {
        Some(fs) => Unrecognised::Other { fs: fs.name() },
        None => {
            Unrecognised::Nothing { signs: formats.iter().map(|fs| fs.format().sign()).collect(), holds: String::new() }
        }
    })
}

/// The formats to try: the one that is given, or all.
fn asked<'f>(given: &Given, formats: &'f [ImageFs]) -> impl Iterator<Item = ImageFs> + 'f {
    let asked = given.fs;
    formats.iter().copied().filter(move |fs| asked.is_none_or(|asked| asked == *fs))
}

fn find(image: &[u8], given: &Given, formats: &[ImageFs]) -> Option<Layout> {
    Evidence::ALL.into_iter().find_map(|evidence| {
        let mut able = asked(given, formats).filter(|fs| fs.format().evidence().contains(&evidence));
        able.find_map(|fs| fs.format().recognise(fs, image, given, evidence))
    })
}

fn check(given: &Given) -> Result<(), Unrecognised> {
    let power = |what: &'static str, value: Option<u32>, range: Range<u32>| match value {
        Some(bytes) if !bytes.is_power_of_two() || !range.contains(&bytes) => {
            Err(Unrecognised::Size { what, bytes, from_bytes: range.start, to_bytes: range.end - 1 })
        }
        _ => Ok(()),
    };
    power("pages", given.page_bytes, PAGES_BYTES_GIVEN)?;
    power("erase blocks", given.block_bytes, 4096..(16 << 20) + 1)?;
    if let Some(oob) = given.oob_bytes.filter(|&oob| oob != 0 && !OOBS_BYTES_GIVEN.contains(&oob)) {
        return Err(Unrecognised::OobSize { bytes: oob });
    }
    Ok(())
}

/// The sizes of pages and OOB areas to try. A size that is given is the only one.
pub fn strides(given: &Given) -> impl Iterator<Item = (u32, u32)> {
    let pages: Vec<u32> = given.page_bytes.map_or(PAGES_BYTES.to_vec(), |page| vec![page]);
    let oobs: Vec<u32> = given.oob_bytes.map_or(OOBS_BYTES.to_vec(), |oob| vec![oob]);
    let has_oob = given.has_oob;
    let usual = move |&(page, oob): &(u32, u32)| oob <= page && has_oob.is_none_or(|has| has == (oob > 0));
    pages.into_iter().flat_map(move |page| oobs.clone().into_iter().map(move |oob| (page, oob))).filter(usual)
}

/// Says where sizes come from. `why` is the reason for a guess; it is used unless all sizes are given.
pub(crate) fn said(given: &Given, are_given: bool, why: &str) -> String {
    match (are_given, given.said_by) {
        (true, None) => "as given".to_string(),
        (true, Some(who)) => who.to_string(),
        _ => format!("guessed: {why}"),
    }
}

pub(crate) fn gcd(a: usize, b: usize) -> usize {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_jffs2::Endian;

    /// A clean marker, with which JFFS2 begins an erased block (`fs/jffs2/erase.c`).
    const CLEAN_MARKER: [u8; 12] = [0x85, 0x19, 0x03, 0x20, 12, 0, 0, 0, 0xB1, 0xB0, 0x1E, 0xE4];
    const BLOCK_BYTES: usize = 128 << 10;

    fn fresh_jffs2() -> Vec<u8> {
        let mut image = vec![0xFF; 2 * BLOCK_BYTES];
        image.chunks_mut(BLOCK_BYTES).for_each(|block| block[..CLEAN_MARKER.len()].copy_from_slice(&CLEAN_MARKER));
        image
    }

    #[test]
    fn only_the_formats_that_are_handed_over_are_looked_for() {
        let jffs2 = ImageFs::new("a", "A", Some(&crate::jffs2::InImages));
        let ubi = ImageFs::new("b", "B", Some(&crate::ubifs::InImages));
        let image = fresh_jffs2();
        let found = recognise(&image, &Given::default(), &[ubi, jffs2]).unwrap();
        assert_eq!(
            (found.fs, found.block_bytes as usize),
            (jffs2, BLOCK_BYTES),
            "the name is that of the caller's table"
        );
        let refused = recognise(&image, &Given::default(), &[ubi]).unwrap_err();
        assert_eq!(refused, Unrecognised::Nothing { signs: vec!["UBI header"], holds: String::new() });
        assert_eq!(
            refused.to_string(),
            "nothing is known in it: no UBI header; the commands file and binwalk know other formats"
        );
    }

    #[test]
    fn what_is_given_and_cannot_be_is_told_from_what_is_not_so() {
        let jffs2 = ImageFs::new("jffs2", "JFFS2", Some(&crate::jffs2::InImages));
        let of = |given: Given| recognise(&fresh_jffs2(), &given, &[jffs2]).unwrap_err();
        let odd = of(Given { page_bytes: Some(1000), ..Given::default() });
        assert_eq!(odd, Unrecognised::Size { what: "pages", bytes: 1000, from_bytes: 512, to_bytes: 16 << 10 });
        let other = of(Given { endian: Some(Endian::Big), ..Given::default() });
        assert!(matches!(other, Unrecognised::Contradiction { .. }), "{other}");
    }
}
