//! The access patterns of flashbench, run on a card: what the card does for each line of flashbench's output.
//!
//! Follows flashbench (Bergmann, Linaro, 2011) as its sources say: `flashbench.c`, `try_read_alignment` (seven reads of a block
//! each before, across and after multiples of an alignment) and `try_open_au` (all blocks of so many erase blocks are
//! written, in turns, in order or by a shift register; the erase blocks come in the register's order, too); the register is that
//! of `vm.c`, `lfsr`. Each call is synchronous and direct.
//!
//! A card has [`Card::segment_bytes`] as erase block of its flash, and one flash page is a page of all its dies. Before the first line
//! everything was written once. Between the erase blocks of `try_open_au` flashbench leaves 11 of them out, and it begins 16 MiB from the
//! start; both do not matter to these cards and are left out, so that a card need not be larger than what is written.

use crate::block_device::{BlockDevice, DeviceError, Disk};
use crate::config::FtlConfig;
use crate::counting::{CountingFlash, Operations};
use crate::flash::Shape;
use crate::mapping::Mapping;
use crate::write_buffer::BufferRule;

const SECTOR_BYTES: u32 = 512;

/// Reads of each kind that `try_read_alignment` makes.
const ALIGNMENT_READS: u64 = 7;

/// Erase blocks that a line of `try_open_au` may write at a time.
pub const OPEN_AU_NR_MAX: u32 = 64;

/// What stands inside a card. Sizes are powers of two.
#[derive(Clone, Debug)]
pub struct Card {
    pub mapping: &'static Mapping,
    /// Settings; the size is set by the probe.
    pub config: FtlConfig,
    pub page_bytes: u32,
    /// Allocation unit.
    pub segment_bytes: u32,
    /// Share of the flash that the host does not see, beside the blocks that the mapping needs.
    pub spare_share: f64,
    /// Pages of the write buffer.
    pub buffer_pages: u32,
}

/// A line of flashbench's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// `-a`: a read of `block_bytes` before, across and after multiples of `align_bytes`.
    Align { align_bytes: u64, block_bytes: u32, place: Place },
    /// `-O`: writes of `block_bytes` to `erase_blocks` erase blocks in turns.
    OpenAu { erase_block_bytes: u32, block_bytes: u32, erase_blocks: u32, is_random: bool },
}

/// The three columns of an alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Pre,
    On,
    Post,
}

/// What a card did for a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Calls of the host, and their bytes.
    pub calls: u64,
    pub bytes: u64,
    /// How often a call went to another segment than the one before.
    pub segment_changes_count: u64,
    pub flash: Operations,
}

/// The next position of flashbench's shift register of so many bits, which comes to each position once.
fn shifted(position: u32, bits: u32) -> u32 {
    let start = ((1 << bits) - 1) & 0xACE1;
    if position == start {
        return 0;
    }
    let value = if position == 0 { start } else { position };
    let taps: &[u32] = match bits {
        8 => &[0, 2, 3, 4],
        9 => &[0, 4],
        10 => &[0, 3],
        11 => &[0, 2],
        12 => &[0, 1, 2, 8],
        13 => &[0, 1, 2, 5],
        14 => &[0, 1, 2, 12],
        15 => &[0, 1],
        _ => &[0, 2, 3, 5],
    };
    let bit = taps.iter().fold(0, |bit, tap| bit ^ value >> tap) & 1;
    value >> 1 | bit << (bits - 1)
}

/// The positions below `count` (at most 65,535) in the register's order.
pub fn register_order(count: u32) -> Vec<u32> {
    let bits = (u32::BITS - count.leading_zeros()).max(8);
    let (mut position, mut order) = (0, Vec::with_capacity(count as usize));
    while order.len() < count as usize {
        position = shifted(position, bits);
        if position < count {
            order.push(position);
        }
    }
    order
}

struct Probe<'a> {
    card: &'a Card,
    flash: CountingFlash,
    disk: Disk,
    buffer: Vec<u8>,
    segment: u64,
    done: Done,
}

