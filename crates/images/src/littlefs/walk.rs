//! All metadata pairs of an image, the files in them and the blocks of each: what littlefs finds at a mount and in its search for free
//! blocks. Nothing in the image is trusted.

use super::log::{Entry, Held, Log, NameOf, Superblock};
use super::pair::Pair;
use crate::format::Layout;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// What a block is to the file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    #[default]
    Free,
    /// The log that counts of a metadata pair, and how many of its bytes are written.
    Log { bytes: u32 },
    /// The other block of a metadata pair.
    OlderLog,
    /// Of a file: how many of its bytes are pointers or data.
    Data { bytes: u32 },
}

/// Damage: the block, the place in it, what it is.
pub struct Flaw {
    pub block: u32,
    pub at_bytes: u32,
    pub what: String,
}

/// A metadata pair whose log can be read.
pub struct Directory {
    pub log: Log,
    /// The entry of this number is being moved elsewhere, and stands there.
    moved: Option<usize>,
}

impl Directory {
    /// Those that are there.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let is_there = |(id, entry): &(usize, &Entry)| {
            Some(*id) != self.moved && matches!(entry.is, NameOf::File | NameOf::Directory)
        };
        self.log.entries.iter().enumerate().filter(is_there).map(|(_, entry)| entry)
    }
}

pub struct Walk<'i> {
    image: &'i [u8],
    layout: &'i Layout,
    pub superblock: Option<Superblock>,
    root: [u32; 2],
    /// By their pairs, the smaller number first.
    pub directories: BTreeMap<[u32; 2], Directory>,
    pub uses: Vec<Use>,
    pub flaws: Vec<Flaw>,
}

fn sorted([first, second]: [u32; 2]) -> [u32; 2] {
    [first.min(second), first.max(second)]
}

/// Of a list of blocks: the number of the block in it that holds byte `at`, and where in that block it stands (`lfs_ctz_index`).
pub fn place_in_list(block_bytes: u32, at: u32) -> (u32, u32) {
    let usable = block_bytes - 8;
    let mut number = at / usable;
    if number == 0 {
        return (0, at);
    }
    number = (at - 4 * ((number - 1).count_ones() + 2)) / usable;
    (number, at - usable * number - 4 * number.count_ones())
}

/// Bytes of pointers at the start of a block of a list.
fn pointer_bytes(number: u32) -> u32 {
    match number {
        0 => 0,
        _ => 4 * (number.trailing_zeros() + 1),
    }
}

