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
use crate::screen::{most_equal, Values};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

/// So many pages, and words of them, are looked at.
const PAGES: usize = 48;
const WORDS: usize = 64;
/// A word with fewer zero bits may be erased, with flipped bits. One with fewer that are set is too near to nothing but zeros, which is a
/// right word of every code: "corrected", it would be one.
const ZEROS_MIN: usize = 128;
/// Chance may make this many bits equal.
const CHANCE_BITS: usize = 64;
/// At least so many words have the same difference.
const EQUAL_MIN: usize = 3;
/// The share of the words that are right or are corrected, in percent: with so many a scheme is taken at once; with fewer than half it
/// is none.
const SURE_PERCENT: usize = 90;
const HALF_PERCENT: usize = 50;
/// Where hardly a word is right, half of so many, and one of the first, seem to have no more than this share of the wrong bits that
/// their code corrects. That is tried with a full sample alone.
const GUESS_WORDS: usize = 16;
const GUESS_FIRST: usize = 4;
const GUESS_PERCENT: usize = 75;
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

impl Seen {
    /// How the code that stands there differs from that of the data.
    fn difference(&self, code: &Code, mask: Mask) -> Parity {
        let mask = match mask {
            Mask::Nothing => [0; PARITY_WORDS],
            Mask::Erased => erased_mask(code, self.data.len()),
            Mask::Constant(mask) => mask,
        };
        differing(&differing(&code.parity(&self.data), &self.code), &mask)
    }

    fn is_hopeless(&self, code: &Code, mask: Mask) -> bool {
        code.check(&self.difference(code, mask), self.data.len()) == Checked::Hopeless
    }
}

/// Pages of a dump.
struct Sample {
    numbers: Vec<usize>,
    /// Their bytes in either order of bits.
    as_they_are: Vec<Rc<[u8]>>,
    reversed: Vec<Rc<[u8]>>,
    /// Of each byte of the OOB area, see [`varying`].
    varying: Vec<bool>,
    codes: Codes,
    /// The last that were asked for, with polynomial and order of bits: those of all fields would be larger than most images.
    values: RefCell<Option<(u32, Order, Rc<Values>)>>,
}

struct Tried<'t> {
    controller: Option<&'static str>,
    sizes: Sizes,
    kind: CodeKind,
    order: Order,
    layout: &'t Layout,
    scrambled_over_pages: Option<usize>,
}

/// The scheme of an image with pages and OOB areas of these sizes. `None`: it has none that is known.
pub fn find(image: &[u8], page_bytes: usize, oob_bytes: usize) -> Option<Scheme> {
    let sample = Sample::of(image, page_bytes, oob_bytes)?;
    let known = best(each_way(page_bytes, oob_bytes, &|tried| tried.judged(&sample)));
    if known.as_ref().is_some_and(|(percent, _)| *percent >= SURE_PERCENT) {
        return known.map(|(_, scheme)| scheme);
    }
    let found = known.into_iter().chain(unnamed(&sample, page_bytes, oob_bytes)).max_by_key(|(percent, _)| *percent);
    let found = found.or_else(|| best(each_way(page_bytes, oob_bytes, &|tried| tried.guessed(&sample))));
    found.map(|(_, scheme)| scheme)
}

/// Whether the OOB areas of pages of these sizes plainly hold no code: of many pages that differ, each byte of them is erased or a mark. A
/// dump whose pages have other sizes than these has data there.
pub fn has_no_code(image: &[u8], page_bytes: usize, oob_bytes: usize) -> bool {
    let Some(pages) = sampled(image, page_bytes, oob_bytes).filter(|pages| pages.len() == PAGES) else { return false };
    let differ = |range: Range<usize>| varying(&pages, range).iter().filter(|varies| **varies).count();
    let stride = page_bytes + oob_bytes;
    let is_erased_or_mark = |at: usize| pages.iter().any(|(_, page)| page[at] == 0xFF);
    2 * differ(0..page_bytes) > page_bytes
        && differ(page_bytes..stride) == 0
        && (page_bytes..stride).all(is_erased_or_mark)
}

