//! Paths: what reaches the file system, what the calls answer.

use crate::support;

use ffslab_fs::{Errno, FileKind, TimeSpec};
use ffslab_linux::{Calls, OpenFlags, ReadAheadRules, ShrinkRules, Vfs};
use support::empty;

const CREATE: OpenFlags = OpenFlags { create: true, ..OpenFlags::READ_WRITE };

fn touch(vfs: &mut Vfs, path: &[u8]) {
    let fd = vfs.open(path, CREATE, 0o644).unwrap();
    vfs.close(fd).unwrap();
}

#[test]
fn a_name_is_looked_up_once() {
    let (mut vfs, log) = empty();
    vfs.mkdir(b"d", 0o755).unwrap();
    touch(&mut vfs, b"d/f");
    assert_eq!(log.borrow().lookups, ["d", "f"], "a look-up before each is made");
    vfs.stat(b"/d/f").unwrap();
    vfs.stat(b"d/./../d//f").unwrap();
    vfs.unlink(b"d/f").unwrap();
    assert_eq!(vfs.stat(b"d/f"), Err(Errno::NoEnt.into()));
    touch(&mut vfs, b"d/f");
    assert_eq!(log.borrow().lookups.len(), 2, "names that are gone are known, too");
}

#[test]
fn names_are_looked_up_again_after_drop_caches_and_mount() {
    let (mut vfs, log) = empty();
    touch(&mut vfs, b"f");
    assert_eq!(vfs.stat(b"g"), Err(Errno::NoEnt.into()));
    log.borrow_mut().lookups.clear();
    vfs.drop_caches().unwrap();
    vfs.stat(b"f").unwrap();
    assert_eq!(vfs.stat(b"g"), Err(Errno::NoEnt.into()));
    assert_eq!(log.borrow().lookups, ["f", "g"]);
}

#[test]
fn after_a_rename_the_old_name_is_looked_up_again() {
    let (mut vfs, log) = empty();
    touch(&mut vfs, b"a");
    vfs.rename(b"a", b"b").unwrap();
    log.borrow_mut().lookups.clear();
    vfs.stat(b"b").unwrap();
    assert_eq!(vfs.stat(b"a"), Err(Errno::NoEnt.into()));
    assert_eq!(log.borrow().lookups, ["a"]);
}

#[test]
fn a_name_unlinked_while_open_is_looked_up_again() {
    let (mut vfs, log) = empty();
    let fd = vfs.open(b"a", CREATE, 0o644).unwrap();
    vfs.unlink(b"a").unwrap();
    log.borrow_mut().lookups.clear();
    assert_eq!(vfs.stat(b"a"), Err(Errno::NoEnt.into()));
    assert_eq!(log.borrow().lookups, ["a"]);
    vfs.close(fd).unwrap();
}

#[test]
fn drop_caches_keeps_what_is_open_and_the_directories_above() {
    let (mut vfs, log) = empty();
    vfs.mkdir(b"d", 0o755).unwrap();
    vfs.mkdir(b"e", 0o755).unwrap();
    let fd = vfs.open(b"d/f", CREATE, 0o644).unwrap();
    touch(&mut vfs, b"d/g");
    vfs.drop_caches().unwrap();
    let mut left = log.borrow().in_memory.clone();
    left.sort_unstable();
    assert_eq!(left, [1, 2, 4], "root, d and d/f");
    vfs.close(fd).unwrap();
    vfs.drop_caches().unwrap();
    assert_eq!(log.borrow().in_memory, [1]);
    vfs.stat(b"d/f").unwrap();
}

/// A machine with nothing else to drop: which of the files lose their names and inodes when all are dropped once.
fn dropped(shrink: ShrinkRules, others_unused_count: Option<usize>, files: u8, uses: usize) -> usize {
    let mut config = support::config(ReadAheadRules::V6_1, 0);
    (config.kernel.shrink, config.others_unused_count) = (shrink, others_unused_count);
    let (mut vfs, log) = support::mounted(config, support::MemFs::new);
    let names: Vec<[u8; 1]> = (0..files).map(|number| [b'a' + number]).collect();
    for _ in 0..uses {
        names.iter().for_each(|name| touch(&mut vfs, name));
    }
    vfs.drop_caches().unwrap();
    let left = log.borrow().in_memory.len() - 1;
    usize::from(files) - left
}