/// Runs the lines on one card, one after the other.
///
/// # Errors
/// A card that cannot be made, or lines that do not fit it.
pub fn run(card: &Card, lines: &[Line]) -> Result<Vec<Done>, DeviceError> {
    let segment_bytes = u64::from(card.segment_bytes);
    let largest = lines.iter().map(|line| span_bytes(card, line)).max().unwrap_or(0).max(segment_bytes);
    let mut probe = Probe::new(card, largest.div_ceil(segment_bytes) as u32)?;
    lines.iter().map(|line| probe.line(line)).collect()
}

/// How far apart the erase blocks of a line stand: in segments of their own, as 12 erase blocks are further than a segment.
fn stride_bytes(card: &Card, erase_block_bytes: u32) -> u64 {
    let (segment, erase_block) = (u64::from(card.segment_bytes), u64::from(erase_block_bytes));
    (12 * erase_block).min(erase_block.next_multiple_of(segment))
}

/// The alignment and the distance of its multiples on a card that is not larger than it need be: what lies beyond two segments
/// is a boundary of segments like any other.
fn alignment(card: &Card, align_bytes: u64) -> (u64, u64) {
    let distance = 2 * u64::from(card.segment_bytes);
    (align_bytes.min(distance), distance)
}

/// How much of a card a line needs.
fn span_bytes(card: &Card, line: &Line) -> u64 {
    match *line {
        Line::Align { .. } => (ALIGNMENT_READS + 1) * alignment(card, 0).1,
        Line::OpenAu { erase_block_bytes, erase_blocks, .. } => {
            stride_bytes(card, erase_block_bytes) * u64::from(erase_blocks)
        }
    }
}

