//! Object headers: writing a new one, reading the old one when it is needed.
//!
//! Follows `yaffs_update_oh` and `yaffs_check_obj_details_loaded` of `yaffs_guts.c`.

use crate::causes;
use ffslab_fs::Result;

use crate::device::Device;
use crate::header::{self, Header, HEADER_BYTES};
use crate::objects::{Obj, DELETED_ID, LOST_AND_FOUND_ID, NONE, UNLINKED_ID};
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
        let _why = self.sim.because(&causes::INODE_READ);
        let mut data = self.buffer();
        let read = self.read_chunk(chunk, &mut data);
        let header = Header::load(&data, self.options.inband_tags);
        self.release(data);
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

    /// Notes that an object's header is in `chunk` from now on; 0: it has none.
    pub fn set_header_chunk(&mut self, obj: Obj, chunk: u32) {
        if (self.objects[obj].header_chunk == 0) == (chunk == 0) {
            self.objects[obj].header_chunk = chunk;
        } else {
            self.objects.rename(obj, |object| object.header_chunk = chunk);
        }
    }

    /// Writes an object's header anew. `false`: no space.
    pub fn update_header(&mut self, obj: Obj, update: HeaderUpdate<'_>) -> Result<bool> {
        if self.objects[obj].fake && obj != self.objects.root && !update.force {
            return Ok(true);
        }
        let reason = self.sim.reason();
        let _why = self.sim.because(if reason == &causes::SYNC { reason } else { &causes::METADATA });
        self.check_gc(false)?;
        self.load_details(obj)?;
        let mut data = self.buffer();
        let before = self.objects[obj].header_chunk;
        if before > 0 {
            // The old header is read for its name and for the extended attributes behind it.
            self.read_chunk(before, &mut data)?;
        } else {
            data.fill(0xFF);
        }
        let old_name = if before > 0 { header::name(&data) } else { Vec::new() };
        let header = self.new_header(obj, &update, old_name);
        header.store(&mut data[..], self.options.generation);
        let object = &mut self.objects[obj];
        object.serial = object.serial.wrapping_add(1);
        let extra = header.extra();
        let mut tags = Tags { object: object.id, extra: Some(extra), ..Tags::default() };
        let written = self.write_new_chunk(&data, &mut tags, before > 0);
        self.release(data);
        let Some(chunk) = written? else { return Ok(false) };
        self.set_header_chunk(obj, chunk);
        self.delete_chunk(before)?;
        if !self.cache.has_dirty(obj) {
            (self.objects[obj].dirty, self.objects[obj].is_of_setup) = (false, false);
        }
        if update.is_shrink {
            let block = self.blocks.of(chunk);
            self.blocks.info_mut(block).has_shrink_header = true;
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
        if self.options.generation == Generation::Today {
            file.stored_bytes
        } else {
            file.bytes
        }
    }

    /// An object's name. Long ones are read from flash (`yaffs_get_obj_name`).
    pub fn name_of(&mut self, obj: Obj) -> Result<Vec<u8>> {
        self.load_details(obj)?;
        let object = &self.objects[obj];
        if object.id == LOST_AND_FOUND_ID {
            return Ok(b"lost+found".to_vec());
        }
        if let Some(name) = object.short_name() {
            return Ok(name.to_vec());
        }
        let (id, chunk) = (object.id, object.header_chunk);
        let mut name = Vec::new();
        if chunk > 0 {
            let mut data = self.buffer();
            self.read_chunk(chunk, &mut data)?;
            name = header::name(&data[..HEADER_BYTES]);
            self.release(data);
        }
        if name.is_empty() {
            name = format!("obj{id}").into_bytes();
        }
        Ok(name)
    }
}
