//! A device as the cache sees it (`rtems_disk_device`): block size, read-ahead, transfers.

use super::buffers::{Buffers, DiskId, List};
use super::config::{BdbufConfig, BdbufError};
use super::tasks::Waiting;
use super::{Bdbuf, State};
use crate::cpu::Address;
use ffslab_block::{Device, Segment, Service};
use ffslab_sim::{Sim, Slice};

/// Sizes of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The unit that the medium addresses.
    pub media_block_bytes: u32,
    pub media_blocks: u32,
    /// The unit that callers of the cache address.
    pub block_bytes: u32,
    pub blocks: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ReadAhead {
    /// The device is in the queue of the read-ahead task.
    pub queued: bool,
    /// A read of this block puts the device into the queue.
    pub trigger: Option<u32>,
    /// First block that the read-ahead task reads after the trigger.
    pub next: u32,
}

pub(super) struct Disk {
    pub device: Device,
    pub block_bytes: u32,
    blocks: u32,
    media_blocks_per_block: u32,
    /// `block << shift` is the media block, when the block size is a power of two media blocks.
    shift: Option<u32>,
    pub buffers_per_group: u32,
    pub read_ahead: ReadAhead,
    busy_until_ns: u64,
    /// What the flash below a translation layer does until when, as far as nobody has waited for it.
    pub slices: Vec<Slice>,
}

impl Disk {
    /// What a translation layer did by itself since it was done with the last request.
    fn idles(&mut self, sim: &Sim) -> Result<(), BdbufError> {
        if self.device.flash().is_none() {
            return Ok(());
        }
        let Disk { device, slices, busy_until_ns, .. } = self;
        Ok(device.idles(sim, slices, busy_until_ns, sim.now_ns())?)
    }
}

/// How many buffers of this block size a group is divided into. The block size is rounded up to the smallest buffer
/// times a power of two. `None`: the block is too large for a group.
fn buffers_per_group(bytes: u32, config: &BdbufConfig, slots_per_group: u32) -> Option<u32> {
    if bytes == 0 || bytes > config.buffer_max_bytes {
        return None;
    }
    let slots = bytes.div_ceil(config.buffer_min_bytes).next_power_of_two();
    // A group of three slots cannot be divided into buffers of four slots: RTEMS computes 0 buffers and refuses the
    // size.
    Some(slots_per_group / slots).filter(|&buffers| buffers > 0)
}

impl Disk {
    pub fn new(device: Device, buffers: &Buffers, config: &BdbufConfig) -> Disk {
        let mut disk = Disk {
            block_bytes: 0,
            blocks: 0,
            media_blocks_per_block: 1,
            shift: Some(0),
            buffers_per_group: 0,
            read_ahead: ReadAhead { queued: false, trigger: None, next: 0 },
            busy_until_ns: 0,
            slices: Vec::new(),
            device,
        };
        let media = disk.device.media_block_bytes();
        if !disk.set_block_bytes(media, config, buffers.slots_per_group) {
            // No buffer is large enough for a media block, so every access is refused until a block size that fits is
            // set.
            disk.block_bytes = media;
        }
        disk
    }

    pub fn geometry(&self) -> Geometry {
        Geometry {
            media_block_bytes: self.device.media_block_bytes(),
            media_blocks: self.device.media_blocks(),
            block_bytes: self.block_bytes,
            blocks: self.blocks,
        }
    }

    fn set_block_bytes(&mut self, bytes: u32, config: &BdbufConfig, slots_per_group: u32) -> bool {
        let media = self.device.media_block_bytes();
        let Some(per_group) = buffers_per_group(bytes, config, slots_per_group).filter(|_| bytes >= media) else {
            return false;
        };
        self.media_blocks_per_block = bytes / media;
        let shift = self.media_blocks_per_block.next_power_of_two().trailing_zeros();
        self.shift = (media << shift == bytes).then_some(shift);
        self.block_bytes = bytes;
        self.blocks = self.device.media_blocks() / self.media_blocks_per_block;
        self.buffers_per_group = per_group;
        true
    }

