//! A program that drives a block device: no file system, no cache, no scheduler.
//!
//! The program knows one file, [`DISK`], which is the whole device, as the node of a block device is. Transfers are of whole sectors;
//! each is one command. fsync flushes the device's write buffer. A trim is one request, and what the translation layer does for it.

use crate::handles::Handles;
use ffslab_block::{Device, DeviceError, Segment};
use ffslab_fs::{causes, Errno, FileKind, Stat, StatFs, TimeSpec, Unwritten};
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_sim::{Reason, Sim, Slice};
use ffslab_system::{Answer, Calls, Entry, Fd, OpenFlags, System, SystemError, Whence};

/// The name of the device.
pub const DISK: &[u8] = b"disk";

/// Makes the device again after the power came back.
///
/// Errors: it does not find its map.
pub type Restart = Box<dyn Fn(&Device, Option<&Mtd>) -> Result<Device, SystemError>>;

/// Looks at what the device holds.
///
/// Errors: what cannot be read any more.
pub type Image = Box<dyn Fn(&Device, Option<&Mtd>) -> Result<Vec<u8>, SystemError>>;

/// A program with a block device.
pub struct BlockProgram {
    sim: Sim,
    device: Device,
    flash: Option<Mtd>,
    restart: Restart,
    image: Image,
    epoch_s: u64,
    handles: Handles<Handle>,
    /// Until when the device works by itself, and for what.
    busy_until_ns: u64,
    slices: Vec<Slice>,
    buffer: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Handle {
    flags: OpenFlags,
    position: u64,
}

impl BlockProgram {
    /// `flash`: what stands below the device's translation layer, if it has one.
    pub fn new(
        sim: Sim,
        (device, flash): (Device, Option<Mtd>),
        restart: Restart,
        image: Image,
        epoch_s: u64,
    ) -> BlockProgram {
        causes::register(&sim);
        BlockProgram {
            sim,
            device,
            flash,
            restart,
            image,
            epoch_s,
            handles: Handles::default(),
            busy_until_ns: 0,
            slices: Vec::new(),
            buffer: Vec::new(),
        }
    }

    /// The device, for callers that look at its single commands.
    pub fn device_mut(&mut self) -> &mut Device {
        &mut self.device
    }

    fn bytes(&self) -> u64 {
        u64::from(self.device.media_blocks()) * u64::from(self.device.media_block_bytes())
    }

    fn handle(&mut self, fd: Fd) -> Answer<&mut Handle> {
        self.handles.get_mut(fd)
    }

    /// The segment of a transfer, cut off at the end of the device.
    fn segment(&self, at: u64, bytes: usize) -> Answer<Segment> {
        let block_bytes = u64::from(self.device.media_block_bytes());
        let bytes = (bytes as u64).min(self.bytes().saturating_sub(at));
        if !at.is_multiple_of(block_bytes) || !bytes.is_multiple_of(block_bytes) {
            return Err(Errno::Inval.into());
        }
        Ok(Segment { block: (at / block_bytes) as u32, bytes: bytes as u32 })
    }

    /// Lets the device work by itself until `until_ns`. What it has begun then it ends.
    fn device_idles(&mut self, until_ns: u64) {
        let BlockProgram { sim, device, slices, .. } = self;
        let mut busy_until_ns = sim.now_ns().max(self.busy_until_ns);
        // What fails then fails again when somebody wants something, and the device knows why.
        let _ = device.idles(sim, slices, &mut busy_until_ns, until_ns);
        self.busy_until_ns = busy_until_ns;
    }

    /// Waits until the device takes a command.
    fn device_listens(&mut self) {
        self.sim.pass_beside(self.busy_until_ns, &mut self.slices);
    }

    /// One command to the device.
    fn command(
        &mut self,
        why: &'static Reason,
        write: bool,
        segment: Segment,
        transfer: impl FnOnce(&mut Device) -> Result<(), DeviceError>,
    ) -> Answer<usize> {
        self.device_listens();
        let _why = self.sim.because(why);
        let costs = self.device.service(write, &[segment]);
        self.sim.drive(costs.duration_ns);
        let done = transfer(&mut self.device);
        self.answer(done)?;
        Ok(segment.bytes as usize)
    }

    fn answer(&self, done: Result<(), DeviceError>) -> Answer<()> {
        done.map_err(|_| Errno::Io.into())
    }

    fn read_at(&mut self, into: &mut [u8], at: u64) -> Answer<usize> {
        let segment = self.segment(at, into.len())?;
        match segment.bytes {
            0 => Ok(0),
            _ => self.command(&causes::READ, false, segment, |device| device.read(segment, into)),
        }
    }

