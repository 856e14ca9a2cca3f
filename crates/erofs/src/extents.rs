//! Which part of a file stands in which physical cluster: `fs/erofs/zmap.c` for compressed files, `data.c` for others.
//!
//! A compressed file is cut into logical clusters of a block or more. Of each the index says whether a physical cluster begins in it
//! (its head), and where, or how far back that is.

use crate::inode::{Inode, Layout};
use crate::metadata::Metadata;
use crate::superblock::BLOCK_BYTES;
use ffslab_rawblock::little_endian::{u16_at, u32_at, u64_at};
use ffslab_rawblock::Wrong;

const COMPACT_OF_TWO_BYTES: u16 = 0x01;
const BIG_FIRST: u16 = 0x02;
const BIG_SECOND: u16 = 0x04;
const TAIL_PACKED: u16 = 0x08;
const INTERLACED: u16 = 0x10;
const FRAGMENT: u16 = 0x20;
/// In the last byte of a head: the whole file is a fragment.
const WHOLE_FRAGMENT: u64 = 1 << 63;
const HEAD_BYTES: u64 = 8;
const ENTRY_BYTES: u64 = 8;
/// Of the distance of the first cluster that is no head: it is the size of the physical cluster in blocks.
const IS_BLOCKS: u32 = 1 << 11;
/// `Z_EROFS_PCLUSTER_MAX_SIZE`.
const CLUSTER_BYTES_MAX: u64 = 1 << 20;
/// Where a piece would stand that is a hole.
const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Not compressed; in a block that begins with the extent.
    Shifted,
    /// Not compressed; each byte where it is in its block of the file.
    Interlaced,
    Lz4,
}

/// Where an extent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Nowhere: it is a hole, or behind the end.
    Nowhere,
    /// In the inode of fragments, from there on.
    Fragment { at: u64 },
    /// Between metadata.
    Metadata { at: u64, bytes: u64 },
    /// In blocks.
    Blocks { at: u64, bytes: u64 },
}

/// A part of a file.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// In the file.
    pub begin_offset: u64,
    /// As far as it is known from where it was looked for: the extent may go on behind.
    pub end_offset: u64,
    /// Looking for it has met the next extent, so that it ends there (`EROFS_MAP_FULL_MAPPED`).
    pub is_end_known: bool,
    pub stored: Stored,
    /// `None`: it stands there as it is, at the same distance from its begin.
    pub algorithm: Option<Algorithm>,
}

impl Extent {
    /// One that stands there as it is, if anywhere.
    pub fn plain(begin_offset: u64, end_offset: u64, stored: Stored) -> Extent {
        Extent { begin_offset, end_offset, is_end_known: false, stored, algorithm: None }
    }
}

/// What the head before the index of a file says, and where its tail stands (`z_erofs_fill_inode_lazy`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Index {
    advice: u16,
    cluster_bits: u32,
    fragment_at: u64,
    /// The logical cluster in which the last physical one begins. 0 with a fragment: all of the file is one.
    tail_head: u64,
    tail_at: u64,
    tail_bytes: u64,
}

/// The extent in which `at` is. `index` is kept with the inode.
pub fn map(from: &mut impl Metadata, inode: &Inode, index: &mut Option<Index>, at: u64) -> Result<Extent, Wrong> {
    if at >= inode.bytes {
        return Ok(Extent::plain(inode.bytes, at + 1, Stored::Nowhere));
    }
    match inode.layout {
        Layout::Compressed { .. } => map_compressed(from, inode, index, at),
        _ => map_plain(from, inode, at),
    }
}