#[test]
fn drop_caches_ends_after_a_pass_that_finds_little() {
    use ShrinkRules::{V3_12, V5_15};
    // One name, used once: it goes in the first pass, with its inode.
    assert_eq!([V3_12, V5_15].map(|rules| dropped(rules, Some(0), 1, 1)), [1, 1]);
    // Used again since: the first pass only notes that, and frees nothing.
    assert_eq!([V3_12, V5_15].map(|rules| dropped(rules, Some(0), 1, 2)), [0, 0]);
    // A few things of others let the newer rule begin another pass, and more than ten the older one.
    assert_eq!([V3_12, V5_15].map(|rules| dropped(rules, Some(5), 1, 2)), [0, 1]);
    assert_eq!(dropped(V3_12, Some(11), 1, 2), 1);
    // Each pass takes one inode more than were unused before it: three names and one inode are too few for the older rule.
    assert_eq!([V3_12, V5_15].map(|rules| dropped(rules, Some(0), 3, 1)), [1, 3]);
    assert_eq!(dropped(V3_12, Some(0), 10, 1), 10);
    assert_eq!([V3_12, V5_15].map(|rules| dropped(rules, None, 3, 2)), [3, 3], "a machine in use");
}

#[test]
fn symbolic_links_are_followed() {
    let (mut vfs, _) = empty();
    vfs.mkdir(b"d", 0o755).unwrap();
    touch(&mut vfs, b"d/f");
    vfs.symlink(b"d", b"relative").unwrap();
    vfs.symlink(b"/d/f", b"d/absolute").unwrap();
    vfs.symlink(b"../relative/absolute", b"d/chain").unwrap();
    let file = vfs.stat(b"d/f").unwrap();
    for path in [&b"relative/f"[..], b"relative/absolute", b"/d/chain", b"d/../relative/../d/chain"] {
        assert_eq!(vfs.stat(path), Ok(file), "{}", String::from_utf8_lossy(path));
    }
    assert_eq!(vfs.lstat(b"relative").unwrap().kind, FileKind::Symlink);
    assert_eq!(vfs.lstat(b"relative/").unwrap().kind, FileKind::Directory);
    assert_eq!(vfs.readlink(b"d/chain").unwrap(), b"../relative/absolute");
    assert_eq!(vfs.readlink(b"d/f"), Err(Errno::Inval.into()));
    assert_eq!(vfs.open(b"relative", OpenFlags { no_follow: true, ..OpenFlags::READ }, 0), Err(Errno::Loop.into()));
    vfs.symlink(b"new", b"dangling").unwrap();
    assert_eq!(vfs.stat(b"dangling"), Err(Errno::NoEnt.into()));
    touch(&mut vfs, b"dangling");
    assert_eq!(vfs.lstat(b"new").unwrap().kind, FileKind::File, "made through the link");
    assert_eq!(vfs.open(b"dangling", OpenFlags { exclusive: true, ..CREATE }, 0o644), Err(Errno::Exist.into()));
}

#[test]
fn forty_links_and_no_more() {
    let (mut vfs, _) = empty();
    touch(&mut vfs, b"0");
    for i in 1..=41 {
        vfs.symlink((i - 1).to_string().as_bytes(), i.to_string().as_bytes()).unwrap();
    }
    assert!(vfs.stat(b"40").is_ok());
    assert_eq!(vfs.stat(b"41"), Err(Errno::Loop.into()));
    vfs.symlink(b"self", b"self").unwrap();
    assert_eq!(vfs.stat(b"self"), Err(Errno::Loop.into()));
}

