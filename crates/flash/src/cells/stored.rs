//! The medium as bytes, so that a state that took long to reach can be kept in a file and put on a chip again. Private
//! to this program: images for others are written by [`crate::ImageLayout`].
//!
//! Little-endian, in order: mark, geometry; per block its erase count and state; per page its programs and what of it is
//! programmed; the contents of the programmed pages; damage; unstable pages; bits that copy-backs took along.

use super::{Block, Cells, Unstable};
use crate::geometry::Geometry;
use crate::slab::NONE;

const MARK: &[u8; 8] = b"ffslabC1";
const HAS_DATA: u8 = 1;
const HAS_OOB: u8 = 2;
/// Stands where an unstable page would: bits of a page follow that a copy-back took along.
const INHERITED: u32 = u32::MAX;

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

impl Cells {
    pub fn to_bytes(&self) -> Vec<u8> {
        let geometry = self.geometry;
        let mut out = MARK.to_vec();
        let put = |out: &mut Vec<u8>, value: u32| out.extend_from_slice(&value.to_le_bytes());
        for value in [geometry.page_bytes, geometry.oob_bytes, geometry.pages_per_block, geometry.blocks] {
            put(&mut out, value);
        }
        for (block, erases) in self.blocks.iter().zip(&self.erase_counts) {
            let Block { programmed_pages, oob_slots, order_floor_page, reads_since_erase, reads_between_erases_max } =
                *block;
            for value in
                [*erases, programmed_pages, oob_slots, order_floor_page, reads_since_erase, reads_between_erases_max]
            {
                put(&mut out, value);
            }
        }
        out.extend_from_slice(&self.programs);
        for page in 0..geometry.pages() {
            let has = |present: bool, flag: u8| if present { flag } else { 0 };
            out.push(has(self.data(page).is_some(), HAS_DATA) | has(self.oob(page).is_some(), HAS_OOB));
        }
        for page in 0..geometry.pages() {
            out.extend_from_slice(self.data(page).unwrap_or_default());
            out.extend_from_slice(self.oob(page).unwrap_or_default());
        }
        put(&mut out, self.damage.len() as u32);
        for (&page, &mask) in &self.damage {
            put(&mut out, page);
            out.extend_from_slice(&mask.to_le_bytes());
        }
        // Only where there is any, so that all other media are stored as ever.
        for (page, Unstable { seed, units, oob }) in self.unstable_pages() {
            put(&mut out, page);
            out.extend_from_slice(&seed.to_le_bytes());
            out.extend_from_slice(&units.to_le_bytes());
            put(&mut out, u32::from(oob));
        }
        for (&page, bits) in &self.inherited {
            for value in [INHERITED, page, bits.len() as u32].iter().chain(&**bits) {
                put(&mut out, *value);
            }
        }
        out
    }

    /// Reads a stored medium. `None`: the bytes are not those of a medium of this geometry.
    pub fn from_bytes(bytes: &[u8], geometry: Geometry) -> Option<Cells> {
        let mut reader = Reader(bytes);
        if reader.take(MARK.len())? != MARK {
            return None;
        }
        let of_chip = [geometry.page_bytes, geometry.oob_bytes, geometry.pages_per_block, geometry.blocks];
        for value in of_chip {
            if reader.u32()? != value {
                return None;
            }
        }
        let mut cells = Cells::new(geometry);
        for block in 0..geometry.blocks as usize {
            cells.erase_counts[block] = reader.u32()?;
            cells.blocks[block] = Block {
                programmed_pages: reader.u32()?,
                oob_slots: reader.u32()?,
                order_floor_page: reader.u32()?,
                reads_since_erase: reader.u32()?,
                reads_between_erases_max: reader.u32()?,
            };
        }
        let pages = geometry.pages() as usize;
        cells.programs.copy_from_slice(reader.take(pages)?);
        let held = reader.take(pages)?;
        for (page, &held) in held.iter().enumerate() {
            if (held & HAS_DATA != 0) != (cells.programs[page] != 0) {
                return None;
            }
            if held & HAS_DATA != 0 {
                let run = cells.run_of(page as u32);
                if cells.run_slot[run] == NONE {
                    cells.run_slot[run] = cells.data.take();
                }
                cells.data_mut(page as u32).copy_from_slice(reader.take(geometry.page_bytes as usize)?);
            }
            if held & HAS_OOB != 0 {
                let slot = cells.oob.take();
                cells.oob_slot[page] = slot;
                cells.oob.get_mut(slot).copy_from_slice(reader.take(geometry.oob_bytes as usize)?);
            }
        }
        for _ in 0..reader.u32()? {
            let page = reader.u32()?;
            cells.damage.insert(page, reader.u64()?);
        }
        while !reader.0.is_empty() {
            let first = reader.u32()?;
            let number = if first == INHERITED { reader.u32()? } else { first };
            let page = Some(number).filter(|&page| page < geometry.pages())?;
            if first == INHERITED {
                let count = reader.u32()?;
                let bits: Option<Vec<u32>> = (0..count).map(|_| reader.u32()).collect();
                cells.inherit(page, &bits?);
                continue;
            }
            let unstable = Unstable { seed: reader.u64()?, units: reader.u64()?, oob: reader.u32()? != 0 };
            cells.unstable.insert(page, unstable);
        }
        Some(cells)
    }
}
