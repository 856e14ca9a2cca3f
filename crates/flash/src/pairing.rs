//! Paired pages: which pages of a block share their cells.
//!
//! A part with two bits a cell keeps two pages in each word line, a lower and an upper one; with three bits there are
//! three. The numbering of pages lets the pages of a word line lie apart, so that neighbours are programmed in between.
//! `drivers/mtd/nand/raw/nand_base.c` knows one such numbering, `dist3_pairing_scheme`, `include/linux/mtd/mtd.h` quotes
//! another from a data sheet (`struct mtd_pairing_info`); any other comes as a table.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// The word line of each page of a block.
    word_lines: Box<[u16]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PairingError {
    #[error("a pairing of {pages} pages is given for blocks of {pages_per_block} pages")]
    Pages { pages: usize, pages_per_block: u32 },
    #[error("pages_per_block = {pages_per_block}: runs of {run_pages} paired pages need a multiple of {multiple}")]
    Runs { run_pages: u32, pages_per_block: u32, multiple: u32 },
}

impl Pairing {
    /// Pairs of pages three apart, but for the last: 0 and 2, 1 and 4, 3 and 6, 5 and 8 ... (`dist3_pairing_scheme`).
    pub fn distance_3(pages_per_block: u32) -> Result<Pairing, PairingError> {
        Pairing::runs(1, pages_per_block)
    }

    /// Lower and upper pages come in runs of `run_pages`, and the first run of lower pages is twice as long: with 2, the
    /// pages 0 to 3 are lower, 4 and 5 upper, 6 and 7 lower, 8 and 9 upper; 0 is paired with 4, 1 with 5, 2 with 8, 3
    /// with 9, and so on, as in Hynix's H27UCG8T2BTR. With 1 this is [`Pairing::distance_3`].
    pub fn runs(run_pages: u32, pages_per_block: u32) -> Result<Pairing, PairingError> {
        let multiple = 2 * run_pages;
        if run_pages == 0 || pages_per_block < 2 * multiple || !pages_per_block.is_multiple_of(multiple) {
            return Err(PairingError::Runs { run_pages, pages_per_block, multiple });
        }
        let (mut lower, mut upper) = (0u16, 0u16);
        let word_line = |page: u32| {
            let run = page / run_pages;
            let is_upper = (run >= 2 && run.is_multiple_of(2)) || run == pages_per_block / run_pages - 1;
            let next = if is_upper { &mut upper } else { &mut lower };
            *next += 1;
            *next - 1
        };
        Ok(Pairing { word_lines: (0..pages_per_block).map(word_line).collect() })
    }

    /// The word line of each page of a block, as a data sheet lists them. Any number of pages may share one.
    pub fn table(word_lines: &[u16], pages_per_block: u32) -> Result<Pairing, PairingError> {
        if word_lines.len() != pages_per_block as usize {
            return Err(PairingError::Pages { pages: word_lines.len(), pages_per_block });
        }
        Ok(Pairing { word_lines: word_lines.into() })
    }

    pub fn check(&self, pages_per_block: u32) -> Result<(), PairingError> {
        let pages = self.word_lines.len();
        if pages != pages_per_block as usize {
            return Err(PairingError::Pages { pages, pages_per_block });
        }
        Ok(())
    }

    /// Whether the page is programmed into cells that hold another page already.
    pub fn is_upper(&self, page_in_block: u32) -> bool {
        self.earlier_pages(page_in_block).next().is_some()
    }

    /// Pages of the block that share their cells with this one and come before it.
    pub fn earlier_pages(&self, page_in_block: u32) -> impl Iterator<Item = u32> + '_ {
        let place = page_in_block as usize;
        let word_line = self.word_lines[place];
        self.word_lines[..place].iter().zip(0..).filter(move |&(&other, _)| other == word_line).map(|(_, page)| page)
    }
}
