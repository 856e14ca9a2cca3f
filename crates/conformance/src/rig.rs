//! The simulated machine under test: chip, partition, file system, system calls.

use crate::board::{self, Board};
use crate::call::{Answer, Attributes, Call, How, Outcome, SLOTS};
use crate::content::pattern;
use crate::nodes::Xattrs;
use crate::{Failure, Subject};
use ffslab_flash::{Chip, Faults, Geometry};
use ffslab_fs::{Errno, FileKind, Ino, Result, Stat};
use ffslab_linux::{Entry, Fd, OpenFlags, Vfs, Whence};
use ffslab_mtd::{MediumImage, Mtd, NandPartition};
use ffslab_sim::{EventSink, NandWait, OpEvent, Sim};
use std::collections::BTreeMap;

/// Memory of the simulated machine, and how its tasks wait for the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// 0: the smallest size that the page cache accepts, 16 pages, so that nearly every page is read again.
    pub page_cache_bytes: u64,
    pub read_ahead_bytes: u32,
    pub nand_wait: NandWait,
}

impl Machine {
    pub const USUAL: Machine =
        Machine { page_cache_bytes: 64 << 20, read_ahead_bytes: 128 << 10, nand_wait: NandWait::Busy };
    pub const TINY: Machine = Machine { page_cache_bytes: 0, read_ahead_bytes: 0, ..Machine::USUAL };
    /// Tasks sleep while the chip works, so that other tasks run in between.
    pub const ASLEEP: Machine = Machine { nand_wait: NandWait::Sleep, ..Machine::USUAL };
}

/// One machine with one partition that covers its chip.
pub struct Rig<'a> {
    pub subject: &'a dyn Subject,
    pub mtd: Mtd,
    pub vfs: Vfs,
    /// How many names appear twice in their directory, by inode; see [`Subject::unlink_may_double_a_name`].
    pub double_names: BTreeMap<Ino, u32>,
    sim: Sim,
    slots: [Option<(Fd, How)>; SLOTS],
}

impl<'a> Rig<'a> {
    /// An erased chip, switched on; nothing is mounted.
    pub fn new(subject: &'a dyn Subject, machine: Machine) -> std::result::Result<Rig<'a>, Failure> {
        Rig::on(subject, machine, |sim| subject.medium(sim))
    }

    /// A machine with the NAND chip that `prepare` has set up.
    pub fn with_chip(
        subject: &'a dyn Subject,
        machine: Machine,
        prepare: impl FnOnce(&mut Chip) -> std::result::Result<(), Failure>,
    ) -> std::result::Result<Rig<'a>, Failure> {
        Rig::on(subject, machine, |sim| board::nand(sim, subject.geometry(), prepare))
    }