    #[inline]
    pub fn media_block(&self, block: u32) -> Result<u32, BdbufError> {
        if block >= self.blocks {
            return Err(BdbufError::NoSuchBlock { block, blocks: self.blocks });
        }
        Ok(match self.shift {
            Some(shift) => block << shift,
            None => {
                (u64::from(block) * u64::from(self.block_bytes) / u64::from(self.device.media_block_bytes())) as u32
            }
        })
    }
}

impl Bdbuf {
    /// `rtems_bdbuf_set_block_size`: writes out all modified buffers of the device if `sync` is set, then discards all
    /// its buffers. A size that does not fit is refused, and the old one stays.
    pub fn set_block_size(&mut self, disk: DiskId, bytes: u32, sync: bool) -> Result<(), BdbufError> {
        self.counts.set_block_size_calls += 1;
        self.note("set_block_size", bytes, u32::from(sync));
        if sync {
            self.synchronise(disk)?;
        }
        let slots_per_group = self.buffers.slots_per_group;
        let accepted = self.disks[usize::from(disk.0)].set_block_bytes(bytes, &self.config, slots_per_group);
        if accepted {
            self.purge(disk);
        }
        self.let_others_run();
        if accepted {
            Ok(())
        } else {
            Err(BdbufError::BlockSize { bytes, max_bytes: self.config.buffer_max_bytes })
        }
    }

    /// `rtems_bdbuf_purge_dev`: discards all buffers of a device, modified ones as well.
    pub fn purge_dev(&mut self, disk: DiskId) {
        self.purge(disk);
        self.let_others_run();
    }

    fn purge(&mut self, disk: DiskId) {
        let read_ahead = &mut self.disks[usize::from(disk.0)].read_ahead;
        read_ahead.queued = false;
        read_ahead.trigger = None;
        self.tasks.read_ahead_queue.retain(|&queued| queued != disk);
        let all: Vec<u32> = self.buffers.of_disk(disk).collect();
        let mut freed = false;
        for buffer in all {
            match self.buffers.get(buffer).state {
                State::Free | State::Empty | State::AccessPurged | State::TransferPurged => {}
                state @ (State::Sync | State::Modified | State::Cached) => {
                    if state == State::Sync {
                        self.wake(Waiting::Transfer);
                    }
                    if state != State::Cached {
                        self.buffers.release_group(buffer);
                    }
                    self.buffers.extract(buffer);
                    freed |= self.buffers.get(buffer).waiters == 0;
                    self.buffers.discard(buffer);
                }
                State::Transfer => self.buffers.get_mut(buffer).state = State::TransferPurged,
                State::AccessCached | State::AccessEmpty | State::AccessModified => {
                    self.buffers.get_mut(buffer).state = State::AccessPurged;
                }
            }
        }
        if freed {
            self.wake(Waiting::Buffer);
        }
    }

    // ---- transfers -----------------------------------------------------------------------------------------------

