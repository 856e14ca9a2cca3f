//! Checkpoints: the structures in memory, written to flash at unmount and sync, so that the next mount need not scan.
//!
//! Follows the checkpoint functions of `yaffs_yaffs2.c` and the structures of `yaffs_guts.h`, as a 32-bit little-endian
//! CPU lays them out. The first change after a checkpoint erases it, so a mount never finds an outdated one.

use crate::causes;
use ffslab_fs::Result;

use crate::blocks::{BlockInfo, BlockState};
use crate::checkpoint_size::{object_bytes, DEVICE_BYTES, VALIDITY_BYTES};
use crate::checkpoint_stream::{version, Broken, Reader, StreamResult, Writer};
use crate::damage::{Damage, Flaw};
use crate::device::Device;
use crate::objects::{Obj, NONE};
use crate::options::Generation;
use crate::tags::Kind;
use crate::tnodes::LEAF_CHUNKS;

const MAGIC: u32 = 0x5941_FF53;

impl Device {
    // ---- writing -------------------------------------------------------------------------------------------

    /// Writes a checkpoint unless the one on flash is up to date (`yaffs_checkpoint_save`).
    pub fn save_checkpoint(&mut self) -> Result<()> {
        if self.chunks.checkpoint.is_valid {
            return Ok(());
        }
        self.chunks.invalidate_checkpoint()?;
        if !self.has_checkpoints() {
            return Ok(());
        }
        let _why = self.chunks.sim.because(&causes::SUMMARY);
        let Some(mut writer) = self.chunks.open_checkpoint_for_writing()? else { return Ok(()) };
        let written = self.write_checkpoint(&mut writer);
        let closed = self.chunks.close_written(writer);
        match written.and(closed) {
            Ok(()) => self.chunks.checkpoint.is_valid = true,
            Err(Broken::Absent | Broken::Flaw(_)) => {}
            Err(Broken::Medium(error)) => return Err(error),
        }
        Ok(())
    }

    fn write_words(&mut self, writer: &mut Writer, words: &[u32]) -> StreamResult<()> {
        for word in words {
            self.chunks.write_stream(writer, &word.to_le_bytes())?;
        }
        Ok(())
    }

    fn write_checkpoint(&mut self, writer: &mut Writer) -> StreamResult<()> {
        let version = version(self.chunks.options.generation);
        self.write_words(writer, &[VALIDITY_BYTES, MAGIC, version, 1])?;
        let device = [
            DEVICE_BYTES,
            self.chunks.blocks.erased_blocks() as u32,
            self.chunks.blocks.alloc_block.unwrap_or(u32::MAX),
            self.chunks.blocks.alloc_page,
            self.chunks.blocks.free_chunks() as u32,
            self.objects.deleted_files as u32,
            self.objects.unlinked_files as u32,
            0,
            self.chunks.blocks.sequence,
        ];
        self.write_words(writer, &device)?;
        for block in self.chunks.blocks.all() {
            let info = pack_info(self.chunks.blocks.info(block));
            self.write_words(writer, &info)?;
        }
        let bits = self.chunks.blocks.bits().to_vec();
        self.chunks.write_stream(writer, &bits)?;
        let objects: Vec<Obj> = self.objects.in_checkpoint_order().collect();
        for obj in objects {
            self.write_object(writer, obj)?;
        }
        let bytes = object_bytes(self.chunks.options.generation);
        let mut end = vec![u32::MAX; bytes as usize / 4];
        end[0] = bytes;
        self.write_words(writer, &end)?;
        self.write_words(writer, &[VALIDITY_BYTES, MAGIC, version, 0])?;
        self.chunks.write_check_sum(writer)
    }