    fn on(
        subject: &'a dyn Subject,
        machine: Machine,
        make: impl FnOnce(&Sim) -> std::result::Result<Mtd, Failure>,
    ) -> std::result::Result<Rig<'a>, Failure> {
        let Board { sim, mtd, vfs } = Board::on(machine, 1_300_000_000, make)?;
        Ok(Rig { subject, mtd, vfs, double_names: BTreeMap::new(), sim, slots: [None; SLOTS] })
    }

    /// A machine with the content of a snapshot.
    pub fn with_image(
        subject: &'a dyn Subject,
        machine: Machine,
        image: &MediumImage,
    ) -> std::result::Result<Rig<'a>, Failure> {
        let rig = Rig::new(subject, machine)?;
        rig.mtd.restore(image).map_err(Failure::new)?;
        Ok(rig)
    }

    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    pub fn geometry(&self) -> Geometry {
        self.subject.geometry()
    }

    /// Mounts. An error of the file system is returned.
    pub fn mount(&mut self) -> std::result::Result<(), Failure> {
        let fs = self.subject.mount(self.mtd.clone()).map_err(|text| Failure::new(format!("mount: {text}")))?;
        self.vfs.mount(fs).map_err(|error| Failure::new(format!("mount: {error}")))
    }

    /// Closes everything and unmounts.
    pub fn umount(&mut self) -> Result<()> {
        for slot in 0..SLOTS {
            if let Some((fd, _)) = self.slots[slot].take() {
                self.vfs.close(fd)?;
            }
        }
        self.vfs.umount()
    }

    /// Switches the power off and on: the content of RAM is lost, and a planned cut is cancelled.
    pub fn power_cycle(&mut self) {
        self.slots = [None; SLOTS];
        self.vfs.crash();
        self.mtd.restart();
    }

    pub fn set_faults(&mut self, faults: &Faults) -> std::result::Result<(), Failure> {
        self.nand()?.with_chip(|chip| chip.set_faults(faults)).map_err(Failure::of)
    }

    /// The NAND that it stands on, for checks of what only NAND has.
    ///
    /// Errors: it stands on another medium.
    pub fn nand(&self) -> std::result::Result<&NandPartition, Failure> {
        self.mtd.nand().ok_or_else(|| Failure::new("this check is for NAND alone"))
    }

    pub fn snapshot(&self) -> MediumImage {
        self.mtd.snapshot()
    }

    /// Programs and erases so far.
    pub fn modifying_operations(&self) -> u64 {
        self.mtd.modifying_operations()
    }

    /// All flash operations so far.
    pub fn operations(&self) -> u64 {
        self.sim.total().operations()
    }

    /// Panics when more than `count` further flash operations are made, which is the only way to stop a file system
    /// that does not end. For callers that catch the panic.
    pub fn limit_operations(&mut self, count: u64) {
        self.sim.set_sink(Some(Box::new(OperationLimit { left: count, limit: count })));
    }

    /// The file system's limits, for the model: name length, file size.
    pub fn limits(&self) -> (usize, u64) {
        self.vfs.fs().map_or((255, u64::from(u32::MAX)), |fs| (fs.name_bytes_max(), fs.file_bytes_max()))
    }

    /// The share of the partition that statfs(2) reports as free, in per cent.
    pub fn free_percent(&mut self) -> Result<u64> {
        let statfs = self.vfs.statfs()?;
        Ok(statfs.blocks_free * 100 / statfs.blocks.max(1))
    }

    // ---- system calls --------------------------------------------------------------------------------------

    /// Makes a call on the system under test.
    ///
    /// # Errors
    /// The inner result is that of the program; the outer one fails when the file system could not be mounted again.
    pub fn call(&mut self, call: &Call) -> std::result::Result<Outcome, Failure> {
        match call {
            Call::Remount => {
                if let Err(error) = self.umount() {
                    return Ok(Err(error));
                }
                self.mount()?;
                Ok(Ok(Answer::Done))
            }
            Call::SyncAndCrash => {
                if let Err(error) = self.vfs.sync() {
                    return Ok(Err(error));
                }
                self.power_cycle();
                self.mount()?;
                Ok(Ok(Answer::Done))
            }
            _ => Ok(self.system_call(call)),
        }
    }

    fn system_call(&mut self, call: &Call) -> Outcome {
        let done = |()| Answer::Done;
        let number = |count: usize| Answer::Number(count as u64);
        match call {
            Call::Open { slot, path, how } => {
                if let Some((fd, _)) = self.slots[*slot].take() {
                    self.vfs.close(fd)?;
                }
                self.slots[*slot] = Some((self.vfs.open(path.as_bytes(), flags(*how), 0o644)?, *how));
                Ok(Answer::Done)
            }
            Call::Close { slot } => {
                let fd = self.fd(*slot)?;
                self.slots[*slot] = None;
                self.vfs.close(fd).map(done)
            }
            Call::Read { slot, bytes } => {
                let mut data = vec![0xEE; *bytes];
                let count = self.vfs.read(self.fd(*slot)?, &mut data)?;
                data.truncate(count);
                Ok(Answer::Bytes(data))
            }
            Call::Pread { slot, at, bytes } => {
                let mut data = vec![0xEE; *bytes];
                let count = self.vfs.pread(self.fd(*slot)?, &mut data, *at)?;
                data.truncate(count);
                Ok(Answer::Bytes(data))
            }
            Call::Write { slot, bytes, seed } => {
                let fd = self.fd(*slot)?;
                let at = match self.is_append(*slot)? {
                    true => self.vfs.fstat(fd)?.size_bytes,
                    false => self.vfs.lseek(fd, 0, Whence::Current)?,
                };
                self.vfs.write(fd, &pattern(*seed, at, *bytes)).map(number)
            }
            Call::Pwrite { slot, at, bytes, seed } => {
                let fd = self.fd(*slot)?;
                let true_at = if self.is_append(*slot)? { self.vfs.fstat(fd)?.size_bytes } else { *at };
                self.vfs.pwrite(fd, &pattern(*seed, true_at, *bytes), *at).map(number)
            }
            Call::SeekTo { slot, at } => self.vfs.lseek(self.fd(*slot)?, *at as i64, Whence::Set).map(Answer::Number),
            Call::SeekFromEnd { slot, offset } => {
                self.vfs.lseek(self.fd(*slot)?, *offset, Whence::End).map(Answer::Number)
            }
            Call::Ftruncate { slot, size_bytes } => self.vfs.ftruncate(self.fd(*slot)?, *size_bytes).map(done),
            Call::Truncate { path, size_bytes } => self.vfs.truncate(path.as_bytes(), *size_bytes).map(done),
            Call::Fsync { slot } => self.vfs.fsync(self.fd(*slot)?).map(done),
            Call::Fdatasync { slot } => self.vfs.fdatasync(self.fd(*slot)?).map(done),
            Call::FsyncDirectory { path } => {
                let flags = OpenFlags { directory: true, ..OpenFlags::READ };
                let fd = self.vfs.open(path.as_bytes(), flags, 0)?;
                let result = self.vfs.fsync(fd);
                self.vfs.close(fd)?;
                result.map(done)
            }
            Call::Sync => self.vfs.sync().map(done),
            Call::Rename { from, to } => self.vfs.rename(from.as_bytes(), to.as_bytes()).map(done),
            Call::Link { from, to } => self.vfs.link(from.as_bytes(), to.as_bytes()).map(done),
            Call::Symlink { target, path } => self.vfs.symlink(target.as_bytes(), path.as_bytes()).map(done),
            Call::Readlink { path } => self.vfs.readlink(path.as_bytes()).map(Answer::Bytes),
            Call::Unlink { path } => self.vfs.unlink(path.as_bytes()).map(done),
            Call::Mkdir { path, permissions } => self.vfs.mkdir(path.as_bytes(), *permissions).map(done),
            Call::Rmdir { path } => self.vfs.rmdir(path.as_bytes()).map(done),
            Call::Mknod { path, kind, device } => self.vfs.mknod(path.as_bytes(), *kind, 0o644, *device).map(done),
            Call::Readdir { path } => {
                let mut entries = self.vfs.readdir_path(path.as_bytes())?;
                self.leave_out_own_entries(path.as_bytes(), &mut entries);
                let mut names: Vec<_> = entries.into_iter().map(|entry| (entry.name, entry.kind)).collect();
                names.sort();
                Ok(Answer::Names(names))
            }
            Call::Stat { path } => {
                self.vfs.stat(path.as_bytes()).map(|stat| Answer::Attributes(self.attributes(&stat)))
            }
            Call::Lstat { path } => {
                self.vfs.lstat(path.as_bytes()).map(|stat| Answer::Attributes(self.attributes(&stat)))
            }
            Call::Fstat { slot } => {
                self.vfs.fstat(self.fd(*slot)?).map(|stat| Answer::Attributes(self.attributes(&stat)))
            }
            Call::Chmod { path, permissions } => self.vfs.chmod(path.as_bytes(), *permissions).map(done),
            Call::Chown { path, uid, gid } => self.vfs.chown(path.as_bytes(), Some(*uid), Some(*gid)).map(done),
            Call::SetModified { path, seconds } => {
                let time = ffslab_fs::TimeSpec { seconds: *seconds, nanoseconds: 0 };
                self.vfs.utimens(path.as_bytes(), None, Some(time)).map(done)
            }
            Call::DropCaches => {
                self.vfs.drop_caches();
                Ok(Answer::Done)
            }
            Call::Sleep { ms } => {
                self.vfs.sleep_ns(ms * 1_000_000);
                Ok(Answer::Done)
            }
            Call::RenameWith { from, to, flags } => {
                self.vfs.rename_with(from.as_bytes(), to.as_bytes(), *flags).map(done)
            }
            Call::OpenUnnamed { slot, path, exclusive } => {
                if let Some((fd, _)) = self.slots[*slot].take() {
                    self.vfs.close(fd)?;
                }
                let flags = OpenFlags { unnamed: true, exclusive: *exclusive, ..OpenFlags::READ_WRITE };
                self.slots[*slot] = Some((self.vfs.open(path.as_bytes(), flags, 0o644)?, How::WRITE));
                Ok(Answer::Done)
            }
            Call::LinkSlot { slot, to } => self.vfs.link_descriptor(self.fd(*slot)?, to.as_bytes()).map(done),
            Call::SetXattr { path, name, bytes, seed, mode } => {
                let value = pattern(*seed, 0, *bytes);
                self.vfs.lsetxattr(path.as_bytes(), name.as_bytes(), &value, *mode).map(done)
            }
            Call::GetXattr { path, name } => self.vfs.lgetxattr(path.as_bytes(), name.as_bytes()).map(Answer::Bytes),
            Call::ListXattr { path } => {
                let mut names = self.vfs.llistxattr(path.as_bytes())?;
                names.sort();
                Ok(Answer::Xattrs(names))
            }
            Call::RemoveXattr { path, name } => self.vfs.lremovexattr(path.as_bytes(), name.as_bytes()).map(done),
            // Call::Remount and Call::SyncAndCrash are handled in Rig::call.
            Call::Remount | Call::SyncAndCrash => Err(Errno::Inval),
        }
    }

    /// Removes the entries that the file system made by itself; see [`Subject::own_entries`].
    pub fn leave_out_own_entries(&mut self, directory: &[u8], entries: &mut Vec<Entry>) {
        let is_own = |entry: &Entry| self.subject.own_entries().contains(&&entry.name[..]);
        if !entries.iter().any(is_own) {
            return;
        }
        let root = self.vfs.fs().map(|fs| fs.root());
        if self.vfs.stat(directory).is_ok_and(|stat| Some(stat.ino) == root) {
            entries.retain(|entry| !is_own(entry));
        }
    }

    /// The part of a stat(2) that the kit compares.
    pub fn attributes(&self, stat: &Stat) -> Attributes {
        let double_names = self.double_names.get(&stat.ino).copied().unwrap_or(0);
        let modified_s = self.subject.keeps_set_times().then_some(stat.modified.seconds);
        Attributes { modified_s, ..attributes(&Stat { links: stat.links.saturating_sub(double_names), ..*stat }) }
    }

    /// The descriptor in a slot.
    pub fn fd(&self, slot: usize) -> Result<Fd> {
        self.slots.get(slot).copied().flatten().map(|(fd, _)| fd).ok_or(Errno::BadF)
    }

    fn is_append(&self, slot: usize) -> Result<bool> {
        self.slots.get(slot).copied().flatten().map(|(_, how)| how.append).ok_or(Errno::BadF)
    }

    /// Reads a whole file, in pieces that do not end at the ends of pages.
    pub fn read_file(&mut self, path: &[u8]) -> Result<Vec<u8>> {
        let fd = self.vfs.open(path, OpenFlags { no_follow: true, ..OpenFlags::READ }, 0)?;
        let result = self.read_descriptor(fd);
        self.vfs.close(fd)?;
        result
    }

    /// Reads the whole content of a descriptor; the file position does not change.
    pub fn read_descriptor(&mut self, fd: Fd) -> Result<Vec<u8>> {
        let mut data = Vec::new();
        let mut piece = vec![0xEE; 30_001];
        loop {
            let count = self.vfs.pread(fd, &mut piece, data.len() as u64)?;
            if count == 0 {
                return Ok(data);
            }
            data.extend_from_slice(&piece[..count]);
        }
    }

    /// All extended attributes; none if the file system does not support them.
    pub fn xattrs(&mut self, path: &[u8]) -> Result<Xattrs> {
        if !self.subject.features().xattrs {
            return Ok(Xattrs::new());
        }
        let names = self.vfs.llistxattr(path)?;
        names.into_iter().map(|name| Ok((name.clone(), self.vfs.lgetxattr(path, &name)?))).collect()
    }

    /// Makes or replaces a whole file.
    pub fn write_file(&mut self, path: &[u8], data: &[u8], fsync: bool) -> Result<()> {
        let flags = OpenFlags { create: true, truncate: true, ..OpenFlags::WRITE };
        let fd = self.vfs.open(path, flags, 0o644)?;
        let mut result = Ok(());
        let mut written = 0;
        while written < data.len() && result.is_ok() {
            result = self.vfs.write(fd, &data[written..]).map(|count| written += count);
        }
        if fsync && result.is_ok() {
            result = self.vfs.fsync(fd);
        }
        self.vfs.close(fd).and(result)
    }
}

struct OperationLimit {
    left: u64,
    limit: u64,
}

impl EventSink for OperationLimit {
    fn flash_op(&mut self, _event: &OpEvent) {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => panic!("more than {} flash operations: the file system does not come to an end", self.limit),
        }
    }
}

pub(crate) fn flags(how: How) -> OpenFlags {
    OpenFlags {
        read: true,
        write: how.write,
        create: how.create,
        exclusive: how.exclusive,
        truncate: how.truncate,
        append: how.append,
        sync: how.sync,
        no_follow: how.no_follow,
        ..OpenFlags::default()
    }
}

pub(crate) fn attributes(stat: &Stat) -> Attributes {
    let is_directory = stat.kind == FileKind::Directory;
    let is_device = matches!(stat.kind, FileKind::CharDevice | FileKind::BlockDevice);
    let has_size = matches!(stat.kind, FileKind::File | FileKind::Symlink);
    Attributes {
        kind: stat.kind,
        permissions: stat.permissions,
        uid: stat.uid,
        gid: stat.gid,
        device: if is_device { stat.device } else { 0 },
        links: if is_directory { 0 } else { stat.links },
        size_bytes: if has_size { stat.size_bytes } else { 0 },
        modified_s: Some(stat.modified.seconds),
    }
}
