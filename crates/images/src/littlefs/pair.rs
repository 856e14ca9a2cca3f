//! The two blocks that hold one log in turn.

use super::log::Log;
use super::version1;
use crate::little_endian::u32_at;
use std::borrow::Cow;

/// The logs of both blocks of a pair, and which of them counts.
pub struct Pair<'i> {
    pub blocks: [u32; 2],
    pub data: [Cow<'i, [u8]>; 2],
    pub logs: [Option<Log>; 2],
}

/// The log of a block, of whatever version.
pub fn log_of(block: &[u8]) -> Option<Log> {
    Log::of(block).or_else(|| version1::log(block))
}

impl<'i> Pair<'i> {
    pub fn of(blocks: [u32; 2], data: [Cow<'i, [u8]>; 2]) -> Pair<'i> {
        let logs = [log_of(&data[0]), log_of(&data[1])];
        Pair { blocks, data, logs }
    }

    /// 0 or 1: that with the later revision, which counts round, of those that have a whole commit. `None`: none has.
    pub fn current(&self) -> Option<usize> {
        match &self.logs {
            [Some(first), Some(second)] => Some(usize::from(second.revision.wrapping_sub(first.revision) as i32 > 0)),
            [Some(_), None] => Some(0),
            [None, Some(_)] => Some(1),
            [None, None] => None,
        }
    }

    /// Whether a block without a whole commit had one: it has tags, or a later revision than the log that counts. The other block
    /// of a new pair holds whatever stood there before, as littlefs erases a block when it writes to it first, and counts on from the
    /// revision that it finds there (`lfs_dir_alloc` of `lfs.c`).
    pub fn is_damaged(&self, number: usize) -> bool {
        let block = &self.data[number];
        let is_later = |log: &Log| u32_at(block, 0).is_some_and(|found| found.wrapping_sub(log.revision) as i32 > 0);
        let counts = self.current().and_then(|current| self.logs[current].as_ref());
        block.iter().any(|&byte| byte != 0xFF) && (Log::has_begun(block) || counts.is_some_and(is_later))
    }
}

#[cfg(test)]
mod tests {
    use super::super::log::checksum;
    use super::*;

    /// A log of one commit without entries, and what stands in the other block of its pair.
    #[test]
    fn what_stood_in_the_other_block_of_a_new_pair_is_no_damage() {
        let log = |revision: u32, sum: u32| {
            let mut block = vec![0xFF; 64];
            block[..4].copy_from_slice(&revision.to_le_bytes());
            // A check sum that is all of the commit.
            block[4..8].copy_from_slice(&(0x500F_FC04_u32 ^ 0xFFFF_FFFF).to_be_bytes());
            let crc = checksum(&block[..8]);
            block[8..12].copy_from_slice(&(crc ^ sum).to_le_bytes());
            block
        };
        let is_damaged = |other: Vec<u8>| Pair::of([0, 1], [log(7, 0).into(), other.into()]).is_damaged(1);
        assert!(
            !is_damaged(vec![0xFF; 64])
                && !is_damaged(vec![0; 64])
                && !is_damaged(vec![6, 0, 0, 0, b'd', b'a', b't', b'a'])
        );
        assert!(is_damaged(log(6, 1)) && is_damaged(log(8, 1)), "a wrong check sum");
        let mut later = log(8, 0);
        later[4] ^= 0x80;
        assert!(is_damaged(later), "a tag of a later log");
    }
}
