//! Data of files: reading, writing, holes, changes of size.
//!
//! Follows the file functions of `yaffs_guts.c` and `yaffs2_handle_hole` of `yaffs_yaffs2.c`.

use crate::causes;
use crate::faults;
use ffslab_fs::Result;

use crate::device::Device;
use crate::headers::HeaderUpdate;
use crate::objects::{Obj, DELETED_ID, NONE, UNLINKED_ID};
use crate::tags::Kind;

/// A gap of fewer chunks than this at the end of a file is filled with zeros.
const SMALL_HOLE_CHUNKS: u32 = 4;

impl Device {
    /// Chunk of a file that holds byte `at`, counted from 1, and the byte's place in it. `None`: no file is so long.
    fn chunk_at(&self, at: u64) -> Option<(u32, usize)> {
        let chunk = u32::try_from(at / u64::from(self.chunks.data_bytes)).ok()?.checked_add(1)?;
        (chunk <= crate::tnodes::CHUNK_ID_MAX).then_some((chunk, (at % u64::from(self.chunks.data_bytes)) as usize))
    }

    // ---- chunks --------------------------------------------------------------------------------------------

    // ---- reading and writing -------------------------------------------------------------------------------

    /// Reads from a file. Bytes beyond the end of the file read as zeros.
    pub fn read_file(&mut self, obj: Obj, mut at: u64, mut data: &mut [u8]) -> Result<()> {
        while !data.is_empty() {
            let Some((chunk, start)) = self.chunk_at(at) else {
                data.fill(0);
                return Ok(());
            };
            let count = data.len().min(self.chunks.data_bytes as usize - start);
            let (part, rest) = std::mem::take(&mut data).split_at_mut(count);
            self.read_part(obj, chunk, start, part)?;
            at += count as u64;
            data = rest;
        }
        Ok(())
    }

    fn read_part(&mut self, obj: Obj, chunk: u32, start: usize, part: &mut [u8]) -> Result<()> {
        let cached = self.cache.find(obj, chunk);
        if cached.is_none() && part.len() == self.chunks.data_bytes as usize && !self.chunks.options.inband_tags {
            return self.read_file_chunk(obj, chunk, part);
        }
        let slot = match cached {
            Some(slot) => Some(slot),
            None => self.cache_chunk(obj, chunk)?,
        };
        match slot {
            Some(slot) => {
                self.cache.used(slot);
                part.copy_from_slice(&self.cache.data(slot)[start..start + part.len()]);
                Ok(())
            }
            None => {
                let mut buffer = self.chunks.buffer();
                let read = self.read_file_chunk(obj, chunk, &mut buffer);
                part.copy_from_slice(&buffer[start..start + part.len()]);
                self.chunks.release(buffer);
                read
            }
        }
    }

    /// Writes to a file; returns how many bytes found room.
    pub fn write_file(&mut self, obj: Obj, at: u64, data: &[u8]) -> Result<usize> {
        self.handle_hole(obj, at)?;
        self.write_without_hole(obj, at, data)
    }

    fn write_without_hole(&mut self, obj: Obj, at: u64, data: &[u8]) -> Result<usize> {
        let mut done = 0;
        while done < data.len() {
            let Some((chunk, start)) = self.chunk_at(at + done as u64) else { break };
            let count = (data.len() - done).min(self.chunks.data_bytes as usize - start);
            if !self.write_part(obj, chunk, start, &data[done..done + count])? {
                break;
            }
            done += count;
        }
        let object = &mut self.objects[obj];
        object.file.bytes = object.file.bytes.max(at + done as u64);
        object.changed(&self.chunks.sim);
        Ok(done)
    }

    /// Writes bytes within one chunk. `false`: no space.
    fn write_part(&mut self, obj: Obj, chunk: u32, start: usize, part: &[u8]) -> Result<bool> {
        let data_bytes = self.chunks.data_bytes as usize;
        let whole = part.len() == data_bytes;
        // Bytes of the chunk that belong to the file afterwards: those up to the end of this write, or those that
        // belonged to it before, whichever are more.
        let chunk_start = u64::from(chunk - 1) * data_bytes as u64;
        let before = self.objects[obj].file.bytes.saturating_sub(chunk_start).min(data_bytes as u64) as usize;
        let end = start + part.len();
        let count_bytes = if end == data_bytes { end } else { end.max(before) } as u32;
        if whole && self.chunks.options.cache_bypass_aligned && !self.chunks.options.inband_tags {
            let written = self.write_file_chunk(obj, chunk, part, count_bytes, false)?;
            self.cache.forget_chunk(obj, chunk);
            return Ok(written);
        }
        if !self.cache.is_on() {
            let mut buffer = self.chunks.buffer();
            self.read_file_chunk(obj, chunk, &mut buffer)?;
            buffer[start..end].copy_from_slice(part);
            let written = self.write_file_chunk(obj, chunk, &buffer, count_bytes, false);
            self.chunks.release(buffer);
            return written;
        }
        let slot = match self.cache.find(obj, chunk) {
            None if self.has_room_for(1) => self.cache_chunk(obj, chunk)?,
            // A slot that is not dirty has no space reserved on flash, so without room the write must be refused here.
            Some(slot) if !self.cache.is_dirty(slot) && !self.has_room_for(1) => None,
            found => found,
        };
        let Some(slot) = slot else { return Ok(false) };
        self.cache.put(self.chunks.sim.phase(), slot, start, part, count_bytes);
        Ok(true)
    }

