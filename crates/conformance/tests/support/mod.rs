//! A simple log file system, correct or with one deliberate defect: what the kit itself is tested with.
//!
//! Everything is in memory ([`Nodes`]); each change is appended to a log. A log page is a header (magic, generation,
//! sequence number, length, checksum) and a piece of a stream of records. When the log has grown to half of the good
//! blocks a new generation begins with a copy of everything in the other half, and the old one is erased. A mount takes
//! the newest generation whose copy is complete.

mod log;
mod records;

use ffslab_conformance::content::pattern;
use ffslab_conformance::nodes::{Change, Content, Nodes};
use ffslab_conformance::{Features, Subject};
use ffslab_fs::{
    take_turns, DirEntry, Errno, FileKind, FileSystem, Host, Ino, InodeDirt, NewNode, RenameFlags, Result, SetAttr,
    Stat, StatFs, TimeSpec, WritePlan, XattrMode, PAGE_BYTES, STAT_BLOCK_BYTES,
};
use ffslab_mtd::Mtd;
use ffslab_sim::{Sim, Task};
use log::Log;

/// What is wrong. No test binary uses all of them.
#[allow(dead_code)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    None,
    FsyncDoesNothing,
    TruncationIsForgotten,
    StaleBytesAfterTruncation,
    UnlinkIsForgotten,
    LinkCountIsWrong,
    ModeIsForgotten,
    PartialWritesZeroThePage,
    RenameIsTwoSteps,
    TornPagesAreBelieved,
    LengthsAreBelieved,
    MountLoopsOnDamage,
    MountRereadsForever,
    HugeAllocationOnDamage,
    ProgramFailuresAreIgnored,
    FullIsSilent,
    FullTooEarly,
    DeletionFreesNothing,
    CostGrowsWithFileSize,
    CostGrowsWithFileCount,
    WrongErrno,
    RefusesWithoutReason,
    WriteBackIsForgotten,
    XattrRemovalIsForgotten,
    XattrIsTwoSteps,
    ExchangeIsTwoSteps,
}

#[derive(Clone, Copy)]
pub struct LogSubject(pub Defect);

impl Subject for LogSubject {
    fn name(&self) -> &str {
        "logfs"
    }

    fn mount(&self, mtd: Mtd) -> std::result::Result<Box<dyn FileSystem>, String> {
        let (log, nodes) = Log::mount(mtd.clone(), self.0)?;
        Ok(Box::new(LogFs { mtd, nodes, log, defect: self.0, delays: false }))
    }
}

/// The same file system, but what is written to files is put into the log when it is written back.
#[allow(dead_code)]
#[derive(Clone, Copy)]
pub struct DelayingSubject(pub Defect);

impl Subject for DelayingSubject {
    fn name(&self) -> &str {
        "delaying logfs"
    }

    fn mount(&self, mtd: Mtd) -> std::result::Result<Box<dyn FileSystem>, String> {
        let (log, nodes) = Log::mount(mtd.clone(), self.0)?;
        Ok(Box::new(LogFs { mtd, nodes, log, defect: self.0, delays: true }))
    }
}

/// The log file system where extended attributes and flags of renameat2(2) are tested too.
#[allow(dead_code)]
#[derive(Clone, Copy)]
pub struct ExtrasSubject(pub Defect);

impl Subject for ExtrasSubject {
    fn name(&self) -> &str {
        "logfs with extras"
    }

    fn features(&self) -> Features {
        Features { xattrs: true, rename_flags: true, ..Features::NONE }
    }

    fn mount(&self, mtd: Mtd) -> std::result::Result<Box<dyn FileSystem>, String> {
        LogSubject(self.0).mount(mtd)
    }
}

struct LogFs {
    mtd: Mtd,
    nodes: Nodes,
    log: Log,
    defect: Defect,
    delays: bool,
}

impl LogFs {
    /// Puts what changed into the log.
    fn record(&mut self) -> Result<()> {
        for change in self.nodes.take_changes() {
            let dropped = match self.defect {
                Defect::TruncationIsForgotten => matches!(change, Change::Size { .. }),
                Defect::UnlinkIsForgotten => matches!(change, Change::Name { to: None, .. }),
                Defect::ModeIsForgotten => matches!(change, Change::Permissions { .. }),
                Defect::XattrRemovalIsForgotten => matches!(change, Change::Xattr { value: None, .. }),
                _ => false,
            };
            if !dropped {
                self.log.append(&change, &self.nodes)?;
            }
        }
        Ok(())
    }

