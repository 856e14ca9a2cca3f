//! The ECC that the OOB areas of a dump hold: found by where it agrees with the data, then used.
//!
//! Known is the Hamming code of software and simple controllers, 3 B for each 256 B, in both orders of its bytes, in one piece anywhere
//! in the OOB area or in a piece for each 512 B of the page.

use crate::format::Layout;
use ffslab_flash::hamming::{self, Checked, CODE_BYTES, STEP_BYTES};
use ffslab_mtd::is_erased;
use ffslab_yaffs2::probe::PageKind;

/// So many written pages are looked at to find where the ECC stands, and of so many steps it must be right.
const SAMPLE_PAGES: usize = 64;
const STEPS_MIN: usize = 4;
/// The places of the Hamming code of small pages (`drivers/mtd/nand/ecc.c`), and of the YAFFS1 of old.
const SMALL_PAGE_PLACES: [[usize; 2]; 2] = [[0, 3], [8, 13]];

/// Where the code of each step of a page stands in its OOB area, byte by byte.
struct Scheme {
    places: Vec<[usize; CODE_BYTES]>,
    /// The first two bytes the other way round (SmartMedia order).
    is_swapped: bool,
}

/// What became of the steps of all written pages.
#[derive(Default)]
pub struct Counts {
    corrected: u64,
    hopeless: u64,
    first_hopeless_at: Option<usize>,
    /// Steps without a code.
    bare: u64,
}

/// Corrects what the ECC of a partition shows, and says so in its layout; also if the format needs an ECC, and none is known.
pub fn use_it(image: &mut [u8], layout: &mut Layout) {
    let probe = layout.yaffs2;
    // Blocks of something else, and bad ones, need no ECC.
    let is_meant = |page: &[u8]| {
        let says = probe.and_then(|probe| probe.look(page)).map(|tags| tags.kind);
        probe.is_none() || says.is_some_and(|kind| !matches!(kind, PageKind::Damage(_)))
    };
    let counts = correct(image, (layout.page_bytes, layout.oob_bytes), &is_meant);
    let is_unchecked = layout.yaffs2.is_some();
    match counts {
        None if is_unchecked && holds_more(image, layout, &is_meant) => layout.doubts.push(UNKNOWN.to_string()),
        None => {}
        Some(counts) => {
            layout.undone.push(counts.text());
            if is_unchecked {
                layout.unchecked = None;
                layout.doubts.extend(counts.doubts());
            }
        }
    }
}

/// What is to be said of YAFFS2 whose OOB areas hold what nobody knows.
pub const UNKNOWN: &str =
    "its OOB areas hold an ECC that is not known here: flipped bits of files show nowhere, because YAFFS2 has no \
                           check sums over data";

impl Counts {
    pub fn text(&self) -> String {
        let whose = "the Hamming ECC in its OOB areas (3 B for 256 B)";
        match self.corrected {
            0 => format!("{whose} shows no wrong bit that it corrects"),
            1 => format!("{whose} has corrected 1 bit"),
            bits => format!("{whose} has corrected {bits} bits"),
        }
    }

    /// Why data without other check sums may be wrong.
    pub fn doubts(&self) -> Vec<String> {
        let hopeless = self.first_hopeless_at.map(|at| {
            let count = self.hopeless;
            format!(
                "steps of 256 B with more wrong bits than their ECC corrects: {count}, the first at {at:#x} of the partition; what they \
                 hold is as it was read"
            )
        });
        let bare = (self.bare > 0).then(|| {
            format!("steps of 256 B without an ECC, unlike most: {}; flipped bits in them show nowhere", self.bare)
        });
        hopeless.into_iter().chain(bare).collect()
    }
}

/// Corrects what the ECC of all pages shows; what it does not correct counts where it is meant to. `None`: there is no ECC that is
/// known. `sizes_bytes`: of pages and OOB areas.
pub fn correct(image: &mut [u8], sizes_bytes: (u32, u32), is_meant: &dyn Fn(&[u8]) -> bool) -> Option<Counts> {
    let (page_bytes, oob_bytes) = (sizes_bytes.0 as usize, sizes_bytes.1 as usize);
    let scheme = (oob_bytes > 0).then(|| find(image, page_bytes, oob_bytes)).flatten()?;
    Some(scheme.correct(image, page_bytes, oob_bytes, is_meant))
}

/// Whether pages of these sizes hold the Hamming code of software.
pub fn has_one(image: &[u8], page_bytes: usize, oob_bytes: usize) -> bool {
    find(image, page_bytes, oob_bytes).is_some()
}

fn pages(image: &[u8], page_bytes: usize, oob_bytes: usize) -> impl Iterator<Item = (&[u8], &[u8])> {
    let split = image.chunks_exact(page_bytes + oob_bytes).map(move |page| page.split_at(page_bytes));
    split.filter(|(data, oob)| !is_erased(data) && !is_erased(oob))
}

fn in_order(code: [u8; CODE_BYTES], is_swapped: bool) -> [u8; CODE_BYTES] {
    if is_swapped {
        [code[1], code[0], code[2]]
    } else {
        code
    }
}

