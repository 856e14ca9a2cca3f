//! What one of several programs sees of the machine: a system whose calls begin when it is the program's turn.

use super::Shared;
use corosensei::Yielder;
use ffslab_flash::Torn;
use ffslab_fs::{BlockSpace, Errno, FileKind, KeyEntry, RenameFlags, Stat, StatFs, TimeSpec, Unwritten, XattrMode};
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_sim::Sim;
use ffslab_system::{
    asks, asks_of_machine, looks_of_calls, looks_of_system, Advice, Answer, Calls, Entry, FallocateFlag, Fd,
    ImageGiven, Levelling, MapAccess, MountDone, OpenFlags, Refusal, Runs, System, SystemError, Whence,
};
use std::rc::Rc;

/// The machine, which goes from hand to hand: who has it has his turn.
pub(super) type Machine = Box<dyn System>;

/// A program gives way, and can go on at `ready_ns`.
pub(super) struct GivesWay {
    pub machine: Machine,
    pub ready_ns: u64,
}

pub(super) struct Seat<'y> {
    /// `None`: the program has given way.
    machine: Option<Machine>,
    yielder: &'y Yielder<Machine, GivesWay>,
    shared: Rc<Shared>,
    /// The turn has begun, and no call has been made in it.
    may_call: bool,
    /// The program was ready when the measurement ended: it may make a last call, which has this number.
    may_begin_last: bool,
    last_call: Option<u64>,
    /// How far the program's clock is ahead: one that is to end sleeps without anybody's time going on.
    ahead_ns: u64,
}

const HAS_TURN: &str = "a program runs only in its turn";

impl Seat<'_> {
    fn machine(&self) -> &dyn System {
        self.machine.as_deref().expect(HAS_TURN)
    }

    fn machine_mut(&mut self) -> &mut dyn System {
        self.machine.as_deref_mut().expect(HAS_TURN)
    }
}

impl<'y> Seat<'y> {
    /// At the beginning of the program's first turn.
    pub fn new(machine: Machine, yielder: &'y Yielder<Machine, GivesWay>, shared: Rc<Shared>) -> Seat<'y> {
        let may_begin_last = shared.is_last_call();
        let (may_call, last_call, ahead_ns) = (true, None, 0);
        let seat = Seat { machine: Some(machine), yielder, shared, may_call, may_begin_last, last_call, ahead_ns };
        seat.note_late();
        seat
    }

    /// At the end of the program.
    pub fn leave(self) -> Machine {
        self.machine.expect(HAS_TURN)
    }

    /// Lets others run until the program can go on and has its turn.
    fn give_way(&mut self, ready_ns: u64) {
        let machine = self.machine.take().expect(HAS_TURN);
        let bill = machine.sim().set_bill_aside();
        let machine = self.yielder.suspend(GivesWay { machine, ready_ns });
        machine.sim().take_up_bill(bill);
        self.machine = Some(machine);
        self.may_call = true;
    }

    /// The program has waited before it makes a call.
    fn note_late(&self) {
        let sim = self.sim();
        self.shared.take_waits(|program, waited_ns| sim.came_late(program, waited_ns));
    }

    /// Waits for the program's turn.
    fn begin(&mut self) {
        if !self.may_call && !self.shared.ends() {
            self.give_way(self.now_ns());
            let sim = self.sim();
            self.shared.take_waits(|program, waited_ns| sim.waited(program, waited_ns));
        }
    }

    /// A system call: it begins in the program's turn, and nobody gets in between.
    ///
    /// Errors: a program that is to end is told what one is told whose power is gone, since whoever makes calls takes that
    /// for the end.
    fn call<R>(&mut self, make: impl FnOnce(&mut dyn System) -> Answer<R>) -> Answer<R> {
        let open = self.sim().open_bill();
        if self.shared.is_last_call() {
            let goes_on = open.is_some() && open == self.last_call;
            if !std::mem::take(&mut self.may_begin_last) && !goes_on {
                self.shared.end();
            }
        }
        self.last_call = open;
        self.begin();
        if self.shared.ends() {
            self.sim().void_bill();
            return Err(Errno::PowerCut.into());
        }
        let answer = make(self.machine_mut());
        self.sim().is_late_no_more();
        self.shared.has_called();
        self.may_call = false;
        answer
    }

    fn read_by(&mut self, make: impl FnOnce(&mut dyn System) -> Answer<usize>) -> Answer<usize> {
        self.call(make).inspect(|&bytes| self.shared.has_read(bytes))
    }

    fn written_by(&mut self, make: impl FnOnce(&mut dyn System) -> Answer<usize>) -> Answer<usize> {
        self.call(make).inspect(|&bytes| self.shared.has_written(bytes))
    }
}

/// Calls that the machine answers in the program's turn.
macro_rules! calls {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $value:ty;)+) => {
        $(fn $name(&mut self, $($argument: $type),*) -> Answer<$value> {
            self.call(|machine| machine.$name($($argument),*))
        })+
    };
}