    fn room_for(&self, bytes: usize) -> Result<()> {
        let full = !self.log.has_room(&self.nodes, bytes);
        let early = self.defect == Defect::FullTooEarly && self.log.used_bytes(&self.nodes) > 60_000;
        if (full && self.defect != Defect::FullIsSilent) || early {
            return Err(Errno::NoSpc);
        }
        Ok(())
    }

    fn touch_everything(&self, bytes: u64) -> Result<()> {
        let mut page = vec![0; self.mtd.page_bytes() as usize];
        for at in (0..bytes.min(self.mtd.size_bytes())).step_by(page.len()) {
            // Only the flash operation matters.
            let _ = self.mtd.read(at, &mut page);
        }
        Ok(())
    }
}

impl FileSystem for LogFs {
    fn name(&self) -> &'static str {
        "logfs"
    }

    fn sim(&self) -> &Sim {
        self.mtd.sim()
    }

    fn root(&self) -> Ino {
        ffslab_conformance::nodes::ROOT
    }

    fn name_bytes_max(&self) -> usize {
        255
    }

    fn file_bytes_max(&self) -> u64 {
        16 << 20
    }

    fn lookup(&mut self, dir: Ino, name: &[u8]) -> Result<Ino> {
        self.nodes.lookup(dir, name)
    }

    fn create(&mut self, _host: &mut dyn Host, dir: Ino, name: &[u8], node: &NewNode) -> Result<Ino> {
        self.room_for(name.len() + node.target.len() + 200)?;
        if self.defect == Defect::CostGrowsWithFileCount {
            let count = self.nodes.iter().count() as u64;
            self.touch_everything(count * u64::from(self.mtd.page_bytes()) / 4)?;
        }
        let content = match node.kind {
            FileKind::File => Content::File(Vec::new()),
            FileKind::Directory => Content::Directory(Default::default()),
            FileKind::Symlink => Content::Symlink(node.target.to_vec()),
            kind => Content::Special(kind, node.device),
        };
        let id = self.nodes.create(dir, name, content, node.permissions)?;
        self.record()?;
        Ok(id)
    }

    fn link(&mut self, _host: &mut dyn Host, ino: Ino, dir: Ino, name: &[u8]) -> Result<()> {
        self.room_for(name.len() + 100)?;
        self.nodes.link(ino, dir, name)?;
        self.record()
    }

    fn unlink(&mut self, _host: &mut dyn Host, dir: Ino, name: &[u8]) -> Result<()> {
        self.nodes.unlink(dir, name)?;
        self.record()
    }

    fn rmdir(&mut self, _host: &mut dyn Host, dir: Ino, name: &[u8]) -> Result<()> {
        match self.nodes.rmdir(dir, name) {
            Err(Errno::NotEmpty) if self.defect == Defect::WrongErrno => return Err(Errno::Exist),
            result => result?,
        };
        self.record()
    }

    fn rename(&mut self, _host: &mut dyn Host, from: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<()> {
        self.room_for(new_name.len() + 100)?;
        if self.defect == Defect::RenameIsTwoSteps {
            // Takes the old name away first.
            let id = self.nodes.lookup(from, name)?;
            self.nodes.rename(from, name, to, new_name)?;
            self.nodes.take_changes();
            let steps = [(from, name, None), (to, new_name, Some(id))];
            for (dir, name, to) in steps {
                self.log.append(&Change::Name { dir, name: name.to_vec(), to }, &self.nodes)?;
                self.log.flush(&self.nodes)?;
            }
            return Ok(());
        }
        self.nodes.rename(from, name, to, new_name)?;
        self.record()
    }

    fn rename_with(
        &mut self,
        _host: &mut dyn Host,
        (from, name): (Ino, &[u8]),
        (to, new_name): (Ino, &[u8]),
        flags: RenameFlags,
    ) -> Result<()> {
        self.room_for(name.len() + new_name.len() + 200)?;
        if !flags.exchange {
            self.nodes.rename_and_leave(from, name, to, new_name, flags.whiteout)?;
            return self.record();
        }
        self.nodes.exchange((from, name), (to, new_name))?;
        if self.defect == Defect::ExchangeIsTwoSteps {
            for change in self.nodes.take_changes() {
                self.log.append(&change, &self.nodes)?;
                self.log.flush(&self.nodes)?;
            }
        }
        self.record()
    }

    fn readdir(&mut self, dir: Ino, emit: &mut dyn FnMut(DirEntry<'_>)) -> Result<()> {
        for (name, &ino) in self.nodes.directory(dir)? {
            emit(DirEntry { ino, name, kind: self.nodes.get(ino)?.content.kind() });
        }
        Ok(())
    }

    fn readlink(&mut self, ino: Ino) -> Result<Vec<u8>> {
        match &self.nodes.get(ino)?.content {
            Content::Symlink(target) => Ok(target.clone()),
            _ => Err(Errno::Inval),
        }
    }

    fn getattr(&mut self, ino: Ino) -> Result<Stat> {
        let node = self.nodes.get(ino)?;
        let (size_bytes, device) = match &node.content {
            Content::File(bytes) => (bytes.len() as u64, 0),
            Content::Symlink(target) => (target.len() as u64, 0),
            Content::Directory(_) => (0, 0),
            Content::Special(_, device) => (0, *device),
        };
        let modified = node.modified.unwrap_or_default();
        let wrong = self.defect == Defect::LinkCountIsWrong && node.links > 1;
        Ok(Stat {
            ino,
            kind: node.content.kind(),
            permissions: node.permissions,
            links: if wrong { 1 } else { node.links },
            uid: node.uid,
            gid: node.gid,
            device,
            size_bytes,
            blocks: size_bytes.div_ceil(STAT_BLOCK_BYTES),
            accessed: TimeSpec::default(),
            modified,
            changed: TimeSpec::default(),
        })
    }

    fn keeps_xattr(&self, name: &[u8]) -> bool {
        [&b"user."[..], b"trusted.", b"security."].iter().any(|namespace| name.starts_with(namespace))
    }

    fn getxattr(&mut self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        self.nodes.get(ino)?.xattrs.get(name).cloned().ok_or(Errno::NoData)
    }

    fn setxattr(&mut self, _host: &mut dyn Host, id: Ino, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        match (self.nodes.get(id)?.xattrs.contains_key(name), mode) {
            (true, XattrMode::Create) => return Err(Errno::Exist),
            (false, XattrMode::Replace) => return Err(Errno::NoData),
            _ => {}
        }
        self.room_for(name.len() + value.len() + 100)?;
        if self.defect == Defect::XattrIsTwoSteps {
            self.nodes.apply(Change::Xattr { id, name: name.to_vec(), value: None });
            self.record()?;
            self.log.flush(&self.nodes)?;
        }
        self.nodes.apply(Change::Xattr { id, name: name.to_vec(), value: Some(value.to_vec()) });
        self.record()
    }

    fn listxattr(&mut self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        Ok(self.nodes.get(ino)?.xattrs.keys().cloned().collect())
    }

    fn removexattr(&mut self, _host: &mut dyn Host, id: Ino, name: &[u8]) -> Result<()> {
        self.getxattr(id, name)?;
        self.nodes.apply(Change::Xattr { id, name: name.to_vec(), value: None });
        self.record()
    }

    fn setattr(&mut self, _host: &mut dyn Host, id: Ino, change: &SetAttr) -> Result<()> {
        let node = self.nodes.get(id)?.clone();
        if let Some(size_bytes) = change.size_bytes {
            let old = self.nodes.file(id)?.len();
            self.room_for((size_bytes as usize).saturating_sub(old) + 100)?;
            self.nodes.apply(Change::Size { id, size_bytes });
            if self.defect == Defect::StaleBytesAfterTruncation && size_bytes as usize > old {
                let stale = pattern(9, 0, size_bytes as usize - old);
                self.nodes.apply(Change::Data { id, at: old as u64, data: stale });
            }
        }
        if let Some(permissions) = change.permissions {
            self.nodes.apply(Change::Permissions { id, permissions });
        }
        if change.uid.is_some() || change.gid.is_some() {
            let (uid, gid) = (change.uid.unwrap_or(node.uid), change.gid.unwrap_or(node.gid));
            self.nodes.apply(Change::Owner { id, uid, gid });
        }
        if change.size_bytes.is_none() && change.modified.is_some() {
            self.nodes.apply(Change::Modified { id, time: change.modified });
        }
        self.record()
    }

    fn read_page(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<()> {
        let bytes = self.nodes.file(ino)?;
        if self.defect == Defect::CostGrowsWithFileSize {
            self.touch_everything(bytes.len() as u64)?;
        }
        let start = (index as usize * PAGE_BYTES).min(bytes.len());
        let part = &bytes[start..(start + PAGE_BYTES).min(bytes.len())];
        page.fill(0);
        page[..part.len()].copy_from_slice(part);
        Ok(())
    }

    fn write_begin(&mut self, _host: &mut dyn Host, _: Ino, _: u64, bytes: usize, cached: bool) -> Result<WritePlan> {
        self.room_for(bytes + 100)?;
        let whole = bytes == PAGE_BYTES || cached || self.defect == Defect::PartialWritesZeroThePage;
        Ok(if whole { WritePlan::Ready } else { WritePlan::ReadFirst })
    }

    fn write_end(&mut self, host: &mut dyn Host, id: Ino, at: u64, bytes: usize) -> Result<usize> {
        let hole_bytes = at.saturating_sub(self.nodes.file(id)?.len() as u64);
        self.room_for(hole_bytes as usize + bytes + 100)?;
        let page = host.page(id, at / PAGE_BYTES as u64).ok_or(Errno::Io)?;
        let start = at as usize % PAGE_BYTES;
        let data = page[start..start + bytes].to_vec();
        self.nodes.apply(Change::Data { id, at, data });
        if self.delays {
            // Known here, but not in the log.
            self.nodes.take_changes();
            host.dirty_page(id, at / PAGE_BYTES as u64);
            host.dirty_inode(id, InodeDirt::Data);
        } else {
            self.record()?;
        }
        Ok(bytes)
    }

    fn delays_writes(&self) -> bool {
        self.delays
    }

    fn write_page(&mut self, host: &mut dyn Host, id: Ino, index: u64) -> Result<()> {
        let node = self.nodes.get(id)?;
        let (size, modified) = (self.nodes.file(id)?.len(), node.modified);
        let at = index * PAGE_BYTES as u64;
        let bytes = size.saturating_sub(at as usize).min(PAGE_BYTES);
        if bytes == 0 || self.defect == Defect::WriteBackIsForgotten {
            return Ok(());
        }
        let data = host.page(id, index).ok_or(Errno::Io)?[..bytes].to_vec();
        self.log.append(&Change::Data { id, at, data }, &self.nodes)?;
        match modified {
            Some(_) => self.log.append(&Change::Modified { id, time: modified }, &self.nodes),
            None => Ok(()),
        }
    }

    fn resched(&mut self, host: &mut dyn Host) {
        take_turns(self, host);
    }

    fn fsync(&mut self, _host: &mut dyn Host, _ino: Ino, _data_only: bool) -> Result<()> {
        if self.defect == Defect::FsyncDoesNothing {
            return Ok(());
        }
        self.log.flush(&self.nodes)
    }

    fn sync(&mut self, _host: &mut dyn Host) -> Result<()> {
        self.log.flush(&self.nodes)
    }

    fn statfs(&mut self) -> StatFs {
        let block_bytes = self.mtd.page_bytes();
        let capacity = self.log.capacity_bytes() as u64;
        let used = self.log.used_bytes(&self.nodes) as u64;
        let blocks = |bytes: u64| bytes / u64::from(block_bytes);
        let (blocks, blocks_free) = (blocks(capacity), blocks(capacity.saturating_sub(used)));
        StatFs { block_bytes, blocks, blocks_free, files: 0, files_free: 0 }
    }

    fn evict(&mut self, _host: &mut dyn Host, ino: Ino) -> Result<()> {
        if self.defect == Defect::DeletionFreesNothing {
            return Ok(());
        }
        self.nodes.forget(ino);
        self.record()
    }

    fn drop_inodes(&mut self, _in_use: &dyn Fn(Ino) -> bool) {}

    fn run_task(&mut self, _host: &mut dyn Host, _task: &'static Task) {}

    fn unmount(&mut self, _host: &mut dyn Host) -> Result<()> {
        self.log.flush(&self.nodes)
    }
}
