//! A program that makes the calls of a sequence on any system.

use crate::call::{Answer, Attributes, Call, How, SLOTS};
use crate::content::pattern;
use ffslab_fs::{Errno, FileKind, Ino, Stat, TimeSpec};
use ffslab_system::{Answer as Answered, Calls, Entry, Fd, OpenFlags, Refusal, Whence};
use std::collections::BTreeMap;

/// The program's descriptors, and what it overlooks in answers.
#[derive(Debug)]
pub struct Program<'a> {
    slots: [Option<(Fd, How)>; SLOTS],
    /// Names that a new file system holds in its root by itself.
    pub own_entries: &'a [&'a [u8]],
    /// Whether a time that is set stays.
    pub keeps_set_times: bool,
    /// How many names appear twice in their directory, by inode; see [`crate::Subject::unlink_may_double_a_name`].
    pub double_names: BTreeMap<Ino, u32>,
}

impl<'a> Program<'a> {
    pub fn new(own_entries: &'a [&'a [u8]], keeps_set_times: bool) -> Program<'a> {
        Program { slots: [None; SLOTS], own_entries, keeps_set_times, double_names: BTreeMap::new() }
    }

    /// Makes a call. Those that are no calls of a program, [`Call::Remount`] and [`Call::SyncAndCrash`], are refused.
    pub fn make(&mut self, calls: &mut dyn Calls, call: &Call) -> Answered<Answer> {
        let done = |()| Answer::Done;
        let number = |count: usize| Answer::Number(count as u64);
        match call {
            Call::Open { slot, path, how } => self.open(calls, *slot, path, flags(*how), *how),
            Call::OpenUnnamed { slot, path, exclusive } => {
                let flags = OpenFlags { unnamed: true, exclusive: *exclusive, ..OpenFlags::READ_WRITE };
                self.open(calls, *slot, path, flags, How::WRITE)
            }
            Call::Close { slot } => {
                let fd = self.fd(*slot)?;
                self.slots[*slot] = None;
                calls.close(fd).map(done)
            }
            Call::Read { slot, bytes } => {
                let mut data = vec![0xEE; *bytes];
                let count = calls.read(self.fd(*slot)?, &mut data)?;
                data.truncate(count);
                Ok(Answer::Bytes(data))
            }
            Call::Pread { slot, at, bytes } => {
                let mut data = vec![0xEE; *bytes];
                let count = calls.pread(self.fd(*slot)?, &mut data, *at)?;
                data.truncate(count);
                Ok(Answer::Bytes(data))
            }
            Call::Write { slot, bytes, seed } => {
                let (fd, how) = self.opened(*slot)?;
                let at = if how.append { calls.fstat(fd)?.size_bytes } else { calls.lseek(fd, 0, Whence::Current)? };
                calls.write(fd, &pattern(*seed, at, *bytes)).map(number)
            }
            Call::Pwrite { slot, at, bytes, seed } => {
                let (fd, how) = self.opened(*slot)?;
                let true_at = if how.append { calls.fstat(fd)?.size_bytes } else { *at };
                calls.pwrite(fd, &pattern(*seed, true_at, *bytes), *at).map(number)
            }
            Call::SeekTo { slot, at } => calls.lseek(self.fd(*slot)?, *at as i64, Whence::Set).map(Answer::Number),
            Call::SeekFromEnd { slot, offset } => {
                calls.lseek(self.fd(*slot)?, *offset, Whence::End).map(Answer::Number)
            }
            Call::Ftruncate { slot, size_bytes } => calls.ftruncate(self.fd(*slot)?, *size_bytes).map(done),
            Call::Fsync { slot } => calls.fsync(self.fd(*slot)?).map(done),
            Call::Fdatasync { slot } => calls.fdatasync(self.fd(*slot)?).map(done),
            Call::Fstat { slot } => calls.fstat(self.fd(*slot)?).map(|stat| Answer::Attributes(self.attributes(&stat))),
            Call::LinkSlot { slot, to } => calls.link_descriptor(self.fd(*slot)?, to.as_bytes()).map(done),
            _ => self.make_by_name(calls, call),
        }
    }

    fn make_by_name(&mut self, calls: &mut dyn Calls, call: &Call) -> Answered<Answer> {
        let done = |()| Answer::Done;
        match call {
            Call::Truncate { path, size_bytes } => calls.truncate(path.as_bytes(), *size_bytes).map(done),
            Call::FsyncDirectory { path } => {
                let flags = OpenFlags { directory: true, ..OpenFlags::READ };
                let fd = calls.open(path.as_bytes(), flags, 0)?;
                let result = calls.fsync(fd);
                calls.close(fd)?;
                result.map(done)
            }
            Call::Sync => calls.sync().map(done),
            Call::Rename { from, to } => calls.rename(from.as_bytes(), to.as_bytes()).map(done),
            Call::RenameWith { from, to, flags } => calls.rename_with(from.as_bytes(), to.as_bytes(), *flags).map(done),
            Call::Link { from, to } => calls.link(from.as_bytes(), to.as_bytes()).map(done),
            Call::Symlink { target, path } => calls.symlink(target.as_bytes(), path.as_bytes()).map(done),
            Call::Readlink { path } => calls.readlink(path.as_bytes()).map(Answer::Bytes),
            Call::Unlink { path } => calls.unlink(path.as_bytes()).map(done),
            Call::Mkdir { path, permissions } => calls.mkdir(path.as_bytes(), *permissions).map(done),
            Call::Rmdir { path } => calls.rmdir(path.as_bytes()).map(done),
            Call::Mknod { path, kind, device } => calls.mknod(path.as_bytes(), *kind, 0o644, *device).map(done),
            Call::Readdir { path } => self.names(calls, path.as_bytes()),
            Call::Stat { path } => calls.stat(path.as_bytes()).map(|stat| Answer::Attributes(self.attributes(&stat))),
            Call::Lstat { path } => calls.lstat(path.as_bytes()).map(|stat| Answer::Attributes(self.attributes(&stat))),
            Call::Chmod { path, permissions } => calls.chmod(path.as_bytes(), *permissions).map(done),
            Call::Chown { path, uid, gid } => calls.chown(path.as_bytes(), Some(*uid), Some(*gid)).map(done),
            Call::SetModified { path, seconds } => {
                let time = TimeSpec { seconds: *seconds, nanoseconds: 0 };
                calls.utimens(path.as_bytes(), None, Some(time)).map(done)
            }
            Call::SetXattr { path, name, bytes, seed, mode } => {
                let value = pattern(*seed, 0, *bytes);
                calls.lsetxattr(path.as_bytes(), name.as_bytes(), &value, *mode).map(done)
            }
            Call::GetXattr { path, name } => calls.lgetxattr(path.as_bytes(), name.as_bytes()).map(Answer::Bytes),
            Call::ListXattr { path } => {
                let mut names = calls.llistxattr(path.as_bytes())?;
                names.sort();
                Ok(Answer::Xattrs(names))
            }
            Call::RemoveXattr { path, name } => calls.lremovexattr(path.as_bytes(), name.as_bytes()).map(done),
            Call::DropCaches => calls.drop_caches().map(done),
            Call::Sleep { ms } => {
                calls.sleep_ns(ms * 1_000_000);
                Ok(Answer::Done)
            }
            // Those with a descriptor are made above; whoever can mount carries out the other two.
            _ => Err(Errno::Inval.into()),
        }
    }

    /// Opens a file in a slot, after closing what it held.
    fn open(&mut self, calls: &mut dyn Calls, slot: usize, path: &str, flags: OpenFlags, how: How) -> Answered<Answer> {
        if let Some((fd, _)) = self.slots[slot].take() {
            calls.close(fd)?;
        }
        self.slots[slot] = Some((calls.open(path.as_bytes(), flags, 0o644)?, how));
        Ok(Answer::Done)
    }

    /// The names in a directory with the kinds of what they name, sorted.
    fn names(&mut self, calls: &mut dyn Calls, path: &[u8]) -> Answered<Answer> {
        let mut entries = calls.readdir_path(path)?;
        self.leave_out_own_entries(calls, path, &mut entries);
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let mut found = Vec::with_capacity(entries.len());
        for Entry { name, kind, .. } in entries {
            let kind = match kind {
                Some(kind) => kind,
                None => calls.lstat(&[path, b"/", &name].concat())?.kind,
            };
            found.push((name, kind));
        }
        Ok(Answer::Names(found))
    }

    /// Removes the entries that the file system made by itself.
    pub fn leave_out_own_entries(&self, calls: &mut dyn Calls, directory: &[u8], entries: &mut Vec<Entry>) {
        let is_own = |entry: &Entry| self.own_entries.contains(&&entry.name[..]);
        if !entries.iter().any(is_own) {
            return;
        }
        let inode = |calls: &mut dyn Calls, path: &[u8]| calls.stat(path).ok().map(|stat| stat.ino);
        if inode(calls, directory).is_some_and(|ino| inode(calls, b"/") == Some(ino)) {
            entries.retain(|entry| !is_own(entry));
        }
    }

    /// The part of a stat(2) that the kit compares.
    pub fn attributes(&self, stat: &Stat) -> Attributes {
        let double_names = self.double_names.get(&stat.ino).copied().unwrap_or(0);
        let is_directory = stat.kind == FileKind::Directory;
        let is_device = matches!(stat.kind, FileKind::CharDevice | FileKind::BlockDevice);
        let has_size = matches!(stat.kind, FileKind::File | FileKind::Symlink);
        Attributes {
            kind: stat.kind,
            permissions: stat.permissions,
            uid: stat.uid,
            gid: stat.gid,
            device: if is_device { stat.device } else { 0 },
            links: if is_directory { 0 } else { stat.links.saturating_sub(double_names) },
            size_bytes: if has_size { stat.size_bytes } else { 0 },
            modified_s: self.keeps_set_times.then_some(stat.modified.seconds),
        }
    }

    /// Closes all descriptors.
    pub fn close_all(&mut self, calls: &mut dyn Calls) -> Answered<()> {
        for slot in 0..SLOTS {
            if let Some((fd, _)) = self.slots[slot].take() {
                calls.close(fd)?;
            }
        }
        Ok(())
    }

    /// The power failed: all descriptors are gone.
    pub fn forget_all(&mut self) {
        self.slots = [None; SLOTS];
    }

    /// The descriptor in a slot.
    pub fn fd(&self, slot: usize) -> Answered<Fd> {
        self.opened(slot).map(|(fd, _)| fd)
    }

    fn opened(&self, slot: usize) -> Answered<(Fd, How)> {
        self.slots.get(slot).copied().flatten().ok_or(Refusal::Failed(Errno::BadF))
    }
}

fn flags(how: How) -> OpenFlags {
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