/// Calls by node (`nodes`) are for a system that walks paths itself; no step does.
impl Calls for Seat<'_> {
    // Questions take no time and need no turn.
    looks_of_calls!();

    fn now_ns(&self) -> u64 {
        self.machine().now_ns() + self.ahead_ns
    }

    /// Part of what the program does before or after a call. To end takes no time.
    fn read_clock_ns(&mut self) -> u64 {
        if self.shared.ends() {
            self.now_ns()
        } else {
            self.machine_mut().read_clock_ns()
        }
    }

    /// Others run meanwhile.
    fn sleep_ns(&mut self, duration_ns: u64) {
        if self.shared.is_last_call() {
            self.shared.end();
        }
        if !self.shared.ends() {
            self.sim().is_late_no_more();
            self.give_way(self.now_ns().saturating_add(duration_ns));
            self.note_late();
            self.may_begin_last = self.shared.is_last_call();
        } else {
            self.ahead_ns = self.ahead_ns.saturating_add(duration_ns);
        }
    }

    fn prepare_request(&mut self) {
        self.begin();
        self.machine_mut().prepare_request();
    }

    /// Others get the CPU after the call that follows.
    fn compute_ns(&mut self, duration_ns: u64) {
        self.begin();
        if !self.shared.ends() {
            self.machine_mut().compute_ns(duration_ns);
        }
    }

    fn read(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        self.read_by(|machine| machine.read(fd, into))
    }

    fn readv(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        self.read_by(|machine| machine.readv(fd, into))
    }

    fn pread(&mut self, fd: Fd, into: &mut [u8], at: u64) -> Answer<usize> {
        self.read_by(|machine| machine.pread(fd, into, at))
    }

    fn pread_discard(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<usize> {
        self.read_by(|machine| machine.pread_discard(fd, at, bytes))
    }

    fn write(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        self.written_by(|machine| machine.write(fd, data))
    }

    fn writev(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        self.written_by(|machine| machine.writev(fd, data))
    }

    fn pwrite(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize> {
        self.written_by(|machine| machine.pwrite(fd, data, at))
    }

    calls! {
        fn open(path: &[u8], flags: OpenFlags, permissions: u32) -> Fd;
        fn close(fd: Fd) -> ();
        fn lseek(fd: Fd, offset: i64, whence: Whence) -> u64;
        fn ftruncate(fd: Fd, bytes: u64) -> ();
        fn fallocate(fd: Fd, flags: &[FallocateFlag], at: u64, bytes: u64) -> ();
        fn fsync(fd: Fd) -> ();
        fn fdatasync(fd: Fd) -> ();
        fn trim(fd: Fd, at: u64, bytes: u64) -> ();
        fn fstat(fd: Fd) -> Stat;
        fn readdir(fd: Fd) -> Vec<Entry>;
        fn advise(fd: Fd, offset: u64, bytes: u64, advice: Advice) -> ();
        fn mmap(fd: Fd, at: u64, bytes: u64, access: MapAccess) -> ();
        fn map_load(fd: Fd, at: u64, bytes: usize) -> ();
        fn map_store(fd: Fd, at: u64, data: &[u8]) -> ();
        fn msync(fd: Fd, at: u64, bytes: usize) -> ();
        fn munmap(fd: Fd) -> ();
        fn mkdir(path: &[u8], permissions: u32) -> ();
        fn rmdir(path: &[u8]) -> ();
        fn unlink(path: &[u8]) -> ();
        fn rename(old: &[u8], new: &[u8]) -> ();
        fn rename_with(old: &[u8], new: &[u8], flags: RenameFlags) -> ();
        fn link(old: &[u8], new: &[u8]) -> ();
        fn link_descriptor(fd: Fd, new: &[u8]) -> ();
        fn symlink(target: &[u8], path: &[u8]) -> ();
        fn readlink(path: &[u8]) -> Vec<u8>;
        fn mknod(path: &[u8], kind: FileKind, permissions: u32, device: u32) -> ();
        fn readdir_path(path: &[u8]) -> Vec<Entry>;
        fn stat(path: &[u8]) -> Stat;
        fn lstat(path: &[u8]) -> Stat;
        fn truncate(path: &[u8], bytes: u64) -> ();
        fn chmod(path: &[u8], permissions: u32) -> ();
        fn chown(path: &[u8], uid: Option<u32>, gid: Option<u32>) -> ();
        fn utimens(path: &[u8], accessed: Option<TimeSpec>, modified: Option<TimeSpec>) -> ();
        fn setxattr(path: &[u8], name: &[u8], value: &[u8], mode: XattrMode) -> ();
        fn lsetxattr(path: &[u8], name: &[u8], value: &[u8], mode: XattrMode) -> ();
        fn getxattr(path: &[u8], name: &[u8]) -> Vec<u8>;
        fn lgetxattr(path: &[u8], name: &[u8]) -> Vec<u8>;
        fn listxattr(path: &[u8]) -> Vec<Vec<u8>>;
        fn llistxattr(path: &[u8]) -> Vec<Vec<u8>>;
        fn removexattr(path: &[u8], name: &[u8]) -> ();
        fn lremovexattr(path: &[u8], name: &[u8]) -> ();
        fn set_value(key: &[u8], value: &[u8]) -> ();
        fn get_value(key: &[u8]) -> Vec<u8>;
        fn delete_value(key: &[u8]) -> ();
        fn list_values() -> Vec<KeyEntry>;
        fn sync() -> ();
        fn syncfs() -> ();
        fn statfs() -> StatFs;
        fn statfs_at(path: &[u8]) -> StatFs;
        fn drop_caches() -> ();
        fn drop_pages() -> ();
    }
}

impl System for Seat<'_> {
    /// To end takes no time.
    fn step_clock_ns(&mut self) -> u64 {
        if self.shared.ends() {
            self.now_ns()
        } else {
            self.machine_mut().step_clock_ns()
        }
    }

    calls! {
        fn set_read_ahead_bytes(bytes: u32) -> ();
        fn sync_directories() -> ();
    }

    // What concerns the whole machine goes to it as it is; experiments have no such step in a program.
    asks_of_machine!();

    asks! {
        fn mount(options: &[String]) -> Result<(), SystemError>;
        fn umount() -> Answer<()>;
        fn told(what: &str) -> ();
    }

    looks_of_system!();
}