/// `erofs_map_blocks`.
fn map_plain(from: &mut impl Metadata, inode: &Inode, at: u64) -> Result<Extent, Wrong> {
    let extent = Extent::plain;
    match inode.layout {
        Layout::Chunks { bits, entry_bytes } => {
            let number = at >> bits;
            let place =
                (inode.behind_offset.next_multiple_of(entry_bytes)).saturating_add(number.saturating_mul(entry_bytes));
            let entry = from.take(place, entry_bytes as usize)?;
            let block = u32_at(&entry, entry_bytes as usize - 4).unwrap_or(NOWHERE);
            let begin = number << bits;
            let end = inode.bytes.next_multiple_of(BLOCK_BYTES).min(begin.saturating_add(1 << bits));
            let place = Stored::Blocks { at: u64::from(block) * BLOCK_BYTES, bytes: end - begin };
            Ok(extent(begin, end, if block == NOWHERE { Stored::Nowhere } else { place }))
        }
        Layout::Plain { block } | Layout::Inline { block } => {
            let begin_of_last = (inode.blocks() - u64::from(inode.inline())) * BLOCK_BYTES;
            if at < begin_of_last {
                let stored = Stored::Blocks { at: u64::from(block) * BLOCK_BYTES, bytes: begin_of_last };
                return Ok(extent(0, begin_of_last, stored));
            }
            let bytes = inode.bytes - begin_of_last;
            if inode.behind_offset % BLOCK_BYTES + bytes > BLOCK_BYTES {
                return Err(Wrong::new(inode.behind_offset, "the end of a file, which is in no single block"));
            }
            Ok(extent(begin_of_last, inode.bytes, Stored::Metadata { at: inode.behind_offset, bytes }))
        }
        Layout::Compressed { .. } => Err(Wrong::new(inode.behind_offset, "compressed content")),
    }
}

fn map_compressed(
    from: &mut impl Metadata,
    inode: &Inode,
    index: &mut Option<Index>,
    at: u64,
) -> Result<Extent, Wrong> {
    let known = match *index {
        Some(known) => known,
        None => *index.insert(read_index(from, inode)?),
    };
    if known.advice & FRAGMENT != 0 && known.tail_head == 0 {
        let stored = Stored::Fragment { at: known.fragment_at };
        return Ok(Extent::plain(0, inode.bytes, stored));
    }
    let mut look = Look::new(from, inode, known);
    look.find(at, false)
}

fn read_index(from: &mut impl Metadata, inode: &Inode) -> Result<Index, Wrong> {
    let block_bits = BLOCK_BYTES.trailing_zeros();
    let superblock = *from.superblock();
    if !superblock.has_heads() && inode.layout == (Layout::Compressed { compact: false }) {
        return Ok(Index { cluster_bits: block_bits, ..Index::default() });
    }
    let at = inode.behind_offset.next_multiple_of(8);
    let head = from.take(at, HEAD_BYTES as usize)?;
    let long = u64_at(&head, 0).unwrap_or_default();
    if long & WHOLE_FRAGMENT != 0 {
        return Ok(Index { advice: FRAGMENT, fragment_at: long ^ WHOLE_FRAGMENT, ..Index::default() });
    }
    let half = |at: usize| u16_at(&head, at).unwrap_or_default();
    let mut index = Index { advice: half(4), cluster_bits: block_bits + u32::from(head[7] & 7), ..Index::default() };
    let wrong = |what: &str| Wrong::new(at, what);
    if head[6] & 0x0F != 0 || head[6] >> 4 != 0 {
        return Err(wrong("a file with another compressor than the superblock says"));
    }
    let big = index.advice & (BIG_FIRST | BIG_SECOND);
    if big != 0 && !superblock.has_big_clusters() {
        return Err(wrong("a file with big physical clusters, which the superblock does not say"));
    }
    if inode.layout == (Layout::Compressed { compact: true }) && ![0, BIG_FIRST | BIG_SECOND].contains(&big) {
        return Err(wrong("an index of two kinds"));
    }
    if index.advice & TAIL_PACKED != 0 {
        index.tail_bytes = half(2).into();
        let mut look = Look::new(from, inode, index);
        look.find(inode.bytes - 1, true)?;
        index = look.index;
        if index.tail_bytes == 0 || index.tail_at % BLOCK_BYTES + index.tail_bytes > BLOCK_BYTES {
            return Err(wrong("a packed tail that is in no single block"));
        }
    }
    if index.advice & FRAGMENT != 0 {
        index.fragment_at = u32_at(&head, 0).unwrap_or_default().into();
        let mut look = Look::new(from, inode, index);
        look.find(inode.bytes - 1, true)?;
        index = look.index;
    }
    Ok(index)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    First,
    NoHead,
    Second,
}

