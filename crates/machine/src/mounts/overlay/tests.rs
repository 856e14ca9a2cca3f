//! Overlays of mounts: what programs see, what stands in the upper layer, and what a power cut leaves.

use super::Mounts;
use crate::StackTable;
use ffslab_conformance::{must, systems};
use ffslab_flash::Torn;
use ffslab_fs::{BlockSpace, Errno, FileKind, KeyEntry, RenameFlags, Stat, StatFs, TimeSpec, Unwritten, XattrMode};
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_sim::Sim;
use ffslab_system::{
    asks, asks_of_machine, looks, looks_of_calls, looks_of_system, Advice, Answer, Calls, Entry, FallocateFlag, Fd,
    ImageGiven, Levelling, MapAccess, MountDone, OpenFlags, Refusal, Runs, System, SystemError, Whence,
};
use std::path::Path;

const OVERLAY: &str = "[[mount]]\nat = \"/\"\nfs = \"overlayfs\"\n\
     options = [\"lowerdir=/low\", \"upperdir=/upper\", \"workdir=/aside\"]\n";
const WRITE: OpenFlags = OpenFlags { read: true, write: true, create: true, ..OpenFlags::READ };

/// The root is the upper mount, `/low` the lower one, and the overlay covers the root.
fn mounts(upper: &str, lower: &str) -> Mounts {
    let stack = format!(
        "board = \"omap3evm\"\nkernel = \"6.1\"\nfs = \"{upper}\"\npartition_blocks = 80\n\
         [[mount]]\nat = \"/low\"\nfs = \"{lower}\"\npartition_blocks = 80\n{OVERLAY}"
    );
    let keys = match StackTable::parse(&stack).unwrap() {
        StackTable::Linux(keys) => keys,
        _ => unreachable!(),
    };
    Mounts::new(&super::MountsSpec::from_keys(&keys, Path::new(".")).unwrap().0).unwrap()
}

fn put(machine: &mut dyn System, path: &str, content: &[u8]) {
    let fd = machine.open(path.as_bytes(), WRITE, 0o644).unwrap();
    assert_eq!(machine.pwrite(fd, content, 0).unwrap(), content.len());
    machine.fsync(fd).unwrap();
    machine.close(fd).unwrap();
}

fn get(machine: &mut dyn System, path: &str) -> Vec<u8> {
    let fd = machine.open(path.as_bytes(), OpenFlags::READ, 0).unwrap();
    let mut content = vec![0; machine.fstat(fd).unwrap().size_bytes as usize];
    assert_eq!(machine.pread(fd, &mut content, 0).unwrap(), content.len());
    machine.close(fd).unwrap();
    content
}

fn names(machine: &mut dyn Calls, path: &str) -> Vec<String> {
    let entries = machine.readdir_path(path.as_bytes()).unwrap();
    let mut names: Vec<_> = entries.iter().map(|entry| String::from_utf8_lossy(&entry.name).into_owned()).collect();
    names.sort_unstable();
    names
}

fn errno<T>(answer: Answer<T>) -> Option<Errno> {
    answer.err().map(Refusal::errno)
}