impl<'i> Walk<'i> {
    pub fn of(image: &'i [u8], layout: &'i Layout) -> Walk<'i> {
        let mut walk = Walk {
            image,
            layout,
            superblock: None,
            root: [0, 1],
            directories: BTreeMap::new(),
            uses: vec![Use::Free; layout.blocks as usize],
            flaws: Vec::new(),
        };
        walk.follow_tails();
        walk.find_moved();
        walk.mark_data();
        walk
    }

    fn flaw(&mut self, block: u32, at: usize, what: impl Into<String>) {
        self.flaws.push(Flaw { block, at_bytes: at as u32, what: what.into() });
    }

    fn data(&self, block: u32) -> Option<Cow<'i, [u8]>> {
        (block < self.layout.blocks).then(|| self.layout.data(block, self.image))
    }

    /// All pairs are one list, which begins at blocks 0 and 1.
    fn follow_tails(&mut self) {
        let mut next = Some([0, 1]);
        let mut from = 0;
        while let Some(blocks) = next.filter(|pair| *pair != [u32::MAX; 2]) {
            let key = sorted(blocks);
            if self.directories.contains_key(&key) {
                self.flaw(from, 0, format!("the list of directories comes back to blocks {} and {}", key[0], key[1]));
                return;
            }
            let Some(log) = self.read_pair(blocks, from) else { return };
            (next, from) = (log.tail.map(|tail| tail.blocks), blocks[0]);
            if let Some(superblock) = Superblock::of(&log) {
                (self.superblock, self.root) = (Some(superblock), superblock.root_blocks.map_or(key, sorted));
            }
            self.directories.insert(key, Directory { log, moved: None });
        }
    }

    /// The log that counts; what is wrong is noted.
    fn read_pair(&mut self, blocks: [u32; 2], from: u32) -> Option<Log> {
        let (Some(first), Some(second)) = (self.data(blocks[0]), self.data(blocks[1])) else {
            self.flaw(from, 0, format!("a directory in blocks {} and {}, which are not there", blocks[0], blocks[1]));
            return None;
        };
        let pair = Pair::of(blocks, [first, second]);
        let Some(current) = pair.current() else {
            let what = format!(
                "no whole commit in blocks {} and {}: this directory and those behind it are lost",
                blocks[0], blocks[1]
            );
            self.flaw(blocks[0], 0, what);
            return None;
        };
        for (number, log) in pair.logs.iter().enumerate() {
            let block = pair.blocks[number];
            match log {
                Some(log) if number == current => {
                    self.uses[block as usize] = Use::Log { bytes: log.end_bytes as u32 };
                    if log.is_torn {
                        self.flaw(block, log.end_bytes, "a commit that is not whole, behind the last that is");
                    }
                }
                Some(_) => self.uses[block as usize] = Use::OlderLog,
                None => {
                    self.uses[block as usize] = Use::OlderLog;
                    if pair.is_damaged(number) {
                        self.flaw(block, 0, "no whole commit in the other block of a directory");
                    }
                }
            }
        }
        pair.logs.into_iter().nth(current).flatten()
    }

    /// A rename between directories that was cut leaves its name in both. The state of the file system says which does not count.
    fn find_moved(&mut self) {
        let mut state = [0; 12];
        for directory in self.directories.values() {
            state.iter_mut().zip(directory.log.state).for_each(|(byte, more)| *byte ^= more);
        }
        let word = |at: usize| u32::from_le_bytes([state[at], state[at + 1], state[at + 2], state[at + 3]]);
        let (tag, pair) = (word(0), [word(4), word(8)]);
        if tag >> 28 & 7 != 0 {
            if let Some(directory) = self.directories.get_mut(&sorted(pair)) {
                directory.moved = Some((tag >> 10 & 0x3ff) as usize);
            }
        }
    }

    fn mark_data(&mut self) {
        let lists: Vec<(u32, u32)> = self
            .directories
            .values()
            .flat_map(Directory::entries)
            .filter_map(|entry| match entry.held {
                Held::Blocks { head, size_bytes } => Some((head, size_bytes)),
                _ => None,
            })
            .collect();
        for (head, size_bytes) in lists {
            // What is wrong with it is told with its file.
            for (number, block) in self.list(head, size_bytes).unwrap_or_default() {
                let (last, end) = place_in_list(self.layout.block_bytes, size_bytes - 1);
                let bytes = if number == last { end + 1 } else { self.layout.block_bytes };
                match self.uses[block as usize] {
                    Use::Free => self.uses[block as usize] = Use::Data { bytes },
                    _ => self.flaw(block, 0, "a block that is used twice"),
                }
            }
        }
    }

    /// The blocks of a file with their numbers, from its last to its first.
    ///
    /// Errors: what is wrong, in a line.
    pub fn list(&self, head: u32, size_bytes: u32) -> Result<Vec<(u32, u32)>, String> {
        if size_bytes == 0 {
            return Ok(Vec::new());
        }
        if u64::from(size_bytes) > u64::from(self.layout.blocks) * u64::from(self.layout.block_bytes) {
            return Err(format!("a file of {size_bytes} B, more than the image has"));
        }
        let (last, _) = place_in_list(self.layout.block_bytes, size_bytes - 1);
        let mut blocks = Vec::new();
        let mut seen = BTreeSet::new();
        let mut block = head;
        for number in (0..=last).rev() {
            let data = self.data(block).filter(|_| seen.insert(block));
            let Some(data) = data else {
                return Err(format!("block {number} of the file is block {block}, which cannot be"));
            };
            blocks.push((number, block));
            if number > 0 {
                let pointer = data.get(..4).ok_or_else(|| format!("block {block} is cut off"))?;
                block = u32::from_le_bytes([pointer[0], pointer[1], pointer[2], pointer[3]]);
            }
        }
        Ok(blocks)
    }

    /// The content of an entry.
    ///
    /// Errors: what is wrong, in a line.
    pub fn content(&self, held: &Held) -> Result<Vec<u8>, String> {
        match held {
            Held::Inline(data) => Ok(data.clone()),
            Held::Blocks { head, size_bytes } => {
                let mut content = Vec::with_capacity(*size_bytes as usize);
                for &(number, block) in self.list(*head, *size_bytes)?.iter().rev() {
                    let data = self.data(block).unwrap_or_default();
                    let left = *size_bytes as usize - content.len();
                    let start = pointer_bytes(number) as usize;
                    let part = data.get(start..).ok_or_else(|| format!("block {block} is cut off"))?;
                    content.extend_from_slice(&part[..part.len().min(left)]);
                }
                if content.len() == *size_bytes as usize {
                    Ok(content)
                } else {
                    Err(format!("only {} of {size_bytes} B are there", content.len()))
                }
            }
            Held::Nothing | Held::Directory(_) => Ok(Vec::new()),
        }
    }

    /// The pairs of a directory that begins at this one; of the root without one.
    ///
    /// Errors: a pair that is not there or cannot be read.
    pub fn parts(&self, first: Option<[u32; 2]>) -> (Vec<&Directory>, Option<String>) {
        let mut parts = Vec::new();
        let mut seen = BTreeSet::new();
        let mut next = Some(sorted(first.unwrap_or(self.root)));
        while let Some(pair) = next {
            let found = self.directories.get(&pair).filter(|_| seen.insert(pair));
            let Some(directory) = found else {
                return (
                    parts,
                    Some(format!("its blocks {} and {} cannot be read: names are missing", pair[0], pair[1])),
                );
            };
            next = directory.log.tail.filter(|tail| tail.is_same).map(|tail| sorted(tail.blocks));
            parts.push(directory);
        }
        (parts, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_of_a_list_has_the_place_that_its_blocks_give_it() {
        let block_bytes = 128;
        let mut at = 0;
        for number in 0..200 {
            for place in pointer_bytes(number)..block_bytes {
                assert_eq!(place_in_list(block_bytes, at), (number, place), "{at}");
                at += 1;
            }
        }
    }
}
