//! A scheme: a code with the places of its words in pages of certain sizes. It writes codes into pages, and corrects pages by them.

use crate::bch::{Parity, PARITY_WORDS};
use crate::bits::Bits;
use crate::code::{bits_of, differing, stored, Checked, Code, CodeKind};
use crate::controllers::{Order, SOFTWARE_BCH};
use crate::layout::{Arrangement, Layout, Sizes, Word};
use crate::scrambler;
use std::ops::Range;
use std::rc::Rc;

/// What is added to the bits of each code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    Nothing,
    /// What makes the code of an erased word erased.
    Erased,
    /// What was found in a dump.
    Constant(Parity),
}

/// How pages are protected.
pub struct Scheme {
    /// The controller that does so, where one is known.
    pub controller: Option<&'static str>,
    pub sizes: Sizes,
    pub code: Rc<Code>,
    pub order: Order,
    pub layout: Layout,
    /// Pages have Allwinner's sequence added, which begins anew after so many pages.
    pub scrambled_over_pages: Option<usize>,
    pub mask: Mask,
    /// The byte at the chip's mark of a bad block and the one that is kept elsewhere have changed places.
    pub swaps_mark: bool,
}

/// What became of pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Pages in which bits were corrected, in their order, and how many.
    pub corrected_bits: Vec<(usize, usize)>,
    /// Words that cannot be corrected: page, and number of the word in it.
    pub hopeless_steps: Vec<(usize, usize)>,
}

/// The polynomials of Linux for m from 12 on (`prim_poly_tab` in lib/bch.c).
const LINUX_POLYNOMIALS: [u32; 4] = [0x1053, 0x201b, 0x402b, 0x8003];

impl Scheme {
    /// Software BCH of Linux: the least field with which a word covers a sector, the codes at the end of the OOB area
    /// (`nand_ecc_sw_bch_init` in drivers/mtd/nand/ecc-sw-bch.c). `None`: the pages have no room for it.
    pub fn software(page_bytes: usize, oob_bytes: usize, sector_bytes: usize, strength: usize) -> Option<Scheme> {
        let m = (8 * sector_bytes).checked_ilog2()? + 1;
        let polynomial = *LINUX_POLYNOMIALS.get(m.checked_sub(12)? as usize)?;
        let code = Rc::new(Code::new(CodeKind::Bch { polynomial, strength })?);
        let sizes = Sizes { page_bytes, oob_bytes, sector_bytes, code_bits: code.bits() };
        Some(Scheme {
            controller: Some(SOFTWARE_BCH),
            sizes,
            code,
            order: Order::HighestFirst,
            layout: Arrangement::AtEnd.layout(&sizes)?,
            scrambled_over_pages: None,
            mask: Mask::Erased,
            swaps_mark: false,
        })
    }

    /// Writes the codes of a page that has its data in front, where they are still erased. Words that are `lost` get a code with which
    /// they cannot be corrected.
    pub fn fill(&self, page: &mut [u8], is_lost: &dyn Fn(usize) -> bool) {
        for (index, word) in self.layout.words.iter().enumerate() {
            let data = Bits::gathered(page, &word.data_bits);
            if Bits::taken(page, word.code_bits.clone()).zeros() > 0 {
                continue;
            }
            let mut code = differing(&self.code.parity(&data), &self.mask(word));
            if is_lost(index) {
                code = self.hopeless(code, data.len());
            }
            let range = 8 * (word.code_bits.start / 8)..8 * word.code_bits.end.div_ceil(8);
            // What is left of the last byte is inverted as the code is.
            let spare = range.len() - self.code.bits();
            let mut bits = bits_of(&code, range.len());
            if self.mask == Mask::Erased {
                (0..spare).for_each(|at| bits.flip(self.code.bits() + at));
            }
            bits.scatter(page, std::slice::from_ref(&range));
        }
    }

    /// The code with as few wrong bits as make it one that cannot be corrected.
    fn hopeless(&self, right: Parity, data_bits: usize) -> Parity {
        let mut code = right;
        for bit in 0..self.code.bits() {
            code[bit / 64] ^= 1 << (63 - bit % 64);
            if self.code.check(&differing(&code, &right), data_bits) == Checked::Hopeless {
                break;
            }
        }
        code
    }