#[test]
fn errors_of_open() {
    let (mut vfs, _) = empty();
    vfs.mkdir(b"d", 0o755).unwrap();
    touch(&mut vfs, b"f");
    vfs.mknod(b"pipe", FileKind::Fifo, 0o600, 0).unwrap();
    vfs.mknod(b"tty", FileKind::CharDevice, 0o600, 0x0501).unwrap();
    let directory = OpenFlags { directory: true, ..OpenFlags::READ };
    let exclusive = OpenFlags { exclusive: true, ..CREATE };
    for (path, flags, error) in [
        (&b""[..], OpenFlags::READ, Errno::NoEnt),
        (b"none", OpenFlags::READ, Errno::NoEnt),
        (b"none/f", CREATE, Errno::NoEnt),
        (b"f/x", CREATE, Errno::NotDir),
        (b"f/", OpenFlags::READ, Errno::NotDir),
        (b"f", directory, Errno::NotDir),
        (b"d", OpenFlags::READ_WRITE, Errno::IsDir),
        (b"d", CREATE, Errno::IsDir),
        (b"new/", CREATE, Errno::IsDir),
        (b"/", CREATE, Errno::IsDir),
        (b"f", exclusive, Errno::Exist),
        (b"pipe", OpenFlags::READ, Errno::NotSup),
        (b"tty", OpenFlags::READ, Errno::NxIo),
        (b"f", OpenFlags::default(), Errno::Inval),
        (b"f\0g", OpenFlags::READ, Errno::Inval),
    ] {
        assert_eq!(vfs.open(path, flags, 0o644), Err(error.into()), "{}", String::from_utf8_lossy(path));
    }
    assert_eq!(vfs.open(&[b'n'; 255], CREATE, 0o644), Err(Errno::NameTooLong.into()));
    assert!(vfs.open(&[b'n'; 254], CREATE, 0o644).is_ok());
    assert_eq!(vfs.stat(&[b'/'; 4096]), Err(Errno::NameTooLong.into()));
    assert_eq!(vfs.stat(&[b'/'; 4095]).unwrap().ino, 1);
}

#[test]
fn errors_of_making_and_removing() {
    let (mut vfs, _) = empty();
    vfs.mkdir(b"d", 0o755).unwrap();
    vfs.mkdir(b"d/e/", 0o755).unwrap();
    touch(&mut vfs, b"f");
    assert_eq!(vfs.mkdir(b"d", 0o755), Err(Errno::Exist.into()));
    assert_eq!(vfs.mkdir(b"/", 0o755), Err(Errno::Exist.into()));
    assert_eq!(vfs.symlink(b"x", b"link/"), Err(Errno::NoEnt.into()));
    assert_eq!(vfs.symlink(b"", b"link"), Err(Errno::NoEnt.into()));
    assert_eq!(vfs.link(b"d", b"hard"), Err(Errno::Perm.into()));
    assert_eq!(vfs.link(b"f", b"d"), Err(Errno::Exist.into()));
    assert_eq!(vfs.link(b"none", b"hard"), Err(Errno::NoEnt.into()));
    assert_eq!(vfs.unlink(b"d"), Err(Errno::IsDir.into()));
    assert_eq!(vfs.unlink(b"f/"), Err(Errno::NotDir.into()));
    assert_eq!(vfs.unlink(b"none"), Err(Errno::NoEnt.into()));
    assert_eq!(vfs.rmdir(b"f"), Err(Errno::NotDir.into()));
    assert_eq!(vfs.rmdir(b"d"), Err(Errno::NotEmpty.into()));
    assert_eq!(vfs.rmdir(b"d/e/."), Err(Errno::Inval.into()));
    assert_eq!(vfs.rmdir(b"d/e/.."), Err(Errno::NotEmpty.into()));
    assert_eq!(vfs.rmdir(b"/"), Err(Errno::Busy.into()));
    assert_eq!(vfs.mknod(b"x", FileKind::Directory, 0, 0), Err(Errno::Perm.into()));
    vfs.rmdir(b"d/e").unwrap();
    vfs.rmdir(b"d").unwrap();
}

#[test]
fn errors_of_rename() {
    let (mut vfs, log) = empty();
    vfs.mkdir(b"d", 0o755).unwrap();
    vfs.mkdir(b"d/e", 0o755).unwrap();
    touch(&mut vfs, b"f");
    vfs.link(b"f", b"g").unwrap();
    assert_eq!(vfs.rename(b"none", b"x"), Err(Errno::NoEnt.into()));
    assert_eq!(vfs.rename(b"d", b"d/e/x"), Err(Errno::Inval.into()));
    assert_eq!(vfs.rename(b"d/e", b"d"), Err(Errno::NotEmpty.into()));
    assert_eq!(vfs.rename(b"f", b"d"), Err(Errno::IsDir.into()));
    assert_eq!(vfs.rename(b"d", b"f"), Err(Errno::NotDir.into()));
    assert_eq!(vfs.rename(b"f", b"x/"), Err(Errno::NotDir.into()));
    assert_eq!(vfs.rename(b"d/.", b"x"), Err(Errno::Busy.into()));
    assert_eq!(vfs.rename(b"f", b"g"), Ok(()), "two names of one file: nothing happens");
    assert_eq!(vfs.stat(b"f").unwrap().links, 2);
    vfs.rename(b"d/e", b"e").unwrap();
    vfs.mkdir(b"e/sub", 0o755).unwrap();
    vfs.rename(b"e", b"d").unwrap();
    assert_eq!(vfs.stat(b"d/sub").unwrap().kind, FileKind::Directory);
    assert_eq!(vfs.stat(b"d/sub/../..").unwrap().ino, 1);
    assert_eq!(log.borrow().evicted, [2], "the empty directory that was replaced");
}

