//! The read-ahead task: after a miss on block b, a read of b + 1 makes it fetch blocks from b + 2 on, in one request.

use super::buffers::DiskId;
use super::tasks::{Role, Stage};
use super::{Bdbuf, State};

impl Bdbuf {
    /// `rtems_bdbuf_set_read_ahead_trigger`, after a miss.
    pub(super) fn set_read_ahead_trigger(&mut self, disk: DiskId, block: u32) {
        let read_ahead = &mut self.disks[usize::from(disk.0)].read_ahead;
        if read_ahead.trigger == Some(block) {
            return;
        }
        if read_ahead.queued {
            read_ahead.queued = false;
            self.tasks.read_ahead_queue.retain(|&queued| queued != disk);
        }
        let read_ahead = &mut self.disks[usize::from(disk.0)].read_ahead;
        read_ahead.trigger = Some(block + 1);
        read_ahead.next = block + 2;
    }

    /// `rtems_bdbuf_check_read_ahead_trigger`, after each read.
    #[inline]
    pub(super) fn check_read_ahead_trigger(&mut self, disk: DiskId, block: u32) {
        if self.config.max_read_ahead_blocks == 0 {
            return;
        }
        let read_ahead = &mut self.disks[usize::from(disk.0)].read_ahead;
        if read_ahead.trigger != Some(block) || read_ahead.queued {
            return;
        }
        read_ahead.queued = true;
        if self.tasks.read_ahead_queue.is_empty() {
            if let Some(task) = self.tasks.all.iter().position(|task| task.role == Role::ReadAhead) {
                self.send_event(task);
            }
        }
        self.tasks.read_ahead_queue.push_back(disk);
    }

    /// `rtems_bdbuf_read_ahead_task`: one request of the queue.
    pub(super) fn read_ahead_step(&mut self, task: usize) {
        if self.tasks.all[task].stage == Stage::InFlight {
            self.end_request(task);
        }
        self.tasks.all[task].event = false;
        while let Some(disk) = self.tasks.read_ahead_queue.pop_front() {
            self.disks[usize::from(disk.0)].read_ahead.queued = false;
            if self.read_ahead(task, disk) {
                return;
            }
        }
        self.tasks.all[task].stage = Stage::Receive;
        self.tasks.sleep(task, u64::MAX);
    }

    /// Starts the request for a device. Returns whether the task now waits for its end.
    fn read_ahead(&mut self, task: usize, disk: DiskId) -> bool {
        let index = usize::from(disk.0);
        let block = self.disks[index].read_ahead.next;
        let Ok(media_block) = self.disks[index].media_block(block) else {
            self.disks[index].read_ahead.trigger = None;
            return false;
        };
        let mut request = self.tasks.all[task].transfer.take_request().0;
        request.clear();
        if !self.take_for_read_ahead(disk, media_block, &mut request) {
            self.tasks.all[task].transfer.set_request(request, true);
            return false;
        }
        let left = self.disks[index].geometry().blocks - block;
        let most = self.config.max_read_ahead_blocks;
        let read_ahead = &mut self.disks[index].read_ahead;
        let count = if left >= most {
            read_ahead.trigger = Some(block + most / 2);
            read_ahead.next = block + most;
            most
        } else {
            read_ahead.trigger = None;
            left
        };
        for ahead in block + 1..block + count {
            // The request ends before the first block that is in the cache already, or when no buffer is free.
            let Ok(media_block) = self.disks[index].media_block(ahead) else { break };
            if !self.take_for_read_ahead(disk, media_block, &mut request) {
                break;
            }
        }
        self.counts.read_ahead_requests += 1;
        let (result, service, end_ns) = self.start_transfer(disk, false, &request);
        self.tasks.all[task].transfer.set_request(request, result.is_ok());
        if service.occupies_cpu || service.duration_ns == 0 {
            self.sim.drive(service.duration_ns);
            self.end_request(task);
            return false;
        }
        self.tasks.all[task].stage = Stage::InFlight;
        self.tasks.sleep(task, end_ns);
        true
    }

    /// `rtems_bdbuf_get_buffer_for_read_ahead`.
    fn take_for_read_ahead(&mut self, disk: DiskId, media_block: u32, request: &mut Vec<u32>) -> bool {
        if self.buffers.find(disk, media_block).is_some() {
            return false;
        }
        let buffers_per_group = self.disks[usize::from(disk.0)].buffers_per_group;
        let Some((buffer, others)) = self.buffers.recycle(disk, media_block, buffers_per_group) else { return false };
        if others {
            self.wake(super::tasks::Waiting::Buffer);
        }
        self.buffers.obtain_group(buffer);
        self.buffers.get_mut(buffer).state = State::Transfer;
        request.push(buffer);
        true
    }
}
