//! The swap-out task and its workers: modified buffers go to the devices.
//!
//! A buffer is taken when its hold timer has run out, when its device is being synchronised, or when somebody waits for a
//! buffer. One device at a time; sorted by block; in requests of at most `max_write_blocks` buffers.

use super::buffers::DiskId;
use super::tasks::{Stage, Waiting};
use super::{Bdbuf, List, State};
use ffslab_sim::Phase;

/// What a task is writing.
#[derive(Debug, Default)]
pub(super) struct Transfer {
    pub disk: Option<DiskId>,
    /// All buffers to write, in the order of their blocks. Those before `next` have been put into requests.
    buffers: Vec<u32>,
    next: usize,
    /// The buffers of the request that the device is working on.
    request: Vec<u32>,
    succeeded: bool,
    /// The phase of the run in which its buffers were collected: they belong to it, also if the next one begins meanwhile.
    begun_in: Phase,
    /// All buffers of the request were left by an earlier phase.
    pub was_left: bool,
}

impl Transfer {
    fn clear(&mut self) {
        self.disk = None;
        self.buffers.clear();
        self.next = 0;
    }

    /// Takes the buffers of the last request and whether it succeeded. The read-ahead task keeps its request here as
    /// well.
    pub fn take_request(&mut self) -> (Vec<u32>, bool) {
        (std::mem::take(&mut self.request), self.succeeded)
    }

    pub fn set_request(&mut self, request: Vec<u32>, succeeded: bool) {
        self.request = request;
        self.succeeded = succeeded;
    }
}

impl Bdbuf {
    /// `rtems_bdbuf_swapout_task`: one step, which ends where the real task gives back the cache lock.
    pub(super) fn swapout_step(&mut self, task: usize) {
        match self.tasks.all[task].stage {
            Stage::Cycle => self.look(task, true),
            Stage::Pass => self.look(task, false),
            Stage::Write => {
                if self.write_request(task) {
                    self.tasks.all[task].stage = Stage::Pass;
                }
            }
            Stage::InFlight => {
                self.end_request(task);
                self.tasks.all[task].stage = if self.has_more(task) { Stage::Write } else { Stage::Pass };
            }
            Stage::Idle => self.receive(task),
            Stage::Receive => {
                // The task was woken by an event or by the end of the period.
                self.tasks.all[task].event = false;
                self.tasks.all[task].stage = Stage::Cycle;
            }
        }
    }

    /// `rtems_bdbuf_swapout_worker_task`.
    pub(super) fn worker_step(&mut self, task: usize) {
        let done = match self.tasks.all[task].stage {
            Stage::InFlight => {
                self.end_request(task);
                !self.has_more(task)
            }
            _ => {
                self.tasks.all[task].event = false;
                self.write_request(task)
            }
        };
        if done {
            self.tasks.all[task].transfer.clear();
            self.tasks.free_workers.push_back(task);
            self.tasks.all[task].stage = Stage::Receive;
            self.tasks.sleep(task, u64::MAX);
        } else if self.tasks.all[task].ready {
            // The device was done at once, so the worker goes on with the next request without sleeping.
            self.tasks.all[task].stage = Stage::Write;
        }
    }

    /// `rtems_bdbuf_swapout_processing`: collects the buffers to write and hands them to a worker, or prepares to write
    /// them itself.
    fn look(&mut self, task: usize, count_down: bool) {
        let sync_disk = self.sync_active;
        // A worker that was taken from the queue and finds nothing to write is not put back. This is so in the
        // original, too: the workers are lost one by one, until the swap-out task does all the work.
        let writer = match sync_disk {
            Some(_) => task,
            None => self.tasks.free_workers.pop_front().unwrap_or(task),
        };
        let mut transfer = std::mem::take(&mut self.tasks.all[writer].transfer);
        transfer.clear();
        transfer.disk = sync_disk;
        transfer.begun_in = self.sim.phase();
        self.take_modified(List::Sync, true, false, &mut transfer);
        self.take_modified(List::Modified, sync_disk.is_some(), count_down, &mut transfer);
        // The order is unambiguous: no two buffers of a device hold the same block.
        let buffers = &self.buffers;
        transfer.buffers.sort_unstable_by_key(|&buffer| buffers.get(buffer).block);
        let found = !transfer.buffers.is_empty();
        self.tasks.all[writer].transfer = transfer;
        if found {
            if writer == task {
                self.tasks.all[task].stage = Stage::Write;
            } else {
                self.tasks.all[task].stage = Stage::Pass;
                self.send_event(writer);
            }
            return;
        }
        self.tasks.all[task].stage = Stage::Idle;
        if sync_disk.is_some() {
            self.sync_active = None;
            self.tasks.sync_done = true;
            // The task that waited for the sync may be more urgent. Then this task stays ready in its present stage
            // until the other one waits again.
            self.wake(Waiting::SyncDone);
        } else {
            self.receive(task);
        }
    }