#[test]
fn attributes_and_directories() {
    let (mut vfs, log) = empty();
    touch(&mut vfs, b"f");
    vfs.chmod(b"f", 0o4755).unwrap();
    vfs.chown(b"f", Some(5), None).unwrap();
    let time = TimeSpec { seconds: 7, nanoseconds: 8 };
    vfs.utimens(b"f", None, Some(time)).unwrap();
    let stat = vfs.stat(b"f").unwrap();
    assert_eq!((stat.permissions, stat.uid, stat.gid, stat.modified), (0o4755, 5, 0, time));
    assert_eq!(stat.accessed.seconds, 1_000_000_000, "the epoch of the configuration");
    let bad = TimeSpec { seconds: 0, nanoseconds: 1_000_000_000 };
    assert_eq!(vfs.utimens(b"f", Some(bad), None), Err(Errno::Inval.into()));
    let names: Vec<_> = vfs.readdir_path(b"/").unwrap().into_iter().map(|e| (e.name, e.kind)).collect();
    assert_eq!(names, [(b"f".to_vec(), Some(FileKind::File))]);
    assert_eq!(log.borrow().readdirs, 1);
    assert_eq!(vfs.statfs().unwrap().blocks_free, 50);
}

#[test]
fn direct_io_is_refused_after_a_file_is_made_and_before_one_is_cut() {
    let (mut vfs, _) = empty();
    let direct = OpenFlags { direct: true, ..OpenFlags::READ_WRITE };
    assert_eq!(vfs.open(b"none", direct, 0), Err(Errno::NoEnt.into()));
    assert_eq!(vfs.open(b"f", OpenFlags { create: true, ..direct }, 0o644), Err(Errno::Inval.into()));
    let fd = vfs.open(b"f", OpenFlags::READ_WRITE, 0).unwrap();
    vfs.write(fd, b"kept").unwrap();
    vfs.close(fd).unwrap();
    assert_eq!(vfs.open(b"f", OpenFlags { truncate: true, ..direct }, 0), Err(Errno::Inval.into()));
    assert_eq!(vfs.stat(b"f").unwrap().size_bytes, 4);
    assert_eq!(vfs.open(b"/", OpenFlags { direct: true, ..OpenFlags::READ }, 0), Err(Errno::Inval.into()));
    assert_eq!(vfs.umount(), Ok(()), "nothing is left open");
}

#[test]
fn no_space_is_reserved_and_no_hole_punched() {
    use ffslab_system::FallocateFlag::{CollapseRange, KeepSize, PunchHole, ZeroRange};
    let (mut vfs, _log) = empty();
    let fd = vfs.open(b"f", CREATE, 0o644).unwrap();
    for (flags, at, bytes, error) in [
        (&[][..], 0, 4096, Errno::NotSup),
        (&[KeepSize, PunchHole], 0, 4096, Errno::NotSup),
        (&[PunchHole], 0, 4096, Errno::NotSup),
        (&[ZeroRange, PunchHole, KeepSize], 0, 4096, Errno::NotSup),
        (&[CollapseRange, KeepSize], 0, 4096, Errno::Inval),
        (&[KeepSize], 0, 0, Errno::Inval),
        (&[], u64::MAX, 1, Errno::FBig),
    ] {
        assert_eq!(vfs.fallocate(fd, flags, at, bytes), Err(error.into()), "{flags:?} {at} {bytes}");
    }
    vfs.close(fd).unwrap();
    let read_only = vfs.open(b"f", OpenFlags::READ, 0).unwrap();
    assert_eq!(vfs.fallocate(read_only, &[], 0, 4096), Err(Errno::BadF.into()));
}
