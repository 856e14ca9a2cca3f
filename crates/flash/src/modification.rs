//! What programs and erases did to a chip, kept in their order, so that the content at each of them, whole or cut off in its middle,
//! can be made again from the content before.
//!
//! A run that is looked at once then gives all its power cuts: nobody runs it again for each of them.

use crate::cells::block::ContentHash;
pub use crate::cells::BlockContent;
use crate::chip::Chip;
use crate::nor;
use crate::pairing::Pairing;
use crate::power::Torn;
use crate::snapshot::ChipImage;

/// A program or an erase, with the bytes that it brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Modification {
    /// Of a page of NAND; without `oob` that area is left alone.
    Page {
        page: u32,
        data: Box<[u8]>,
        oob: Option<Box<[u8]>>,
    },
    /// Of a page's OOB area alone.
    Oob {
        page: u32,
        oob: Box<[u8]>,
    },
    /// Of bytes of NOR.
    Bytes {
        at: u64,
        data: Box<[u8]>,
    },
    Erase {
        block: u32,
    },
}

impl Modification {
    pub(crate) fn of_page(page: u32, data: &[u8], oob: Option<&[u8]>) -> Modification {
        Modification::Page { page, data: data.into(), oob: oob.map(Box::from) }
    }
}

impl Chip {
    /// From now on, keeps each program and erase that begins, for [`Chip::take_modifications`].
    pub fn keep_modifications(&mut self) {
        self.kept.get_or_insert_default();
    }

    /// What was kept since the last time.
    pub fn take_modifications(&mut self) -> Vec<Modification> {
        self.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

impl ChipImage {
    /// Does to the content what the operation did, or what a power cut leaves of it.
    pub fn apply(&mut self, modification: &Modification, torn: Torn, pairing: Option<&Pairing>) {
        let cells = self.cells_mut();
        match (modification, torn) {
            (_, Torn::Nothing) | (Modification::Bytes { .. }, _) => {}
            (Modification::Page { page, data, oob }, Torn::Complete) => {
                cells.program_data(*page, data);
                if let Some(oob) = oob {
                    cells.program_oob(*page, oob);
                }
            }
            (Modification::Page { page, data, oob }, Torn::Partial { seed }) => {
                cells.program_torn(seed, *page, data, oob.as_deref(), pairing);
            }
            (Modification::Page { page, data, oob }, Torn::Unstable { seed }) => {
                cells.program_unstable(seed, *page, data, oob.as_deref());
            }
            (Modification::Oob { page, oob }, Torn::Complete) => cells.program_oob(*page, oob),
            (Modification::Oob { page, oob }, Torn::Partial { seed }) => {
                cells.program_oob_torn(seed, *page, oob, pairing);
            }
            (Modification::Oob { page, oob }, Torn::Unstable { seed }) => cells.program_oob_unstable(seed, *page, oob),
            (Modification::Erase { block }, torn) => {
                match torn {
                    Torn::Partial { seed } => cells.erase_torn(seed, *block),
                    Torn::Unstable { seed } => cells.erase_unstable(seed, *block),
                    _ => cells.wipe(*block),
                }
                cells.erase_counts[*block as usize] += 1;
            }
        }
    }

    /// The block that an operation changes.
    pub fn block_of(&self, modification: &Modification) -> u32 {
        match modification {
            Modification::Page { page, .. } | Modification::Oob { page, .. } => page / self.geometry().pages_per_block,
            Modification::Erase { block } => *block,
            Modification::Bytes { .. } => 0,
        }
    }

    pub fn block_content(&self, block: u32) -> BlockContent {
        self.cells().block_content(block)
    }

    /// Puts back what [`ChipImage::block_content`] has copied.
    pub fn put_block_content(&mut self, content: &BlockContent) {
        self.cells_mut().put_block_content(content);
    }

    /// The same for two blocks that read alike.
    pub fn block_hash(&self, block: u32) -> u64 {
        self.cells().block_hash(block)
    }
}

/// [`ChipImage::apply`] for the bytes of a NOR chip.
pub fn apply_to_nor(bytes: &mut [u8], block_bytes: usize, modification: &Modification, torn: Torn) {
    match modification {
        Modification::Bytes { at, data } => {
            let cells = &mut bytes[*at as usize..*at as usize + data.len()];
            match torn {
                Torn::Nothing => {}
                Torn::Partial { seed } | Torn::Unstable { seed } => {
                    nor::torn::program(seed, cells, data);
                }
                Torn::Complete => cells.iter_mut().zip(data).for_each(|(cell, byte)| *cell &= byte),
            }
        }
        Modification::Erase { block } => {
            let cells = &mut bytes[*block as usize * block_bytes..(*block as usize + 1) * block_bytes];
            match torn {
                Torn::Nothing => {}
                Torn::Partial { seed } | Torn::Unstable { seed } => nor::torn::erase(seed, cells),
                Torn::Complete => cells.fill(0xFF),
            }
        }
        Modification::Page { .. } | Modification::Oob { .. } => {}
    }
}

/// A hash of bytes as good as [`ChipImage::block_hash`].
pub fn hash_of(bytes: &[u8]) -> u64 {
    let mut hash = ContentHash::new();
    hash.bytes(bytes);
    hash.finish()
}
