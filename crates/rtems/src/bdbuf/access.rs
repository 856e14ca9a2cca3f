//! What file systems call: get, read, release, release modified, sync.

use super::buffers::{BufferId, DiskId};
use super::config::BdbufError;
use super::tasks::Waiting;
use super::{Bdbuf, List, State};

impl Bdbuf {
    /// Whether a buffer holds the content of a block. Only a look: nothing is counted.
    pub(crate) fn has(&self, disk: DiskId, block: u32) -> bool {
        let media_block = self.disks[usize::from(disk.0)].media_block(block).ok();
        let buffer = media_block.and_then(|media_block| self.buffers.find(disk, media_block));
        buffer.is_some_and(|buffer| !matches!(self.buffers.get(buffer).state, State::Empty | State::AccessEmpty))
    }

    /// `rtems_bdbuf_get`: a buffer to fill completely. The device is not asked; the bytes may be those of another block.
    pub fn get(&mut self, disk: DiskId, block: u32) -> Result<BufferId, BdbufError> {
        self.counts.get_calls += 1;
        self.cpu.bdbuf_call();
        if self.trace.is_some() {
            let bytes = self.disks[usize::from(disk.0)].block_bytes;
            self.note("get", block, bytes);
        }
        let media_block = self.disks[usize::from(disk.0)].media_block(block)?;
        let buffer = self.buffer_for_access(disk, media_block)?;
        let record = self.buffers.get_mut(buffer);
        record.state = match record.state {
            State::Cached => State::AccessCached,
            State::Modified => State::AccessModified,
            _ => State::AccessEmpty,
        };
        self.let_others_run();
        Ok(BufferId(buffer))
    }

    /// `rtems_bdbuf_read`: a buffer with the block's content.
    pub fn read(&mut self, disk: DiskId, block: u32) -> Result<BufferId, BdbufError> {
        self.counts.read_calls += 1;
        self.cpu.bdbuf_call();
        if self.trace.is_some() {
            let bytes = self.disks[usize::from(disk.0)].block_bytes;
            self.note("read", block, bytes);
        }
        let media_block = self.disks[usize::from(disk.0)].media_block(block)?;
        let buffer = self.buffer_for_access(disk, media_block)?;
        let mut result = Ok(BufferId(buffer));
        match self.buffers.get(buffer).state {
            State::Cached => {
                self.counts.read_hits_count += 1;
                self.buffers.get_mut(buffer).state = State::AccessCached;
            }
            State::Modified => {
                self.counts.read_hits_count += 1;
                self.buffers.get_mut(buffer).state = State::AccessModified;
            }
            _ => {
                self.counts.read_misses_count += 1;
                self.set_read_ahead_trigger(disk, block);
                match self.read_now(disk, buffer) {
                    Ok(()) => {
                        self.buffers.get_mut(buffer).state = State::AccessCached;
                        self.buffers.extract(buffer);
                        self.buffers.obtain_group(buffer);
                    }
                    Err(error) => result = Err(error),
                }
            }
        }
        self.check_read_ahead_trigger(disk, block);
        self.let_others_run();
        result
    }

    /// `rtems_bdbuf_release`: gives a buffer back. A buffer that an earlier holder modified stays modified.
    pub fn release(&mut self, buffer: BufferId) {
        self.counts.release_calls += 1;
        self.cpu.bdbuf_call();
        self.note_buffer("release", buffer);
        match self.buffers.get(buffer.0).state {
            State::AccessCached => {
                self.buffers.release_group(buffer.0);
                self.buffers.make_cached(buffer.0);
                self.wake_after_access(buffer.0);
            }
            State::AccessModified => self.append_to_modified_list(buffer.0),
            _ => self.discard_after_access(buffer.0),
        }
        self.let_others_run();
    }

    /// `rtems_bdbuf_release_modified`: gives a buffer back whose content is to be written.
    pub fn release_modified(&mut self, buffer: BufferId) {
        self.counts.release_modified_calls += 1;
        self.cpu.bdbuf_call();
        self.note_buffer("release_modified", buffer);
        match self.buffers.get(buffer.0).state {
            State::AccessPurged => self.discard_after_access(buffer.0),
            _ => {
                self.buffers.get_mut(buffer.0).changed_in = self.sim.phase();
                self.append_to_modified_list(buffer.0);
            }
        }
        self.let_others_run();
    }

    /// `rtems_bdbuf_sync`: gives a buffer back and waits until its content is written.
    pub fn sync(&mut self, buffer: BufferId) -> Result<(), BdbufError> {
        let buffer = buffer.0;
        if self.buffers.get(buffer).state == State::AccessPurged {
            self.discard_after_access(buffer);
            self.let_others_run();
            return Ok(());
        }
        let record = self.buffers.get_mut(buffer);
        (record.state, record.changed_in) = (State::Sync, self.sim.phase());
        self.buffers.append(List::Sync, buffer);
        if self.buffers.get(buffer).waiters > 0 {
            self.wake(Waiting::Access);
        }
        self.wake_swapout();
        while matches!(self.buffers.get(buffer).state, State::Sync | State::Transfer | State::TransferPurged) {
            self.wait_for(buffer, Waiting::Transfer)?;
        }
        let record = *self.buffers.get(buffer);
        if record.waiters == 0 && matches!(record.state, State::Cached | State::Empty) {
            if record.state == State::Empty {
                self.buffers.remove_key(buffer);
                self.buffers.make_free(buffer);
            }
            self.wake(Waiting::Buffer);
        }
        self.let_others_run();
        Ok(())
    }

