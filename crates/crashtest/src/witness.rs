//! A system that answers as the one in it does, and writes down what its calls do to files and what they promise.

// long file: it passes on each call of two traits.

use crate::book::{Book, When};
use crate::log::{Effect, NodeKind, NoteOfCall, ROOT};
use crate::namespace::OpenNode;
use crate::tree::shown;
use ffslab_flash::Torn;
use ffslab_fs::{BlockSpace, FileKind, KeyEntry, RenameFlags, Stat, StatFs, TimeSpec, Unwritten, XattrMode};
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_sim::Sim;
use ffslab_system::{
    asks, asks_of_machine, looks, looks_of_calls, looks_of_system, Advice, Answer, Calls, Entry as DirectoryEntry,
    FallocateFlag, Fd, ImageGiven, Levelling, MapAccess, MountDone, OpenFlags, Refusal, Runs, System, SystemError,
    Whence,
};
use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;
use std::sync::Arc;

/// The system. What it writes down is shared.
pub struct Witness {
    inner: Box<dyn System>,
    book: Rc<RefCell<Book>>,
}

impl Witness {
    pub fn new(inner: Box<dyn System>, book: Rc<RefCell<Book>>) -> Witness {
        Witness { inner, book }
    }

    fn machine(&self) -> &dyn System {
        &*self.inner
    }

    fn machine_mut(&mut self) -> &mut dyn System {
        &mut *self.inner
    }

    /// Makes a call, and lets `note` write down what a successful one does.
    fn seen<R, T: Display>(
        &mut self,
        text: impl FnOnce() -> T,
        make: impl FnOnce(&mut dyn System) -> Answer<R>,
        note: impl FnOnce(&mut Book, When, &R),
    ) -> Answer<R> {
        if !self.book.borrow().is_on {
            return make(&mut *self.inner);
        }
        let (from, at_ns) = (self.inner.modifying_operations(), self.inner.now_ns());
        let answer = make(&mut *self.inner);
        let to = self.inner.modifying_operations();
        let mut book = self.book.borrow_mut();
        let start = book.start_operations;
        let when = When { from_operations: from - start, to_operations: to - start };
        let end = answer.as_ref().map_or_else(|refusal| format!(" = {}", refusal.name()), |_| String::new());
        let at_ns = at_ns.saturating_sub(book.start_ns);
        let text = format!("{}{end}", text());
        book.log.calls.push(NoteOfCall {
            text,
            from_operations: when.from_operations,
            to_operations: when.to_operations,
            at_ns,
        });
        if let Ok(answer) = &answer {
            note(&mut book, when, answer);
        }
        answer
    }

    fn write_at(
        &mut self,
        name: &'static str,
        (fd, at): (Fd, Option<u64>),
        data: &[u8],
        make: impl FnOnce(&mut dyn System) -> Answer<usize>,
    ) -> Answer<usize> {
        let place = at.map_or_else(String::new, |at| format!(" at {at}"));
        self.seen(
            || format!("{name} {} bytes{place} to descriptor {}", data.len(), fd.0),
            make,
            |book, when, written| book.written(when, fd, at, &data[..*written]),
        )
    }

    fn renamed(
        &mut self,
        (old, new): (&[u8], &[u8]),
        exchanges: bool,
        make: impl FnOnce(&mut dyn System) -> Answer<()>,
    ) -> Answer<()> {
        self.seen(
            || format!("rename {} to {}", shown(old), shown(new)),
            make,
            |book, when, ()| {
                let places = (book.namespace.place(old, false), book.namespace.place(new, false));
                let (Some(from), Some(to)) = places else { return };
                if from.node == to.node {
                    return;
                }
                book.named(when.from_operations, &to, from.node);
                book.named(when.from_operations, &from, if exchanges { to.node } else { None });
            },
        )
    }

    fn synced(&mut self, name: &'static str, fd: Fd, make: impl FnOnce(&mut dyn System) -> Answer<()>) -> Answer<()> {
        self.seen(
            || format!("{name} descriptor {}", fd.0),
            make,
            |book, when, ()| {
                if let Some(node) = book.namespace.open.get(&fd).map(|open| open.node) {
                    book.add(when.to_operations, Effect::Safe { node });
                }
            },
        )
    }

    fn all_synced(&mut self, name: &'static str, make: impl FnOnce(&mut dyn System) -> Answer<()>) -> Answer<()> {
        self.seen(|| name, make, |book, when, ()| book.add(when.to_operations, Effect::AllSafe))
    }
}