/// The first of them that is sure, or the best one.
fn best(found: impl Iterator<Item = (usize, Scheme)>) -> Option<(usize, Scheme)> {
    let mut best: Option<(usize, Scheme)> = None;
    for each in found {
        if best.as_ref().is_none_or(|(most, _)| each.0 > *most) {
            best = Some(each);
        }
        if best.as_ref().is_some_and(|(percent, _)| *percent >= SURE_PERCENT) {
            break;
        }
    }
    best
}

/// What a judge says of each way of each controller.
fn each_way<'s>(
    page: usize,
    oob: usize,
    judge: &'s dyn Fn(&Tried) -> Option<(usize, Scheme)>,
) -> impl Iterator<Item = (usize, Scheme)> + 's {
    CONTROLLERS.iter().flat_map(move |controller| {
        let of_kind = move |(sector, kind): (usize, CodeKind)| {
            let sizes = Sizes { page_bytes: page, oob_bytes: oob, sector_bytes: sector, code_bits: kind.bits() };
            let layout = controller.arrangement.layout(&sizes)?;
            let scramblers: &[usize] = if controller.is_scrambled { &SCRAMBLED_OVER } else { &[] };
            let ways = std::iter::once(None).chain(scramblers.iter().copied().map(Some));
            let (name, order) = (Some(controller.name), controller.order);
            let found = ways.filter_map(|scrambled_over_pages| {
                judge(&Tried { controller: name, sizes, kind, order, layout: &layout, scrambled_over_pages })
            });
            best(found)
        };
        kinds(controller, page).into_iter().filter_map(of_kind)
    })
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

/// Written pages, each with its number, from all over the image. `None`: there are too few, or nothing stands behind them.
fn sampled(image: &[u8], page_bytes: usize, oob_bytes: usize) -> Option<Vec<(usize, &[u8])>> {
    let is_written = |page: &[u8]| page.iter().map(|byte| byte.count_zeros() as usize).sum::<usize>() >= ZEROS_MIN;
    let all = image.chunks_exact(page_bytes + oob_bytes).enumerate();
    let written: Vec<(usize, &[u8])> = all.filter(|(_, page)| is_written(page)).collect();
    let count = written.len().min(PAGES);
    (count >= 2 && oob_bytes > 0).then(|| (0..count).map(|at| written[at * written.len() / count]).collect())
}

/// Of each byte of pages whether more than two values stand there: codes vary, marks are there or are not.
fn varying(pages: &[(usize, &[u8])], range: Range<usize>) -> Vec<bool> {
    let values = |at: usize| pages.iter().map(|(_, page)| page[at]).collect::<BTreeSet<u8>>().len();
    range.map(|at| values(at) > 2).collect()
}

impl Sample {
    fn of(image: &[u8], page_bytes: usize, oob_bytes: usize) -> Option<Sample> {
        let pages = sampled(image, page_bytes, oob_bytes)?;
        let varying = varying(&pages, page_bytes..page_bytes + oob_bytes);
        let reversed = |(_, page): &(usize, &[u8])| page.iter().map(|byte| byte.reverse_bits()).collect();
        Some(Sample {
            numbers: pages.iter().map(|(number, _)| *number).collect(),
            as_they_are: pages.iter().map(|(_, page)| Rc::from(*page)).collect(),
            reversed: pages.iter().map(reversed).collect(),
            varying,
            codes: Codes::default(),
            values: RefCell::default(),
        })
    }

    /// The values of pages in the field of a polynomial.
    fn values(&self, polynomial: u32, order: Order) -> Option<Rc<Values>> {
        let mut last = self.values.borrow_mut();
        if !matches!(&*last, Some((of, in_order, _)) if (*of, *in_order) == (polynomial, order)) {
            let values = Values::of(self.codes.field(polynomial)?, self.in_order(order));
            *last = Some((polynomial, order, Rc::new(values)));
        }
        last.as_ref().map(|(_, _, values)| values.clone())
    }

    fn in_order(&self, order: Order) -> &[Rc<[u8]>] {
        match order {
            Order::HighestFirst => &self.as_they_are,
            Order::LowestFirst => &self.reversed,
        }
    }
}

