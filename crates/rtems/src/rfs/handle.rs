//! The buffers that RFS holds: handles, the attached buffers, and the local queues of released buffers.
//!
//! Follows `rtems-rfs-buffer.c`. A handle asks for a block; when it is done the buffer goes to a local queue (clean or
//! modified) of at most five, and at the end of each call all of them go back to the cache.

use super::quirks;
use crate::bdbuf::{Bdbuf, BufferId, DiskId};
use ffslab_fs::Errno;
use std::collections::VecDeque;

/// `RTEMS_RFS_FS_MAX_HELD_BUFFERS`.
pub const HELD_BUFFERS_MAX: usize = 5;

/// A user of at most one buffer at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handle {
    /// The buffer was modified. In 2018 the flag is not reset when the buffer is released, so it also applies to the
    /// handle's next buffer.
    pub dirty: bool,
    block: u32,
    pub buffer: Option<BufferId>,
}

impl Handle {
    pub fn has_block(&self) -> bool {
        self.buffer.is_some()
    }

    pub fn block(&self) -> u32 {
        self.block
    }

    pub fn data<'a>(&self, cache: &'a Bdbuf) -> &'a [u8] {
        match self.buffer {
            Some(buffer) => cache.data(buffer),
            None => &[],
        }
    }

    pub fn data_mut<'a>(&self, cache: &'a mut Bdbuf) -> &'a mut [u8] {
        match self.buffer {
            Some(buffer) => cache.data_mut(buffer),
            None => &mut [],
        }
    }

    /// See [`Bdbuf::copied_out`].
    pub fn copied_out(&self, cache: &mut Bdbuf, from: usize, bytes: usize) {
        self.buffer.into_iter().for_each(|buffer| cache.copied_out(buffer, from, bytes));
    }

    /// See [`Bdbuf::copied_in`].
    pub fn copied_in(&self, cache: &mut Bdbuf, to: usize, bytes: usize) {
        self.buffer.into_iter().for_each(|buffer| cache.copied_in(buffer, to, bytes));
    }

    /// See [`Bdbuf::cleared`].
    pub fn cleared(&self, cache: &mut Bdbuf, range: std::ops::Range<usize>) {
        self.buffer.into_iter().for_each(|buffer| cache.cleared(buffer, range.start, range.len()));
    }

    pub fn read_u32(&self, cache: &Bdbuf, index: u32) -> u32 {
        let at = index as usize * 4;
        self.data(cache).get(at..).map_or(u32::MAX, be32)
    }

    pub fn write_u32(&mut self, cache: &mut Bdbuf, index: u32, value: u32) {
        let at = index as usize * 4;
        if let Some(bytes) = self.data_mut(cache).get_mut(at..at + 4) {
            bytes.copy_from_slice(&value.to_be_bytes());
        }
        self.dirty = true;
    }
}

pub(super) fn be32(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(u32::MAX, |word| u32::from_be_bytes(*word))
}

pub(super) fn be16(bytes: &[u8]) -> u16 {
    bytes.first_chunk().map_or(u16::MAX, |word| u16::from_be_bytes(*word))
}

#[derive(Clone, Copy, Debug)]
struct Attached {
    block: u32,
    buffer: BufferId,
    references: u32,
    /// Some handle has modified the buffer. The code of 2018 does not look at it.
    dirty: bool,
}

/// The buffers of one file system.
pub(super) struct Held {
    pub disk: DiskId,
    attached: Vec<Attached>,
    clean: VecDeque<(u32, BufferId)>,
    modified: VecDeque<(u32, BufferId)>,
    /// Released buffers go back to the cache at once, without the local queues.
    pub no_local_cache: bool,
    pub held_max: usize,
    /// The bugs of 2018 are fixed: whether a buffer was modified is kept with the buffer, not with the handle.
    pub fixed: bool,
}

impl Held {
    pub fn new(disk: DiskId, no_local_cache: bool, held_max: usize, fixed: bool) -> Held {
        Held {
            disk,
            attached: Vec::new(),
            clean: VecDeque::new(),
            modified: VecDeque::new(),
            no_local_cache,
            held_max,
            fixed,
        }
    }

    /// Whether the content of a block is there without reading it.
    pub fn has(&self, cache: &Bdbuf, block: u32) -> bool {
        let is_attached = self.attached.iter().any(|attached| attached.block == block);
        is_attached
            || self.clean.iter().chain(&self.modified).any(|held| held.0 == block)
            || cache.has(self.disk, block)
    }

