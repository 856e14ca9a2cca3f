//! The calls that steps make, written down while they are made, so that a program can make the same ones on a real system.
//!
//! A call is a line: its name, its arguments (numbers; paths with `%XX` for what is no plain character), and how it ended,
//! `=ok` or `=ERRNO`. What is written or set stands in one row of bytes for all lines, which name a place in it.

use ambassador::Delegate;
use ffslab_flash::Torn;
use ffslab_fs::{BlockSpace, RenameFlags, Stat, StatFs, TimeSpec, Unwritten, XattrMode};
use ffslab_machine::stack::Stack;
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_sim::Sim;
use ffslab_system::{
    ambassador_impl_System, asks, looks_of_calls, Advice, Answer, Calls, Entry, FallocateFlag, Fd, ImageGiven,
    Levelling, MapAccess, MountDone, Nodes, OpenFlags, Refusal, Runs, System, SystemError, Whence,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::{Display, Write};
use std::rc::Rc;

/// What was written down.
#[derive(Default)]
pub(crate) struct Recording {
    /// Only while a step runs whose calls are wanted.
    is_on: bool,
    lines: String,
    pub(crate) data: Vec<u8>,
    /// Where data stand already.
    places: HashMap<Vec<u8>, usize>,
}

impl Recording {
    pub(crate) fn start(&mut self) {
        self.is_on = true;
    }

    /// The lines since [`Recording::start`].
    pub(crate) fn stop(&mut self) -> String {
        self.is_on = false;
        std::mem::take(&mut self.lines)
    }

    /// Says that a file which an earlier step has opened is this descriptor.
    pub(crate) fn bind(&mut self, fd: Fd, name: &str) {
        let _ = writeln!(self.lines, "bind {} {} =ok", fd.0, plain(name.as_bytes()));
    }

    fn place_of(&mut self, data: &[u8]) -> usize {
        if let Some(place) = self.places.get(data) {
            return *place;
        }
        let place = self.data.len();
        self.data.extend_from_slice(data);
        self.places.insert(data.to_vec(), place);
        place
    }
}

/// A path in which only letters, digits and a few signs stand for themselves. An empty one is `%`.
fn plain(path: &[u8]) -> String {
    let mut text = String::new();
    for byte in path {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'#' => text.push(char::from(*byte)),
            _ => drop(write!(text, "%{byte:02X}")),
        }
    }
    if text.is_empty() {
        text.push('%');
    }
    text
}

/// A system that answers as the one in it does, and writes calls down.
#[derive(Delegate)]
#[delegate(System, target = "inner")]
pub(crate) struct Recorder {
    inner: Stack,
    recording: Rc<RefCell<Recording>>,
}

impl Recorder {
    pub(crate) fn new(inner: Stack, recording: Rc<RefCell<Recording>>) -> Recorder {
        Recorder { inner, recording }
    }

    fn machine(&self) -> &dyn System {
        &self.inner
    }

    fn machine_mut(&mut self) -> &mut dyn System {
        &mut self.inner
    }

    fn keep<T>(&self, result: Answer<T>, call: impl Display) -> Answer<T> {
        let mut recording = self.recording.borrow_mut();
        if recording.is_on {
            let end = result.as_ref().map_or_else(|error| error.name(), |_| "ok");
            let _ = writeln!(recording.lines, "{call} ={end}");
        }
        result
    }

    /// Number of bytes and their place.
    fn data(&self, data: &[u8]) -> String {
        let mut recording = self.recording.borrow_mut();
        if recording.is_on {
            format!("{} {}", data.len(), recording.place_of(data))
        } else {
            String::new()
        }
    }
}

/// The words of flags that are set.
fn words(flags: &[(bool, &str)]) -> String {
    let set: Vec<&str> = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, word)| *word).collect();
    if set.is_empty() {
        "none".to_string()
    } else {
        set.join(",")
    }
}

/// The words of open flags; a file without a name is the recording's own word.
fn open_words(flags: OpenFlags) -> String {
    let words: Vec<&str> = flags.words().chain(flags.unnamed.then_some("tmpfile")).collect();
    words.join(",")
}

fn or_same<T: Display>(value: Option<T>) -> String {
    value.map_or_else(|| "same".to_string(), |value| value.to_string())
}

fn time_text(time: Option<TimeSpec>) -> String {
    or_same(time.map(|time| format!("{}.{:09}", time.seconds, time.nanoseconds)))
}

impl Calls for Recorder {
    looks_of_calls!();

    asks! {
        fn read_clock_ns() -> u64;
        fn prepare_request() -> ();
        fn compute_ns(duration_ns: u64) -> ();
        fn fallocate(fd: Fd, flags: &[FallocateFlag], at: u64, bytes: u64) -> Answer<()>;
        fn mmap(fd: Fd, at: u64, bytes: u64, access: MapAccess) -> Answer<()>;
        fn map_load(fd: Fd, at: u64, bytes: usize) -> Answer<()>;
        fn map_store(fd: Fd, at: u64, data: &[u8]) -> Answer<()>;
        fn msync(fd: Fd, at: u64, bytes: usize) -> Answer<()>;
        fn munmap(fd: Fd) -> Answer<()>;
    }