    /// Moves the bytes of a request between buffers and device. Returns the result, how long the transfer takes, and
    /// the time at which the device will be done with it.
    pub(super) fn start_transfer(
        &mut self,
        disk: DiskId,
        write: bool,
        request: &[u32],
    ) -> (Result<(), BdbufError>, Service, u64) {
        self.segments.clear();
        let Self { disks, buffers, segments, cpu, .. } = self;
        // The driver takes its lock once for a request.
        cpu.spend(1, |costs| costs.lock_ps);
        let target = &mut disks[usize::from(disk.0)];
        let bytes = target.block_bytes;
        let idled = target.idles(&self.sim);
        let start_ns = self.sim.now_ns().max(target.busy_until_ns);
        segments.extend(request.iter().map(|&buffer| Segment { block: buffers.get(buffer).block, bytes }));
        let mut service = target.device.service(write, segments);
        let commands_end_ns = start_ns + service.duration_ns;
        if target.device.flash().is_some() {
            let now_ns = self.sim.now_ns();
            target.slices.retain(|slice| slice.until_ns > now_ns);
            let reason = self.sim.reason();
            target.slices.push(Slice { until_ns: commands_end_ns, reason, is_medium: false });
        }
        let Disk { device, slices, .. } = target;
        // A memory or card of constant costs does nothing here by the clock; a translation layer works on its flash.
        let (result, worked_until_ns) = self.sim.beside_the_clock(commands_end_ns, slices, || {
            let mut result = idled;
            for (&buffer, &segment) in request.iter().zip(&*segments) {
                let done = if write {
                    device.write(segment, buffers.data(buffer, bytes))
                } else {
                    device.read(segment, buffers.data_mut(buffer, bytes))
                };
                result = result.and(done.map_err(BdbufError::from));
            }
            result
        });
        service.duration_ns += worked_until_ns - commands_end_ns;
        if service.occupies_cpu {
            for (&buffer, segment) in request.iter().zip(&*segments) {
                let block_bytes = u64::from(target.device.media_block_bytes());
                let there = Address::on_disk(disk.0, u64::from(segment.block) * block_bytes);
                let here = Address::in_buffers(buffers.memory_offset(buffer));
                let (from, to) = if write { (here, there) } else { (there, here) };
                service.duration_ns += cpu.driver_copy_ns(from, to, u64::from(segment.bytes));
            }
        }
        let end_ns = start_ns + service.duration_ns;
        target.busy_until_ns = end_ns;

        let (buffers_count, moved_bytes) = (request.len() as u64, request.len() as u64 * u64::from(bytes));
        let counts = &mut self.counts;
        if write {
            counts.write_requests += 1;
            counts.write_buffers_count += buffers_count;
            counts.write_bytes += moved_bytes;
        } else {
            counts.read_requests += 1;
            counts.read_buffers_count += buffers_count;
            counts.read_bytes += moved_bytes;
        }
        if let Some(trace) = &mut self.trace {
            let op = if write { "DEV_WRITE" } else { "DEV_READ" };
            trace.extend(self.segments.iter().map(|s| super::TraceEvent { op, block: s.block, bytes: s.bytes }));
            if write {
                trace.push(super::TraceEvent { op: "DEV_WRITE_REQ_END", block: request.len() as u32, bytes: 0 });
            }
        }
        (result, service, end_ns)
    }

    /// The second half of `rtems_bdbuf_execute_transfer_request`: the buffers are clean after a success and are
    /// discarded after an error.
    pub(super) fn finish_transfer(&mut self, request: &[u32], succeeded: bool) {
        let (mut waited_for, mut others) = (false, false);
        for &buffer in request {
            let record = *self.buffers.get(buffer);
            if record.waiters > 0 {
                waited_for = true;
            } else {
                others = true;
            }
            self.buffers.release_group(buffer);
            self.cpu.spend(1, |costs| costs.bdbuf_call_ps);
            if succeeded && record.state == State::Transfer {
                self.buffers.make_cached(buffer);
            } else {
                self.buffers.discard(buffer);
            }
        }
        if waited_for {
            self.wake(Waiting::Transfer);
        }
        if others {
            self.wake(Waiting::Buffer);
        }
    }

    /// Reads one buffer for the application, which waits until the transfer ends.
    pub(super) fn read_now(&mut self, disk: DiskId, buffer: u32) -> Result<(), BdbufError> {
        self.buffers.get_mut(buffer).state = State::Transfer;
        let (result, service, end_ns) = self.start_transfer(disk, false, &[buffer]);
        if service.occupies_cpu {
            self.sim.drive(service.duration_ns);
        } else if service.duration_ns > 0 {
            self.wait(Waiting::Device(end_ns))?;
        }
        self.finish_transfer(&[buffer], result.is_ok());
        result
    }

    /// Whether no modified buffer waits for a background task to write it.
    pub(super) fn nothing_to_write(&self) -> bool {
        self.buffers.is_empty(List::Modified) && self.buffers.is_empty(List::Sync)
    }
}
