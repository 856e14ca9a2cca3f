//! The block device buffer cache: one write-back cache for all devices, below RFS and DOSFS.
//!
//! Follows `cpukit/libblock/src/bdbuf.c` of RTEMS cf811a4eb2. One application task calls in; the swap-out task, its
//! workers and the read-ahead task are state machines that `tasks.rs` runs by strict priority whenever the application
//! waits, or at once when they are more urgent than it.
//!
//! Left out: further application tasks (with only one, no task ever waits for a buffer that another one holds, nor for
//! the sync lock), partitions.

mod access;
mod buffers;
mod config;
mod disk;
mod read_ahead;
mod swapout;
mod tasks;

pub use buffers::{BufferId, DiskId};
pub use config::{BdbufConfig, BdbufCounts, BdbufError, Priority};
pub use disk::Geometry;

use crate::causes;
use crate::cpu::{Address, Cpu};
use buffers::{Buffers, List, State};
use disk::Disk;
use ffslab_block::{Device, DeviceError, Segment};
use ffslab_sim::Sim;
use tasks::{Tasks, Waiting};

/// What the cache did, for comparisons operation by operation. Items are those of the measured traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    pub op: &'static str,
    /// For calls that get or read a block: its number at the device's present block size. For all other events: the
    /// media block.
    pub block: u32,
    pub bytes: u32,
}

/// The cache with its devices and background tasks.
pub struct Bdbuf {
    sim: Sim,
    config: BdbufConfig,
    buffers: Buffers,
    disks: Vec<Disk>,
    tasks: Tasks,
    /// The device that is being synchronised.
    sync_active: Option<DiskId>,
    counts: BdbufCounts,
    trace: Option<Vec<TraceEvent>>,
    segments: Vec<Segment>,
    pub(crate) cpu: Cpu,
}

/// The time of day of a system that nobody has told it: 1988-01-01, in seconds since 1970.
pub const EPOCH_S: u32 = 567_993_600;

impl Bdbuf {
    /// `rtems_bdbuf_init`.
    pub fn new(sim: Sim, config: BdbufConfig) -> Result<Bdbuf, BdbufError> {
        config.check()?;
        causes::register(&sim);
        sim.spawn(&causes::BDBUF_SWAPOUT);
        sim.spawn(&causes::BDBUF_READ_AHEAD);
        let mut cache = Bdbuf {
            buffers: Buffers::new(&config),
            disks: Vec::new(),
            tasks: Tasks::new(&config),
            sync_active: None,
            counts: BdbufCounts::default(),
            trace: None,
            segments: Vec::new(),
            cpu: Cpu::free(sim.clone()),
            sim,
            config,
        };
        cache.let_others_run();
        Ok(cache)
    }

    /// Prices the code by this CPU from now on.
    pub fn set_cpu(&mut self, cpu: Cpu) {
        self.cpu = cpu;
    }

    pub fn cpu_mut(&mut self) -> &mut Cpu {
        &mut self.cpu
    }

    /// Registers a device. Its first block size is that of its medium.
    pub fn add_disk(&mut self, device: Device) -> DiskId {
        let disk = Disk::new(device, &self.buffers, &self.config);
        self.disks.push(disk);
        DiskId(self.disks.len() as u16 - 1)
    }

    /// Seconds since 1970. A system whose clock was never set starts in 1988.
    pub fn now_s(&self) -> u32 {
        EPOCH_S + (self.sim.now_ns() / 1_000_000_000) as u32
    }

    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    pub fn config(&self) -> &BdbufConfig {
        &self.config
    }

    pub fn counts(&self) -> BdbufCounts {
        self.counts
    }

    /// How many bytes the modified buffers hold.
    pub fn unwritten_bytes(&self) -> u64 {
        let mut bytes = 0;
        for list in [List::Modified, List::Sync] {
            let mut at = self.buffers.first(list);
            while let Some(buffer) = at {
                at = self.buffers.after(list, buffer);
                bytes += self.disks[usize::from(self.buffers.get(buffer).disk.0)].block_bytes as u64;
            }
        }
        bytes
    }

