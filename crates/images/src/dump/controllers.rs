//! Dumps as a controller wrote them: which ECC it has is found from the dump alone, bits are corrected by it, and its pages are read as
//! data and OOB area, whatever the order in which the chip has them.

use super::plain::Plain;
use super::{across, ecc};
use crate::format::{Given, Layout};
use crate::recognise::PAGES_BYTES;
use ffslab_ecc::{Report, Scheme};
use std::collections::BTreeMap;
use std::ops::Range;

/// OOB areas that chips with an ECC of a controller have.
const OOBS_BYTES: [usize; 14] = [64, 128, 224, 256, 448, 512, 640, 744, 1024, 1152, 1216, 1280, 1664, 2208];
/// A shorter image than the smallest of erase blocks is no dump of a chip.
const PAGES_MIN: usize = 32;
/// Erase blocks of pages that are not small have so many, or a multiple.
const BLOCK_PAGES_MIN: usize = 64;
/// Such pages have the Hamming code; others must be given.
const SMALL_PAGE_BYTES: usize = 512;
/// So many blocks, or sectors, are listed one by one.
const LISTED: usize = 8;
/// A share of sectors that are made others which is worth a word.
const SHARE_MIN: f64 = 1e-9;

/// The ECC of a dump, and what it has done.
pub(super) struct Coded {
    scheme: Scheme,
    report: Report,
    /// Bytes of a page as the image has it now.
    stride_bytes: usize,
}

/// The image with its data first in each page, corrected. `None`: it has no ECC that is known here, or software's Hamming code, which
/// is looked for later, in each partition.
pub(super) fn undo(image: &[u8], given: &Given) -> Option<(Vec<u8>, Coded)> {
    let mut strides = strides(image, given);
    across::retain_possible(image, &mut strides);
    let has_other =
        |&(page, oob): &(usize, usize)| ffslab_ecc::has_no_code(image, page, oob) || ecc::has_one(image, page, oob);
    if strides.iter().any(has_other) {
        return None;
    }
    let scheme = strides.into_iter().find_map(|(page, oob)| ffslab_ecc::find(image, page, oob))?;
    let (image, report) = scheme.corrected(image);
    let stride_bytes = scheme.sizes.page_bytes + scheme.sizes.oob_bytes;
    Some((image, Coded { scheme, report, stride_bytes }))
}

/// The sizes of pages and OOB areas that are given, or those of which the image has whole erase blocks.
fn strides(image: &[u8], given: &Given) -> Vec<(usize, usize)> {
    let pages = given.page_bytes.map_or(PAGES_BYTES.to_vec(), |bytes| vec![bytes]);
    let pages = pages.into_iter().map(|bytes| bytes as usize);
    let oobs = given.oob_bytes.map_or(OOBS_BYTES.to_vec(), |bytes| vec![bytes as usize]);
    let are_given = given.page_bytes.is_some() && given.oob_bytes.is_some();
    let fits = |&(page, oob): &(usize, usize)| {
        let stride = page + oob;
        let is_usual = page > SMALL_PAGE_BYTES && (page / 64..=page / 4).contains(&oob);
        let is_whole = image.len().is_multiple_of(BLOCK_PAGES_MIN * stride);
        let is_likely = are_given || (is_usual && is_whole);
        oob > 0 && given.has_oob != Some(false) && is_likely && image.len() / stride >= PAGES_MIN
    };
    pages.flat_map(|page| oobs.iter().map(move |&oob| (page, oob))).filter(fits).collect()
}

impl Coded {
    /// The data of pages alone, if `undo` finds what stands on them without OOB areas.
    pub fn leave_out_oob(
        &mut self,
        undo: impl Fn(&[u8], usize, usize) -> Option<Plain>,
        image: &[u8],
    ) -> Option<Plain> {
        let plain = undo(image, self.scheme.sizes.page_bytes, self.scheme.sizes.oob_bytes)?;
        self.stride_bytes = self.scheme.sizes.page_bytes;
        Some(plain)
    }

    /// Says in the layout of a partition what became of its bits.
    pub fn tell(&self, place_bytes: &Range<usize>, layout: &mut Layout) {
        let pages = place_bytes.start / self.stride_bytes..place_bytes.end.div_ceil(self.stride_bytes);
        // What knows no OOB areas knows no erase blocks, either.
        let has_blocks = layout.stride_bytes() == self.stride_bytes;
        let per_block = if has_blocks { layout.pages_per_block() as usize } else { BLOCK_PAGES_MIN };
        let mut blocks: BTreeMap<usize, usize> = BTreeMap::new();
        for (page, bits) in self.report.corrected_bits.iter().filter(|(page, _)| pages.contains(page)) {
            *blocks.entry((page - pages.start) / per_block).or_default() += bits;
        }
        let lost: Vec<String> = self
            .report
            .hopeless_steps
            .iter()
            .filter(|(page, _)| pages.contains(page))
            .map(|(page, word)| {
                let page = page - pages.start;
                format!("block {} page {} sector {word}", page / per_block, page % per_block)
            })
            .collect();
        layout.undone.push(format!(
            "the ECC in its pages is {}; it has corrected {}",
            self.scheme.text(),
            corrected(&blocks)
        ));
        if self.scheme.layout.plain_bits.is_some() {
            let text = "its pages have data and ECC in turns, and are read as data with all else behind them; positions are those of pages \
                        that are read so";
            layout.undone.push(text.to_string());
        }
        layout.unchecked = None;
        if !lost.is_empty() {
            layout.doubts.push(self.doubt(&lost));
        }
    }

    fn doubt(&self, lost: &[String]) -> String {
        let share = self.scheme.wrongly_corrected_share();
        let others = if share >= SHARE_MIN {
            format!("; of sectors with so many, {} are made others, and show nowhere", rare(share))
        } else {
            String::new()
        };
        format!(
            "sectors with more wrong bits than their ECC corrects: {}: {}; what they hold is as it was read{others}",
            lost.len(),
            listed(lost)
        )
    }
}

/// A small share as people say it.
fn rare(share: f64) -> String {
    format!("1 in {:.0}", 1.0 / share)
}

fn corrected(blocks: &BTreeMap<usize, usize>) -> String {
    let bits = |count: usize| if count == 1 { "1 bit".to_string() } else { format!("{count} bits") };
    let each: Vec<String> = blocks.iter().map(|(block, count)| format!("{count} in block {block}")).collect();
    match each.len() {
        0 => "no bit".to_string(),
        _ => format!("{}: {}", bits(blocks.values().sum()), listed(&each)),
    }
}

/// The first few, and how many more there are.
fn listed(all: &[String]) -> String {
    let more = all.len().saturating_sub(LISTED);
    let first = all[..all.len() - more].join(", ");
    if more == 0 {
        first
    } else {
        format!("{first} and {more} more")
    }
}