/// Calls by node are for a system that walks paths itself; they would not be seen.
impl Calls for Witness {
    looks_of_calls!();

    looks! {
        fn now_ns() -> u64;
    }

    asks! {
        fn read_clock_ns() -> u64;
        fn prepare_request() -> ();
        fn compute_ns(duration_ns: u64) -> ();
        fn pread(fd: Fd, into: &mut [u8], at: u64) -> Answer<usize>;
        fn pread_discard(fd: Fd, at: u64, bytes: usize) -> Answer<usize>;
        fn trim(fd: Fd, at: u64, bytes: u64) -> Answer<()>;
        fn fallocate(fd: Fd, flags: &[FallocateFlag], at: u64, bytes: u64) -> Answer<()>;
        fn fstat(fd: Fd) -> Answer<Stat>;
        fn readdir(fd: Fd) -> Answer<Vec<DirectoryEntry>>;
        fn advise(fd: Fd, offset: u64, bytes: u64, advice: Advice) -> Answer<()>;
        fn mmap(fd: Fd, at: u64, bytes: u64, access: MapAccess) -> Answer<()>;
        fn map_load(fd: Fd, at: u64, bytes: usize) -> Answer<()>;
        fn munmap(fd: Fd) -> Answer<()>;
        fn readlink(path: &[u8]) -> Answer<Vec<u8>>;
        fn readdir_path(path: &[u8]) -> Answer<Vec<DirectoryEntry>>;
        fn stat(path: &[u8]) -> Answer<Stat>;
        fn lstat(path: &[u8]) -> Answer<Stat>;
        fn chmod(path: &[u8], permissions: u32) -> Answer<()>;
        fn chown(path: &[u8], uid: Option<u32>, gid: Option<u32>) -> Answer<()>;
        fn utimens(path: &[u8], accessed: Option<TimeSpec>, modified: Option<TimeSpec>) -> Answer<()>;
        fn setxattr(path: &[u8], name: &[u8], value: &[u8], mode: XattrMode) -> Answer<()>;
        fn lsetxattr(path: &[u8], name: &[u8], value: &[u8], mode: XattrMode) -> Answer<()>;
        fn getxattr(path: &[u8], name: &[u8]) -> Answer<Vec<u8>>;
        fn lgetxattr(path: &[u8], name: &[u8]) -> Answer<Vec<u8>>;
        fn listxattr(path: &[u8]) -> Answer<Vec<Vec<u8>>>;
        fn llistxattr(path: &[u8]) -> Answer<Vec<Vec<u8>>>;
        fn removexattr(path: &[u8], name: &[u8]) -> Answer<()>;
        fn lremovexattr(path: &[u8], name: &[u8]) -> Answer<()>;
        fn get_value(key: &[u8]) -> Answer<Vec<u8>>;
        fn list_values() -> Answer<Vec<KeyEntry>>;
        fn statfs() -> Answer<StatFs>;
        fn statfs_at(path: &[u8]) -> Answer<StatFs>;
        fn drop_caches() -> Answer<()>;
        fn drop_pages() -> Answer<()>;
    }

    fn sleep_ns(&mut self, duration_ns: u64) {
        let _ = self.seen(
            || format!("sleep {} ms", duration_ns / 1_000_000),
            |system| {
                system.sleep_ns(duration_ns);
                Ok(())
            },
            |_, _, ()| {},
        );
    }

