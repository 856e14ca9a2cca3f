//! What was done to a medium, operation by operation, and the contents that a power cut at each of them leaves: see
//! [`ffslab_flash::modification`].

use ffslab_flash::modification::{apply_to_nor, hash_of};
use ffslab_flash::{BlockContent, Chip, Modification, Pairing, Torn};

use crate::handle::Mtd;
use crate::medium::MediumImage;

/// Programs and erases of a medium, in their order.
#[derive(Clone, Debug, Default)]
pub struct Modifications {
    pub operations: Vec<Modification>,
    /// Which pages of the chip share cells.
    pub pairing: Option<Pairing>,
    /// Of an erase block.
    pub block_bytes: u32,
}

/// What an erase block holds, to be put back.
pub enum PartOfMedium {
    Chip(BlockContent),
    Bytes { at: usize, bytes: Vec<u8> },
}

impl Mtd {
    /// From now on, keeps each program and erase of the whole chip, for [`Mtd::take_modifications`]. Whether the medium can.
    pub fn keep_modifications(&self) -> bool {
        if let Some(nand) = self.nand() {
            nand.with_chip(Chip::keep_modifications);
        } else if let Some(nor) = self.nor() {
            nor.chip.keep_modifications();
        } else {
            return false;
        }
        true
    }

    /// What was kept since the last time.
    pub fn take_modifications(&self) -> Modifications {
        let block_bytes = self.capabilities().erase_block_bytes;
        match (self.nand(), self.nor()) {
            (Some(nand), _) => {
                let take = |chip: &mut Chip| (chip.take_modifications(), chip.pairing().cloned());
                let (operations, pairing) = nand.with_chip(take);
                Modifications { operations, pairing, block_bytes }
            }
            (None, Some(nor)) => {
                Modifications { operations: nor.chip.take_modifications(), pairing: None, block_bytes }
            }
            (None, None) => Modifications::default(),
        }
    }
}

impl Modifications {
    /// Does to the content what an operation did, or what a power cut leaves of it.
    pub fn apply(&self, operation: &Modification, torn: Torn, to: &mut MediumImage) {
        match to {
            MediumImage::Chip(chip) => chip.apply(operation, torn, self.pairing.as_ref()),
            MediumImage::Bytes(bytes) => apply_to_nor(bytes, self.block_bytes as usize, operation, torn),
        }
    }

    /// The erase block that an operation changes.
    pub fn block_of(&self, operation: &Modification, of: &MediumImage) -> u32 {
        match (of, operation) {
            (MediumImage::Chip(chip), _) => chip.block_of(operation),
            (MediumImage::Bytes(_), Modification::Bytes { at, .. }) => (at / u64::from(self.block_bytes)) as u32,
            (MediumImage::Bytes(_), Modification::Erase { block }) => *block,
            (MediumImage::Bytes(_), _) => 0,
        }
    }

    /// A copy of what an erase block holds.
    pub fn part(&self, of: &MediumImage, block: u32) -> PartOfMedium {
        match of {
            MediumImage::Chip(chip) => PartOfMedium::Chip(chip.block_content(block)),
            MediumImage::Bytes(bytes) => {
                let at = block as usize * self.block_bytes as usize;
                PartOfMedium::Bytes { at, bytes: bytes[at..at + self.block_bytes as usize].to_vec() }
            }
        }
    }

    /// A hash of what an erase block holds and where it is: those of all blocks together tell media from each other that do not read
    /// alike.
    pub fn hash(&self, of: &MediumImage, block: u32) -> u64 {
        let hash = match of {
            MediumImage::Chip(chip) => chip.block_hash(block),
            MediumImage::Bytes(bytes) => {
                let at = block as usize * self.block_bytes as usize;
                hash_of(&bytes[at..at + self.block_bytes as usize])
            }
        };
        hash_of(&[hash.to_le_bytes(), u64::from(block).to_le_bytes()].concat())
    }

    /// Erase blocks of a medium.
    pub fn blocks(&self, of: &MediumImage) -> u32 {
        match of {
            MediumImage::Chip(chip) => chip.geometry().blocks,
            MediumImage::Bytes(bytes) => (bytes.len() / self.block_bytes.max(1) as usize) as u32,
        }
    }
}

impl PartOfMedium {
    pub fn put_back(&self, into: &mut MediumImage) {
        match (self, into) {
            (PartOfMedium::Chip(content), MediumImage::Chip(chip)) => chip.put_block_content(content),
            (PartOfMedium::Bytes { at, bytes }, MediumImage::Bytes(held)) => {
                held[*at..*at + bytes.len()].copy_from_slice(bytes);
            }
            _ => debug_assert!(false, "a part of another medium"),
        }
    }
}