/// With files in the lower layer, nothing in the upper one.
fn filled(upper: &str, lower: &str) -> Mounts {
    let mut machine = mounts(upper, lower);
    machine.mount(&[]).unwrap();
    machine.mkdir(b"/low/etc", 0o755).unwrap();
    machine.mkdir(b"/low/etc/init", 0o750).unwrap();
    for (path, bytes) in
        [("/low/etc/passwd", 300), ("/low/etc/init/rc", 5_000), ("/low/big", 150_000), ("/low/etc/motd", 20)]
    {
        put(&mut machine, path, &content(bytes));
    }
    machine.symlink(b"etc/passwd", b"/low/link").unwrap();
    machine.chown(b"/low/etc/passwd", Some(3), Some(4)).unwrap();
    machine.setxattr(b"/low/big", b"user.note", b"kept", XattrMode::Any).unwrap();
    machine.umount().unwrap();
    machine.mount(&[]).unwrap();
    machine
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// `ovl_lookup_single` asks each file for `trusted.overlay.metacopy`, so that what a lower one has of attributes is read then.
#[test]
fn a_look_up_asks_lower_files_for_their_marks_too() {
    let mut machine = filled("ubifs", "jffs2");
    machine.stat(b"/big").unwrap();
    let took_ns = || {
        let began_ns = machine.now_ns();
        let none = machine.member(1).getxattr(b"/big", b"trusted.overlay.metacopy");
        assert_eq!(errno(none), Some(Errno::NoData));
        machine.now_ns() - began_ns
    };
    let first_ns = took_ns();
    assert_eq!(first_ns, took_ns(), "nothing is left to be read of them");
}

#[test]
fn what_programs_change_is_copied_up_and_the_rest_shows_through() {
    for (upper, lower) in [("ubifs", "jffs2"), ("jffs2", "ubifs"), ("ubifs", "ubifs"), ("jffs2", "jffs2")] {
        let mut machine = filled(upper, lower);
        let machine = &mut machine;
        assert_eq!(get(machine, "/link"), content(300));
        assert_eq!(names(&mut *machine.member(0), "/upper"), [""; 0], "reading copies nothing up");
        let (before, old) = (machine.stat(b"/big").unwrap(), machine.open(b"/big", OpenFlags::READ, 0).unwrap());
        let fd = machine.open(b"/big", OpenFlags { append: true, ..OpenFlags { create: false, ..WRITE } }, 0).unwrap();
        machine.write(fd, b"more").unwrap();
        machine.close(fd).unwrap();
        let after = [content(150_000), b"more".to_vec()].concat();
        assert_eq!(get(machine, "/big"), after, "{upper} over {lower}");
        // Who had it open reads on in the copy.
        let mut end = [0; 4];
        assert_eq!((machine.pread(old, &mut end, 150_000).unwrap(), &end), (4, b"more"));
        machine.close(old).unwrap();
        let stat = machine.stat(b"/big").unwrap();
        assert_eq!((stat.ino, stat.permissions, stat.links), (before.ino, before.permissions, 1));
        assert_eq!(machine.getxattr(b"/big", b"user.note").unwrap(), b"kept");
        assert_eq!(machine.listxattr(b"/big").unwrap(), [b"user.note".to_vec()]);
        assert_eq!(errno(machine.getxattr(b"/big", b"trusted.overlay.origin")), Some(Errno::NotSup));
        assert!(machine.member(0).getxattr(b"/upper/big", b"trusted.overlay.origin").is_ok());
        assert_eq!(machine.member(0).getxattr(b"/upper", b"trusted.overlay.impure").unwrap(), b"y");
        // Directories above come first, with what they had.
        machine.chmod(b"/etc/init/rc", 0o700).unwrap();
        let upper_stat = machine.member(0).stat(b"/upper/etc/init").unwrap();
        assert_eq!((upper_stat.permissions, upper_stat.kind), (0o750, FileKind::Directory));
        assert_eq!(get(machine, "/etc/init/rc"), content(5_000));
        machine.chmod(b"/etc/passwd", 0o600).unwrap();
        let stat = machine.stat(b"/etc/passwd").unwrap();
        assert_eq!((stat.uid, stat.gid, stat.permissions), (3, 4, 0o600));
        machine.umount().unwrap();
        machine.mount(&[]).unwrap();
        assert_eq!(get(machine, "/big"), after);
        assert_eq!(machine.member(1).stat(b"/big").unwrap().size_bytes, 150_000, "the lower one stays");
        assert_eq!(machine.stat(b"/etc/init").unwrap().links, 1);
        assert_eq!(names(&mut *machine.member(0), "/aside/work"), [""; 0]);
    }
}

#[test]
fn whiteouts_and_opaque_directories_hide_what_is_below() {
    let mut machine = filled("ubifs", "jffs2");
    let machine = &mut machine;
    machine.unlink(b"/etc/motd").unwrap();
    assert_eq!(errno(machine.stat(b"/etc/motd")), Some(Errno::NoEnt));
    assert_eq!(names(machine, "/etc"), ["init", "passwd"]);
    let whiteout = machine.member(0).stat(b"/upper/etc/motd").unwrap();
    assert_eq!((whiteout.kind, whiteout.device), (FileKind::CharDevice, 0));
    assert_eq!(errno(machine.mknod(b"/white", FileKind::CharDevice, 0o600, 0)), Some(Errno::Perm));
    // A directory that a lower layer has is not moved, a file leaves a whiteout.
    assert_eq!(errno(machine.rename(b"/etc/init", b"/init")), Some(Errno::XDev));
    machine.rename(b"/etc/passwd", b"/users").unwrap();
    assert_eq!(names(machine, "/etc"), ["init"]);
    assert_eq!(get(machine, "/users"), content(300));
    // Neither is removed what is not empty; then all of it goes, and what comes in its place shows nothing of it.
    assert_eq!(errno(machine.rmdir(b"/etc")), Some(Errno::NotEmpty));
    machine.unlink(b"/etc/init/rc").unwrap();
    machine.rmdir(b"/etc/init").unwrap();
    machine.rmdir(b"/etc").unwrap();
    assert_eq!(names(machine, "/"), ["big", "link", "users"]);
    machine.mkdir(b"/etc", 0o755).unwrap();
    put(machine, "/etc/new", b"new");
    for _ in 0..2 {
        assert_eq!(names(machine, "/etc"), ["new"]);
        assert_eq!(machine.member(0).getxattr(b"/upper/etc", b"trusted.overlay.opaque").unwrap(), b"y");
        machine.umount().unwrap();
        machine.mount(&[]).unwrap();
    }
    // The directory is of the upper layer alone now, so it can be moved.
    machine.rename(b"/etc", b"/etc2").unwrap();
    assert_eq!((get(machine, "/etc2/new"), errno(machine.stat(b"/etc"))), (b"new".to_vec(), Some(Errno::NoEnt)));
    machine.link(b"/users", b"/users2").unwrap();
    assert_eq!(machine.stat(b"/users2").unwrap().links, 2);
    machine.umount().unwrap();
    assert_eq!(errno(machine.stat(b"/users")), Some(Errno::NoDev));
}

/// JFFS2 of 6.1 has no whiteouts that a rename leaves.
#[test]
fn an_upper_file_system_that_cannot_do_all_refuses_what_needs_it() {
    let mut machine = filled("jffs2", "ubifs");
    assert_eq!(errno(machine.rename(b"/big", b"/bigger")), Some(Errno::Inval));
    assert_eq!(get(&mut machine, "/big"), content(150_000));
    machine.unlink(b"/big").unwrap();
    assert_eq!(names(&mut machine, "/"), ["etc", "link"]);
}

/// Wherever the power fails in a copy up, the file is the lower one or the whole copy, and the next mount cleans up.
#[test]
fn a_power_cut_leaves_the_lower_file_or_the_whole_copy() {
    for upper in ["ubifs", "jffs2"] {
        let mut copies = 0;
        for operations in (0..200).step_by(3) {
            let mut machine = filled(upper, "ubifs");
            machine.cut_power_after(operations, Torn::Nothing).unwrap();
            let change = |machine: &mut Mounts| -> Answer<()> {
                machine.chmod(b"/etc/init/rc", 0o700)?;
                let fd = machine.open(b"/big", OpenFlags { create: false, ..WRITE }, 0)?;
                machine.pwrite(fd, b"changed", 0)?;
                machine.fsync(fd)?;
                machine.close(fd)?;
                machine.unlink(b"/etc/motd")
            };
            let is_whole = change(&mut machine).is_ok();
            machine.crash().unwrap();
            machine.mount(&[]).unwrap();
            let (lower, found) = (content(150_000), get(&mut machine, "/big"));
            assert_eq!((found.len(), &found[7..]), (lower.len(), &lower[7..]), "{upper}, cut after {operations}");
            assert!(found[..7] == lower[..7] || &found[..7] == b"changed");
            assert_eq!(get(&mut machine, "/etc/init/rc"), content(5_000), "{upper}, cut after {operations}");
            assert!([0o644, 0o700].contains(&machine.stat(b"/etc/init/rc").unwrap().permissions));
            assert_eq!(machine.getxattr(b"/big", b"user.note").unwrap(), b"kept");
            assert_eq!(names(&mut *machine.member(0), "/aside/work"), [""; 0]);
            copies += usize::from(machine.member(0).stat(b"/upper/big").is_ok());
            if is_whole {
                break;
            }
        }
        assert!(copies > 0, "{upper}");
    }
}

#[test]
fn what_cannot_be_laid_over_is_said() {
    let said = |options: &str, kernel: &str, more: &str| {
        let stack = format!(
            "board = \"omap3evm\"\nkernel = \"{kernel}\"\nfs = \"ubifs\"\npartition_blocks = 80\n\
             [[mount]]\nat = \"/low\"\nfs = \"jffs2\"\npartition_blocks = 60\n\
             [[mount]]\nat = \"/all\"\nfs = \"overlayfs\"\noptions = [{options}]\n{more}"
        );
        match StackTable::parse(&stack) {
            Err(error) => error.message().to_string(),
            Ok(table) => match table.machine(Path::new(".")) {
                Err(error) => error.to_string(),
                Ok((spec, _)) => match spec.build(None) {
                    Err(error) => error.to_string(),
                    Ok(mut machine) => machine.mount(&[]).unwrap_err().to_string(),
                },
            },
        }
    };
    let good = "\"lowerdir=/low\", \"upperdir=/upper\", \"workdir=/aside\"";
    for (options, kernel, more, says) in [
        ("\"upperdir=/u\", \"workdir=/w\"", "6.1", "", "lowerdir is missing"),
        ("\"lowerdir=/low\", \"upperdir=/u\", \"workdir=/low/w\"", "6.1", "", "on two mounts"),
        ("\"lowerdir=/low\", \"upperdir=/u\", \"workdir=/u/w\"", "6.1", "", "one within the other"),
        ("\"lowerdir=/\", \"upperdir=/u\", \"workdir=/w\"", "6.1", "", "lowerdir and upperdir"),
        ("\"lowerdir=/low/no\", \"upperdir=/u\", \"workdir=/w\"", "6.1", "", "\"/no\" of that mount is no directory"),
        ("\"lowerdir=low\", \"upperdir=/u\", \"workdir=/w\"", "6.1", "", "a path from / on"),
        ("\"lowerdir=/low\", \"index=on\"", "6.1", "", "only \"index=off\""),
        ("\"lower=/low\"", "6.1", "", "unknown mount option \"lower=/low\""),
        (good, "6.1", "partition_blocks = 20", "partition_blocks: an overlay has the data"),
        (good, "5.10", "", "say kernel = \"6.1\""),
    ] {
        let text = said(options, kernel, more);
        assert!(text.contains(says) && !text.contains('\n'), "{options}: {text}");
    }
}

/// A machine whose overlay gets a new lower layer at each unmount: what is there then, but for hard links.
struct Renewed(Mounts);

impl Renewed {
    fn machine(&self) -> &Mounts {
        &self.0
    }

    fn machine_mut(&mut self) -> &mut Mounts {
        &mut self.0
    }

    fn renew(&mut self) {
        let mut tree = Vec::new();
        walk(&mut self.0, b"", &mut tree);
        self.0.overlays[0].umount().unwrap();
        for (number, root) in [(1, "/"), (0, "/upper")] {
            let mut stack = self.0.member(number);
            clear(&mut *stack, root.as_bytes());
        }
        let mut lower = self.0.member(1);
        for (path, stat, content) in &tree {
            let path = [b"/", &path[..]].concat();
            match stat.kind {
                FileKind::Directory => lower.mkdir(&path, stat.permissions).unwrap(),
                _ if stat.links > 1 => continue,
                FileKind::File => {
                    let fd = lower.open(&path, WRITE, stat.permissions).unwrap();
                    lower.pwrite(fd, content, 0).unwrap();
                    lower.close(fd).unwrap();
                }
                FileKind::Symlink => lower.symlink(content, &path).unwrap(),
                kind => lower.mknod(&path, kind, stat.permissions, stat.device).unwrap(),
            }
            if stat.kind != FileKind::Symlink {
                lower.chown(&path, Some(stat.uid), Some(stat.gid)).unwrap();
            }
        }
        // Directories last, as names in them change their times.
        for (path, stat, _) in
            tree.iter().rev().filter(|(_, stat, _)| stat.kind == FileKind::Directory || stat.links == 1)
        {
            if stat.kind != FileKind::Symlink {
                lower.utimens(&[b"/", &path[..]].concat(), Some(stat.accessed), Some(stat.modified)).unwrap();
            }
        }
    }
}

fn walk(machine: &mut Mounts, at: &[u8], tree: &mut Vec<(Vec<u8>, Stat, Vec<u8>)>) {
    for entry in machine.readdir_path(&[b"/", at].concat()).unwrap() {
        let path = if at.is_empty() { entry.name } else { [at, b"/", &entry.name].concat() };
        let stat = machine.lstat(&path).unwrap();
        let content = match stat.kind {
            FileKind::File => get(machine, std::str::from_utf8(&path).unwrap()),
            FileKind::Symlink => machine.readlink(&path).unwrap(),
            _ => Vec::new(),
        };
        tree.push((path.clone(), stat, content));
        if stat.kind == FileKind::Directory {
            walk(machine, &path, tree);
        }
    }
}

/// Removes all but files with several names.
fn clear(stack: &mut dyn Calls, at: &[u8]) {
    for entry in stack.readdir_path(at).unwrap() {
        let path = [at.strip_suffix(b"/").unwrap_or(at), b"/", &entry.name[..]].concat();
        let stat = stack.lstat(&path).unwrap();
        if stat.kind == FileKind::Directory {
            clear(stack, &path);
            let _ = stack.rmdir(&path);
            let _ = stack.removexattr(&path, b"trusted.overlay.opaque");
            let _ = stack.removexattr(&path, b"trusted.overlay.origin");
        } else if stat.links == 1 || stat.kind == FileKind::CharDevice && stat.device == 0 {
            stack.unlink(&path).unwrap();
        }
    }
}

impl Calls for Renewed {
    looks_of_calls!();

    looks! {
        fn now_ns() -> u64;
    }

    asks! {
        fn read_clock_ns() -> u64;
        fn sleep_ns(duration_ns: u64) -> ();
        fn open(path: &[u8], flags: OpenFlags, permissions: u32) -> Answer<Fd>;
        fn close(fd: Fd) -> Answer<()>;
        fn read(fd: Fd, into: &mut [u8]) -> Answer<usize>;
        fn pread(fd: Fd, into: &mut [u8], at: u64) -> Answer<usize>;
        fn pread_discard(fd: Fd, at: u64, bytes: usize) -> Answer<usize>;
        fn write(fd: Fd, data: &[u8]) -> Answer<usize>;
        fn pwrite(fd: Fd, data: &[u8], at: u64) -> Answer<usize>;
        fn lseek(fd: Fd, offset: i64, whence: Whence) -> Answer<u64>;
        fn ftruncate(fd: Fd, bytes: u64) -> Answer<()>;
        fn fsync(fd: Fd) -> Answer<()>;
        fn fdatasync(fd: Fd) -> Answer<()>;
        fn fallocate(fd: Fd, flags: &[FallocateFlag], at: u64, bytes: u64) -> Answer<()>;
        fn fstat(fd: Fd) -> Answer<Stat>;
        fn readdir(fd: Fd) -> Answer<Vec<Entry>>;
        fn advise(fd: Fd, offset: u64, bytes: u64, advice: Advice) -> Answer<()>;
        fn mmap(fd: Fd, at: u64, bytes: u64, access: MapAccess) -> Answer<()>;
        fn mkdir(path: &[u8], permissions: u32) -> Answer<()>;
        fn rmdir(path: &[u8]) -> Answer<()>;
        fn unlink(path: &[u8]) -> Answer<()>;
        fn link(old: &[u8], new: &[u8]) -> Answer<()>;
        fn symlink(target: &[u8], path: &[u8]) -> Answer<()>;
        fn readlink(path: &[u8]) -> Answer<Vec<u8>>;
        fn mknod(path: &[u8], kind: FileKind, permissions: u32, device: u32) -> Answer<()>;
        fn readdir_path(path: &[u8]) -> Answer<Vec<Entry>>;
        fn stat(path: &[u8]) -> Answer<Stat>;
        fn lstat(path: &[u8]) -> Answer<Stat>;
        fn truncate(path: &[u8], bytes: u64) -> Answer<()>;
        fn chmod(path: &[u8], permissions: u32) -> Answer<()>;
        fn chown(path: &[u8], uid: Option<u32>, gid: Option<u32>) -> Answer<()>;
        fn utimens(path: &[u8], accessed: Option<TimeSpec>, modified: Option<TimeSpec>) -> Answer<()>;
        fn setxattr(path: &[u8], name: &[u8], value: &[u8], mode: XattrMode) -> Answer<()>;
        fn getxattr(path: &[u8], name: &[u8]) -> Answer<Vec<u8>>;
        fn listxattr(path: &[u8]) -> Answer<Vec<Vec<u8>>>;
        fn removexattr(path: &[u8], name: &[u8]) -> Answer<()>;
        fn get_value(key: &[u8]) -> Answer<Vec<u8>>;
        fn list_values() -> Answer<Vec<KeyEntry>>;
        fn sync() -> Answer<()>;
        fn syncfs() -> Answer<()>;
        fn statfs() -> Answer<StatFs>;
        fn drop_caches() -> Answer<()>;
        fn drop_pages() -> Answer<()>;
    }

    fn rename(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        self.rename_with(old, new, RenameFlags::NONE)
    }

    /// The model moves each directory.
    fn rename_with(&mut self, old: &[u8], new: &[u8], flags: RenameFlags) -> Answer<()> {
        match self.0.rename_with(old, new, flags) {
            Err(refusal) if refusal == Errno::XDev => Err(self.lacks("rename of a directory that a lower layer has")),
            renamed => renamed,
        }
    }
}

impl System for Renewed {
    fn mount(&mut self, options: &[String]) -> Result<(), SystemError> {
        self.0.mount(options)
    }

    fn umount(&mut self) -> Answer<()> {
        self.renew();
        self.0.umount()
    }

    asks_of_machine!();
    looks_of_system!();
}

#[test]
fn random_sequences_behave_like_the_model() {
    let latitude = |upper: &str| systems::Latitude {
        name_bytes_max: if upper == "jffs2" { 254 } else { 255 },
        file_bytes_max: 1 << 40,
        keeps_set_times: upper == "ubifs",
        ..systems::Latitude::default()
    };
    let mut sum = systems::Report::default();
    for seed in 0..24 {
        sum += must(systems::check(&mut Renewed(mounts("ubifs", "ubifs")), latitude("ubifs"), seed, 150));
        sum += must(systems::check(&mut mounts("jffs2", "ubifs"), latitude("jffs2"), seed, 150));
    }
    assert!(sum.remounts > 100 && sum.lacking_calls < sum.calls / 20, "{sum:?}");
}