    /// `rtems_bdbuf_syncdev`: waits until no modified buffer of the device is left.
    pub fn syncdev(&mut self, disk: DiskId) -> Result<(), BdbufError> {
        self.counts.syncdev_calls += 1;
        self.cpu.bdbuf_call();
        self.note("syncdev", 0, 0);
        if crate::faults::SYNC_DOES_NOT_WAIT.is_seeded() {
            return Ok(());
        }
        self.synchronise(disk)
    }

    pub(super) fn synchronise(&mut self, disk: DiskId) -> Result<(), BdbufError> {
        self.sync_active = Some(disk);
        self.tasks.sync_done = false;
        self.wake_swapout();
        self.let_others_run();
        if !self.tasks.sync_done {
            self.wait(Waiting::SyncDone)?;
        }
        if self.device(disk).power_is_cut() {
            Err(BdbufError::PowerCut)
        } else {
            Ok(())
        }
    }

    // ---- behind these ----------------------------------------------------------------------------------------------

    /// `rtems_bdbuf_get_buffer_for_access`: finds or recycles a buffer for the block, takes it off its list and counts
    /// it as in use in its group.
    fn buffer_for_access(&mut self, disk: DiskId, media_block: u32) -> Result<u32, BdbufError> {
        let buffers_per_group = self.disks[usize::from(disk.0)].buffers_per_group;
        let buffer = loop {
            if let Some(buffer) = self.buffers.find(disk, media_block) {
                if self.buffers.group(buffer).buffers == buffers_per_group {
                    break buffer;
                }
                if self.wait_for_recycle(buffer)? {
                    self.buffers.remove_from_table_and_lru(buffer);
                    self.buffers.make_free(buffer);
                    self.wake(Waiting::Buffer);
                }
            } else if let Some((buffer, others)) = self.buffers.recycle(disk, media_block, buffers_per_group) {
                if others {
                    self.wake(Waiting::Buffer);
                }
                self.cpu.recycle(buffer, self.buffers.blocks_known);
                break buffer;
            } else {
                if !self.buffers.is_empty(List::Modified) {
                    self.wake_swapout();
                }
                self.wait(Waiting::Buffer)?;
            }
        };
        self.wait_for_access(buffer)?;
        self.buffers.obtain_group(buffer);
        if self.cpu.is_priced() {
            self.cpu.look_up(buffer, self.buffers.slots, self.buffers.blocks_known);
        }
        Ok(buffer)
    }

    /// `rtems_bdbuf_wait_for_access`.
    fn wait_for_access(&mut self, buffer: u32) -> Result<(), BdbufError> {
        loop {
            match self.buffers.get(buffer).state {
                State::Modified => {
                    self.buffers.release_group(buffer);
                    self.buffers.extract(buffer);
                    return Ok(());
                }
                State::Cached => {
                    self.buffers.extract(buffer);
                    return Ok(());
                }
                State::Empty | State::Free => return Ok(()),
                State::Sync | State::Transfer | State::TransferPurged => self.wait_for(buffer, Waiting::Transfer)?,
                _ => self.wait_for(buffer, Waiting::Access)?,
            }
        }
    }

    /// `rtems_bdbuf_wait_for_recycle`: whether the buffer can be recycled now; otherwise it must be looked up again.
    fn wait_for_recycle(&mut self, buffer: u32) -> Result<bool, BdbufError> {
        loop {
            match self.buffers.get(buffer).state {
                State::Free => return Ok(true),
                State::Modified => {
                    self.buffers.get_mut(buffer).state = State::Sync;
                    self.buffers.extract(buffer);
                    self.buffers.append(List::Sync, buffer);
                    self.wake_swapout();
                }
                State::Cached | State::Empty => {
                    if self.buffers.get(buffer).waiters == 0 {
                        return Ok(true);
                    }
                    self.wait(Waiting::Buffer)?;
                    return Ok(false);
                }
                State::Sync | State::Transfer | State::TransferPurged => self.wait_for(buffer, Waiting::Transfer)?,
                _ => self.wait_for(buffer, Waiting::Access)?,
            }
        }
    }

    /// `rtems_bdbuf_wait`.
    fn wait_for(&mut self, buffer: u32, what: Waiting) -> Result<(), BdbufError> {
        self.buffers.obtain_group(buffer);
        self.buffers.get_mut(buffer).waiters += 1;
        let result = self.wait(what);
        self.buffers.get_mut(buffer).waiters -= 1;
        self.buffers.release_group(buffer);
        result
    }

    /// `rtems_bdbuf_add_append_to_modified_list_after_access`.
    fn append_to_modified_list(&mut self, buffer: u32) {
        let hold_ms = self.config.swapout_block_hold_ms;
        let record = self.buffers.get_mut(buffer);
        // A buffer that was modified before keeps its running hold timer.
        if record.state != State::AccessModified {
            record.hold_timer_ms = hold_ms;
        }
        record.state = State::Modified;
        let waiters = record.waiters;
        self.buffers.append(List::Modified, buffer);
        if waiters > 0 {
            self.wake(Waiting::Access);
        } else if self.tasks.application_waits_for_buffer() {
            self.wake_swapout();
        }
    }

    fn discard_after_access(&mut self, buffer: u32) {
        self.buffers.release_group(buffer);
        self.buffers.discard(buffer);
        self.wake_after_access(buffer);
    }

    #[inline]
    fn wake_after_access(&mut self, buffer: u32) {
        match self.buffers.get(buffer).waiters {
            0 => self.wake(Waiting::Buffer),
            _ => self.wake(Waiting::Access),
        }
    }
}
