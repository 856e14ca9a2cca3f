//! The ledger: how many bytes of each erase block, and of all blocks together, are in which condition.
//!
//! Follows `fs/jffs2/jffs2_fs_sb.h` (`used_size`, `dirty_size` ... of `struct jffs2_sb_info`) and `nodelist.h` (the same
//! of `struct jffs2_eraseblock`). The kernel changes both by hand, side by side; here bytes move from one share to
//! another by `Blocks::shift` and in no other way.
//!
//! The invariants, asserted at each shift in builds with debug assertions:
//!
//! - the shares of a block add up to the size of a block;
//! - the totals add up to the size of the medium, and no share of a block is larger than the total of that share.

/// The condition of a byte of an erase block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Share {
    /// In nodes that the mount scan found and whose data CRCs were not checked yet.
    Unchecked,
    /// In nodes that are needed.
    Used,
    /// In nodes that are obsolete.
    Dirty,
    /// Lost until the block is erased, but so few that the block does not count as dirty.
    Wasted,
    /// Not written yet; always the end of the block.
    Free,
    /// The whole block is being erased or read back.
    Erasing,
    /// The whole block is bad.
    Bad,
}

const SHARES: usize = Share::Bad as usize + 1;

/// Bytes by share, of a block or of all blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    bytes: [u32; SHARES],
}

impl Shares {
    /// The shares of a block whose bytes are all free.
    pub fn free(bytes: u32) -> Shares {
        let mut shares = Shares::default();
        shares.bytes[Share::Free as usize] = bytes;
        shares
    }

    #[inline]
    pub fn of(&self, share: Share) -> u32 {
        self.bytes[share as usize]
    }

    #[inline]
    pub fn unchecked_bytes(&self) -> u32 {
        self.of(Share::Unchecked)
    }

    #[inline]
    pub fn used_bytes(&self) -> u32 {
        self.of(Share::Used)
    }

    #[inline]
    pub fn dirty_bytes(&self) -> u32 {
        self.of(Share::Dirty)
    }

    #[inline]
    pub fn wasted_bytes(&self) -> u32 {
        self.of(Share::Wasted)
    }

    #[inline]
    pub fn free_bytes(&self) -> u32 {
        self.of(Share::Free)
    }

    #[inline]
    pub fn erasing_bytes(&self) -> u32 {
        self.of(Share::Erasing)
    }

    #[inline]
    pub fn bad_bytes(&self) -> u32 {
        self.of(Share::Bad)
    }

    /// All shares together.
    pub fn sum_bytes(&self) -> u32 {
        self.bytes.iter().sum()
    }

    #[inline]
    pub(crate) fn shift(&mut self, from: Share, to: Share, bytes: u32) {
        debug_assert!(self.of(from) >= bytes, "{bytes} B of {from:?} become {to:?}, of {self:?}");
        self.bytes[from as usize] -= bytes;
        self.bytes[to as usize] += bytes;
    }
}

impl std::ops::AddAssign for Shares {
    fn add_assign(&mut self, other: Shares) {
        for (sum, bytes) in self.bytes.iter_mut().zip(other.bytes) {
            *sum += bytes;
        }
    }
}
