//! Whether what memory holds agrees with itself: counts of blocks, bits of chunks, trees of files, lists.
//!
//! Only our own mistake can break this, so it is asserted in builds with debug assertions: the sums over all blocks whenever
//! garbage collection has finished a block, everything when a mount ends and when everything was written out. A medium may
//! begin with wrong sums, or say wrong things later; then nothing is asserted ([`crate::blocks::Blocks::is_trusted`]).

use crate::device::Device;
use crate::objects::{Obj, NONE};
use crate::tags::{Kind, Tags};

impl Device {
    /// Lets the audits begin if the medium that was just read agrees with itself.
    pub fn begin_audits(&mut self) {
        if cfg!(debug_assertions) {
            self.chunks.blocks.is_trusted = self.contradiction().is_none();
        }
    }

    /// Compares the totals with the sums over all blocks.
    pub fn audit_sums(&self) {
        if cfg!(debug_assertions) && self.chunks.blocks.is_trusted {
            let contradiction = self.chunks.blocks.contradiction();
            assert!(contradiction.is_none(), "{}", contradiction.unwrap_or_default());
        }
    }

    /// Compares everything with everything.
    pub fn audit(&self) {
        if cfg!(debug_assertions) && self.chunks.blocks.is_trusted {
            let contradiction = self.contradiction();
            assert!(contradiction.is_none(), "{}", contradiction.unwrap_or_default());
        }
    }

    /// Ends the audits if the tags of a chunk that garbage collection has read name another place than memory does.
    pub fn trust_only_if_known(&mut self, chunk: u32, tags: &Tags) {
        if cfg!(debug_assertions) && self.chunks.blocks.is_trusted {
            self.chunks.blocks.is_trusted = self.objects.find(tags.object).is_some_and(|obj| {
                let object = &self.objects[obj];
                match tags.chunk {
                    0 => object.header_chunk == chunk,
                    _ if object.deleted && object.soft_deleted => true,
                    number => self.tnodes.find(&object.file.tree, number) == Some(chunk),
                }
            });
        }
    }

    fn contradiction(&self) -> Option<String> {
        self.chunks
            .blocks
            .contradiction()
            .or_else(|| self.contradiction_of_chunks())
            .or_else(|| self.contradiction_of_lists())
    }

    /// Each chunk in use is a header, data of a file, of a deleted file, or part of a summary.
    fn contradiction_of_chunks(&self) -> Option<String> {
        let per_block = self.chunks.blocks.chunks_per_block;
        let mut reached = vec![false; ((self.chunks.blocks.last() + 1) * per_block) as usize];
        for obj in self.objects.in_checkpoint_order() {
            let object = &self.objects[obj];
            let mut chunks = Vec::new();
            if object.kind == Kind::File {
                self.tnodes.leaves(&object.file.tree, &mut |_, leaf| {
                    chunks.extend(leaf.iter().copied().filter(|&at| at != 0));
                });
                if !object.soft_deleted && chunks.len() as i32 != object.file.chunks {
                    let (id, counted) = (object.id, object.file.chunks);
                    return Some(format!("object {id} has {} chunks and counts {counted}", chunks.len()));
                }
            }
            chunks.extend(Some(object.header_chunk).filter(|&at| at != 0));
            for at in chunks {
                let (block, page) = (self.chunks.blocks.of(at), at % per_block);
                if std::mem::replace(&mut reached[at as usize], true) || !self.chunks.blocks.is_in_use(block, page) {
                    return Some(format!(
                        "block {block}, page {page} of object {} is free or has two owners",
                        object.id
                    ));
                }
            }
        }
        for block in self.chunks.blocks.all() {
            let of_nobody = |&page: &u32| {
                let is_of_summary = self.chunks.summary.chunks > 0 && page >= self.chunks.summary.chunks;
                self.chunks.blocks.is_in_use(block, page)
                    && !reached[(block * per_block + page) as usize]
                    && !is_of_summary
            };
            let (found, counted) =
                ((0..per_block).filter(of_nobody).count(), self.chunks.blocks.info(block).soft_deleted_chunks());
            if found as i32 != counted {
                return Some(format!("block {block} has {found} chunks that nobody owns, {counted} of deleted files"));
            }
        }
        None
    }

    /// Each object is where its lists say.
    fn contradiction_of_lists(&self) -> Option<String> {
        let listed = |obj: &Obj| self.dirty_directories.contains(obj);
        for obj in self.objects.in_checkpoint_order() {
            let object = &self.objects[obj];
            if object.in_dirty_list != listed(&obj) {
                return Some(format!("object {} and the list of changed directories disagree", object.id));
            }
            let stray = self.objects.children(obj).into_iter().find(|&child| self.objects[child].parent != obj);
            if let Some(child) = stray {
                return Some(format!("object {} is listed in directory {}", self.objects[child].id, object.id));
            }
            if object.parent != NONE && !self.objects.is_directory(object.parent) {
                return Some(format!("the parent of object {} is no directory", object.id));
            }
        }
        None
    }
}