    /// Block sizes and numbers of a device.
    pub fn geometry(&self, disk: DiskId) -> Geometry {
        self.disks[usize::from(disk.0)].geometry()
    }

    pub fn device(&self, disk: DiskId) -> &Device {
        &self.disks[usize::from(disk.0)].device
    }

    pub fn device_mut(&mut self, disk: DiskId) -> &mut Device {
        &mut self.disks[usize::from(disk.0)].device
    }

    /// The bytes of a held buffer: one block at the device's present block size.
    #[inline]
    pub fn data(&self, buffer: BufferId) -> &[u8] {
        let bytes = self.disk_of(buffer).block_bytes;
        self.buffers.data(buffer.0, bytes)
    }

    #[inline]
    pub fn data_mut(&mut self, buffer: BufferId) -> &mut [u8] {
        let bytes = self.disk_of(buffer).block_bytes;
        self.buffers.data_mut(buffer.0, bytes)
    }

    /// Charges the CPU for copying bytes of a held buffer, from `offset` on, to the program.
    pub(crate) fn copied_out(&mut self, buffer: BufferId, offset: usize, bytes: usize) {
        if self.cpu.is_priced() {
            self.cpu.copy_out(self.address_of(buffer, offset), bytes);
        }
    }

    /// Charges the CPU for copying bytes of the program into a held buffer, from `offset` on.
    pub(crate) fn copied_in(&mut self, buffer: BufferId, offset: usize, bytes: usize) {
        if self.cpu.is_priced() {
            self.cpu.copy_in(self.address_of(buffer, offset), bytes);
        }
    }

    /// Charges the CPU for clearing bytes of a held buffer, from `offset` on.
    pub(crate) fn cleared(&mut self, buffer: BufferId, offset: usize, bytes: usize) {
        if self.cpu.is_priced() {
            self.cpu.clear(self.address_of(buffer, offset), bytes);
        }
    }

    fn address_of(&self, buffer: BufferId, offset: usize) -> Address {
        Address::in_buffers(self.buffers.memory_offset(buffer.0) + offset as u64)
    }

    #[inline]
    fn disk_of(&self, buffer: BufferId) -> &Disk {
        &self.disks[usize::from(self.buffers.get(buffer.0).disk.0)]
    }

    /// Memory that the cache takes: its buffers and the stacks of its tasks.
    pub fn memory_bytes(&self) -> u64 {
        let tasks = 1 + self.config.swapout_worker_tasks_count + u32::from(self.config.max_read_ahead_blocks > 0);
        let groups = self.config.groups();
        u64::from(groups) * u64::from(self.config.buffer_max_bytes)
            + u64::from(tasks) * u64::from(self.config.task_stack_bytes)
    }

    /// The application sleeps until this time, while background tasks run.
    pub fn sleep_until(&mut self, at_ns: u64) {
        if at_ns > self.sim.now_ns() {
            // The result is not needed: a wait for a timer always ends.
            let _ = self.wait(Waiting::Time(at_ns));
        }
    }

    // ---- traces --------------------------------------------------------------------------------------------------

    /// Starts or stops recording what happens.
    pub fn set_tracing(&mut self, on: bool) {
        self.trace = on.then(Vec::new);
    }

    /// Returns what was recorded since the last call.
    pub fn take_trace(&mut self) -> Vec<TraceEvent> {
        self.trace.as_mut().map(std::mem::take).unwrap_or_default()
    }

    #[inline]
    fn note(&mut self, op: &'static str, block: u32, bytes: u32) {
        if let Some(trace) = &mut self.trace {
            trace.push(TraceEvent { op, block, bytes });
        }
    }

    #[inline]
    fn note_buffer(&mut self, op: &'static str, buffer: BufferId) {
        if self.trace.is_some() {
            let block = self.buffers.get(buffer.0).block;
            self.note(op, block, 0);
        }
    }
}

impl From<DeviceError> for BdbufError {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::PowerCut => BdbufError::PowerCut,
            DeviceError::OutOfRange | DeviceError::Failed | DeviceError::Layer(_) => BdbufError::Io,
        }
    }
}