    fn write_object(&mut self, writer: &mut Writer, obj: Obj) -> StreamResult<()> {
        let bytes = object_bytes(self.chunks.options.generation);
        let object = &self.objects[obj];
        if object.deferred_free {
            return Ok(());
        }
        let flags = [
            object.deleted,
            object.soft_deleted,
            object.unlinked,
            object.fake,
            object.rename_allowed,
            object.unlink_allowed,
        ];
        let mut bits = object.kind as u32;
        for (place, flag) in flags.into_iter().enumerate() {
            bits |= u32::from(flag) << (3 + place);
        }
        bits |= u32::from(object.serial) << self.serial_shift();
        let rest: u64 = match object.kind {
            Kind::File => object.file.bytes,
            Kind::HardLink => u64::from(object.equivalent_id),
            _ => 0,
        };
        let parent = if object.parent == NONE { 0 } else { self.objects[object.parent].id };
        let words = [
            bytes,
            object.id,
            parent,
            object.header_chunk,
            bits,
            object.file.chunks as u32,
            rest as u32,
            (rest >> 32) as u32,
        ];
        let (kind, tree) = (object.kind, object.file.tree);
        self.write_words(writer, &words[..bytes as usize / 4])?;
        if kind != Kind::File {
            return Ok(());
        }
        let mut leaves = Vec::new();
        let width = self.tnode_width_bits();
        let bytes = self.tnode_bytes() as usize;
        self.tnodes.leaves(&tree, &mut |first_chunk, chunks| {
            leaves.extend_from_slice(&first_chunk.to_le_bytes());
            pack_leaf(&mut leaves, chunks, width, bytes);
        });
        leaves.extend_from_slice(&u32::MAX.to_le_bytes());
        self.chunks.write_stream(writer, &leaves)
    }

    /// Position of an object's serial number in its bit fields: older sources gave it a byte of its own, today's pack
    /// it.
    fn serial_shift(&self) -> u32 {
        if self.chunks.options.generation == Generation::Today {
            9
        } else {
            16
        }
    }

    // ---- reading -------------------------------------------------------------------------------------------

    /// Loads a checkpoint. `false`: there is no checkpoint that can be trusted, and the caller must discard what the
    /// attempt has left in memory.
    pub fn restore_checkpoint(&mut self) -> Result<bool> {
        if !self.chunks.options.checkpoint_read {
            return Ok(false);
        }
        let mut reader = self.chunks.open_checkpoint_for_reading();
        let read = self.read_checkpoint(&mut reader);
        let place = reader.place;
        self.chunks.close_read(reader);
        match read {
            Ok(()) => {
                self.chunks.checkpoint.is_valid = true;
                Ok(true)
            }
            Err(Broken::Absent) => Ok(false),
            Err(Broken::Flaw(flaw)) => {
                self.damage = Some(Damage { flaw, object: None, place });
                Ok(false)
            }
            Err(Broken::Medium(error)) => Err(error),
        }
    }

    fn read_checkpoint(&mut self, reader: &mut Reader) -> StreamResult<()> {
        self.read_validity(reader, 1)?;
        self.read_device(reader)?;
        let mut links = Vec::new();
        while self.read_object(reader, &mut links)? {}
        self.objects.join_links(&links);
        self.read_validity(reader, 0)?;
        self.chunks.read_check_sum(reader)
    }

    fn read_validity(&mut self, reader: &mut Reader, head: u32) -> StreamResult<()> {
        let [bytes, magic, version_found, head_found] = self.chunks.read_words(reader)?;
        demand(bytes == VALIDITY_BYTES, "length of its frame", bytes)?;
        demand(magic == MAGIC, "magic number", magic)?;
        demand(version_found == version(self.chunks.options.generation), "version", version_found)?;
        demand(head_found == head, "head or tail", head_found)
    }

