//! Mounting without a checkpoint: blocks are scanned from the newest to the oldest, so that the first chunk seen of
//! something is the present one.
//!
//! Follows `yaffs2_scan_backwards` and `yaffs2_scan_chunk` of `yaffs_yaffs2.c`.

use ffslab_fs::Result;
use ffslab_sim::Work;

use crate::blocks::BlockState;
use crate::chunks::{SEQUENCE_BAD_BLOCK, SEQUENCE_CHECKPOINT};
use crate::device::Device;
use crate::faults;
use crate::header::Header;
use crate::objects::{Obj, DELETED_ID, ID_MAX, LOST_AND_FOUND_ID, ROOT_ID, SUMMARY_ID, UNLINKED_ID};
use crate::tags::{EccResult, Extra, Kind, Tags};
use crate::tnodes::CHUNK_ID_MAX;

pub const SEQUENCE_LOWEST: u32 = 0x1000;
pub const SEQUENCE_HIGHEST: u32 = 0xEFFF_FF00;

/// A chunk that is being looked at.
#[derive(Clone, Copy)]
struct Place {
    block: u32,
    page: u32,
    chunk: u32,
}

impl Device {
    /// Finds out what is on the medium.
    pub fn scan(&mut self) -> Result<()> {
        let mut to_scan = self.query_blocks()?;
        to_scan.sort_unstable();
        let mut links = Vec::new();
        for &(_, block) in to_scan.iter().rev() {
            self.scan_block(block, &mut links)?;
        }
        self.chunks.blocks.skip_rest_of_block();
        self.objects.join_links(&links);
        Ok(())
    }

    /// Determines state and sequence number of each block from the tags of its first chunk. Returns the blocks that
    /// must be scanned, with their sequence numbers.
    fn query_blocks(&mut self) -> Result<Vec<(u32, u32)>> {
        self.chunks.blocks.sequence = SEQUENCE_LOWEST;
        self.chunks.checkpoint.blocks = 0;
        let mut to_scan = Vec::new();
        for block in self.chunks.blocks.all() {
            self.chunks.sim.work(Work::ScanBlock, 0);
            let (state, sequence) = self.chunks.query_block(block)?;
            let info = self.chunks.blocks.info_mut(block);
            (info.state, info.sequence) = (state, sequence);
            match sequence {
                SEQUENCE_CHECKPOINT => info.state = BlockState::Checkpoint,
                SEQUENCE_BAD_BLOCK => info.state = BlockState::Dead,
                _ => {}
            }
            match info.state {
                BlockState::Checkpoint => self.chunks.checkpoint.blocks += 1,
                BlockState::Empty => self.chunks.blocks.became_empty(block),
                BlockState::NeedsScan if (SEQUENCE_LOWEST..SEQUENCE_HIGHEST).contains(&sequence) => {
                    to_scan.push((sequence, block));
                    self.chunks.blocks.sequence = self.chunks.blocks.sequence.max(sequence);
                }
                _ => {}
            }
        }
        Ok(to_scan)
    }

    fn scan_block(&mut self, block: u32, links: &mut Vec<Obj>) -> Result<()> {
        let summary = self.chunks.read_summary(block)?;
        let pages = if summary { self.chunks.summary.chunks } else { self.chunks.blocks.chunks_per_block };
        let mut found_chunks = false;
        for page in (0..pages).rev() {
            let state = self.chunks.blocks.info(block).state;
            if !matches!(state, BlockState::NeedsScan | BlockState::Allocating) {
                break;
            }
            let place = Place { block, page, chunk: block * self.chunks.blocks.chunks_per_block + page };
            self.scan_chunk(place, summary, &mut found_chunks, links)?;
        }
        let info = self.chunks.blocks.info_mut(block);
        if info.state == BlockState::NeedsScan {
            info.state = BlockState::Full;
        }
        if info.in_use_chunks() == 0 && !info.has_shrink_header && info.state == BlockState::Full {
            self.chunks.block_became_dirty(block)?;
        }
        Ok(())
    }