    fn write_at(&mut self, data: &[u8], at: u64) -> Answer<usize> {
        let segment = self.segment(at, data.len())?;
        match segment.bytes {
            0 if data.is_empty() => Ok(0),
            0 => Err(Errno::NoSpc.into()),
            _ => self.command(&causes::DATA, true, segment, |device| device.write(segment, data)),
        }
    }

    fn flush(&mut self) -> Answer<()> {
        self.device_listens();
        let _why = self.sim.because(&causes::SYNC);
        let done = self.device.flush();
        self.answer(done)
    }

    fn stat_of(&self, kind: FileKind) -> Stat {
        let time = TimeSpec { seconds: self.epoch_s as i64, nanoseconds: 0 };
        let size_bytes = if kind == FileKind::Directory { 0 } else { self.bytes() };
        Stat {
            ino: if kind == FileKind::Directory { 1 } else { 2 },
            kind,
            permissions: 0o600,
            links: 1,
            uid: 0,
            gid: 0,
            device: 0,
            size_bytes,
            blocks: size_bytes / 512,
            accessed: time,
            modified: time,
            changed: time,
        }
    }

    fn one_file(&self) -> ffslab_system::Refusal {
        self.lacks("file beside \"disk\", which is the whole device")
    }
}

/// Whether a path leads to the device.
fn is_disk(path: &[u8]) -> bool {
    path.strip_prefix(b"/").unwrap_or(path) == DISK
}

fn is_root(path: &[u8]) -> bool {
    path.iter().all(|&byte| byte == b'/' || byte == b'.')
}

impl Calls for BlockProgram {
    fn system_name(&self) -> &'static str {
        "a bare program with a block device"
    }

    fn sim(&self) -> &Sim {
        &self.sim
    }

    fn read_clock_ns(&mut self) -> u64 {
        self.sim.now_ns()
    }

    fn sleep_ns(&mut self, duration_ns: u64) {
        let until_ns = self.sim.now_ns().saturating_add(duration_ns);
        self.device_idles(until_ns);
        self.sim.foreground_sleeps_until(until_ns);
        while self.sim.idle_next() != ffslab_sim::Idle::Over {}
    }

    fn epoch_s(&self) -> u64 {
        self.epoch_s
    }

    /// Opening a device creates and truncates nothing.
    fn open(&mut self, path: &[u8], flags: OpenFlags, _permissions: u32) -> Answer<Fd> {
        match (is_disk(path), is_root(path)) {
            (true, _) if flags.directory => return Err(Errno::NotDir.into()),
            (true, _) | (_, true) => {}
            _ if flags.create => return Err(self.one_file()),
            _ => return Err(Errno::NoEnt.into()),
        }
        Ok(self.handles.open(Handle { flags, position: 0 }))
    }

    fn close(&mut self, fd: Fd) -> Answer<()> {
        self.handles.close(fd).map(drop)
    }

    fn read(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        let at = self.handle(fd)?.position;
        let read = self.pread(fd, into, at)?;
        self.handle(fd)?.position = at + read as u64;
        Ok(read)
    }

    fn write(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        let at = self.handle(fd)?.position;
        let written = self.pwrite(fd, data, at)?;
        self.handle(fd)?.position = at + written as u64;
        Ok(written)
    }

    fn pread(&mut self, fd: Fd, into: &mut [u8], at: u64) -> Answer<usize> {
        if !self.handle(fd)?.flags.read {
            return Err(Errno::BadF.into());
        }
        self.read_at(into, at)
    }

    fn pread_discard(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<usize> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(bytes.max(buffer.len()), 0);
        let read = self.pread(fd, &mut buffer[..bytes], at);
        self.buffer = buffer;
        read
    }