    // ---- holes and sizes -----------------------------------------------------------------------------------

    /// Prepares a file for a write or a new size beyond its end. A small gap is filled with zeros. For a large gap a
    /// *shrink header* is written, which says that older data beyond the present end are obsolete.
    fn handle_hole(&mut self, obj: Obj, new_bytes: u64) -> Result<()> {
        let old_bytes = self.objects[obj].file.bytes;
        if new_bytes <= old_bytes {
            return Ok(());
        }
        let mut gap = new_bytes - old_bytes;
        if gap < u64::from(SMALL_HOLE_CHUNKS * self.chunks.data_bytes)
            && self.has_room_for(SMALL_HOLE_CHUNKS as i32 + 1)
        {
            let mut zeros = self.chunks.buffer();
            zeros.fill(0);
            let mut at = old_bytes;
            while gap > 0 {
                let count = gap.min(u64::from(self.chunks.data_bytes)) as usize;
                if self.write_without_hole(obj, at, &zeros[..count])? != count {
                    break;
                }
                at += count as u64;
                gap -= count as u64;
            }
            self.chunks.release(zeros);
            if gap == 0 {
                return Ok(());
            }
            self.shrink_file(obj, old_bytes)?;
        }
        if self.is_alive(obj) {
            self.update_header(obj, HeaderUpdate { is_shrink: true, ..HeaderUpdate::default() })?;
        }
        Ok(())
    }

    /// Is the object in a directory that programs can see?
    fn is_alive(&self, obj: Obj) -> bool {
        let parent = self.objects[obj].parent;
        parent != NONE && !matches!(self.objects[parent].id, UNLINKED_ID | DELETED_ID)
    }

    /// Changes a file's size (`yaffs_resize_file`).
    pub fn resize_file(&mut self, obj: Obj, new_bytes: u64) -> Result<()> {
        self.flush_cached(obj, true)?;
        self.cache.forget_file(obj);
        self.check_gc(false)?;
        let old_bytes = self.objects[obj].file.bytes;
        if self.objects[obj].kind != Kind::File || new_bytes == old_bytes {
            return Ok(());
        }
        if new_bytes > old_bytes {
            self.handle_hole(obj, new_bytes)?;
            let file = &mut self.objects[obj].file;
            file.bytes = new_bytes;
            // Today's sources leave this out, and there a crash can undo the growth. [`Device::header_file_bytes`]
            // writes this size.
            file.stored_bytes = new_bytes;
        } else {
            self.shrink_file(obj, new_bytes)?;
        }
        if self.is_alive(obj) && !self.objects[obj].is_shadowed {
            self.update_header(obj, HeaderUpdate::default())?;
        }
        Ok(())
    }

    fn shrink_file(&mut self, obj: Obj, new_bytes: u64) -> Result<()> {
        // Chunks are removed from the end of the file on, so that a power cut in between leaves no hole.
        let kept_chunks = new_bytes.div_ceil(u64::from(self.chunks.data_bytes)) as u32;
        let mut limit = crate::tnodes::CHUNK_ID_MAX;
        while let Some((chunk, at)) = self.tnodes.last_up_to(&self.objects[obj].file.tree, limit) {
            if chunk <= kept_chunks {
                break;
            }
            let file = &mut self.objects[obj].file;
            self.tnodes.set_if_there(&file.tree, chunk, 0);
            file.chunks -= 1;
            self.chunks.delete_chunk(at)?;
            limit = chunk - 1;
        }
        let partial = (new_bytes % u64::from(self.chunks.data_bytes)) as u32;
        if partial != 0 {
            // The last chunk that remains is written anew with zeros behind the new end.
            let mut data = self.chunks.buffer();
            self.read_file_chunk(obj, kept_chunks, &mut data)?;
            data[partial as usize..].fill(0);
            self.write_file_chunk(obj, kept_chunks, &data, partial, true)?;
            self.chunks.release(data);
        }
        let file = &mut self.objects[obj].file;
        file.bytes = new_bytes;
        file.stored_bytes = new_bytes;
        self.tnodes.prune(&mut file.tree);
        Ok(())
    }

    /// Writes an object's dirty chunks and its header to flash (`yaffs_flush_file`). `data_only`: the header is not
    /// written.
    pub fn flush_object(&mut self, obj: Obj, data_only: bool) -> Result<()> {
        if !self.objects[obj].dirty {
            return Ok(());
        }
        if !faults::SYNC_LEAVES_CACHE.is_seeded() {
            self.flush_cached(obj, false)?;
        }
        if data_only {
            return Ok(());
        }
        self.objects[obj].attributes.modified_s = self.now_s;
        let _of_setup = self.chunks.sim.because_left(self.objects[obj].changed_in);
        // The program asks for safety, while `sync_supers` comes by itself.
        let by_itself = self.chunks.sim.running() == &causes::SYNC_SUPERS;
        let _why = self.chunks.sim.because(if by_itself { &causes::METADATA } else { &causes::SYNC });
        self.update_header(obj, HeaderUpdate::default()).map(drop)
    }
}