    fn scan_chunk(&mut self, place: Place, summary: bool, found: &mut bool, links: &mut Vec<Obj>) -> Result<()> {
        let sequence = self.chunks.blocks.info(place.block).sequence;
        let mut tags = Tags::default();
        if summary {
            tags = self.chunks.summary.tags(place.page, sequence);
        }
        if !summary || tags.object == 0 {
            tags = self.chunks.read_tags(place.chunk)?;
        }
        let is_odd = tags.ecc == EccResult::Unfixed
            || tags.object > ID_MAX
            || tags.chunk > CHUNK_ID_MAX
            || tags.object == SUMMARY_ID
            || (tags.chunk > 0 && tags.count_bytes > self.chunks.data_bytes)
            || tags.sequence != sequence;
        if !tags.is_used {
            if !*found {
                self.scan_unused(place);
            }
            self.chunks.blocks.found_free();
        } else if is_odd {
            self.chunks.blocks.found_free();
        } else {
            *found = true;
            self.chunks.blocks.found_in_use(place.block, place.page);
            if tags.chunk > 0 {
                self.scan_data(place, &tags)?;
            } else {
                self.scan_header(place, &tags, links)?;
            }
        }
        Ok(())
    }

    /// Handles an erased chunk behind which all chunks of the block are erased: the block is empty, or it was the open
    /// one.
    fn scan_unused(&mut self, place: Place) {
        if place.page == 0 {
            self.chunks.blocks.found_unwritten(place.block);
        } else if self.chunks.blocks.info(place.block).sequence == self.chunks.blocks.sequence {
            self.chunks.blocks.info_mut(place.block).state = BlockState::Allocating;
            self.chunks.blocks.alloc_block = Some(place.block);
            self.chunks.blocks.alloc_page = place.page;
            self.chunks.blocks.alloc_finder = place.block;
        }
    }

    fn scan_data(&mut self, place: Place, tags: &Tags) -> Result<()> {
        let start = u64::from(tags.chunk - 1) * u64::from(self.chunks.data_bytes);
        let obj = self.find_or_make(tags.object, Kind::File);
        let object = &self.objects[obj];
        if object.kind != Kind::File || start >= object.file.shrink_bytes {
            // The chunk is beyond a size to which the file was cut later, or the file was deleted.
            return self.chunks.delete_chunk(place.chunk);
        }
        if self.tnodes.find(&object.file.tree, tags.chunk).is_some() && !faults::OLDER_CHUNK_WINS.is_seeded() {
            // A newer version of this chunk was seen before, because the scan runs backwards.
            self.chunks.delete_chunk(place.chunk)?;
        } else {
            self.put_chunk(obj, tags.chunk, place.chunk);
        }
        // Until a header of the file is seen, its data chunks determine its size.
        let end = start + u64::from(tags.count_bytes);
        let object = &mut self.objects[obj];
        if !object.valid && object.file.stored_bytes < end {
            object.file.stored_bytes = end;
            object.file.bytes = end;
        }
        Ok(())
    }

    fn scan_header(&mut self, place: Place, tags: &Tags, links: &mut Vec<Obj>) -> Result<()> {
        let is_fake = matches!(tags.object, ROOT_ID | LOST_AND_FOUND_ID);
        let mut known = tags.extra.map(|extra| self.find_or_make(tags.object, extra.kind));
        let mut header = None;
        let must_read = match (known, tags.extra) {
            (Some(obj), Some(extra)) => {
                let is_new = !self.objects[obj].valid;
                is_new && (!self.chunks.options.lazy_loading || is_fake) || extra.shadows
            }
            _ => true,
        };
        if must_read {
            let mut data = self.chunks.buffer();
            let read = self.chunks.read_chunk(place.chunk, &mut data);
            header = Some(Header::load(&data, self.chunks.options.inband_tags));
            self.chunks.release(data);
            read?;
        }
        let kind = header.as_ref().map(|header| header.kind);
        let obj = match (known.take(), kind) {
            (Some(obj), _) => obj,
            (None, Some(kind)) => self.find_or_make(tags.object, kind),
            (None, None) => return Ok(()),
        };
        let extract = match (&header, tags.extra) {
            (Some(header), _) => header.extra(),
            (None, extra) => extra.unwrap_or_default(),
        };
        if self.objects[obj].valid {
            return self.scan_older_header(place, obj, &extract);
        }
        self.objects[obj].valid = true;
        if is_fake {
            self.objects.rename(obj, |object| {
                object.header_chunk = place.chunk;
                object.lazy_loaded = header.is_none();
                if let Some(header) = &header {
                    object.attributes = header.attributes;
                }
            });
            return Ok(());
        }
        self.take_header(place, obj, &extract, header, links)
    }