    pub fn mask(&self, word: &Word) -> Parity {
        match self.mask {
            Mask::Nothing => [0; PARITY_WORDS],
            Mask::Erased => erased_mask(&self.code, data_bits(word)),
            Mask::Constant(mask) => mask,
        }
    }

    /// A page with the order of bits that codes are computed in, without the sequence of a scrambler.
    pub fn normal(&self, number: usize, page: &[u8]) -> Vec<u8> {
        let mut normal = page.to_vec();
        if let Some(pages) = self.scrambled_over_pages {
            scramble(&mut normal, number % pages, &self.layout);
        }
        in_order(&mut normal, self.order);
        normal
    }

    /// The page as it stands on the chip.
    fn stored(&self, number: usize, mut normal: Vec<u8>) -> Vec<u8> {
        in_order(&mut normal, self.order);
        if let Some(pages) = self.scrambled_over_pages {
            scramble(&mut normal, number % pages, &self.layout);
        }
        normal
    }

    /// A page as a controller writes it, of one whose data come first, then what users put into the OOB area.
    pub fn written(&self, number: usize, plain: &[u8]) -> Vec<u8> {
        let mut page = match &self.layout.plain_bits {
            None => plain.to_vec(),
            Some(ranges) => {
                let mut rows = plain.to_vec();
                in_order(&mut rows, self.order);
                let mut page = vec![0xFF; plain.len()];
                Bits::of(&rows).scatter(&mut page, ranges);
                in_order(&mut page, self.order);
                page
            }
        };
        self.swap_mark(&mut page);
        in_order(&mut page, self.order);
        for word in &self.layout.words {
            let parity = self.code.parity(&Bits::gathered(&page, &word.data_bits));
            let code = differing(&parity, &self.mask(word));
            bits_of(&code, self.code.bits()).scatter(&mut page, std::slice::from_ref(&word.code_bits));
        }
        self.stored(number, page)
    }

    fn swap_mark(&self, page: &mut [u8]) {
        if let Some(kept) = self.layout.kept_mark_at_bytes.filter(|_| self.swaps_mark) {
            page.swap(kept, self.sizes.page_bytes);
        }
    }

    /// The pages of an image, corrected, with their data first. What is left behind the last whole page stays as it is.
    pub fn corrected(&self, image: &[u8]) -> (Vec<u8>, Report) {
        let (mut all, mut report) = (Vec::with_capacity(image.len()), Report::default());
        let masks: Vec<Parity> = self.layout.words.iter().map(|word| self.mask(word)).collect();
        let pages = image.chunks_exact(self.sizes.all());
        let rest = pages.remainder();
        for (number, page) in pages.enumerate() {
            if page.iter().all(|&byte| byte == 0xFF) {
                all.extend_from_slice(page);
            } else {
                all.extend(self.corrected_page(number, page, &masks, &mut report));
            }
        }
        all.extend_from_slice(rest);
        (all, report)
    }

    fn corrected_page(&self, number: usize, page: &[u8], masks: &[Parity], report: &mut Report) -> Vec<u8> {
        let mut normal = self.normal(number, page);
        let mut erased = page.to_vec();
        in_order(&mut erased, self.order);
        let mut bits_here = 0;
        for (index, (word, mask)) in self.layout.words.iter().zip(masks).enumerate() {
            let data = Bits::gathered(&normal, &word.data_bits);
            let difference =
                differing(&differing(&self.code.parity(&data), &stored(&normal, word.code_bits.clone())), mask);
            if difference == [0; PARITY_WORDS] {
                continue;
            }
            if let Some((ranges, zeros)) = self.erased(&erased, word) {
                bits_here += zeros;
                ranges.into_iter().flatten().for_each(|bit| normal[bit / 8] |= 0x80 >> (bit % 8));
                continue;
            }
            match self.code.check(&difference, data.len()) {
                Checked::Right => {}
                Checked::Corrected(wrong) => {
                    bits_here += wrong.len();
                    let places = all_of(word);
                    wrong.into_iter().for_each(|at| flip(&mut normal, &places, at));
                }
                Checked::Hopeless => report.hopeless_steps.push((number, index)),
            }
        }
        if bits_here > 0 {
            report.corrected_bits.push((number, bits_here));
        }
        in_order(&mut normal, self.order);
        self.swap_mark(&mut normal);
        let Some(plain) = &self.layout.plain_bits else { return normal };
        in_order(&mut normal, self.order);
        let mut anew = Bits::gathered(&normal, plain).bytes().to_vec();
        in_order(&mut anew, self.order);
        anew
    }

