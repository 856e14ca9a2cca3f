//! Object headers: writing a new one, reading the old one when it is needed.
//!
//! Follows `yaffs_update_oh` and `yaffs_check_obj_details_loaded` of `yaffs_guts.c`.

use crate::causes;
use ffslab_fs::Result;
use ffslab_sim::ReasonGuard;

use crate::device::Device;
use crate::header::{self, Header};
use crate::objects::{Obj, Object, DELETED_ID, NONE, UNLINKED_ID};
use crate::options::Generation;
use crate::tags::{Kind, Tags};

/// What a new header says in addition to the object's own state.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeaderUpdate<'a> {
    /// The new name; without one the name of the old header stays.
    pub name: Option<&'a [u8]>,
    /// Write the header even for an object that needs none on flash, such as lost+found.
    pub force: bool,
    /// The header makes data beyond the file's size obsolete, and must be kept until the blocks with those data are
    /// erased.
    pub is_shrink: bool,
    /// Object whose name this one takes over; 0: none.
    pub shadows: u32,
}

impl Device {
    /// Reads an object's header if the mount has put that off (lazy loading).
    pub fn load_details(&mut self, obj: Obj) -> Result<()> {
        let object = &self.objects[obj];
        if !object.lazy_loaded || object.header_chunk == 0 {
            return Ok(());
        }
        let chunk = object.header_chunk;
        let _why = self.chunks.sim.because(&causes::INODE_READ);
        let mut data = self.chunks.buffer();
        let read = self.chunks.read_chunk(chunk, &mut data);
        let header = Header::load(&data, self.chunks.options.inband_tags);
        self.chunks.release(data);
        read?;
        self.objects.rename(obj, |object| {
            object.lazy_loaded = false;
            object.attributes = header.attributes;
            object.set_name(&header.name);
            if object.kind == Kind::Symlink {
                object.alias = header.alias;
            }
        });
        Ok(())
    }

    /// Looks for an extended attribute (`yaffs_do_xattrib_fetch`). They stand in the chunk of the header, which is read
    /// unless an earlier look has found none. Memory keeps the answer as long as the object.
    pub fn look_up_attribute(&mut self, obj: Obj) -> Result<()> {
        let Object { header_chunk, has_attributes, .. } = self.objects[obj];
        if header_chunk == 0 || has_attributes == Some(false) {
            return Ok(());
        }
        let _why = self.chunks.sim.because(&causes::INODE_READ);
        let mut data = self.chunks.buffer();
        let read = self.chunks.read_chunk(header_chunk, &mut data);
        let found = header::has_attributes(&data);
        self.chunks.release(data);
        read?;
        self.objects[obj].has_attributes = Some(found);
        Ok(())
    }

    /// Notes that an object's header is in `chunk` from now on; 0: it has none.
    pub fn set_header_chunk(&mut self, obj: Obj, chunk: u32) {
        if (self.objects[obj].header_chunk == 0) == (chunk == 0) {
            self.objects[obj].header_chunk = chunk;
        } else {
            self.objects.rename(obj, |object| object.header_chunk = chunk);
        }
    }

    /// Whether the object has a header on flash at all. Some directories have none until it is forced.
    pub fn needs_header(&self, obj: Obj, update: &HeaderUpdate<'_>) -> bool {
        !self.objects[obj].fake || obj == self.objects.root || update.force
    }

    /// Why a header is written: for a sync, or because something changed.
    pub fn because_of_header(&self) -> ReasonGuard {
        let reason = self.chunks.sim.reason();
        self.chunks.sim.because(if reason == &causes::SYNC { reason } else { &causes::METADATA })
    }

    /// Writes an object's header anew, without collecting garbage before. `false`: no space.
    pub fn write_header(&mut self, obj: Obj, update: HeaderUpdate<'_>) -> Result<bool> {
        if !self.needs_header(obj, &update) {
            return Ok(true);
        }
        let _why = self.because_of_header();
        self.load_details(obj)?;
        let mut data = self.chunks.buffer();
        let before = self.objects[obj].header_chunk;
        if before > 0 {
            // The old header is read for its name and for the extended attributes behind it.
            self.chunks.read_chunk(before, &mut data)?;
        } else {
            data.fill(0xFF);
        }
        let old_name = if before > 0 { header::name(&data) } else { Vec::new() };
        let header = self.new_header(obj, &update, old_name);
        self.chunks.sim.work_of_header();
        header.store(&mut data[..], self.chunks.options.generation);
        let object = &mut self.objects[obj];
        object.serial = object.serial.wrapping_add(1);
        let extra = header.extra();
        let mut tags = Tags { object: object.id, extra: Some(extra), ..Tags::default() };
        let kept_blocks = (before == 0).then(|| self.checkpoint_blocks());
        let written = self.chunks.write_new_chunk(&data, &mut tags, kept_blocks);
        self.chunks.release(data);
        let Some(chunk) = written? else { return Ok(false) };
        self.set_header_chunk(obj, chunk);
        self.chunks.delete_chunk(before)?;
        if !self.cache.has_dirty(obj) {
            self.objects[obj].dirty = false;
        }
        if update.is_shrink {
            let block = self.chunks.blocks.of(chunk);
            self.chunks.blocks.info_mut(block).has_shrink_header = true;
        }
        Ok(true)
    }

    fn new_header(&self, obj: Obj, update: &HeaderUpdate<'_>, old_name: Vec<u8>) -> Header {
        let object = &self.objects[obj];
        let parent = if object.parent == NONE { 0 } else { self.objects[object.parent].id };
        let file_bytes = match object.kind {
            Kind::File if !matches!(parent, DELETED_ID | UNLINKED_ID) => self.header_file_bytes(obj),
            _ => 0,
        };
        Header {
            kind: object.kind,
            parent,
            name: update.name.filter(|name| !name.is_empty()).map_or(old_name, <[u8]>::to_vec),
            attributes: object.attributes,
            file_bytes,
            equivalent: if object.kind == Kind::HardLink { object.equivalent_id } else { 0 },
            alias: object.alias.clone(),
            shadows: update.shadows,
            is_shrink: update.is_shrink,
        }
    }

    /// The size that a file's header states. Today's sources count only data on flash; earlier ones count data in the
    /// short-op cache as well.
    pub fn header_file_bytes(&self, obj: Obj) -> u64 {
        let file = &self.objects[obj].file;
        if self.chunks.options.generation == Generation::Today {
            file.stored_bytes
        } else {
            file.bytes
        }
    }
}