    /// Handles a header that is not the object's newest one: it may state that the file was shorter at that time, which
    /// makes older data beyond that size obsolete.
    fn scan_older_header(&mut self, place: Place, obj: Obj, extract: &Extra) -> Result<()> {
        if self.objects[obj].kind == Kind::File && extract.kind == Kind::File {
            let gone = matches!(extract.parent, DELETED_ID | UNLINKED_ID);
            if gone || extract.is_shrink {
                let bytes = if gone { 0 } else { extract.file_bytes };
                let file = &mut self.objects[obj].file;
                file.shrink_bytes = file.shrink_bytes.min(bytes);
                self.chunks.blocks.info_mut(place.block).has_shrink_header = true;
            }
        }
        self.chunks.delete_chunk(place.chunk)
    }

    /// The newest header of an object.
    fn take_header(
        &mut self,
        place: Place,
        obj: Obj,
        extract: &Extra,
        header: Option<Header>,
        links: &mut Vec<Obj>,
    ) -> Result<()> {
        self.set_kind(obj, extract.kind);
        let shadowed = header.as_ref().map_or(0, |header| header.shadows);
        self.objects.rename(obj, |object| {
            object.header_chunk = place.chunk;
            object.dirty = false;
            object.lazy_loaded = header.is_none();
            if let Some(header) = header {
                object.attributes = header.attributes;
                object.set_name(&header.name);
                if object.kind == Kind::Symlink {
                    object.alias = header.alias;
                }
            }
        });
        if shadowed > 0 {
            self.take_shadowed(shadowed);
        }
        let parent = self.parent_for(extract.parent);
        self.objects.enter_directory(parent, obj);
        if extract.is_shrink {
            self.chunks.blocks.info_mut(place.block).has_shrink_header = true;
        }
        match extract.kind {
            Kind::File => {
                let file = &mut self.objects[obj].file;
                if file.stored_bytes < extract.file_bytes {
                    file.bytes = extract.file_bytes;
                    file.stored_bytes = extract.file_bytes;
                }
                file.shrink_bytes = file.shrink_bytes.min(extract.file_bytes);
            }
            Kind::HardLink if parent != self.objects.unlinked && parent != self.objects.deleted => {
                self.objects[obj].equivalent_id = extract.equivalent;
                links.push(obj);
            }
            _ => {}
        }
        Ok(())
    }

    /// Sets the kind of an object that was first taken for another kind because of its tags.
    fn set_kind(&mut self, obj: Obj, kind: Kind) {
        let before = self.objects[obj].kind;
        if before == kind {
            return;
        }
        if before == Kind::Directory {
            for child in self.objects.children(obj) {
                self.objects.enter_directory(self.objects.lost_and_found, child);
            }
        }
        if kind == Kind::File && self.objects[obj].file.tree.top == 0 {
            self.objects[obj].file.tree.top = self.tnodes.add();
        }
        self.objects[obj].kind = kind;
    }

    /// The directory that a header names as parent; lost+found when the object of that number is no directory.
    fn parent_for(&mut self, id: u32) -> Obj {
        let parent = self.find_or_make(id, Kind::Directory);
        match self.objects[parent].kind {
            Kind::Directory => parent,
            Kind::Unknown => {
                self.objects[parent].kind = Kind::Directory;
                parent
            }
            _ => self.objects.lost_and_found,
        }
    }

    /// Marks an object for deletion after the scan: a rename was interrupted before the object whose name was taken
    /// over was deleted (`yaffs_handle_shadowed_obj`).
    fn take_shadowed(&mut self, id: u32) {
        if id > ID_MAX || self.objects.find(id).is_some() {
            return;
        }
        let obj = self.new_object(id, Kind::File);
        self.objects.enter_directory(self.objects.unlinked, obj);
        let object = &mut self.objects[obj];
        object.is_shadowed = true;
        object.file.shrink_bytes = 0;
        object.valid = true;
    }
}