impl Kind {
    fn of(number: u32) -> Kind {
        [Kind::Plain, Kind::First, Kind::NoHead, Kind::Second][number as usize & 3]
    }
}

/// What is known of a logical cluster, as one after the other is looked at (`struct z_erofs_maprecorder`).
struct Look<'m, 'i, M> {
    from: &'m mut M,
    inode: &'i Inode,
    index: Index,
    number: u64,
    kind: Kind,
    /// Where in it the physical cluster begins.
    offset: u64,
    back: u64,
    block: u32,
    /// Of the physical cluster. 0: not known yet.
    blocks: u64,
    /// Behind the entry, or the pack of entries.
    behind: u64,
}

impl<'m, 'i, M: Metadata> Look<'m, 'i, M> {
    fn new(from: &'m mut M, inode: &'i Inode, index: Index) -> Look<'m, 'i, M> {
        let kind = Kind::Plain;
        Look { from, inode, index, number: 0, kind, offset: 0, back: 0, block: 0, blocks: 0, behind: 0 }
    }

    fn wrong(&self, what: &str) -> Wrong {
        let number = self.number;
        Wrong::new(self.inode.behind_offset, format!("logical cluster {number} of inode {}: {what}", self.inode.number))
    }

    fn has(&self, advice: u16) -> bool {
        self.index.advice & advice != 0
    }

    fn load(&mut self, number: u64) -> Result<(), Wrong> {
        self.number = number;
        match self.inode.layout {
            Layout::Compressed { compact: true } => self.load_compact(number),
            _ => self.load_full(number),
        }
    }

    fn load_full(&mut self, number: u64) -> Result<(), Wrong> {
        let begin = self.inode.behind_offset.next_multiple_of(8) + HEAD_BYTES + ENTRY_BYTES;
        let at = begin.saturating_add(number.saturating_mul(ENTRY_BYTES));
        let entry = self.from.take(at, ENTRY_BYTES as usize)?;
        let half = |at: usize| u32::from(u16_at(&entry, at).unwrap_or_default());
        self.behind = at.saturating_add(ENTRY_BYTES);
        self.kind = Kind::of(half(0));
        if self.kind == Kind::NoHead {
            self.set_distance(half(4))?;
            return Ok(());
        }
        self.offset = half(2).into();
        if self.offset >> self.index.cluster_bits != 0 {
            return Err(self.wrong("it begins behind its end"));
        }
        self.block = u32_at(&entry, 4).unwrap_or_default();
        Ok(())
    }

    /// Of a cluster that is no head. `true`: what was said is how large the physical cluster is.
    fn set_distance(&mut self, distance: u32) -> Result<bool, Wrong> {
        self.offset = 1 << self.index.cluster_bits;
        self.back = distance.into();
        if distance & IS_BLOCKS == 0 {
            return Ok(false);
        }
        if !self.has(BIG_FIRST | BIG_SECOND) {
            return Err(self.wrong("a big physical cluster, which its file has not"));
        }
        self.blocks = u64::from(distance & !IS_BLOCKS);
        self.back = 1;
        Ok(true)
    }

