//! Sizes of an array, and where in it a page lies.

use std::fmt;

use thiserror::Error;

use super::PLANES_MAX;
use crate::geometry::{Geometry, GeometryError};

/// Sizes of an array. Dies are numbered through: channel by channel, there chip by chip, there die by die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    pub channels: u32,
    /// Chips (targets, with a CE line each) that share a channel's bus.
    pub chips_per_channel: u32,
    /// Dies (LUNs) behind one CE line.
    pub dies_per_chip: u32,
    /// A power of two: the plane is in the lowest bits of a block's number in its die (ONFI, multi-plane addressing).
    pub planes_per_die: u32,
    pub blocks_per_plane: u32,
    pub pages_per_block: u32,
    /// Data area of a page.
    pub page_bytes: u32,
    /// Out-of-band area of a page.
    pub oob_bytes: u32,
}

/// A page of an array, or a block of it (then the page is 0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// Number of the die in the array.
    pub die: u32,
    /// Number of the block in its die; its lowest bits are the number of the plane.
    pub block: u32,
    /// Number of the page in its block.
    pub page: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HierarchyError {
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    #[error("{what} = 0: an array has at least one")]
    Nothing { what: &'static str },
    #[error("planes_per_die = {0}: a die has 1 to {PLANES_MAX} planes, a power of two")]
    Planes(u32),
    #[error("the array has {blocks} blocks, more than can be numbered")]
    TooMany { blocks: u64 },
}

impl Hierarchy {
    pub fn check(&self) -> Result<(), HierarchyError> {
        let counts = [
            ("channels", self.channels),
            ("chips_per_channel", self.chips_per_channel),
            ("dies_per_chip", self.dies_per_chip),
            ("blocks_per_plane", self.blocks_per_plane),
        ];
        if let Some((what, _)) = counts.into_iter().find(|&(_, count)| count == 0) {
            return Err(HierarchyError::Nothing { what });
        }
        if !self.planes_per_die.is_power_of_two() || self.planes_per_die as usize > PLANES_MAX {
            return Err(HierarchyError::Planes(self.planes_per_die));
        }
        let mut blocks = u64::from(self.planes_per_die);
        for (_, count) in counts {
            blocks = blocks.saturating_mul(u64::from(count));
        }
        if u32::try_from(blocks).is_err() {
            return Err(HierarchyError::TooMany { blocks });
        }
        Ok(self.geometry().check()?)
    }

    /// All blocks as one chip, die after die.
    pub fn geometry(&self) -> Geometry {
        Geometry {
            page_bytes: self.page_bytes,
            oob_bytes: self.oob_bytes,
            pages_per_block: self.pages_per_block,
            blocks: self.dies() * self.blocks_per_die(),
        }
    }

    pub fn dies(&self) -> u32 {
        self.channels * self.chips_per_channel * self.dies_per_chip
    }

    #[inline]
    pub fn blocks_per_die(&self) -> u32 {
        self.planes_per_die * self.blocks_per_plane
    }

    /// Number of a die from its place in the hierarchy.
    pub fn die(&self, channel: u32, chip: u32, die_in_chip: u32) -> u32 {
        (channel * self.chips_per_channel + chip) * self.dies_per_chip + die_in_chip
    }

    pub fn channel_of(&self, die: u32) -> u32 {
        die / (self.chips_per_channel * self.dies_per_chip)
    }

    /// Plane of a block of a die.
    #[inline]
    pub fn plane_of(&self, block: u32) -> u32 {
        block & (self.planes_per_die - 1)
    }

    /// Number of a block in the whole array.
    #[inline]
    pub fn block_number(&self, at: Address) -> u32 {
        at.die * self.blocks_per_die() + at.block
    }

    /// Number of a page in the whole array.
    #[inline]
    pub fn page_number(&self, at: Address) -> u32 {
        self.block_number(at) * self.pages_per_block + at.page
    }

    /// The address of a page from its number.
    pub fn address_of(&self, page_number: u32) -> Address {
        let (block, page) = (page_number / self.pages_per_block, page_number % self.pages_per_block);
        Address { die: block / self.blocks_per_die(), block: block % self.blocks_per_die(), page }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "die {} block {} page {}", self.die, self.block, self.page)
    }
}
