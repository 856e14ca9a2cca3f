//! What a chip is: its sizes, its times and its programming rules.

use thiserror::Error;

/// Sizes of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Data area of a page, in bytes.
    pub page_bytes: u32,
    /// Out-of-band (spare) area of a page, in bytes.
    pub oob_bytes: u32,
    pub pages_per_block: u32,
    /// Erase blocks of the chip.
    pub blocks: u32,
}

/// Each page costs some ten bytes of the host's memory for its state, whether it is used or not: 160 MiB for so many
/// pages. With pages of 2 KiB these are 32 GiB, more than raw NAND with such pages has.
const PAGES_MAX: u32 = 1 << 24;

/// A geometry or rule that no chip can have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GeometryError {
    #[error("page_B = {0}: a page has 512 to 16384 bytes, a power of two")]
    Page(u32),
    #[error("oob_B = {oob_bytes}: the out-of-band area has 16 to {page_bytes} bytes (a page's data area)")]
    Oob { oob_bytes: u32, page_bytes: u32 },
    #[error("pages_per_block = {0}: an erase block has 2 to 4096 pages, a power of two")]
    PagesPerBlock(u32),
    #[error("blocks = {blocks}: a chip has 1 to {blocks_max} erase blocks of {pages_per_block} pages")]
    Blocks { blocks: u32, blocks_max: u32, pages_per_block: u32 },
    #[error("partial_programs_max = 0: a page must be programmable at least once between two erases")]
    NoPrograms,
}

impl Geometry {
    /// Checks that a chip can have these sizes. They are powers of two because the NAND core of Linux computes
    /// addresses with shifts (`nand_base.c`, `page_shift`, `phys_erase_shift`).
    pub fn check(&self) -> Result<(), GeometryError> {
        let Geometry { page_bytes, oob_bytes, pages_per_block, blocks } = *self;
        if !(512..=16384).contains(&page_bytes) || !page_bytes.is_power_of_two() {
            return Err(GeometryError::Page(page_bytes));
        }
        if !(16..=page_bytes).contains(&oob_bytes) {
            return Err(GeometryError::Oob { oob_bytes, page_bytes });
        }
        if !(2..=4096).contains(&pages_per_block) || !pages_per_block.is_power_of_two() {
            return Err(GeometryError::PagesPerBlock(pages_per_block));
        }
        let blocks_max = PAGES_MAX / pages_per_block;
        if !(1..=blocks_max).contains(&blocks) {
            return Err(GeometryError::Blocks { blocks, blocks_max, pages_per_block });
        }
        Ok(())
    }

    /// Pages of the chip.
    pub fn pages(&self) -> u32 {
        self.pages_per_block * self.blocks
    }

    /// Data bytes of an erase block.
    pub fn block_bytes(&self) -> u32 {
        self.page_bytes * self.pages_per_block
    }

    /// Data bytes of the chip.
    pub fn size_bytes(&self) -> u64 {
        u64::from(self.block_bytes()) * u64::from(self.blocks)
    }

    /// Byte of the OOB area of a block's first page that is not 0xFF in a bad block
    /// (`nand_base.c`, `nand_scan_tail`: `NAND_LARGE_BADBLOCK_POS`, `NAND_SMALL_BADBLOCK_POS`).
    pub fn bad_mark_byte(&self) -> u32 {
        if self.page_bytes > 512 {
            0
        } else {
            5
        }
    }
}

/// Times of the cell array and of the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// tR: cells to page register.
    pub read_ns: u64,
    /// tPROG: page register to cells.
    pub program_ns: u64,
    /// tBERS: one block.
    pub erase_ns: u64,
    /// Time for one byte on the bus, in picoseconds, in either direction.
    pub bus_ps_per_byte: u64,
}

/// The programming rules of the data sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// NOP: programs of one page's data area between two erases. 255 and more: no limit.
    pub partial_programs_max: u32,
    /// Pages of a block may only be programmed in ascending order. Out-of-band programs are exempt, because a bad
    /// block mark goes into the first page of a block that is already in use.
    pub in_order: bool,
}

impl Rules {
    pub fn check(&self) -> Result<(), GeometryError> {
        if self.partial_programs_max == 0 {
            return Err(GeometryError::NoPrograms);
        }
        Ok(())
    }
}
