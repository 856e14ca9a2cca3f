//! How fast a mount is for the host: 64 KiB requests through FUSE to the simulated stack, beside a file system that hands
//! them on to a real file. Both are measured in one run, in turns, so their ratio says something on any host.

use ffslab_mount::{mount, MountSpec, Torn, Watch};
use fuser::{
    Config, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, OpenFlags,
    ReplyAttr, ReplyCreate, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::time::{Duration, Instant, UNIX_EPOCH};

const REQUEST_KIB: u32 = 64;
const REQUESTS: u32 = 400;
const ROUNDS: usize = 5;
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

/// Best time of `dd` with these operands.
fn seconds(operands: &[String]) -> f64 {
    let begun = Instant::now();
    let ran = Command::new("dd").args(operands).args(["status=none"]).status().expect("dd");
    assert!(ran.success(), "dd {operands:?}");
    begun.elapsed().as_secs_f64()
}

/// MiB/s of writing and reading on a mount.
fn measure(place: &Path) -> [f64; 2] {
    let file = place.join("f").display().to_string();
    let size = [format!("bs={REQUEST_KIB}k"), format!("count={REQUESTS}")];
    let with = |from: &str, to: &str| {
        let mut operands = vec![format!("if={from}"), format!("of={to}"), "conv=notrunc".to_string()];
        operands.extend(size.clone());
        operands
    };
    let mib = f64::from(REQUESTS * REQUEST_KIB) / 1024.0;
    let write = with("/dev/zero", &file);
    let read = with(&file, "/dev/null");
    let best = |operands: &[String]| (0..ROUNDS).map(|_| seconds(operands)).fold(f64::INFINITY, f64::min);
    [mib / best(&write), mib / best(&read)]
}

fn on_simulation(fs: &str, folder: &Path) -> [f64; 2] {
    let over = AtomicBool::new(false);
    let spec = MountSpec {
        stack_toml: format!("board = \"omap3evm\"\nfs = \"{fs}\"\npartition_blocks = 1024\n"),
        base_dir: PathBuf::from("."),
        seed: 1,
        options: Vec::new(),
        mountpoint: folder.join("mount"),
        socket: folder.join("socket"),
        think: false,
        realtime: false,
        power_cut_after_operations: None,
        torn: Torn::Nothing,
        epoch_s: 0,
        save: None,
    };
    let (ready, wait) = channel();
    std::thread::scope(|scope| {
        let ending = Ending { ready, over: &over };
        let spec = &spec;
        let served = scope.spawn(move || mount(spec, &ending).map(drop));
        let result = wait.recv().map(|()| measure(&spec.mountpoint));
        over.store(true, Ordering::Relaxed);
        served.join().expect("no panic").expect("the mount");
        result.expect("the mount")
    })
}

fn on_pass_through(folder: &Path) -> [f64; 2] {
    let real = folder.join("real");
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&real).expect("the real file");
    let session = fuser::spawn_mount(PassThrough(file), folder.join("mount"), &Config::default()).expect("FUSE");
    let result = measure(&folder.join("mount"));
    session.umount_and_join().expect("unmounted");
    std::fs::remove_file(real).expect("the real file");
    result
}

fn main() {
    if !Path::new("/dev/fuse").exists() {
        println!("throughput of a mount: left out, there is no /dev/fuse");
        return;
    }
    let folder = std::env::temp_dir().join(format!("ffslab-throughput-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("mount")).expect("a temporary folder");
    println!(
        "Throughput of a mount for the host, requests of {REQUEST_KIB} KiB, MiB/s and ratio to passing through:\n"
    );
    println!("{:14}{:>9}{:>9}{:>9}{:>9}", "", "write", "ratio", "read", "ratio");
    let through = on_pass_through(&folder);
    println!("{:14}{:>9.0}{:>9}{:>9.0}", "pass-through", through[0], "", through[1]);
    for fs in ["jffs2", "yaffs2", "ubifs"] {
        let ours = on_simulation(fs, &folder);
        let ratio = [ours[0] / through[0], ours[1] / through[1]];
        println!("{fs:14}{:>9.0}{:>9.2}{:>9.0}{:>9.2}", ours[0], ratio[0], ours[1], ratio[1]);
    }
    std::fs::remove_dir_all(folder).expect("the temporary folder");
}