    fn open(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Answer<Fd> {
        self.seen(
            || format!("open {}", shown(path)),
            |system| system.open(path, flags, permissions),
            |book, when, &fd| {
                let Some(place) = book.namespace.place(path, !flags.no_follow) else { return };
                let node = match (flags.unnamed, place.node) {
                    (true, _) => {
                        let node = book.namespace.make(NodeKind::File);
                        book.add(when.from_operations, Effect::Made { node, kind: NodeKind::File });
                        node
                    }
                    (false, Some(node)) => {
                        if flags.truncate && flags.write {
                            book.size(when.from_operations, node, 0);
                        }
                        node
                    }
                    (false, None) => book.made(when.from_operations, &place, NodeKind::File),
                };
                let syncs = flags.sync || flags.dsync;
                book.namespace.open.insert(fd, OpenNode { node, position_bytes: 0, appends: flags.append, syncs });
            },
        )
    }

    fn close(&mut self, fd: Fd) -> Answer<()> {
        self.seen(
            || format!("close descriptor {}", fd.0),
            |system| system.close(fd),
            |book, _, ()| {
                book.namespace.open.remove(&fd);
            },
        )
    }

    fn read(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        self.inner.read(fd, into).inspect(|&bytes| self.book.borrow_mut().read(fd, bytes))
    }

    fn readv(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        self.inner.readv(fd, into).inspect(|&bytes| self.book.borrow_mut().read(fd, bytes))
    }

    fn write(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        self.write_at("write", (fd, None), data, |system| system.write(fd, data))
    }

    fn writev(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        self.write_at("writev", (fd, None), data, |system| system.writev(fd, data))
    }

    fn pwrite(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize> {
        self.write_at("pwrite", (fd, Some(at)), data, |system| system.pwrite(fd, data, at))
    }

    fn lseek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Answer<u64> {
        let position = self.inner.lseek(fd, offset, whence)?;
        if let Some(open) = self.book.borrow_mut().namespace.open.get_mut(&fd) {
            open.position_bytes = position;
        }
        Ok(position)
    }

    fn ftruncate(&mut self, fd: Fd, bytes: u64) -> Answer<()> {
        self.seen(
            || format!("ftruncate descriptor {} to {bytes} bytes", fd.0),
            |system| system.ftruncate(fd, bytes),
            |book, when, ()| {
                if let Some(open) = book.namespace.open.get(&fd).copied() {
                    book.size(when.from_operations, open.node, bytes);
                }
            },
        )
    }

    fn fsync(&mut self, fd: Fd) -> Answer<()> {
        self.synced("fsync", fd, |system| system.fsync(fd))
    }

    fn fdatasync(&mut self, fd: Fd) -> Answer<()> {
        self.synced("fdatasync", fd, |system| system.fdatasync(fd))
    }

    fn map_store(&mut self, fd: Fd, at: u64, data: &[u8]) -> Answer<()> {
        self.seen(
            || format!("store {} bytes at {at} of descriptor {}", data.len(), fd.0),
            |system| system.map_store(fd, at, data),
            |book, when, ()| book.written(When { to_operations: when.from_operations, ..when }, fd, Some(at), data),
        )
    }

    fn msync(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<()> {
        self.synced("msync", fd, |system| system.msync(fd, at, bytes))
    }

    fn mkdir(&mut self, path: &[u8], permissions: u32) -> Answer<()> {
        self.seen(
            || format!("mkdir {}", shown(path)),
            |system| system.mkdir(path, permissions),
            |book, when, ()| {
                if let Some(place) = book.namespace.place(path, false) {
                    book.made(when.from_operations, &place, NodeKind::Directory);
                }
            },
        )
    }

    fn rmdir(&mut self, path: &[u8]) -> Answer<()> {
        self.seen(|| format!("rmdir {}", shown(path)), |system| system.rmdir(path), gone(path))
    }

    fn unlink(&mut self, path: &[u8]) -> Answer<()> {
        self.seen(|| format!("unlink {}", shown(path)), |system| system.unlink(path), gone(path))
    }

    fn rename(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        self.renamed((old, new), false, |system| system.rename(old, new))
    }

    fn rename_with(&mut self, old: &[u8], new: &[u8], flags: RenameFlags) -> Answer<()> {
        self.renamed((old, new), flags.exchange, |system| system.rename_with(old, new, flags))
    }

    fn link(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        self.seen(
            || format!("link {} as {}", shown(old), shown(new)),
            |system| system.link(old, new),
            |book, when, ()| {
                let node = book.namespace.place(old, false).and_then(|place| place.node);
                if let (Some(node), Some(place)) = (node, book.namespace.place(new, false)) {
                    book.named(when.from_operations, &place, Some(node));
                }
            },
        )
    }

    fn link_descriptor(&mut self, fd: Fd, new: &[u8]) -> Answer<()> {
        self.seen(
            || format!("link descriptor {} as {}", fd.0, shown(new)),
            |system| system.link_descriptor(fd, new),
            |book, when, ()| {
                let node = book.namespace.open.get(&fd).map(|open| open.node);
                if let (Some(node), Some(place)) = (node, book.namespace.place(new, false)) {
                    book.named(when.from_operations, &place, Some(node));
                }
            },
        )
    }

    fn symlink(&mut self, target: &[u8], path: &[u8]) -> Answer<()> {
        self.seen(
            || format!("symlink {} to {}", shown(path), shown(target)),
            |system| system.symlink(target, path),
            |book, when, ()| {
                if let Some(place) = book.namespace.place(path, false) {
                    book.made(when.from_operations, &place, NodeKind::Symlink(Arc::from(target)));
                }
            },
        )
    }

    fn mknod(&mut self, path: &[u8], kind: FileKind, permissions: u32, device: u32) -> Answer<()> {
        self.seen(
            || format!("mknod {}", shown(path)),
            |system| system.mknod(path, kind, permissions, device),
            |book, when, ()| {
                let made = if kind == FileKind::File { NodeKind::File } else { NodeKind::Other };
                if let Some(place) = book.namespace.place(path, false) {
                    book.made(when.from_operations, &place, made);
                }
            },
        )
    }

    fn truncate(&mut self, path: &[u8], bytes: u64) -> Answer<()> {
        self.seen(
            || format!("truncate {} to {bytes} bytes", shown(path)),
            |system| system.truncate(path, bytes),
            |book, when, ()| {
                if let Some(node) = book.namespace.place(path, true).and_then(|place| place.node) {
                    book.size(when.from_operations, node, bytes);
                }
            },
        )
    }

    /// A key is as a file that is replaced as a whole, and is safe when the call has returned.
    fn set_value(&mut self, key: &[u8], value: &[u8]) -> Answer<()> {
        let path = path_of_key(key);
        self.seen(
            || format!("set {} bytes of {}", value.len(), shown(&path)),
            |system| system.set_value(key, value),
            |book, when, ()| {
                let Some(place) = book.namespace.place(&path, false) else { return };
                let node = book.namespace.make(NodeKind::File);
                book.add(when.from_operations, Effect::Made { node, kind: NodeKind::File });
                book.add(when.from_operations, Effect::Data { node, at: 0, data: Arc::from(value) });
                book.add(when.from_operations, Effect::Safe { node });
                book.named(when.from_operations, &place, Some(node));
                book.add(when.to_operations, Effect::Safe { node: ROOT });
            },
        )
    }

    fn delete_value(&mut self, key: &[u8]) -> Answer<()> {
        let path = path_of_key(key);
        self.seen(
            || format!("delete {}", shown(&path)),
            |system| system.delete_value(key),
            |book, when, ()| {
                gone(&path)(book, when, &());
                book.add(when.to_operations, Effect::Safe { node: ROOT });
            },
        )
    }

    fn sync(&mut self) -> Answer<()> {
        self.all_synced("sync", |system| system.sync())
    }

    fn syncfs(&mut self) -> Answer<()> {
        self.all_synced("syncfs", |system| system.syncfs())
    }
}

/// Where a key stands in trees of files.
fn path_of_key(key: &[u8]) -> Vec<u8> {
    [b"/", key].concat()
}

/// Notes that a name is gone.
fn gone(path: &[u8]) -> impl FnOnce(&mut Book, When, &()) + '_ {
    move |book, when, ()| {
        if let Some(place) =
            book.namespace.place(path, false).filter(|place| place.directory != ROOT || !place.name.is_empty())
        {
            book.named(when.from_operations, &place, None);
        }
    }
}

impl System for Witness {
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        self.inner.as_any()
    }

    fn as_any_mut(&mut self) -> Option<&mut dyn std::any::Any> {
        self.inner.as_any_mut()
    }

    fn mount(&mut self, options: &[String]) -> Result<(), SystemError> {
        let mut done = Ok(());
        let _ = self.seen(
            || "mount",
            |system| {
                done = system.mount(options);
                Ok(())
            },
            |_, _, ()| {},
        );
        done
    }

    fn umount(&mut self) -> Answer<()> {
        self.all_synced("umount", |system| system.umount())
    }

    fn told(&mut self, what: &str) {
        let _ = self.seen(
            || format!("told: {what}"),
            |_| Ok(()),
            |book, when, ()| {
                book.add(when.to_operations, Effect::Told(Arc::from(what)));
            },
        );
        self.inner.told(what);
    }

    asks_of_machine!();

    asks! {
        fn set_read_ahead_bytes(bytes: u32) -> Answer<()>;
        fn sync_directories() -> Answer<()>;
        fn step_clock_ns() -> u64;
    }

    looks_of_system!();
}
