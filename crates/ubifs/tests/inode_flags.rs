//! Flags of chattr(1) on UBIFS: which there are, who inherits them, what they forbid, what "synchronous" writes.

use crate::support;

use ffslab_flash::Geometry;
use ffslab_fs::inode_flags::{APPEND, COMPRESS, DIRECTORY_SYNC, IMMUTABLE, SYNC};
use ffslab_fs::{Errno, XattrMode};
use ffslab_linux::{Calls, OpenFlags, Vfs};
use ffslab_ubifs::Options;
use support::{Bench, Files};

const GEOMETRY: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 64 };
/// `FS_NODUMP_FL`
const NO_DUMP: u32 = 0x40;
const DIRECTORY: OpenFlags = OpenFlags { directory: true, ..OpenFlags::READ };

fn bench() -> Bench {
    let mut bench = Bench::new(GEOMETRY, 4 << 20, Options::default());
    bench.mount().unwrap();
    let fd = bench.open_new("f");
    bench.vfs.close(fd).unwrap();
    bench.vfs.mkdir(b"d", 0o755).unwrap();
    bench
}

fn set(vfs: &mut Vfs, path: &[u8], flags: u32) -> Result<(), Errno> {
    let fd = vfs.open(path, OpenFlags::READ, 0).unwrap();
    let result = vfs.set_inode_flags(fd, flags);
    vfs.close(fd).unwrap();
    result
}

fn get(vfs: &mut Vfs, path: &[u8]) -> u32 {
    let fd = vfs.open(path, OpenFlags::READ, 0).unwrap();
    let flags = vfs.inode_flags(fd).unwrap();
    vfs.close(fd).unwrap();
    flags
}

fn programs(vfs: &mut Vfs, act: impl FnOnce(&mut Vfs)) -> u64 {
    let before = vfs.sim().total().page_programs;
    act(vfs);
    vfs.sim().total().page_programs - before
}

#[test]
fn the_flags_of_the_kernel_are_kept_and_inherited() {
    let mut bench = bench();
    let vfs = &mut bench.vfs;
    assert_eq!(set(vfs, b"f", NO_DUMP), Err(Errno::NotSup));
    set(vfs, b"f", SYNC | DIRECTORY_SYNC | COMPRESS).unwrap();
    assert_eq!(get(vfs, b"f"), SYNC | COMPRESS, "a file has no names to be synchronous with");
    set(vfs, b"d", SYNC | DIRECTORY_SYNC | APPEND).unwrap();
    vfs.mkdir(b"d/e", 0o755).unwrap();
    assert_eq!(get(vfs, b"d/e"), SYNC | DIRECTORY_SYNC);
    vfs.sync().unwrap();
    vfs.umount().unwrap();
    bench.mount().unwrap();
    assert_eq!(get(&mut bench.vfs, b"d"), SYNC | DIRECTORY_SYNC | APPEND);
    assert_eq!(bench.vfs.rmdir(b"d/e"), Err(Errno::Perm.into()), "of a directory that only grows");
}

/// Programs of a new file, of a change of its attributes, of an attribute that is changed, and of a rename, on a mount with such options.
fn programs_of_mount(all: bool, directories: bool) -> [bool; 4] {
    let mut bench = bench();
    bench.vfs.setxattr(b"f", b"user.one", b"1", XattrMode::Any).unwrap();
    bench.vfs.sync().unwrap();
    bench.vfs.set_synchronous(all, directories);
    let vfs = &mut bench.vfs;
    let made = programs(vfs, |vfs| vfs.mkdir(b"e", 0o755).unwrap());
    let changed = programs(vfs, |vfs| vfs.chmod(b"f", 0o600).unwrap());
    let attribute = programs(vfs, |vfs| vfs.setxattr(b"f", b"user.one", b"2", XattrMode::Any).unwrap());
    let renamed = programs(vfs, |vfs| vfs.rename(b"f", b"g").unwrap());
    [made, changed, attribute, renamed].map(|count| count > 0)
}

#[test]
fn a_mount_can_say_it_for_all_inodes() {
    assert_eq!(programs_of_mount(false, false), [false; 4]);
    assert_eq!(programs_of_mount(true, false), [true; 4]);
    assert_eq!(programs_of_mount(false, true), [true, false, true, false], "a rename asks for IS_SYNC alone");
}

#[test]
fn what_only_grows_or_never_changes_is_left_alone() {
    let mut bench = bench();
    let vfs = &mut bench.vfs;
    let append = OpenFlags { append: true, ..OpenFlags::WRITE };
    set(vfs, b"f", APPEND).unwrap();
    assert_eq!(vfs.open(b"f", OpenFlags::WRITE, 0), Err(Errno::Perm.into()));
    let fd = vfs.open(b"f", append, 0).unwrap();
    assert_eq!(vfs.write(fd, b"more"), Ok(4));
    assert_eq!(vfs.ftruncate(fd, 0), Err(Errno::Perm.into()));
    vfs.close(fd).unwrap();
    set(vfs, b"f", IMMUTABLE).unwrap();
    assert_eq!(vfs.open(b"f", append, 0), Err(Errno::Perm.into()));
    assert_eq!(vfs.unlink(b"f"), Err(Errno::Perm.into()));
    assert_eq!(vfs.rename(b"f", b"g"), Err(Errno::Perm.into()));
    assert_eq!(vfs.link(b"f", b"g"), Err(Errno::Perm.into()));
    assert_eq!(vfs.chmod(b"f", 0o600), Err(Errno::Perm.into()));
    assert_eq!(vfs.truncate(b"f", 0), Err(Errno::Perm.into()));
    set(vfs, b"d", IMMUTABLE).unwrap();
    assert_eq!(vfs.mkdir(b"d/e", 0o755), Err(Errno::Perm.into()));
    set(vfs, b"f", 0).unwrap();
    assert_eq!(vfs.unlink(b"f"), Ok(()));
}

#[test]
fn a_synchronous_file_is_written_at_once_and_so_are_names_of_a_synchronous_directory() {
    let mut bench = bench();
    let vfs = &mut bench.vfs;
    vfs.sync().unwrap();
    let fd = vfs.open(b"f", OpenFlags::READ_WRITE, 0).unwrap();
    assert_eq!(programs(vfs, |vfs| assert_eq!(vfs.write(fd, &[1; 100]), Ok(100))), 0);
    set(vfs, b"f", SYNC).unwrap();
    assert!(programs(vfs, |vfs| assert_eq!(vfs.write(fd, &[1; 100]), Ok(100))) > 0);
    vfs.close(fd).unwrap();
    assert_eq!(programs(vfs, |vfs| vfs.mkdir(b"d/late", 0o755).unwrap()), 0);
    let fd = vfs.open(b"d", DIRECTORY, 0).unwrap();
    vfs.set_inode_flags(fd, DIRECTORY_SYNC).unwrap();
    vfs.close(fd).unwrap();
    assert!(programs(vfs, |vfs| vfs.mkdir(b"d/at once", 0o755).unwrap()) > 0);
    vfs.crash();
    bench.nand.restart();
    bench.mount().unwrap();
    assert!(bench.vfs.stat(b"d/at once").is_ok());
    let blocks = bench.vfs.stat(b"f").unwrap().blocks;
    assert_eq!(blocks, 8, "a block of 4 KiB");
}
