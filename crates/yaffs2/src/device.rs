//! Everything that a mounted YAFFS2 keeps in memory.
//!
//! Follows `struct yaffs_dev` of `yaffs_guts.h`.

use std::cell::Cell;

use ffslab_mtd::Mtd;

use crate::blocks::Blocks;
use crate::cache::ShortOpCache;
use crate::causes;
use crate::chunks::Chunks;
use crate::damage::{Damage, Flaw, Place};
use crate::objects::{Obj, Objects};
use crate::options::Options;
use crate::tnodes::Tnodes;

pub(crate) struct Device {
    /// The chunks of the medium and the blocks that they are in.
    pub chunks: Chunks,
    pub tnodes: Tnodes,
    pub objects: Objects,
    pub cache: ShortOpCache,
    /// Directories whose headers have to be written, in the order of their last change.
    pub dirty_directories: Vec<Obj>,
    /// Present time of day, for time stamps.
    pub now_s: u32,
    /// The contradiction on the medium that was met last.
    pub damage: Option<Damage>,
    /// The last result of `checkpoint_size_blocks`: number of objects, number of tnodes, size in blocks.
    pub checkpoint_blocks: Cell<Option<(u32, u32, u32)>>,
}

impl Device {
    pub fn new(mtd: Mtd, options: Options) -> Device {
        causes::register(mtd.sim());
        let chunks = Chunks::new(mtd, options);
        Device {
            tnodes: Tnodes::new(),
            objects: Objects::new(),
            cache: ShortOpCache::new(options.short_op_cache_pages, chunks.data_bytes),
            dirty_directories: Vec::new(),
            now_s: 0,
            damage: None,
            checkpoint_blocks: Cell::new(None),
            chunks,
        }
    }

    /// Discards everything that a failed attempt to read a checkpoint has left in memory.
    pub fn start_over(&mut self) {
        self.chunks.blocks = Blocks::new(self.chunks.blocks.count(), self.chunks.blocks.chunks_per_block);
        self.tnodes = Tnodes::new();
        self.objects = Objects::new();
    }

    /// Keeps a contradiction of an object. Its place is that of its header.
    pub fn note(&mut self, flaw: Flaw, obj: Obj) {
        let (object, blocks) = (&self.objects[obj], &self.chunks.blocks);
        let chunk = Some(object.header_chunk).filter(|&chunk| chunk != 0);
        let place = chunk.map(|chunk| Place { block: blocks.of(chunk) - 1, page: chunk % blocks.chunks_per_block });
        self.damage = Some(Damage { flaw, object: Some(object.id), place });
    }
}