impl Probe<'_> {
    fn new(card: &Card, segments: u32) -> Result<Probe<'_>, DeviceError> {
        let pages_per_block = card.segment_bytes / card.page_bytes;
        let cache_blocks = card.config.slc_cache.map_or(0, |cache| cache.blocks);
        // What the mappings keep back (free blocks, streams, log blocks) and the share that the card has beyond it.
        let kept_back = 8 + card.config.gc_free_blocks + card.config.log_blocks + cache_blocks;
        let blocks = segments + kept_back + (f64::from(segments) * card.spare_share).ceil() as u32;
        let flash = CountingFlash::new(Shape { blocks, pages_per_block, page_bytes: card.page_bytes });
        let config = FtlConfig { logical_pages: segments * pages_per_block, ..card.config.clone() };
        let mut ftl = (card.mapping.count)(flash.clone(), config)?;
        for page in 0..segments * pages_per_block {
            ftl.write(page, &[], false)?;
        }
        while ftl.idle()? {}
        let disk = Disk::new(ftl, SECTOR_BYTES, card.buffer_pages, BufferRule::Arrival)?;
        Ok(Probe { card, flash, disk, buffer: Vec::new(), segment: u64::MAX, done: Done::default() })
    }

    fn line(&mut self, line: &Line) -> Result<Done, DeviceError> {
        self.done = Done::default();
        let before = self.flash.operations();
        match *line {
            Line::Align { align_bytes, block_bytes, place } => self.align(align_bytes, block_bytes, place)?,
            Line::OpenAu { erase_block_bytes, block_bytes, erase_blocks, is_random } => {
                self.open_au(erase_block_bytes, block_bytes, erase_blocks, is_random)?;
            }
        }
        let after = self.flash.operations();
        self.done.flash = Operations {
            reads: after.reads - before.reads,
            programs: after.programs - before.programs,
            several_bits_reads: after.several_bits_reads - before.several_bits_reads,
            several_bits_programs: after.several_bits_programs - before.several_bits_programs,
            erases: after.erases - before.erases,
        };
        Ok(self.done)
    }

    fn align(&mut self, align_bytes: u64, block_bytes: u32, place: Place) -> Result<(), DeviceError> {
        let (align_bytes, distance_bytes) = alignment(self.card, align_bytes);
        let back_bytes = match place {
            Place::Pre => block_bytes,
            Place::On => block_bytes / 2,
            Place::Post => 0,
        };
        for number in 0..ALIGNMENT_READS {
            let at = align_bytes + number * distance_bytes - u64::from(back_bytes);
            self.host_call(at, block_bytes);
            self.disk.read(at / u64::from(SECTOR_BYTES), &mut self.buffer)?;
        }
        Ok(())
    }

    fn open_au(
        &mut self,
        erase_block_bytes: u32,
        block_bytes: u32,
        erase_blocks: u32,
        is_random: bool,
    ) -> Result<(), DeviceError> {
        let stride_bytes = stride_bytes(self.card, erase_block_bytes);
        let positions = erase_block_bytes / block_bytes;
        let order = if is_random { register_order(positions) } else { (0..positions).collect() };
        let turns = register_order(erase_blocks);
        for position in order {
            for &turn in &turns {
                let at = u64::from(turn) * stride_bytes + u64::from(position) * u64::from(block_bytes);
                self.host_call(at, block_bytes);
                self.disk.write(at / u64::from(SECTOR_BYTES), &self.buffer)?;
            }
        }
        self.disk.flush()
    }

    /// Counts a call, for which the buffer has its size then.
    fn host_call(&mut self, at: u64, bytes: u32) {
        self.buffer.resize(bytes as usize, 0x5A);
        self.done.calls += 1;
        self.done.bytes += u64::from(bytes);
        let segment_bytes = u64::from(self.card.segment_bytes);
        for segment in at / segment_bytes..=(at + u64::from(bytes) - 1) / segment_bytes {
            self.done.segment_changes_count += u64::from(self.segment != segment);
            self.segment = segment;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping;

    const MIB: u32 = 1 << 20;

    fn card(open_segments: u32, random_segments: u32) -> Card {
        let mapping = mapping::find("open-segments").unwrap();
        let config =
            FtlConfig { log_blocks: open_segments, random_segments_count: random_segments, ..FtlConfig::new(1) };
        Card { mapping, config, page_bytes: 16384, segment_bytes: 4 * MIB, spare_share: 0.05, buffer_pages: 1 }
    }

    fn open_au(erase_blocks: u32, block_bytes: u32, is_random: bool) -> Line {
        Line::OpenAu { erase_block_bytes: 4 * MIB, block_bytes, erase_blocks, is_random }
    }

    #[test]
    fn the_register_comes_everywhere_once() {
        for count in [1, 2, 3, 100, 256, 257, 1024, 4096] {
            let mut order = register_order(count);
            assert!(count < 3 || order.windows(2).any(|pair| pair[1] != pair[0] + 1), "{count}: in order");
            order.sort_unstable();
            assert!(order.iter().copied().eq(0..count), "{count}");
        }
    }

    #[test]
    fn a_read_across_pages_takes_two_and_across_segments_another_segment() {
        let align = |align_bytes, place| Line::Align { align_bytes, block_bytes: 1024, place };
        let lines =
            [align(1 << 27, Place::On), align(1 << 20, Place::On), align(4096, Place::On), align(1 << 27, Place::Pre)];
        let done = run(&card(3, 0), &lines).unwrap();
        assert_eq!(done.iter().map(|line| line.flash.reads).collect::<Vec<_>>(), [14, 14, 7, 7]);
        assert_eq!(done.iter().map(|line| line.segment_changes_count).collect::<Vec<_>>(), [14, 7, 7, 7]);
    }

    #[test]
    fn one_more_segment_than_are_open_copies_a_segment_for_each_call() {
        let lines = [open_au(3, 65536, false), open_au(4, 65536, false), open_au(3, 65536, true)];
        let done = run(&card(3, 0), &lines).unwrap();
        assert_eq!(done[0].flash.reads, 0);
        assert_eq!((done[0].calls, done[0].flash.programs), (192, 768));
        let copies_a_call = done[1].flash.reads as f64 / done[1].calls as f64;
        assert!((245.0..=252.0).contains(&copies_a_call), "{copies_a_call}");
        assert!(done[2].flash.reads > 10 * done[2].calls, "{:?}", done[2]);
    }

    #[test]
    fn segments_for_any_order_are_merged_once() {
        let done = run(&card(3, 3), &[open_au(3, 65536, true), open_au(4, 65536, true)]).unwrap();
        assert_eq!(done[0].flash.reads, 3 * 256);
        assert!(done[1].flash.reads > 100 * done[1].calls, "{:?}", done[1]);
    }
}