    /// Reads the state of the device. Numbers that are impossible for a partition of this size are refused even if the
    /// check sums are right.
    fn read_device(&mut self, reader: &mut Reader) -> StreamResult<()> {
        let [bytes, erased, alloc_block, alloc_page, free, deleted, unlinked, _, sequence] =
            self.chunks.read_words(reader)?;
        demand(bytes == DEVICE_BYTES, "length of the state", bytes)?;
        let (blocks, per_block) = (self.chunks.blocks.count(), self.chunks.blocks.chunks_per_block);
        demand(erased <= blocks, "number of erased blocks", erased)?;
        demand(free <= blocks * per_block, "number of free chunks", free)?;
        demand(alloc_page <= per_block, "page to write next", alloc_page)?;
        let open = Some(alloc_block).filter(|&block| block != u32::MAX);
        let may_be_open = |block| self.chunks.blocks.all().contains(&block) && alloc_page < per_block;
        demand(open.is_none_or(may_be_open), "open block", alloc_block)?;
        let alloc_block = open;
        for block in self.chunks.blocks.all() {
            let words: [u32; 2] = self.chunks.read_words(reader)?;
            let wrong = Flaw::CheckpointValue { what: "state of a block", found: words[0] };
            let info = unpack_info(words).ok_or(Broken::Flaw(wrong))?;
            let range = 0..=per_block as i32;
            let counts = [info.in_use_chunks(), info.soft_deleted_chunks()];
            demand(counts.iter().all(|count| range.contains(count)), "counts of a block", words[0])?;
            *self.chunks.blocks.info_mut(block) = info;
        }
        let mut bits = vec![0; self.chunks.blocks.bits().len()];
        self.chunks.read_stream(reader, &mut bits)?;
        self.chunks.blocks.restore(erased as i32, free as i32, &bits);
        self.chunks.blocks.alloc_block = alloc_block;
        self.chunks.blocks.alloc_page = alloc_page;
        self.chunks.blocks.sequence = sequence;
        self.objects.deleted_files = deleted as i32;
        self.objects.unlinked_files = unlinked as i32;
        Ok(())
    }

    /// Reads one object. Returns `false` at the mark behind the last object.
    fn read_object(&mut self, reader: &mut Reader, links: &mut Vec<Obj>) -> StreamResult<bool> {
        let [bytes, id, parent, header_chunk, bits, chunks, low] = self.chunks.read_words(reader)?;
        let wanted_bytes = object_bytes(self.chunks.options.generation);
        demand(bytes == wanted_bytes, "length of an object", bytes)?;
        // The upper half of the size, if sizes have one.
        let [high] = if wanted_bytes > 28 { self.chunks.read_words(reader)? } else { [0] };
        if id == u32::MAX {
            return Ok(false);
        }
        let there = header_chunk == 0 || self.chunks.blocks.contains_chunk(header_chunk);
        demand(there, "chunk of a header", header_chunk)?;
        let kind = Kind::from_number(bits & 7);
        let obj = self.find_or_make(id, kind);
        demand(self.objects[obj].kind == kind, "kind of an object", bits & 7)?;
        if parent != 0 {
            let dir = self.find_or_make(parent, Kind::Directory);
            let is_directory = self.objects[dir].kind == Kind::Directory && dir != obj;
            demand(is_directory, "parent of an object", parent)?;
            self.objects.enter_directory(dir, obj);
        }
        let serial_shift = self.serial_shift();
        self.objects.rename(obj, |object| {
            object.header_chunk = header_chunk;
            object.lazy_loaded = header_chunk > 0;
        });
        let flag = |place: u32| bits >> (3 + place) & 1 == 1;
        let object = &mut self.objects[obj];
        object.deleted = flag(0);
        object.soft_deleted = flag(1);
        object.unlinked = flag(2);
        object.fake = flag(3);
        object.rename_allowed = flag(4);
        object.unlink_allowed = flag(5);
        object.serial = (bits >> serial_shift) as u8;
        object.file.chunks = chunks as i32;
        match kind {
            Kind::File => {
                object.file.bytes = u64::from(high) << 32 | u64::from(low);
                object.file.stored_bytes = object.file.bytes;
                self.read_leaves(reader, obj)?;
            }
            Kind::HardLink => {
                object.equivalent_id = low;
                links.push(obj);
            }
            _ => {}
        }
        Ok(true)
    }

    fn read_leaves(&mut self, reader: &mut Reader, obj: Obj) -> StreamResult<()> {
        let width = self.tnode_width_bits();
        let mut packed = vec![0; self.tnode_bytes() as usize];
        loop {
            let [first_chunk] = self.chunks.read_words(reader)?;
            if first_chunk == u32::MAX {
                return Ok(());
            }
            self.chunks.read_stream(reader, &mut packed)?;
            let chunks = unpack_leaf(&packed, width);
            let stray = chunks.iter().copied().find(|&at| at != 0 && !self.chunks.blocks.contains_chunk(at));
            demand(stray.is_none(), "place of a chunk", stray.unwrap_or_default())?;
            let is_file = self.tnodes.put_leaf(&mut self.objects[obj].file.tree, first_chunk, chunks);
            demand(is_file, "chunk of a file", first_chunk)?;
        }
    }
}

