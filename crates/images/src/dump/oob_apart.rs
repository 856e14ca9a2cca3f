//! Dumps in which the data of all pages (of the chip, or of an erase block) come first and all OOB areas behind.
//!
//! Nothing but the tags in these areas says how YAFFS2's pages lie. For others an erased page has an erased OOB area, a written one not.

use super::plain::Plain;
use crate::format::Given;
use crate::recognise::{strides, BLOCK_PAGES};
use ffslab_mtd::is_erased;
use ffslab_yaffs2::probe::{self, foreign, Known, PageKind};
use std::cmp::Reverse;

/// Of a hundred headers so many must have tags that suit them.
const RIGHT_PERCENT: usize = 90;
/// Of a hundred pages of each kind so many must be written or erased as their OOB areas are; of all of them so many fewer where it is not so.
const ALIKE_PERCENT: usize = 97;
const LESS_PERCENT: usize = 5;
/// So many pages of each kind show it, of so many that are looked at, spread over the image.
const PAGES_MIN: usize = 8;
const PAGES_LOOKED_AT: usize = 8192;

/// No OOB area is larger than this share of its page, and then no image without any is as long as one with them.
const OOB_SHARE: u32 = 4;

/// The data of so many pages stand together, and their OOB areas behind.
#[derive(Clone, Copy)]
struct Way {
    page: usize,
    oob: usize,
    together: usize,
}

/// The image with each OOB area behind its page.
pub fn undo(image: &[u8], given: &Given) -> Option<Plain> {
    let has_ubi = !crate::ubifs::headers(image).is_empty();
    let headers = if has_ubi { Vec::new() } else { foreign::headers_in(image, false) };
    let sizes = || strides(&Given { has_oob: Some(true), ..*given }).filter(|(page, oob)| oob * OOB_SHARE <= *page);
    let ways = || sizes().flat_map(|sizes| ways(sizes, image.len()));
    let found = if headers.is_empty() {
        ways()
            .filter_map(|way| Some((way.shown_by_erased(image)?, way)))
            .max_by_key(|(alike, way)| (*alike, Reverse(way.page)))
            .map(|(_, way)| way)
    } else {
        by_headers(image, &headers, ways())
    };
    let way = found?;
    let said = format!(
        "{}; it is read with each of them behind its page of {} B, and positions in what follows are those of such a dump",
        way.text(),
        way.page
    );
    Some(Plain { image: way.put_together(image), said: vec![said], doubts: Vec::new() })
}

fn ways((page, oob): (u32, u32), bytes: usize) -> impl Iterator<Item = Way> {
    let (page, oob) = (page as usize, oob as usize);
    let of_chip = std::iter::once(bytes / (page + oob)).filter(move |_| bytes.is_multiple_of(page + oob));
    let of_blocks = BLOCK_PAGES.into_iter().map(|pages| pages as usize);
    let of_blocks =
        of_blocks.filter(move |pages| bytes.is_multiple_of(pages * (page + oob)) && bytes > pages * (page + oob));
    of_chip.chain(of_blocks).filter(|&pages| pages > 1).map(move |together| Way { page, oob, together })
}

/// The way with which most headers of YAFFS2 have tags that suit them, if most have, and fewer in the image as it is.
fn by_headers(image: &[u8], headers: &[usize], ways: impl Iterator<Item = Way>) -> Option<Way> {
    let is_enough = |count: usize| 100 * count >= RIGHT_PERCENT * headers.len();
    let usual = probe::layout(image, &Known::default()).map_or(0, |layout| right_headers(image, &layout));
    if is_enough(usual) || foreign::find(image).is_some_and(|found| found.is_sure()) {
        return None;
    }
    let begins = |way: &Way| headers.iter().filter(|&&at| way.is_page(at)).count();
    let mut best: Option<(usize, Way)> = None;
    for way in ways.filter(|way| is_enough(begins(way))) {
        let known = Known {
            page_bytes: Some(way.page as u32),
            oob_bytes: Some(way.oob as u32),
            has_oob: Some(true),
            ..Known::default()
        };
        let anew = way.put_together(image);
        let right = probe::layout(&anew, &known).filter(|layout| !layout.is_inband());
        let right = right.map_or(0, |layout| right_headers(&anew, &layout));
        if is_enough(right) && right > usual && best.is_none_or(|(most, _)| right > most) {
            best = Some((right, way));
        }
    }
    best.map(|(_, way)| way)
}

fn right_headers(image: &[u8], layout: &probe::Layout) -> usize {
    let pages = image.chunks_exact(layout.stride_bytes());
    pages.filter(|page| layout.look(page).is_some_and(|tags| tags.kind == PageKind::Header)).count()
}

impl Way {
    /// Bytes of the pages that stand together, with their OOB areas.
    fn group(self) -> usize {
        self.together * (self.page + self.oob)
    }

    /// Whether the data of a page begin there.
    fn is_page(self, at: usize) -> bool {
        let within = at % self.group();
        within.is_multiple_of(self.page) && within < self.together * self.page
    }

    fn put_together(self, image: &[u8]) -> Vec<u8> {
        let mut anew = Vec::with_capacity(image.len());
        for group in image.chunks(self.group()) {
            if group.len() < self.group() {
                // What is cut off stays cut off.
                anew.extend_from_slice(group);
                continue;
            }
            let (data, oobs) = group.split_at(self.together * self.page);
            for (page, oob) in data.chunks_exact(self.page).zip(oobs.chunks_exact(self.oob)) {
                anew.extend_from_slice(page);
                anew.extend_from_slice(oob);
            }
        }
        anew
    }

    /// Of a thousand pages so many are written or erased as their OOB areas are, if that shows that the areas stand there.
    fn shown_by_erased(self, image: &[u8]) -> Option<usize> {
        let Way { page, oob, together } = self;
        let groups = image.len() / self.group();
        // Of written pages and of erased ones: how many, and how many have an OOB area that is so, too.
        let (mut counts, mut usual) = ([(0, 0); 2], 0);
        for group in image.chunks_exact(self.group()).step_by(groups * together / PAGES_LOOKED_AT + 1) {
            let numbers = || (0..together).step_by(together / PAGES_LOOKED_AT + 1);
            let blank = |at: usize, bytes: usize| is_erased(&group[at..at + bytes]);
            let blanks = numbers().filter(|number| blank(number * page, page)).count();
            // Any bytes behind pages that are all written, or all erased, look like their OOB areas.
            if blanks == 0 || blanks == numbers().count() {
                continue;
            }
            for number in numbers() {
                let is_blank = blank(number * page, page);
                let (all, alike) = &mut counts[usize::from(is_blank)];
                *all += 1;
                *alike += usize::from(is_blank == blank(together * page + number * oob, oob));
                let at = number * (page + oob);
                usual += usize::from(blank(at, page) == blank(at + page, oob));
            }
        }
        let (all, alike) = (counts[0].0 + counts[1].0, counts[0].1 + counts[1].1);
        let is_shown = counts.iter().all(|(all, alike)| *all >= PAGES_MIN && 100 * alike >= ALIKE_PERCENT * all)
            && 100 * usual + LESS_PERCENT * all <= 100 * alike;
        is_shown.then(|| 1000 * alike / all)
    }

    fn text(self) -> String {
        let Way { oob, together, .. } = self;
        format!("the data of {together} pages come first, and their OOB areas of {oob} B behind all of them")
    }
}