    /// Entries of four bytes, and between them such of two bytes in packs of 16, where the file has them.
    fn load_compact(&mut self, number: u64) -> Result<(), Wrong> {
        let total = self.inode.blocks();
        if number >= total || self.index.cluster_bits > 14 {
            return Err(self.wrong("it is behind the end of the index"));
        }
        let base = self.inode.behind_offset.next_multiple_of(8) + HEAD_BYTES;
        let first = (base.next_multiple_of(32) - base) / 4;
        let twos = match total.checked_sub(first) {
            Some(rest) if rest > 0 && self.has(COMPACT_OF_TWO_BYTES) => rest / 16 * 16,
            _ => 0,
        };
        let (at, entry_bytes) = if number < first {
            (base + number * 4, 4)
        } else if number - first < twos {
            (base + first * 4 + (number - first) * 2, 2)
        } else {
            (base + first * 4 + twos * 2 + (number - first - twos) * 4, 4)
        };
        let pack = match entry_bytes {
            4 => 2,
            _ if self.index.cluster_bits == 12 => 16,
            _ => return Err(self.wrong("an index of entries that do not fit")),
        };
        let pack_bytes = pack * entry_bytes;
        let pack_at = at / pack_bytes * pack_bytes;
        self.behind = pack_at.saturating_add(pack_bytes);
        let held = self.from.take(pack_at, pack_bytes as usize)?;
        self.unpack(
            &Pack { held, entries: pack as i64, cluster_bits: self.index.cluster_bits },
            ((at - pack_at) / entry_bytes) as i64,
        )
    }

    fn unpack(&mut self, pack: &Pack, entry: i64) -> Result<(), Wrong> {
        let (low, kind) = pack.entry(entry);
        self.kind = kind;
        if kind == Kind::NoHead {
            if self.set_distance(low)? || entry + 1 != pack.entries {
                return Ok(());
            }
            // The last one of a pack says how far the next head is; how far back the last one is follows from the one before.
            let (low, kind) = pack.entry(entry - 1);
            self.back = match (kind, low & IS_BLOCKS) {
                (Kind::NoHead, 0) => u64::from(low) + 1,
                (Kind::NoHead, _) => 2,
                _ => 1,
            };
            return Ok(());
        }
        self.offset = low.into();
        self.back = 0;
        let before = if self.has(BIG_FIRST) { pack.big_blocks_before(entry) } else { Some(pack.blocks_before(entry)) };
        let before = before.ok_or_else(|| self.wrong("a distance that cannot be"))?;
        self.block = pack.block().wrapping_add(before);
        Ok(())
    }

    /// `z_erofs_extent_lookback`: to the head of the extent. Returns where that begins.
    fn look_back(&mut self) -> Result<u64, Wrong> {
        loop {
            let number = self.number.checked_sub(self.back).filter(|_| self.back > 0);
            let number = number.ok_or_else(|| self.wrong("its head is nowhere"))?;
            self.load(number)?;
            if self.kind != Kind::NoHead {
                return Ok(number << self.index.cluster_bits | self.offset);
            }
        }
    }

    /// `z_erofs_get_extent_compressedlen`, of the head that was loaded last.
    fn stored_bytes(&mut self) -> Result<u64, Wrong> {
        let is_small = match self.kind {
            Kind::First => !self.has(BIG_FIRST),
            Kind::Second => !self.has(BIG_SECOND),
            _ => true,
        };
        if is_small {
            return Ok(1 << self.index.cluster_bits);
        }
        let (kind, block) = (self.kind, self.block);
        if self.blocks == 0 {
            self.load(self.number + 1)?;
            match self.kind {
                Kind::NoHead if self.back != 1 || self.blocks == 0 => {
                    return Err(self.wrong("how large its physical cluster is stands nowhere"));
                }
                Kind::NoHead => {}
                _ => self.blocks = 1 << (self.index.cluster_bits - BLOCK_BYTES.trailing_zeros()),
            }
            (self.kind, self.block) = (kind, block);
        }
        Ok(self.blocks * BLOCK_BYTES)
    }

