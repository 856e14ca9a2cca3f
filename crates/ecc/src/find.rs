//! The scheme of a dump, found from the dump alone.
//!
//! Codes are linear: whatever constant a controller adds to them, the difference between the code of the data and what stands in the
//! place of the code is the same for all right words, and different ones for words of another scheme. So each scheme that is known is
//! tried on a sample of words, and counts where one difference comes so often that it is no chance.

use crate::bch::{Parity, PARITY_WORDS};
use crate::bits::Bits;
use crate::code::{differing, stored, Checked, Code, CodeKind, Codes};
use crate::controllers::{Controller, Kinds, Order, ALL, CONTROLLERS, M13, M14, M15};
use crate::layout::{Arrangement, Layout, Sizes};
use crate::scheme::{erased_mask, in_order, scramble, Mask, Scheme};
use crate::scrambler;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// So many pages, and words of them, are looked at.
const PAGES: usize = 48;
const WORDS: usize = 64;
/// A word with fewer zero bits may be erased, with flipped bits.
const ZEROS_MIN: usize = 128;
/// Chance may make this many bits equal.
const CHANCE_BITS: usize = 64;
/// At least so many words have the same difference.
const EQUAL_MIN: usize = 3;
/// The share of the words that are right or are corrected, in percent: with so many a scheme is taken at once; with fewer than half it
/// is none.
const SURE_PERCENT: usize = 90;
const HALF_PERCENT: usize = 50;
/// Where no two words are right, some of so many may fail.
const GUESS_WORDS: usize = 16;
const GUESS_FAILURES: usize = 2;
const GUESS_STRENGTH_MIN: usize = 4;
/// Pages after which Allwinner's sequence begins anew: those of a block, if these are fewer than it has numbers.
const SCRAMBLED_OVER: [usize; 3] = [scrambler::PAGES_MAX, 64, 32];
/// Bytes behind a code that are tried where no controller is known.
const PADDINGS: std::ops::RangeInclusive<usize> = 0..=3;

/// A word of the sample.
struct Seen {
    data: Bits,
    code: Parity,
}

/// Pages of a dump.
struct Sample<'i> {
    /// Number and bytes.
    pages: Vec<(usize, &'i [u8])>,
    /// The same with the lowest bit of each byte first.
    reversed: Vec<Vec<u8>>,
    /// Bytes of the OOB area that are not the same in all of them.
    varying: Vec<bool>,
}

struct Tried<'t> {
    controller: Option<&'static str>,
    sizes: Sizes,
    code: Rc<Code>,
    order: Order,
    layout: &'t Layout,
    scrambled_over: Option<usize>,
}

/// The scheme of an image with pages and OOB areas of these sizes. `None`: it has none that is known.
pub fn find(image: &[u8], page_bytes: usize, oob_bytes: usize) -> Option<Scheme> {
    let sample = Sample::of(image, page_bytes, oob_bytes)?;
    let codes = Codes::default();
    let mut best: Option<(usize, Scheme)> = None;
    let mut take = |found: Option<(usize, Scheme)>| {
        if let Some(found) = found.filter(|(percent, _)| best.as_ref().is_none_or(|(most, _)| percent > most)) {
            best = Some(found);
        }
        best.as_ref().is_some_and(|(percent, _)| *percent >= SURE_PERCENT)
    };
    let known = CONTROLLERS.iter().any(|controller| {
        kinds(controller, page_bytes).into_iter().any(|(sector, kind)| {
            let Some(code) = codes.get(kind) else { return false };
            of_controller(
                controller,
                &sample,
                Sizes { page: page_bytes, oob: oob_bytes, sector, code_bits: code.bits() },
                &code,
            )
            .into_iter()
            .any(&mut take)
        })
    });
    if !known {
        take(unnamed(&sample, &codes, page_bytes, oob_bytes));
    }
    best.map(|(_, scheme)| scheme)
}

/// The codes of a controller, with sizes of sectors.
fn kinds(controller: &Controller, page_bytes: usize) -> Vec<(usize, CodeKind)> {
    let sectors = controller.sectors_bytes.iter().filter(|sector| page_bytes.is_multiple_of(**sector));
    let of_sector = |&sector: &usize| -> Vec<(usize, CodeKind)> {
        match controller.kinds {
            Kinds::ReedSolomon10 => vec![(sector, CodeKind::ReedSolomon10)],
            Kinds::ReedSolomon12 if page_bytes == sector => vec![(sector, CodeKind::ReedSolomon12)],
            Kinds::ReedSolomon12 => Vec::new(),
            Kinds::Bch { polynomials, strengths } => polynomials
                .iter()
                .flat_map(|&polynomial| {
                    strengths.iter().map(move |&strength| (sector, CodeKind::Bch { polynomial, strength }))
                })
                .collect(),
        }
    };
    sectors.flat_map(of_sector).collect()
}