    fn pwrite(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize> {
        if !self.handle(fd)?.flags.write {
            return Err(Errno::BadF.into());
        }
        self.write_at(data, at)
    }

    fn lseek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Answer<u64> {
        let end = self.bytes();
        let handle = self.handle(fd)?;
        let from = match whence {
            Whence::Set => 0,
            Whence::Current => handle.position,
            Whence::End => end,
        };
        let to = (from as i64).checked_add(offset).and_then(|to| u64::try_from(to).ok()).ok_or(Errno::Inval)?;
        handle.position = to;
        Ok(to)
    }

    fn ftruncate(&mut self, _fd: Fd, _bytes: u64) -> Answer<()> {
        Err(Errno::Inval.into())
    }

    fn fsync(&mut self, fd: Fd) -> Answer<()> {
        self.handle(fd)?;
        self.flush()
    }

    fn fdatasync(&mut self, fd: Fd) -> Answer<()> {
        self.fsync(fd)
    }

    /// What lies behind the end of the device is no part of the range.
    fn trim(&mut self, fd: Fd, at: u64, bytes: u64) -> Answer<()> {
        if !self.handle(fd)?.flags.write {
            return Err(Errno::BadF.into());
        }
        if !self.device.can_trim() {
            return Err(self.lacks("trim, because its device knows none"));
        }
        let block_bytes = u64::from(self.device.media_block_bytes());
        let bytes = bytes.min(self.bytes().saturating_sub(at));
        if !at.is_multiple_of(block_bytes) || !bytes.is_multiple_of(block_bytes) {
            return Err(Errno::Inval.into());
        }
        if bytes == 0 {
            return Ok(());
        }
        self.device_listens();
        let _why = self.sim.because(&causes::METADATA);
        self.sim.drive(self.device.service(false, &[]).duration_ns);
        let done = self.device.trim((at / block_bytes) as u32, (bytes / block_bytes) as u32);
        self.answer(done)
    }

    fn fstat(&mut self, fd: Fd) -> Answer<Stat> {
        self.handle(fd)?;
        Ok(self.stat_of(FileKind::BlockDevice))
    }

    fn readdir(&mut self, fd: Fd) -> Answer<Vec<Entry>> {
        self.handle(fd)?;
        Ok(vec![Entry { ino: 2, name: DISK.to_vec(), kind: Some(FileKind::BlockDevice) }])
    }

    fn mkdir(&mut self, _path: &[u8], _permissions: u32) -> Answer<()> {
        Err(self.one_file())
    }

    fn rmdir(&mut self, _path: &[u8]) -> Answer<()> {
        Err(self.one_file())
    }

    fn unlink(&mut self, _path: &[u8]) -> Answer<()> {
        Err(self.one_file())
    }

    fn rename(&mut self, _old: &[u8], _new: &[u8]) -> Answer<()> {
        Err(self.one_file())
    }

    fn stat(&mut self, path: &[u8]) -> Answer<Stat> {
        match (is_disk(path), is_root(path)) {
            (true, _) => Ok(self.stat_of(FileKind::BlockDevice)),
            (_, true) => Ok(self.stat_of(FileKind::Directory)),
            _ => Err(Errno::NoEnt.into()),
        }
    }

    fn truncate(&mut self, _path: &[u8], _bytes: u64) -> Answer<()> {
        Err(Errno::Inval.into())
    }

    fn sync(&mut self) -> Answer<()> {
        self.flush()
    }

    fn statfs(&mut self) -> Answer<StatFs> {
        let (block_bytes, blocks) = (self.device.media_block_bytes(), u64::from(self.device.media_blocks()));
        Ok(StatFs { block_bytes, blocks, blocks_free: 0, files: 1, files_free: 0 })
    }
}

impl System for BlockProgram {
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn as_any_mut(&mut self) -> Option<&mut dyn std::any::Any> {
        Some(self)
    }

    /// There is no file system: the device is there when it has power.
    fn mount(&mut self, options: &[String]) -> Result<(), SystemError> {
        if options.is_empty() {
            Ok(())
        } else {
            Err(self.lacks("mount options: nothing is mounted on a block device").into())
        }
    }

    /// What the device may have forgotten without power goes to its flash.
    fn umount(&mut self) -> Answer<()> {
        if self.handles.is_any_open() {
            Err(Errno::Busy.into())
        } else {
            self.flush()
        }
    }

    /// The device is always there.
    fn is_mounted(&self) -> bool {
        true
    }

    fn crash(&mut self) -> Result<(), SystemError> {
        self.handles.clear();
        (self.busy_until_ns, self.slices) = (0, Vec::new());
        self.device = (self.restart)(&self.device, self.flash.as_ref())?;
        Ok(())
    }

    fn unwritten(&mut self) -> Unwritten {
        Unwritten::default()
    }

    fn counters(&self) -> Vec<(&'static str, i64)> {
        let health = self.flash.as_ref().and_then(Mtd::health).map_or_else(Vec::new, |health| health.counters());
        let layer = self.device.layer_counts().into_iter().flatten();
        health.into_iter().chain(layer.map(|(name, count)| (name, count as i64))).collect()
    }

    fn file_bytes_max(&self) -> u64 {
        self.bytes()
    }

    fn medium_bytes(&self) -> u64 {
        self.bytes()
    }

    fn mtd(&self) -> Option<&Mtd> {
        self.flash.as_ref()
    }

    fn too_small(&self) -> String {
        "the device ends there: write less, or give it more blocks".to_string()
    }

    fn failure(&self) -> Option<String> {
        self.device.failure()
    }

    fn image(&self, oob: bool) -> Result<Vec<u8>, SystemError> {
        if oob {
            Err(SystemError::NoOob)
        } else {
            (self.image)(&self.device, self.flash.as_ref())
        }
    }

    fn snapshot(&self) -> Result<MediumImage, SystemError> {
        Ok(match &self.flash {
            Some(flash) => flash.snapshot(),
            None => MediumImage::Bytes(self.device.image().to_vec()),
        })
    }
}