impl Tried<'_> {
    /// Whether it can be: enough words have one value in the field of the code.
    fn is_likely(&self, sample: &Sample) -> bool {
        let CodeKind::Bch { polynomial, .. } = self.kind else { return true };
        if self.scrambled_over_pages.is_some() {
            return true;
        }
        let alike =
            sample.values(polynomial, self.order).map(|values| values.most_alike(&self.layout.words, ZEROS_MIN, WORDS));
        alike.is_some_and(|alike| alike >= EQUAL_MIN)
    }

    /// Words of the sample, each once, from all pages.
    fn words(&self, sample: &Sample, words_max: usize) -> Vec<Seen> {
        let mut words: Vec<Seen> = Vec::new();
        let mut known: BTreeSet<Vec<u8>> = BTreeSet::new();
        let scrambled: Vec<Vec<u8>> = self.scrambled_over_pages.map_or(Vec::new(), |pages| {
            let normal = |(number, raw): (&usize, &Rc<[u8]>)| {
                let mut page = raw.to_vec();
                scramble(&mut page, number % pages, self.layout);
                in_order(&mut page, self.order);
                page
            };
            sample.numbers.iter().zip(&sample.as_they_are).map(normal).collect()
        });
        let count = self.layout.words.len();
        for round in 0..count {
            for at in 0..sample.numbers.len() {
                let page = scrambled.get(at).map_or_else(|| &sample.in_order(self.order)[at], Vec::as_slice);
                let word = &self.layout.words[(round + at) % count];
                let data = Bits::gathered(page, &word.data_bits);
                let is_telling = (ZEROS_MIN..=data.len().saturating_sub(ZEROS_MIN)).contains(&data.zeros());
                if is_telling && known.insert(data.bytes().to_vec()) {
                    words.push(Seen { code: stored(page, word.code_bits.clone()), data });
                }
                if words.len() == words_max {
                    return words;
                }
            }
        }
        words
    }

    /// How many percent of the words are right or are corrected, and the scheme.
    fn judged(&self, sample: &Sample) -> Option<(usize, Scheme)> {
        if !self.is_likely(sample) {
            return None;
        }
        let code = self.code(sample)?;
        let words = self.words(sample, WORDS);
        let differences: Vec<Parity> =
            words.iter().map(|word| differing(&code.parity(&word.data), &word.code)).collect();
        let mask = voted(&differences, code.bits())?;
        let is_erased =
            |(word, difference): (&Seen, &Parity)| *difference == mask && erased_mask(&code, word.data.len()) == mask;
        let mask = if mask == [0; PARITY_WORDS] {
            Mask::Nothing
        } else if words.iter().zip(&differences).any(is_erased) {
            Mask::Erased
        } else {
            Mask::Constant(mask)
        };
        let good = words.iter().filter(|word| !word.is_hopeless(&code, mask)).count();
        let percent = 100 * good / words.len();
        (percent >= HALF_PERCENT).then(|| (percent, self.scheme(sample, code, mask)))
    }

    /// Where bits are wrong in each word: whether half of a few words, and one of the first of them, seem to have fewer than the code
    /// corrects. Of words of another scheme hardly one does.
    fn guessed(&self, sample: &Sample) -> Option<(usize, Scheme)> {
        if self.kind.strength() < GUESS_STRENGTH_MIN || sample.numbers.len() < PAGES {
            return None;
        }
        let words = self.words(sample, GUESS_WORDS);
        if words.len() < GUESS_WORDS || words.windows(2).all(|pair| pair[0].code == pair[1].code) {
            return None;
        }
        let code = self.code(sample)?;
        let Code::Bch(bch) = &*code else { return None };
        let most = GUESS_PERCENT * bch.strength() / 100;
        let is_it = |mask: &Mask| {
            let is_near = |word: &Seen| bch.seems_to_have(&word.difference(&code, *mask), most);
            words[..GUESS_FIRST].iter().any(is_near)
                && 2 * words.iter().filter(|word| is_near(word)).count() >= GUESS_WORDS
        };
        [Mask::Nothing, Mask::Erased]
            .into_iter()
            .find(is_it)
            .map(|mask| (SURE_PERCENT, self.scheme(sample, code.clone(), mask)))
    }

    fn code(&self, sample: &Sample) -> Option<Rc<Code>> {
        sample.codes.get(self.kind).filter(|code| code.bits() == self.sizes.code_bits)
    }

    fn scheme(&self, sample: &Sample, code: Rc<Code>, mask: Mask) -> Scheme {
        // Blocks that are good have erased bytes where chips have the marks of bad ones, so those are no data.
        let marked = sample.as_they_are.iter().filter(|page| page[self.sizes.page_bytes] != 0xFF).count();
        Scheme {
            controller: self.controller,
            sizes: self.sizes,
            code,
            order: self.order,
            layout: self.layout.clone(),
            scrambled_over_pages: self.scrambled_over_pages,
            mask,
            swaps_mark: self.layout.kept_mark_at_bytes.is_some() && 10 * marked <= sample.numbers.len(),
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
fn unnamed(sample: &Sample, page: usize, oob: usize) -> Option<(usize, Scheme)> {
    let fields: [(usize, &[u32]); 4] = [(512, M13), (512, M14), (1024, M14), (2048, M15)];
    let of_field = |(sector, polynomials): (usize, &'static [u32])| {
        let orders = [Order::HighestFirst, Order::LowestFirst];
        polynomials.iter().flat_map(move |&polynomial| orders.map(|order| (sector, polynomial, order)))
    };
    let fits = fields.into_iter().filter(|(sector, _)| page.is_multiple_of(*sector));
    let found = fits.flat_map(of_field).filter_map(|(sector, polynomial, order)| {
        let places = Places::of(sample, sector, polynomial, order)?;
        let of_strength = |&strength: &usize| {
            let sizes = Sizes {
                page_bytes: page,
                oob_bytes: oob,
                sector_bytes: sector,
                code_bits: CodeKind::Bch { polynomial, strength }.bits(),
            };
            let arrangements = places.likely(sample, &sizes);
            let found = arrangements.into_iter().filter_map(|arrangement| {
                let kind = CodeKind::Bch { polynomial, strength };
                let layout = arrangement.layout(&sizes)?;
                Tried { controller: None, sizes, kind, order, layout: &layout, scrambled_over_pages: None }
                    .judged(sample)
            });
            best(found)
        };
        best(ALL[1..].iter().filter_map(of_strength))
    });
    best(found)
}

/// The first sectors of pages, with which codes anywhere are compared.
struct Places {
    values: Rc<Values>,
    /// Pages whose first sectors differ, and the values of these.
    firsts: Vec<(usize, u16)>,
}

impl Places {
    fn of(sample: &Sample, sector: usize, polynomial: u32, order: Order) -> Option<Places> {
        let values = sample.values(polynomial, order)?;
        let mut known = BTreeSet::new();
        let data = 0..8 * sector;
        let is_telling = |page: &usize| (ZEROS_MIN..=8 * sector - ZEROS_MIN).contains(&values.zeros(*page, &data));
        let firsts = (0..sample.numbers.len()).filter(is_telling).map(|page| (page, values.behind(0, page, &data)));
        let firsts = firsts.filter(|(_, value)| known.insert(*value)).collect();
        Some(Places { firsts, values })
    }

    /// Where the code of the first sector may stand, with distances that the others may have.
    fn likely(&self, sample: &Sample, sizes: &Sizes) -> Vec<Arrangement> {
        let bytes = sizes.code_bits.div_ceil(8);
        let sectors = sizes.page_bytes / sizes.sector_bytes;
        if sectors * bytes >= sizes.oob_bytes {
            return Vec::new();
        }
        let varies = |at: &usize| {
            let count = sample.varying[*at..at + bytes].iter().filter(|varies| **varies).count();
            2 * count > bytes
        };
        let is_place = |at: &usize| {
            let from = 8 * (sizes.page_bytes + at);
            let code = from..from + sizes.code_bits;
            let of_page = |(page, value): &(usize, u16)| self.values.behind(*value, *page, &code);
            most_equal(&mut self.firsts.iter().map(of_page).collect::<Vec<u16>>()) >= EQUAL_MIN
        };
        let share = sizes.oob_bytes / sectors;
        let places = (0..=sizes.oob_bytes - bytes).filter(varies).filter(is_place);
        let arrangements = places.flat_map(|at| {
            let paddings = PADDINGS.chain(share.checked_sub(bytes));
            paddings.map(move |padding| Arrangement::From { at, padding })
        });
        arrangements.collect()
    }
}