fn of_controller(
    controller: &Controller,
    sample: &Sample,
    sizes: Sizes,
    code: &Rc<Code>,
) -> Vec<Option<(usize, Scheme)>> {
    let Some(layout) = controller.arrangement.layout(&sizes) else { return Vec::new() };
    let scramblers: &[usize] = if controller.is_scrambled { &SCRAMBLED_OVER } else { &[] };
    let ways = std::iter::once(None).chain(scramblers.iter().copied().map(Some));
    ways.map(|scrambled_over| {
        let (name, order) = (Some(controller.name), controller.order);
        Tried { controller: name, sizes, code: code.clone(), order, layout: &layout, scrambled_over }.judged(sample)
    })
    .collect()
}

impl<'i> Sample<'i> {
    fn of(image: &'i [u8], page_bytes: usize, oob_bytes: usize) -> Option<Sample<'i>> {
        let is_written = |page: &[u8]| page.iter().map(|byte| byte.count_zeros() as usize).sum::<usize>() >= ZEROS_MIN;
        let all = image.chunks_exact(page_bytes + oob_bytes).enumerate();
        let written: Vec<(usize, &[u8])> = all.filter(|(_, page)| is_written(page)).collect();
        if written.len() < 2 || oob_bytes == 0 {
            return None;
        }
        let count = written.len().min(PAGES);
        let pages: Vec<_> = (0..count).map(|at| written[at * written.len() / count]).collect();
        let reversed = |(_, page): &(usize, &[u8])| page.iter().map(|byte| byte.reverse_bits()).collect();
        let varying = (page_bytes..page_bytes + oob_bytes)
            .map(|at| pages.iter().any(|(_, page)| page[at] != pages[0].1[at]))
            .collect();
        Some(Sample { reversed: pages.iter().map(reversed).collect(), pages, varying })
    }

    fn page(&self, at: usize, order: Order) -> &[u8] {
        match order {
            Order::HighestFirst => self.pages[at].1,
            Order::LowestFirst => &self.reversed[at],
        }
    }
}

impl Tried<'_> {
    /// Words of the sample, each once, from all pages.
    fn words(&self, sample: &Sample) -> Vec<Seen> {
        let mut words: Vec<Seen> = Vec::new();
        let mut known: BTreeSet<Vec<u8>> = BTreeSet::new();
        let scrambled: Vec<Vec<u8>> = self.scrambled_over.map_or(Vec::new(), |pages| {
            let normal = |(number, raw): &(usize, &[u8])| {
                let mut page = raw.to_vec();
                scramble(&mut page, number % pages, self.layout);
                in_order(&mut page, self.order);
                page
            };
            sample.pages.iter().map(normal).collect()
        });
        let count = self.layout.words.len();
        for round in 0..count {
            for at in 0..sample.pages.len() {
                let page = scrambled.get(at).map_or_else(|| sample.page(at, self.order), Vec::as_slice);
                let word = &self.layout.words[(round + at) % count];
                let data = Bits::gathered(page, &word.data);
                let is_telling = data.zeros() >= ZEROS_MIN && data.zeros() < data.len();
                if is_telling && known.insert(data.bytes().to_vec()) {
                    words.push(Seen { code: stored(page, word.code.clone()), data });
                }
                if words.len() == WORDS {
                    return words;
                }
            }
        }
        words
    }

    /// How many percent of the words are right or are corrected, and the scheme.
    fn judged(&self, sample: &Sample) -> Option<(usize, Scheme)> {
        let words = self.words(sample);
        // Words behind one another may differ in length; those of one length have one constant.
        let data_bits = words.last()?.data.len();
        if words.windows(2).all(|pair| pair[0].code == pair[1].code) {
            return None;
        }
        let differences: Vec<Parity> =
            words.iter().map(|word| differing(&self.code.parity(&word.data), &word.code)).collect();
        let erased = erased_mask(&self.code, data_bits);
        let mask = match voted(&differences, self.code.bits()) {
            Some(mask) if mask == [0; PARITY_WORDS] => Mask::Nothing,
            Some(mask)
                if words.iter().zip(&differences).any(|(word, difference)| {
                    *difference == mask && erased_mask(&self.code, word.data.len()) == mask
                }) =>
            {
                Mask::Erased
            }
            Some(mask) => Mask::Constant(mask),
            None if self.guess(&words, &differences, &[0; PARITY_WORDS]) => Mask::Nothing,
            None if self.guess(&words, &differences, &erased) => Mask::Erased,
            None => return None,
        };
        let good = words.iter().zip(&differences).filter(|(word, difference)| {
            let mask = match mask {
                Mask::Nothing => [0; PARITY_WORDS],
                Mask::Erased => erased_mask(&self.code, word.data.len()),
                Mask::Constant(mask) => mask,
            };
            self.code.check(&differing(difference, &mask), word.data.len()) != Checked::Hopeless
        });
        let percent = 100 * good.count() / words.len();
        (percent >= HALF_PERCENT).then(|| (percent, self.scheme(sample, mask)))
    }