    /// The ranges of a word that are erased, but for so many bits, if it is: all of it, or its data and its code, because some write into
    /// the OOB areas of erased pages, without a code.
    fn erased(&self, page: &[u8], word: &Word) -> Option<(Vec<Range<usize>>, usize)> {
        let without_users = word.data_bits.iter().take(1).chain([&word.code_bits]).cloned().collect();
        [all_of(word), without_users].into_iter().find_map(|ranges: Vec<Range<usize>>| {
            let zeros = Bits::gathered(page, &ranges).zeros();
            (zeros <= self.code.strength()).then_some((ranges, zeros))
        })
    }

    /// What it is, as people write it.
    pub fn text(&self) -> String {
        let Sizes { page_bytes: page, oob_bytes: oob, .. } = self.sizes;
        let data_bytes = self.layout.words.last().map_or(0, data_bits) / 8;
        let whose = self.controller.map_or(String::new(), |name| format!(" as {name} has it"));
        let order = match self.order {
            Order::HighestFirst => "highest",
            Order::LowestFirst => "lowest",
        };
        let mask = match self.mask {
            Mask::Nothing => "",
            Mask::Erased => ", inverted so that erased data have an erased code",
            Mask::Constant(_) => ", a constant added",
        };
        let scrambled = if self.scrambled_over_pages.is_some() { ", on scrambled pages" } else { "" };
        format!(
            "{}, for {data_bytes} B{whose} (pages of {page} + {oob} B, the {order} bit first{mask}{scrambled})",
            self.code.text()
        )
    }

    /// Of words with more errors than are corrected, the share that is nevertheless made another word.
    pub fn wrongly_corrected_share(&self) -> f64 {
        self.layout.words.last().map_or(0.0, |word| self.code.wrongly_corrected_share(data_bits(word)))
    }
}

impl Report {
    /// How many bits were corrected.
    pub fn bits(&self) -> usize {
        self.corrected_bits.iter().map(|(_, bits)| bits).sum()
    }
}

fn data_bits(word: &Word) -> usize {
    word.data_bits.iter().map(ExactSizeIterator::len).sum()
}

fn all_of(word: &Word) -> Vec<Range<usize>> {
    word.data_bits.iter().chain([&word.code_bits]).cloned().collect()
}

/// Flips the bit that is the `at`th one of these ranges.
fn flip(page: &mut [u8], ranges: &[Range<usize>], mut at: usize) {
    for range in ranges {
        if at < range.len() {
            let bit = range.start + at;
            page[bit / 8] ^= 0x80 >> (bit % 8);
            return;
        }
        at -= range.len();
    }
}

/// What is added to codes so that the one of erased data is erased.
pub(crate) fn erased_mask(code: &Code, data_bits: usize) -> Parity {
    let ones = vec![0xFF; data_bits.div_ceil(8)];
    let parity = code.parity(&Bits::taken(&ones, 0..data_bits));
    differing(&parity, &stored(&[0xFF; 8 * PARITY_WORDS], 0..code.bits()))
}

/// The bits of each byte in the order of a code, and back.
pub(crate) fn in_order(page: &mut [u8], order: Order) {
    if order == Order::LowestFirst {
        page.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
    }
}

/// Adds the sequence of a scrambler to the words of a page, or takes it away.
pub(crate) fn scramble(page: &mut [u8], number: usize, layout: &Layout) {
    for word in &layout.words {
        let code_bytes = word.code_bits.len().div_ceil(8).next_multiple_of(2);
        let code = word.code_bits.start / 8..word.code_bits.start / 8 + code_bytes;
        let data = word.data_bits.iter().flat_map(|range| range.start / 8..range.end / 8);
        data.chain(code).zip(scrambler::sequence(number)).for_each(|(at, add)| {
            if let Some(byte) = page.get_mut(at) {
                *byte ^= add;
            }
        });
    }
}
