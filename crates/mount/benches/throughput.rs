//! How fast a mount is for the host: 64 KiB requests through FUSE to the simulated stack, beside a file system that hands
//! them on to a real file. Both are measured in one run, in turns, so their ratio says something on any host; on one core
//! and as the host's scheduler places the threads, since waking a core that sleeps may take longer than a request.
//! `-- jffs2` on the command line measures JFFS2 alone.

use ffslab_mount::{mount, MountSpec, Torn, Watch};
use fuser::{
    Config, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, OpenFlags,
    ReplyAttr, ReplyCreate, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};
use nix::sched::{sched_getaffinity, sched_setaffinity, CpuSet};
use nix::unistd::Pid;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::time::{Duration, Instant, UNIX_EPOCH};

const REQUEST_BYTES: usize = 64 << 10;
const REQUESTS: u64 = 256;
const ROUNDS: usize = 31;
const ROOT: INodeNo = INodeNo(1);
const FILE: INodeNo = INodeNo(2);

/// A directory with one file, `f`, whose bytes are those of a real one.
struct PassThrough(File);

impl PassThrough {
    fn attributes(&self, ino: INodeNo) -> FileAttr {
        let is_root = ino == ROOT;
        FileAttr {
            ino,
            size: if is_root { 0 } else { self.0.metadata().expect("the real file").len() },
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_root { FileType::Directory } else { FileType::RegularFile },
            perm: 0o777,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for PassThrough {
    fn lookup(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEntry) {
        reply.entry(&Duration::ZERO, &self.attributes(FILE), Generation(0));
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&Duration::ZERO, &self.attributes(ino));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn create(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        let attributes = self.attributes(FILE);
        reply.created(&Duration::ZERO, &attributes, Generation(0), FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut buffer = vec![0; size as usize];
        let count = self.0.read_at(&mut buffer, offset).expect("the real file");
        reply.data(&buffer[..count]);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.0.write_all_at(data, offset).expect("the real file");
        reply.written(data.len() as u32);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }
}

/// Ends a mount when the measurement is over.
struct Ending<'a> {
    ready: Sender<()>,
    over: &'a AtomicBool,
}

impl Watch for Ending<'_> {
    fn ready(&self) {
        self.ready.send(()).expect("somebody waits");
    }

    fn say(&self, text: &str) {
        eprintln!("{text}");
    }

    fn shall_end(&self) -> bool {
        self.over.swap(false, Ordering::Relaxed)
    }
}

/// Seconds that a pass over the file takes.
fn seconds(file: &File, pass: impl Fn(&File, &mut [u8], u64)) -> f64 {
    let mut buffer = vec![0xA5; REQUEST_BYTES];
    let begun = Instant::now();
    for request in 0..REQUESTS {
        pass(file, &mut buffer, request * REQUEST_BYTES as u64);
    }
    begun.elapsed().as_secs_f64()
}

/// Seconds that several rounds took, in order: write and read here, write and read there, in turns so that a busy host
/// treats both alike.
fn measure(here: &Path, there: &Path) -> [Vec<f64>; 4] {
    let open = |place: &Path| {
        let options = File::options().read(true).write(true).create(true).truncate(false).open(place.join("f"));
        options.expect("a file on the mount")
    };
    let files = [open(here), open(there)];
    let write = |file: &File, buffer: &mut [u8], at| file.write_all_at(buffer, at).expect("written");
    let read = |file: &File, buffer: &mut [u8], at| file.read_exact_at(buffer, at).expect("read");
    let mut rounds: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        for (index, file) in files.iter().enumerate() {
            rounds[2 * index].push(seconds(file, write));
            rounds[2 * index + 1].push(seconds(file, read));
        }
    }
    rounds.map(|mut seconds| {
        seconds.sort_by(f64::total_cmp);
        seconds
    })
}

fn compare(fs: &str, folder: &Path) -> [Vec<f64>; 4] {
    let over = AtomicBool::new(false);
    let spec = MountSpec {
        stack: format!("board = \"omap3evm\"\nfs = \"{fs}\"\npartition_blocks = 400\n").parse().unwrap(),
        base_dir: PathBuf::from("."),
        initial: "settled".to_string(),
        seed: 1,
        options: Vec::new(),
        mountpoint: folder.join("mount"),
        socket: folder.join("socket"),
        think: false,
        realtime: false,
        power_cut_after_operations: None,
        owner: None,
        torn: Torn::Nothing,
        epoch_s: 0,
        save: None,
        observed: None,
        records: false,
    };
    let (ready, wait) = channel();
    std::thread::scope(|scope| {
        let ending = Ending { ready, over: &over };
        let spec = &spec;
        let served = scope.spawn(move || mount(spec, &ending).map(drop));
        let result = wait.recv().map(|()| measure(&folder.join("through"), &spec.mountpoint));
        over.store(true, Ordering::Relaxed);
        served.join().expect("no panic").expect("the mount");
        result.expect("the mount")
    })
}

/// One of the cores on which this thread may run.
fn one_core() -> nix::Result<CpuSet> {
    let (allowed, mut one) = (sched_getaffinity(Pid::from_raw(0))?, CpuSet::new());
    let core = (0..CpuSet::count()).rev().find(|&core| allowed.is_set(core).unwrap_or(false));
    one.set(core.unwrap_or(0))?;
    Ok(one)
}

/// Prints a row for the writes and one for the reads of each file system.
fn measure_all(folder: &Path, wanted: &[String]) {
    let real = File::options().read(true).write(true).create(true).truncate(true).open(folder.join("real"));
    let through = PassThrough(real.expect("the real file"));
    let session = fuser::spawn_mount(through, folder.join("through"), &Config::default()).expect("FUSE");
    let mib = (REQUESTS * REQUEST_BYTES as u64) as f64 / f64::from(1 << 20);
    for fs in ["jffs2", "yaffs2", "ubifs"] {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == fs) {
            continue;
        }
        let [write, read, our_write, our_read] = compare(fs, folder);
        for (what, through, ours) in [("writes", write, our_write), ("reads", read, our_read)] {
            let (through_s, ours_s) = (through[ROUNDS / 2], ours[ROUNDS / 2]);
            println!(
                "{:18}{:>10.0}{:>12.0}{:>10.2}{:>8.2}",
                format!("{fs}, {what}"),
                mib / through_s,
                mib / ours_s,
                through_s / ours_s,
                through[0] / ours[0]
            );
        }
    }
    session.umount_and_join().expect("unmounted");
}

fn main() {
    if !Path::new("/dev/fuse").exists() {
        println!("throughput of a mount: left out, there is no /dev/fuse");
        return;
    }
    let folder = std::env::temp_dir().join(format!("ffslab-throughput-{}", std::process::id()));
    for name in ["mount", "through"] {
        std::fs::create_dir_all(folder.join(name)).expect("a temporary folder");
    }
    println!(
        "Throughput of a mount for the host, requests of 64 KiB: MiB/s of the median round, and the ratio to passing"
    );
    println!("through, of the median and of the best rounds (a busy host disturbs those least)");
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    for placed in ["on one core", "as the scheduler places the threads"] {
        println!("\n{placed}");
        println!("{:18}{:>10}{:>12}{:>10}{:>8}", "", "through", "simulated", "median", "best");
        // Threads inherit where they may run.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if placed == "on one core" {
                    one_core().and_then(|core| sched_setaffinity(Pid::from_raw(0), &core)).expect("a core");
                }
                measure_all(&folder, &wanted);
            });
        });
    }
    std::fs::remove_dir_all(folder).expect("the temporary folder");
}