    /// `z_erofs_do_map_blocks`. `is_tail`: the place is looked for at which the last extent begins.
    fn find(&mut self, at: u64, is_tail: bool) -> Result<Extent, Wrong> {
        let bits = self.index.cluster_bits;
        self.load(at >> bits)?;
        let (has_tail, has_fragment) = (self.has(TAIL_PACKED), self.has(FRAGMENT));
        if has_tail && is_tail {
            self.index.tail_at = self.behind;
        }
        let mut end = self.number.saturating_add(1) << bits;
        let within = at & ((1 << bits) - 1);
        let mut is_end_known = false;
        let begin = if self.kind != Kind::NoHead && within >= self.offset {
            if has_tail {
                end = end.min(self.inode.bytes);
            }
            self.number << bits | self.offset
        } else {
            if self.kind != Kind::NoHead {
                if self.number == 0 {
                    return Err(self.wrong("nothing is before it"));
                }
                end = self.number << bits | self.offset;
                is_end_known = true;
                self.back = 1;
            }
            self.look_back()?
        };
        if is_tail {
            self.index.tail_head = self.number;
            if has_fragment && self.inode.layout == (Layout::Compressed { compact: false }) {
                self.index.fragment_at |= u64::from(self.block) << 32;
            }
        }
        let is_last = self.number == self.index.tail_head;
        let kind = self.kind;
        let stored = if has_tail && is_last {
            Stored::Metadata { at: self.index.tail_at, bytes: self.index.tail_bytes }
        } else if has_fragment && is_last {
            Stored::Fragment { at: self.index.fragment_at }
        } else {
            let at = u64::from(self.block) * BLOCK_BYTES;
            let bytes = self.stored_bytes()?;
            if at == 0 || bytes > CLUSTER_BYTES_MAX {
                return Err(self.wrong("a physical cluster that cannot be"));
            }
            Stored::Blocks { at, bytes }
        };
        if end <= begin {
            return Err(self.wrong("it ends before it begins"));
        }
        let most = match stored {
            Stored::Blocks { bytes, .. } | Stored::Metadata { bytes, .. } if kind == Kind::Plain => bytes,
            // No byte of lz4 stands for more than 255.
            Stored::Blocks { bytes, .. } | Stored::Metadata { bytes, .. } => bytes * 255,
            _ => u64::MAX,
        };
        if end - begin > most {
            return Err(self.wrong("more stands in it than can"));
        }
        let algorithm = match kind {
            Kind::Plain => {
                let is_interlaced = self.has(INTERLACED) && !matches!(stored, Stored::Metadata { .. });
                if is_interlaced {
                    Algorithm::Interlaced
                } else {
                    Algorithm::Shifted
                }
            }
            Kind::Second | Kind::First | Kind::NoHead => Algorithm::Lz4,
        };
        Ok(Extent { begin_offset: begin, end_offset: end, is_end_known, stored, algorithm: Some(algorithm) })
    }
}

/// Entries of a compact index, behind which the block stands of the first physical cluster that begins in them.
struct Pack {
    held: Vec<u8>,
    entries: i64,
    cluster_bits: u32,
}

impl Pack {
    fn entry(&self, number: i64) -> (u32, Kind) {
        let bits = (self.held.len() as i64 - 4) * 8 / self.entries * number;
        let word = u32_at(&self.held, bits as usize / 8).unwrap_or_default() >> (bits & 7);
        (word & ((1 << self.cluster_bits) - 1), Kind::of(word >> self.cluster_bits))
    }

    fn block(&self) -> u32 {
        u32_at(&self.held, self.held.len() - 4).unwrap_or_default()
    }

    /// Physical clusters of one block each that begin before an entry, and the one before the pack.
    fn blocks_before(&self, entry: i64) -> u32 {
        let (mut at, mut blocks) = (entry, 1);
        while at > 0 {
            at -= 1;
            let (low, kind) = self.entry(at);
            if kind == Kind::NoHead {
                at -= i64::from(low);
            }
            if at >= 0 {
                blocks += 1;
            }
        }
        blocks
    }

    /// Likewise, where they may be larger. `None`: a distance cannot be.
    fn big_blocks_before(&self, entry: i64) -> Option<u32> {
        let (mut at, mut blocks) = (entry, 0);
        while at > 0 {
            at -= 1;
            match self.entry(at) {
                (low, Kind::NoHead) if low & IS_BLOCKS != 0 => {
                    at -= 1;
                    blocks += low & !IS_BLOCKS;
                }
                (0 | 1, Kind::NoHead) => return None,
                (low, Kind::NoHead) => at -= i64::from(low) - 2,
                _ => blocks += 1,
            }
        }
        Some(blocks)
    }
}
