//! Garbage collection: emptying a block.
//!
//! Follows `yaffs_gc_block` and `yaffs_gc_process_chunk` of `yaffs_guts.c`.

use ffslab_fs::Result;

use crate::blocks::BlockState;
use crate::device::Device;
use crate::header;
use crate::objects::Obj;
use crate::tags::{Extra, Kind, Tags};

/// Chunks that one call copies when there is no hurry.
const PASSIVE_COPIES_MAX: u32 = 5;

impl Device {
    /// Copies chunks in use out of a block, either all (`whole_block`) or a few, and erases the block once none is
    /// left.
    pub fn collect_block(&mut self, block: u32, whole_block: bool) -> Result<()> {
        let was_checkpoint = self.chunks.blocks.info(block).state == BlockState::Checkpoint;
        if self.chunks.blocks.info(block).state == BlockState::Full {
            self.chunks.blocks.info_mut(block).state = BlockState::Collecting;
        }
        self.chunks.blocks.info_mut(block).has_shrink_header = false;
        self.chunks.drop_summary(block);
        if was_checkpoint || !self.chunks.blocks.has_chunks(block) {
            self.chunks.block_became_dirty(block)?;
        } else {
            self.copy_chunks(block, whole_block)?;
        }
        if self.chunks.blocks.info(block).state == BlockState::Collecting {
            // The collection goes on with the next call. In between the block counts as full, because a checkpoint has
            // no state for a block that is being collected.
            self.chunks.blocks.info_mut(block).state = BlockState::Full;
            if self.chunks.gc.page >= self.chunks.blocks.chunks_per_block {
                // All chunks were looked at and the block is not empty, because a copy found no space. The collection
                // of this block is given up. The original keeps the block selected and returns to it for ever.
                self.chunks.gc.block = 0;
            }
        } else {
            let clean_up = std::mem::take(&mut self.chunks.gc.clean_up);
            for id in clean_up {
                if let Some(obj) = self.objects.find(id) {
                    self.tnodes.release(self.objects[obj].file.tree.top);
                    self.objects[obj].file.tree.top = 0;
                    self.end_deleted_file(obj)?;
                    self.objects.deleted_files -= 1;
                }
            }
            self.chunks.gc.block = 0;
            self.chunks.gc.page = 0;
            self.audit_sums();
        }
        Ok(())
    }

    /// Forgets a deleted file that has lost its last chunk. Its last header says that it is deleted.
    fn end_deleted_file(&mut self, obj: Obj) -> Result<()> {
        self.cache.forget_file(obj);
        if self.objects[obj].parent != self.objects.deleted {
            let update = self.give_name(obj, self.objects.deleted, b"deleted", 0)?;
            self.write_header(obj, update)?;
        }
        self.forget_deleted(obj)
    }

    fn copy_chunks(&mut self, block: u32, whole_block: bool) -> Result<()> {
        let mut copies_left = if whole_block { self.chunks.blocks.chunks_per_block } else { PASSIVE_COPIES_MAX };
        let mut data = self.chunks.buffer();
        let mut result = Ok(true);
        while let Ok(true) = result {
            if copies_left == 0 || self.chunks.blocks.info(block).state != BlockState::Collecting {
                break;
            }
            let Some(page) = self.chunks.blocks.next_in_use(block, self.chunks.gc.page) else {
                self.chunks.gc.page = self.chunks.blocks.chunks_per_block;
                break;
            };
            copies_left -= 1;
            result = self.copy_chunk(block, block * self.chunks.blocks.chunks_per_block + page, &mut data);
            self.chunks.gc.page = page + 1;
        }
        self.chunks.release(data);
        result.map(drop)
    }

    /// Moves one chunk to another block. Returns `false` when there is no space for the copy.
    fn copy_chunk(&mut self, block: u32, chunk: u32, data: &mut [u8]) -> Result<bool> {
        self.chunks.sim.copy_begins();
        let mut tags = self.chunks.read_chunk(chunk, data)?;
        self.trust_only_if_known(chunk, &tags);
        let Some(obj) = self.objects.find(tags.object) else {
            self.chunks.delete_chunk(chunk)?;
            return Ok(true);
        };
        let object = &mut self.objects[obj];
        if object.deleted && object.soft_deleted && tags.chunk != 0 {
            // The chunk was counted as free when the file was deleted, and `delete_chunk` below counts it once more.
            self.chunks.blocks.undo_soft_delete(block);
            object.file.chunks -= 1;
            if object.file.chunks <= 0 {
                self.chunks.gc.clean_up.push(tags.object);
            }
            self.chunks.delete_chunk(chunk)?;
            return Ok(true);
        }
        if tags.chunk == 0 {
            let file_bytes = (object.kind == Kind::File).then(|| self.header_file_bytes(obj));
            header::strip_for_copy(data, file_bytes);
            strip_tags(&mut tags, file_bytes);
        }
        let Some(copy) = self.chunks.write_new_chunk(data, &mut tags, None)? else { return Ok(false) };
        if tags.chunk == 0 {
            self.set_header_chunk(obj, copy);
        } else if self.objects[obj].kind == Kind::File {
            self.put_chunk(obj, tags.chunk, copy);
        } else {
            // A data chunk of an object that is no file occurs only on a damaged medium; the copy is dropped.
            self.chunks.delete_chunk(copy)?;
        }
        self.chunks.delete_chunk(chunk)?;
        Ok(true)
    }
}

fn strip_tags(tags: &mut Tags, file_bytes: Option<u64>) {
    if let Some(Extra { is_shrink, shadows, file_bytes: in_tags, .. }) = &mut tags.extra {
        *is_shrink = false;
        *shadows = false;
        if let Some(file_bytes) = file_bytes {
            *in_tags = file_bytes;
        }
    }
}