/// Refuses a checkpoint that states something impossible.
fn demand(condition: bool, what: &'static str, found: u32) -> StreamResult<()> {
    if condition {
        Ok(())
    } else {
        Err(Broken::Flaw(Flaw::CheckpointValue { what, found }))
    }
}

/// Bit fields of `struct yaffs_block_info`: counts of 10 bits, state of 4, flags.
fn pack_info(info: &BlockInfo) -> [u32; 2] {
    let bits = (info.soft_deleted_chunks() as u32 & 0x3FF)
        | (info.in_use_chunks() as u32 & 0x3FF) << 10
        | (info.state as u32) << 20
        | u32::from(info.needs_retiring) << 24
        | u32::from(info.skip_erased_check) << 25
        | u32::from(info.gc_prioritise) << 26
        | u32::from(info.error_strikes & 7) << 27
        | u32::from(info.has_summary) << 30
        | u32::from(info.has_shrink_header) << 31;
    [bits, info.sequence]
}

fn unpack_info([bits, sequence]: [u32; 2]) -> Option<BlockInfo> {
    let flag = |place: u32| bits >> place & 1 == 1;
    let mut info = BlockInfo::with_counts((bits >> 10 & 0x3FF) as i32, (bits & 0x3FF) as i32);
    info.state = BlockState::from_number(bits >> 20 & 0xF)?;
    info.needs_retiring = flag(24);
    info.skip_erased_check = flag(25);
    info.gc_prioritise = flag(26);
    info.error_strikes = (bits >> 27 & 7) as u8;
    info.has_summary = flag(30);
    info.has_shrink_header = flag(31);
    info.sequence = sequence;
    Some(info)
}

/// Sixteen numbers of `width` bits, the first in the lowest bits, in a tnode of `bytes`.
fn pack_leaf(packed: &mut Vec<u8>, chunks: &[u32; LEAF_CHUNKS], width: u32, bytes: usize) {
    let start = packed.len();
    let (mut pending, mut pending_bits) = (0u64, 0);
    for &chunk in chunks {
        pending |= u64::from(chunk) << pending_bits;
        pending_bits += width;
        while pending_bits >= 8 {
            packed.push(pending as u8);
            pending >>= 8;
            pending_bits -= 8;
        }
    }
    packed.resize(start + bytes, 0);
}

fn unpack_leaf(packed: &[u8], width: u32) -> [u32; LEAF_CHUNKS] {
    let (mut pending, mut pending_bits, mut bytes) = (0u64, 0, packed.iter());
    std::array::from_fn(|_| {
        while pending_bits < width {
            pending |= u64::from(bytes.next().copied().unwrap_or(0)) << pending_bits;
            pending_bits += 8;
        }
        let chunk = pending & ((1 << width) - 1);
        pending >>= width;
        pending_bits -= width;
        chunk as u32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_survive_at_every_width() {
        for width in [16, 18, 20, 30] {
            let chunks: [u32; LEAF_CHUNKS] =
                std::array::from_fn(|i| (i as u32).wrapping_mul(0x9E37_79B9) & ((1 << width) - 1));
            let mut packed = Vec::new();
            pack_leaf(&mut packed, &chunks, width, width as usize * 2);
            assert_eq!(packed.len(), width as usize * 2);
            assert_eq!(unpack_leaf(&packed, width), chunks);
        }
    }

    #[test]
    fn block_information_survives() {
        let mut info = BlockInfo::with_counts(64, 3);
        info.state = BlockState::Full;
        info.error_strikes = 5;
        (info.has_summary, info.has_shrink_header) = (true, true);
        info.sequence = 0x1234;
        assert_eq!(unpack_info(pack_info(&info)), Some(info));
    }
}