    /// `rtems_rfs_buffer_handle_request`: gives the handle the buffer of a block. `read`: the block's content is
    /// needed.
    pub fn request(&mut self, cache: &mut Bdbuf, handle: &mut Handle, block: u32, read: bool) -> Result<(), Errno> {
        if handle.has_block() {
            if block != 0 && handle.block == block {
                return Ok(());
            }
            self.release(cache, handle);
            handle.dirty = false;
            handle.block = 0;
        }
        let mut found = None;
        if let Some(at) = self.attached.iter().rposition(|attached| attached.block == block) {
            found = Some(self.attached.remove(at));
        }
        if found.is_none() && !self.no_local_cache {
            let fresh = |buffer, dirty| Attached { block, buffer, references: 0, dirty };
            if let Some(at) = self.clean.iter().rposition(|held| held.0 == block) {
                found = self.clean.remove(at).map(|(_, buffer)| fresh(buffer, false));
            } else if let Some(at) = self.modified.iter().rposition(|held| held.0 == block) {
                found = self.modified.remove(at).map(|(_, buffer)| fresh(buffer, true));
                handle.dirty = true;
            }
        }
        let mut attached = match found {
            Some(found) => found,
            None => {
                let buffer = if read { cache.read(self.disk, block) } else { cache.get(self.disk, block) };
                Attached { block, buffer: buffer?, references: 0, dirty: false }
            }
        };
        attached.references += 1;
        self.attached.push(attached);
        handle.buffer = Some(attached.buffer);
        handle.block = block;
        Ok(())
    }

    /// `rtems_rfs_buffer_handle_release`.
    pub fn release(&mut self, cache: &mut Bdbuf, handle: &mut Handle) {
        let Some(buffer) = handle.buffer.take() else { return };
        let Some(at) = self.attached.iter().rposition(|attached| attached.buffer == buffer) else { return };
        let attached = &mut self.attached[at];
        attached.dirty |= handle.dirty;
        attached.references -= 1;
        let Attached { block, references, dirty: is_changed, .. } = *attached;
        // In 2018 only the dirty flag of the handle that releases the buffer last is looked at, so modifications
        // through an earlier handle are lost.
        let dirty = if self.fixed { is_changed } else { handle.dirty };
        if self.fixed {
            handle.dirty = false;
        }
        if references > 0 {
            return;
        }
        if is_changed && !dirty {
            cache.sim().meet_fault(quirks::NOT_KEPT);
        }
        self.attached.remove(at);
        if self.no_local_cache {
            give_back(cache, buffer, dirty);
            return;
        }
        if self.clean.len() + self.modified.len() >= self.held_max {
            if self.clean.len() > self.modified.len() {
                let oldest = self.clean.pop_front();
                oldest.into_iter().for_each(|(_, buffer)| cache.release(buffer));
            } else {
                let oldest = self.modified.pop_front();
                oldest.into_iter().for_each(|(_, buffer)| cache.release_modified(buffer));
            }
        }
        if dirty {
            self.modified.push_back((block, buffer))
        } else {
            self.clean.push_back((block, buffer))
        }
    }

    /// `rtems_rfs_buffer_handle_close`.
    pub fn close(&mut self, cache: &mut Bdbuf, handle: &mut Handle) {
        self.release(cache, handle);
        *handle = Handle::default();
    }

    /// `rtems_rfs_buffers_release`: the local queues go back to the cache.
    pub fn release_all(&mut self, cache: &mut Bdbuf) {
        for (_, buffer) in self.clean.drain(..) {
            cache.release(buffer);
        }
        for (_, buffer) in self.modified.drain(..) {
            cache.release_modified(buffer);
        }
    }

    /// `rtems_rfs_buffer_setblksize`.
    pub fn set_block_size(&mut self, cache: &mut Bdbuf, bytes: u32) -> Result<(), Errno> {
        self.release_all(cache);
        cache.syncdev(self.disk)?;
        cache.set_block_size(self.disk, bytes, true)?;
        Ok(())
    }
}

fn give_back(cache: &mut Bdbuf, buffer: BufferId, dirty: bool) {
    if dirty {
        cache.release_modified(buffer)
    } else {
        cache.release(buffer)
    }
}