    fn sleep_ns(&mut self, duration_ns: u64) {
        let _ = self.keep(Ok(()), format_args!("sleep {duration_ns}"));
        self.inner.sleep_ns(duration_ns);
    }

    fn open(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Answer<Fd> {
        let result = self.inner.open(path, flags, permissions);
        let fd = result.map_or(0, |fd| fd.0);
        let (path, words) = (plain(path), open_words(flags));
        self.keep(result, format_args!("open {fd} {path} {words} {permissions:o}"))
    }

    fn close(&mut self, fd: Fd) -> Answer<()> {
        let result = self.inner.close(fd);
        self.keep(result, format_args!("close {}", fd.0))
    }

    fn read(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        let result = self.inner.read(fd, into);
        self.keep(result, format_args!("read {} {}", fd.0, into.len()))
    }

    fn write(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        let result = self.inner.write(fd, data);
        self.keep(result, format_args!("write {} {}", fd.0, self.data(data)))
    }

    fn pread(&mut self, fd: Fd, into: &mut [u8], at: u64) -> Answer<usize> {
        let result = self.inner.pread(fd, into, at);
        self.keep(result, format_args!("pread {} {at} {}", fd.0, into.len()))
    }

    fn pread_discard(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<usize> {
        let result = self.inner.pread_discard(fd, at, bytes);
        self.keep(result, format_args!("pread {} {at} {bytes}", fd.0))
    }

    fn pwrite(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize> {
        let result = self.inner.pwrite(fd, data, at);
        self.keep(result, format_args!("pwrite {} {at} {}", fd.0, self.data(data)))
    }

    fn readv(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        let result = self.inner.readv(fd, into);
        self.keep(result, format_args!("readv {} {}", fd.0, into.len()))
    }

    fn writev(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        let result = self.inner.writev(fd, data);
        self.keep(result, format_args!("writev {} {}", fd.0, self.data(data)))
    }

    fn lseek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Answer<u64> {
        let result = self.inner.lseek(fd, offset, whence);
        let from = match whence {
            Whence::Set => 0,
            Whence::Current => 1,
            Whence::End => 2,
        };
        self.keep(result, format_args!("lseek {} {offset} {from}", fd.0))
    }

    fn ftruncate(&mut self, fd: Fd, bytes: u64) -> Answer<()> {
        let result = self.inner.ftruncate(fd, bytes);
        self.keep(result, format_args!("ftruncate {} {bytes}", fd.0))
    }

    fn fsync(&mut self, fd: Fd) -> Answer<()> {
        let result = self.inner.fsync(fd);
        self.keep(result, format_args!("fsync {}", fd.0))
    }

    fn fdatasync(&mut self, fd: Fd) -> Answer<()> {
        let result = self.inner.fdatasync(fd);
        self.keep(result, format_args!("fdatasync {}", fd.0))
    }

    fn trim(&mut self, fd: Fd, at: u64, bytes: u64) -> Answer<()> {
        let result = self.inner.trim(fd, at, bytes);
        self.keep(result, format_args!("trim {} {at} {bytes}", fd.0))
    }

    fn fstat(&mut self, fd: Fd) -> Answer<Stat> {
        let result = self.inner.fstat(fd);
        self.keep(result, format_args!("fstat {}", fd.0))
    }

    fn readdir(&mut self, fd: Fd) -> Answer<Vec<Entry>> {
        let result = self.inner.readdir(fd);
        self.keep(result, format_args!("getdents {}", fd.0))
    }

    fn advise(&mut self, fd: Fd, offset: u64, bytes: u64, advice: Advice) -> Answer<()> {
        let result = self.inner.advise(fd, offset, bytes, advice);
        self.keep(result, format_args!("advise {} {offset} {bytes} {}", fd.0, advice.name()))
    }

    // No recorded step reserves space or maps files, so these calls are passed on and not written down.

    fn mkdir(&mut self, path: &[u8], permissions: u32) -> Answer<()> {
        let result = self.inner.mkdir(path, permissions);
        self.keep(result, format_args!("mkdir {} {permissions:o}", plain(path)))
    }

    fn rmdir(&mut self, path: &[u8]) -> Answer<()> {
        let result = self.inner.rmdir(path);
        self.keep(result, format_args!("rmdir {}", plain(path)))
    }

    fn unlink(&mut self, path: &[u8]) -> Answer<()> {
        let result = self.inner.unlink(path);
        self.keep(result, format_args!("unlink {}", plain(path)))
    }

    fn rename(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        let result = self.inner.rename(old, new);
        self.keep(result, format_args!("rename {} {} none", plain(old), plain(new)))
    }

    fn rename_with(&mut self, old: &[u8], new: &[u8], flags: RenameFlags) -> Answer<()> {
        let result = self.inner.rename_with(old, new, flags);
        let words =
            words(&[(flags.no_replace, "noreplace"), (flags.exchange, "exchange"), (flags.whiteout, "whiteout")]);
        self.keep(result, format_args!("rename {} {} {words}", plain(old), plain(new)))
    }

    fn link(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        let result = self.inner.link(old, new);
        self.keep(result, format_args!("link {} {}", plain(old), plain(new)))
    }

    fn link_descriptor(&mut self, fd: Fd, new: &[u8]) -> Answer<()> {
        let result = self.inner.link_descriptor(fd, new);
        self.keep(result, format_args!("flink {} {}", fd.0, plain(new)))
    }

    fn symlink(&mut self, target: &[u8], path: &[u8]) -> Answer<()> {
        let result = self.inner.symlink(target, path);
        self.keep(result, format_args!("symlink {} {}", plain(path), plain(target)))
    }

    fn readlink(&mut self, path: &[u8]) -> Answer<Vec<u8>> {
        let result = self.inner.readlink(path);
        self.keep(result, format_args!("readlink {}", plain(path)))
    }

    fn readdir_path(&mut self, path: &[u8]) -> Answer<Vec<Entry>> {
        let result = self.inner.readdir_path(path);
        self.keep(result, format_args!("readdir {}", plain(path)))
    }

    fn stat(&mut self, path: &[u8]) -> Answer<Stat> {
        let result = self.inner.stat(path);
        self.keep(result, format_args!("stat {}", plain(path)))
    }

    fn lstat(&mut self, path: &[u8]) -> Answer<Stat> {
        let result = self.inner.lstat(path);
        self.keep(result, format_args!("lstat {}", plain(path)))
    }

    fn truncate(&mut self, path: &[u8], bytes: u64) -> Answer<()> {
        let result = self.inner.truncate(path, bytes);
        self.keep(result, format_args!("truncate {} {bytes}", plain(path)))
    }

    fn chmod(&mut self, path: &[u8], permissions: u32) -> Answer<()> {
        let result = self.inner.chmod(path, permissions);
        self.keep(result, format_args!("chmod {} {permissions:o}", plain(path)))
    }

    fn chown(&mut self, path: &[u8], uid: Option<u32>, gid: Option<u32>) -> Answer<()> {
        let result = self.inner.chown(path, uid, gid);
        self.keep(result, format_args!("chown {} {} {}", plain(path), or_same(uid), or_same(gid)))
    }

    fn utimens(&mut self, path: &[u8], accessed: Option<TimeSpec>, modified: Option<TimeSpec>) -> Answer<()> {
        let result = self.inner.utimens(path, accessed, modified);
        let (accessed, modified) = (time_text(accessed), time_text(modified));
        self.keep(result, format_args!("utimens {} {accessed} {modified}", plain(path)))
    }

    fn setxattr(&mut self, path: &[u8], name: &[u8], value: &[u8], mode: XattrMode) -> Answer<()> {
        let result = self.inner.setxattr(path, name, value, mode);
        let mode = match mode {
            XattrMode::Any => "none",
            XattrMode::Create => "create",
            XattrMode::Replace => "replace",
        };
        let data = self.data(value);
        self.keep(result, format_args!("setxattr {} {} {data} {mode}", plain(path), plain(name)))
    }

    fn getxattr(&mut self, path: &[u8], name: &[u8]) -> Answer<Vec<u8>> {
        let result = self.inner.getxattr(path, name);
        self.keep(result, format_args!("getxattr {} {}", plain(path), plain(name)))
    }

    fn listxattr(&mut self, path: &[u8]) -> Answer<Vec<Vec<u8>>> {
        let result = self.inner.listxattr(path);
        self.keep(result, format_args!("listxattr {}", plain(path)))
    }

    fn removexattr(&mut self, path: &[u8], name: &[u8]) -> Answer<()> {
        let result = self.inner.removexattr(path, name);
        self.keep(result, format_args!("removexattr {} {}", plain(path), plain(name)))
    }

    fn sync(&mut self) -> Answer<()> {
        let result = self.inner.sync();
        self.keep(result, "sync")
    }

    fn syncfs(&mut self) -> Answer<()> {
        let result = self.inner.syncfs();
        self.keep(result, "syncfs")
    }

    fn statfs(&mut self) -> Answer<StatFs> {
        let result = self.inner.statfs();
        self.keep(result, "statfs")
    }

    fn statfs_at(&mut self, path: &[u8]) -> Answer<StatFs> {
        let result = self.inner.statfs_at(path);
        self.keep(result, "statfs")
    }

    fn drop_caches(&mut self) -> Answer<()> {
        let result = self.inner.drop_caches();
        self.keep(result, "drop_caches")
    }

    fn drop_pages(&mut self) -> Answer<()> {
        let result = self.inner.drop_pages();
        self.keep(result, "drop_pages")
    }

    /// Calls by node would not be written down.
    fn nodes(&mut self) -> Option<&mut dyn Nodes> {
        None
    }
}
