//! Pages whose OOB areas stand elsewhere than behind them: pieces of YAFFS2's pages, each with a piece of the OOB area behind it, and dumps
//! in which the data of all pages (of the chip, or of an erase block) come first and all OOB areas behind.
//!
//! Nothing but the tags in these areas says how YAFFS2's pages lie. For others an erased page has an erased OOB area, a written one not.

use super::plain::Plain;
use crate::format::Given;
use crate::recognise::{strides, BLOCK_PAGES};
use ffslab_mtd::is_erased;
use ffslab_yaffs2::probe::{self, foreign, Known, PageKind};

const PIECES_BYTES: [usize; 2] = [512, 1024];
/// Of a hundred headers so many must have tags that suit them.
const RIGHT_PERCENT: usize = 90;
/// Of a hundred pages so many must be written or erased as their OOB areas are; so many fewer where it is not so.
const ALIKE_PERCENT: usize = 97;
const LESS_PERCENT: usize = 10;
/// So many pages of each kind show it.
const PAGES_MIN: usize = 8;

/// No OOB area is larger than this share of its page, and then no image without any is as long as one with them.
const OOB_SHARE: u32 = 4;

/// Where the OOB areas stand.
#[derive(Clone, Copy)]
enum Place {
    /// Behind each of so many pieces.
    Pieces(usize),
    /// Behind the data of so many pages.
    Pages(usize),
}

#[derive(Clone, Copy)]
struct Way {
    page: usize,
    oob: usize,
    place: Place,
}

/// The image with each OOB area behind its page.
pub fn undo(image: &[u8], given: &Given) -> Option<Plain> {
    let has_ubi = !crate::ubifs::headers(image).is_empty();
    let headers = if has_ubi { Vec::new() } else { foreign::headers_in(image, false) };
    let sizes = || strides(&Given { has_oob: Some(true), ..*given }).filter(|(page, oob)| oob * OOB_SHARE <= *page);
    let ways = || sizes().flat_map(|sizes| ways(sizes, image.len()));
    let found = if headers.is_empty() {
        ways().find(|way| way.is_shown_by_erased(image))
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
    let pieces = PIECES_BYTES.into_iter().map(move |piece| page / piece);
    let pieces = pieces.filter(move |&count| count > 1 && oob.is_multiple_of(count)).map(Place::Pieces);
    let of_chip = std::iter::once(bytes / (page + oob)).filter(move |_| bytes.is_multiple_of(page + oob));
    let of_blocks = BLOCK_PAGES.into_iter().map(|pages| pages as usize);
    let of_blocks =
        of_blocks.filter(move |pages| bytes.is_multiple_of(pages * (page + oob)) && bytes > pages * (page + oob));
    let apart = of_chip.chain(of_blocks).filter(|&pages| pages > 1).map(Place::Pages);
    pieces.chain(apart).map(move |place| Way { page, oob, place })
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
    /// Bytes that stand together: a page, or the pages before their OOB areas.
    fn group(self) -> usize {
        match self.place {
            Place::Pieces(_) => self.page + self.oob,
            Place::Pages(count) => count * (self.page + self.oob),
        }
    }

    /// Whether the data of a page begin there.
    fn is_page(self, at: usize) -> bool {
        let within = at % self.group();
        match self.place {
            Place::Pieces(_) => within == 0,
            Place::Pages(count) => within.is_multiple_of(self.page) && within < count * self.page,
        }
    }

    fn put_together(self, image: &[u8]) -> Vec<u8> {
        let mut anew = Vec::with_capacity(image.len());
        for group in image.chunks(self.group()) {
            if group.len() < self.group() {
                // What is cut off stays cut off.
                anew.extend_from_slice(group);
                continue;
            }
            match self.place {
                Place::Pieces(count) => {
                    let (data, oob) = (self.page / count, self.oob / count);
                    let pieces = || group.chunks_exact(data + oob);
                    pieces().for_each(|piece| anew.extend_from_slice(&piece[..data]));
                    pieces().for_each(|piece| anew.extend_from_slice(&piece[data..]));
                }
                Place::Pages(count) => {
                    let (data, oobs) = group.split_at(count * self.page);
                    for (page, oob) in data.chunks_exact(self.page).zip(oobs.chunks_exact(self.oob)) {
                        anew.extend_from_slice(page);
                        anew.extend_from_slice(oob);
                    }
                }
            }
        }
        anew
    }

    fn is_shown_by_erased(self, image: &[u8]) -> bool {
        let Place::Pages(count) = self.place else { return false };
        let groups = image.chunks_exact(self.group()).map(|group| group.split_at(count * self.page));
        let (mut written, mut erased, mut alike) = (0, 0, 0);
        for (data, oobs) in groups {
            for (page, oob) in data.chunks_exact(self.page).zip(oobs.chunks_exact(self.oob)) {
                let is_blank = is_erased(page);
                *(if is_blank { &mut erased } else { &mut written }) += 1;
                alike += usize::from(is_blank == is_erased(oob));
            }
        }
        let pages = image.chunks_exact(self.page + self.oob);
        let usual = pages.filter(|page| is_erased(&page[..self.page]) == is_erased(&page[self.page..])).count();
        let all = written + erased;
        written >= PAGES_MIN
            && erased >= PAGES_MIN
            && 100 * alike >= ALIKE_PERCENT * all
            && 100 * usual + LESS_PERCENT * all <= 100 * alike
    }

    fn text(self) -> String {
        let Way { page, oob, place } = self;
        match place {
            Place::Pieces(count) => {
                format!(
                    "each page is laid out as {count} x ({} + {}) B, as the tags of YAFFS2 show",
                    page / count,
                    oob / count
                )
            }
            Place::Pages(count) => {
                format!("the data of {count} pages come first, and their OOB areas of {oob} B behind all of them")
            }
        }
    }
}