    /// `rtems_event_receive` with a timeout of one period.
    fn receive(&mut self, task: usize) {
        if self.tasks.all[task].event {
            self.tasks.all[task].event = false;
            self.tasks.all[task].stage = Stage::Cycle;
            return;
        }
        self.tasks.all[task].stage = Stage::Receive;
        let tick_ns = u64::from(self.config.tick_us) * 1000;
        let period_ticks = u64::from(self.config.swapout_swap_period_ms) * 1000 / u64::from(self.config.tick_us);
        let at_ns = (self.sim.now_ns() / tick_ns + period_ticks.max(1)) * tick_ns;
        self.tasks.sleep(task, at_ns);
    }

    /// `rtems_bdbuf_swapout_modified_processing`: takes the buffers that are to be written off a list.
    fn take_modified(&mut self, list: List, sync: bool, count_down: bool, transfer: &mut Transfer) {
        let sync_all = sync && transfer.disk.is_none();
        let somebody_waits = self.tasks.application_waits_for_buffer();
        let period_ms = self.config.swapout_swap_period_ms;
        let mut at = self.buffers.first(list);
        while let Some(buffer) = at {
            at = self.buffers.after(list, buffer);
            let record = self.buffers.get_mut(buffer);
            if sync_all || (sync && transfer.disk == Some(record.disk)) || somebody_waits {
                record.hold_timer_ms = 0;
            } else if count_down {
                record.hold_timer_ms = record.hold_timer_ms.saturating_sub(period_ms);
            }
            if record.hold_timer_ms > 0 {
                continue;
            }
            let disk = *transfer.disk.get_or_insert(record.disk);
            if record.disk == disk {
                record.state = State::Transfer;
                self.buffers.extract(buffer);
                transfer.buffers.push(buffer);
                self.cpu.spend(1, |costs| costs.bdbuf_call_ps);
            }
        }
    }

    fn has_more(&self, task: usize) -> bool {
        let transfer = &self.tasks.all[task].transfer;
        transfer.next < transfer.buffers.len()
    }

    /// `rtems_bdbuf_swapout_write`, one request. Returns whether it was the last one and the device is done with it.
    fn write_request(&mut self, task: usize) -> bool {
        let mut transfer = std::mem::take(&mut self.tasks.all[task].transfer);
        let Some(disk) = transfer.disk else {
            self.tasks.all[task].transfer = transfer;
            return true;
        };
        let target = &self.disks[usize::from(disk.0)];
        let consecutive = target.device.wants_consecutive_blocks();
        let step = target.block_bytes / target.device.media_block_bytes();
        let rest = &transfer.buffers[transfer.next..];
        let most = rest.len().min(self.config.max_write_blocks as usize);
        let count = if consecutive {
            let blocks = |i: usize| self.buffers.get(rest[i]).block;
            (1..most).find(|&i| blocks(i) != blocks(i - 1) + step).unwrap_or(most)
        } else {
            most
        };
        transfer.request.clear();
        transfer.request.extend_from_slice(&rest[..count]);
        transfer.next += count;
        transfer.was_left = self.count_left(disk, &transfer);
        let _of_setup = self.sim.because_left_if(transfer.was_left);
        let (result, service, end_ns) = self.start_transfer(disk, true, &transfer.request);
        transfer.succeeded = result.is_ok();
        self.tasks.all[task].transfer = transfer;
        if service.occupies_cpu || service.duration_ns == 0 {
            self.sim.drive(service.duration_ns);
            self.end_request(task);
            !self.has_more(task)
        } else {
            self.tasks.all[task].stage = Stage::InFlight;
            self.tasks.sleep(task, end_ns);
            false
        }
    }

    /// Counts the bytes of its request that an earlier phase of the run left. Returns whether it left all of it.
    fn count_left(&mut self, disk: DiskId, &Transfer { begun_in, ref request, .. }: &Transfer) -> bool {
        let block_bytes = self.disks[usize::from(disk.0)].block_bytes as u64;
        let was_left = |&&buffer: &&u32| self.buffers.get(buffer).changed_in < begun_in;
        let count = request.iter().filter(was_left).count();
        self.counts.of_setup_bytes += count as u64 * block_bytes;
        count == request.len()
    }

    pub(super) fn end_request(&mut self, task: usize) {
        let (request, succeeded) = self.tasks.all[task].transfer.take_request();
        self.finish_transfer(&request, succeeded);
        self.tasks.all[task].transfer.set_request(request, succeeded);
    }
}