    /// Where bits are wrong in each word: whether nearly all of the first ones are corrected.
    fn guess(&self, words: &[Seen], differences: &[Parity], mask: &Parity) -> bool {
        if self.code.strength() < GUESS_STRENGTH_MIN || words.len() < GUESS_WORDS {
            return false;
        }
        let tried = words.iter().zip(differences).take(GUESS_WORDS);
        let hopeless = tried.filter(|(word, difference)| {
            self.code.check(&differing(difference, mask), word.data.len()) == Checked::Hopeless
        });
        hopeless.take(GUESS_FAILURES + 1).count() <= GUESS_FAILURES
    }

    fn scheme(&self, sample: &Sample, mask: Mask) -> Scheme {
        // Blocks that are good have erased bytes where chips have the marks of bad ones, so those are no data.
        let marked = sample.pages.iter().filter(|(_, page)| page[self.sizes.page] != 0xFF).count();
        Scheme {
            controller: self.controller,
            sizes: self.sizes,
            code: self.code.clone(),
            order: self.order,
            layout: self.layout.clone(),
            scrambled_over: self.scrambled_over,
            mask,
            swaps_mark: self.layout.kept_mark_at.is_some() && 10 * marked <= sample.pages.len(),
        }
    }
}

/// The difference that comes so often that it is no chance.
fn voted(differences: &[Parity], code_bits: usize) -> Option<Parity> {
    let mut counts: BTreeMap<&Parity, usize> = BTreeMap::new();
    differences.iter().for_each(|difference| *counts.entry(difference).or_default() += 1);
    let (mask, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (count >= EQUAL_MIN.max(1 + CHANCE_BITS.div_ceil(code_bits))).then_some(*mask)
}

// ---- no controller that is known ---------------------------------------------------------------------------------

/// A BCH code over sectors alone that stands anywhere in the OOB area, in one piece or at even distances.
fn unnamed(sample: &Sample, codes: &Codes, page_bytes: usize, oob_bytes: usize) -> Option<(usize, Scheme)> {
    let fields: [(usize, &[u32]); 4] = [(512, M13), (512, M14), (1024, M14), (2048, M15)];
    let fits = fields.into_iter().filter(|(sector, _)| page_bytes.is_multiple_of(*sector));
    let mut best: Option<(usize, Scheme)> = None;
    for (sector, polynomials) in fits {
        for order in [Order::HighestFirst, Order::LowestFirst] {
            // The first sector of each page, once.
            let mut known = BTreeSet::new();
            let firsts: Vec<(usize, Bits)> = (0..sample.pages.len())
                .map(|at| (at, Bits::taken(sample.page(at, order), 0..8 * sector)))
                .filter(|(_, data)| data.zeros() >= ZEROS_MIN && data.zeros() < data.len())
                .filter(|(_, data)| known.insert(data.bytes().to_vec()))
                .collect();
            for (&polynomial, &strength) in polynomials.iter().flat_map(|p| ALL[1..].iter().map(move |s| (p, s))) {
                let Some(code) = codes.get(CodeKind::Bch { polynomial, strength }) else { continue };
                let sizes = Sizes { page: page_bytes, oob: oob_bytes, sector, code_bits: code.bits() };
                if page_bytes / sector * code.bits().div_ceil(8) >= oob_bytes {
                    break;
                }
                let found = places(sample, &firsts, &code, order, &sizes).into_iter().filter_map(|arrangement| {
                    let layout = arrangement.layout(&sizes)?;
                    Tried { controller: None, sizes, code: code.clone(), order, layout: &layout, scrambled_over: None }
                        .judged(sample)
                });
                best = found.chain(best).max_by_key(|(percent, _)| *percent);
                if best.as_ref().is_some_and(|(percent, _)| *percent >= SURE_PERCENT) {
                    return best;
                }
            }
        }
    }
    best
}

/// Where the code of the first sector stands, with distances that the others may have.
fn places(sample: &Sample, firsts: &[(usize, Bits)], code: &Code, order: Order, sizes: &Sizes) -> Vec<Arrangement> {
    let bytes = code.bits().div_ceil(8);
    let varies = |at: &usize| {
        let count = sample.varying[*at..at + bytes].iter().filter(|varies| **varies).count();
        2 * count > bytes
    };
    let tried: Vec<usize> = (0..=sizes.oob - bytes).filter(varies).collect();
    if tried.is_empty() {
        return Vec::new();
    }
    let parities: Vec<Parity> = firsts.iter().map(|(_, data)| code.parity(data)).collect();
    let is_place = |at: &usize| {
        let from = 8 * (sizes.page + at);
        let differences: Vec<Parity> = firsts
            .iter()
            .zip(&parities)
            .map(|((page, _), parity)| differing(parity, &stored(sample.page(*page, order), from..from + code.bits())))
            .collect();
        voted(&differences, code.bits()).is_some()
    };
    let share = sizes.oob / (sizes.page / sizes.sector);
    tried
        .into_iter()
        .filter(is_place)
        .flat_map(|at| {
            let paddings = PADDINGS.chain(share.checked_sub(bytes));
            paddings.map(move |padding| Arrangement::From { at, padding })
        })
        .collect()
}