fn find(image: &[u8], page_bytes: usize, oob_bytes: usize) -> Option<Scheme> {
    let all = pages(image, page_bytes, oob_bytes).count();
    let sample: Vec<_> = pages(image, page_bytes, oob_bytes).step_by((all / SAMPLE_PAGES).max(1)).collect();
    let coded: Vec<(Vec<[u8; CODE_BYTES]>, &[u8])> =
        sample.iter().map(|(data, oob)| (data.chunks_exact(STEP_BYTES).map(hamming::code).collect(), *oob)).collect();
    // The code of even bits is that of an erased step: such steps tell nothing.
    let tells = |code: &[u8; CODE_BYTES]| *code != [0xFF; CODE_BYTES];
    let telling = coded.iter().flat_map(|(codes, _)| codes).filter(|code| tells(code)).count();
    if telling < STEPS_MIN {
        return None;
    }
    let hits = |scheme: &Scheme| {
        let agrees = |code: &[u8; CODE_BYTES], at: &[usize; CODE_BYTES], oob: &[u8]| {
            tells(code) && at.map(|at| oob[at]) == in_order(*code, scheme.is_swapped)
        };
        let of_page = |(codes, oob): &(Vec<[u8; CODE_BYTES]>, &[u8])| {
            codes.iter().zip(&scheme.places).filter(|(code, at)| agrees(code, at, oob)).count()
        };
        coded.iter().map(of_page).sum::<usize>()
    };
    let schemes = places(page_bytes, oob_bytes).into_iter();
    let mut schemes =
        schemes.flat_map(|places| [false, true].map(|is_swapped| Scheme { places: places.clone(), is_swapped }));
    schemes.find(|scheme| 2 * hits(scheme) > telling)
}

/// All places that are tried.
fn places(page_bytes: usize, oob_bytes: usize) -> Vec<Vec<[usize; CODE_BYTES]>> {
    let steps = page_bytes / STEP_BYTES;
    let at = |at: usize| [at, at + 1, at + 2];
    let mut all = Vec::new();
    for from in 0..=oob_bytes.saturating_sub(steps * CODE_BYTES) {
        all.push((0..steps).map(|step| at(from + step * CODE_BYTES)).collect());
    }
    let groups = page_bytes / 512;
    if groups > 1 && oob_bytes.is_multiple_of(groups) {
        let group = oob_bytes / groups;
        for from in 0..=group.saturating_sub(2 * CODE_BYTES) {
            all.push((0..steps).map(|step| at(step / 2 * group + from + step % 2 * CODE_BYTES)).collect());
        }
    }
    if (page_bytes, oob_bytes) == (512, 16) {
        all.push(vec![[0, 1, 2], [3, 6, 7]]);
        all.extend(SMALL_PAGE_PLACES.map(|[first, second]| vec![at(first), at(second)]));
    }
    all.retain(|places: &Vec<[usize; CODE_BYTES]>| places.iter().flatten().all(|&at| at < oob_bytes));
    all
}

impl Scheme {
    fn correct(
        &self,
        image: &mut [u8],
        page_bytes: usize,
        oob_bytes: usize,
        is_meant: &dyn Fn(&[u8]) -> bool,
    ) -> Counts {
        let stride = page_bytes + oob_bytes;
        let mut counts = Counts::default();
        for (number, page) in image.chunks_exact_mut(stride).enumerate() {
            let is_meant = is_meant(page);
            let (data, oob) = page.split_at_mut(page_bytes);
            if is_erased(data) {
                continue;
            }
            let has_none = self.places.iter().flatten().all(|&at| oob[at] == 0xFF);
            for (index, (step, places)) in data.chunks_exact_mut(STEP_BYTES).zip(&self.places).enumerate() {
                let stored = in_order(places.map(|at| oob[at]), self.is_swapped);
                // Somebody wrote the page without an ECC; or it had that of even bits, and one has flipped.
                if has_none && hamming::code(step) != stored {
                    counts.bare += u64::from(is_meant);
                    continue;
                }
                match hamming::correct(step, stored) {
                    Checked::Right => {}
                    Checked::Corrected => counts.corrected += 1,
                    Checked::Hopeless if !is_meant => {}
                    Checked::Hopeless => {
                        counts.hopeless += 1;
                        counts.first_hopeless_at.get_or_insert(number * stride + index * STEP_BYTES);
                    }
                }
            }
        }
        counts
    }
}

/// Whether the OOB areas of most written pages hold something that is no tag.
fn holds_more(image: &[u8], layout: &Layout, is_meant: &dyn Fn(&[u8]) -> bool) -> bool {
    let tags = layout.tags_offset.map_or(0..0, |at| {
        let at = (at as usize).saturating_sub(layout.page_bytes as usize);
        at..at + TAGS_BYTES
    });
    let is_other =
        |oob: &[u8]| oob.iter().enumerate().skip(MARK_BYTES).any(|(at, &byte)| byte != 0xFF && !tags.contains(&at));
    let (mut all, mut others) = (0, 0);
    for page in image.chunks_exact(layout.stride_bytes()).filter(|page| is_meant(page)) {
        all += 1;
        others += usize::from(is_other(&page[layout.page_bytes as usize..]));
    }
    2 * others > all
}

/// Packed tags of YAFFS2 with their own ECC, and the mark of a bad block.
const TAGS_BYTES: usize = 28;
const MARK_BYTES: usize = 2;
