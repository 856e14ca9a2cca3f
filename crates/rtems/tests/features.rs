//! What each file system can do, and with which error it refuses the rest; limits; files in a tar image.

use crate::system;

use ffslab_fs::Errno;
use ffslab_rtems::bdbuf::{Bdbuf, BdbufConfig};
use ffslab_rtems::imfs::{BlockSize, Imfs, ImfsOptions};
use ffslab_rtems::libio::{Libio, OpenFlags, Whence};
use ffslab_rtems::Quirks;
use ffslab_sim::{Sim, SimConfig};
use system::{Fs, System};

type Outcome = Result<(), Errno>;
type Call = fn(&mut System) -> Outcome;

const OK: Outcome = Ok(());
const NO: Outcome = Err(Errno::NotSup);

/// Section 8 of the facts, call by call.
#[test]
fn feature_matrix() {
    let columns = [Fs::Imfs, Fs::MiniImfs, Fs::Dosfs(0), Fs::Rfs(1024)];
    let rows: [(&str, Call, [Outcome; 4]); 11] = [
        ("link", |s| s.libio.link(b"/mnt/f", b"/mnt/hard"), [OK, NO, NO, OK]),
        ("link of a directory", |s| s.libio.link(b"/mnt/d", b"/mnt/hard_d"), [OK, NO, NO, NO]),
        ("symlink", |s| s.libio.symlink(b"f", b"/mnt/soft"), [OK, NO, NO, OK]),
        ("chmod", |s| s.libio.chmod(b"/mnt/f", 0o600), [OK, NO, NO, OK]),
        ("chown", |s| s.libio.chown(b"/mnt/f", 1, 1), [OK, NO, NO, OK]),
        ("utime", |s| s.libio.utime(b"/mnt/f", 600_000_000, 600_000_001), [OK, NO, NO, OK]),
        ("utime, equal", |s| s.libio.utime(b"/mnt/f", 600_000_000, 600_000_000), [OK, NO, OK, OK]),
        ("rename", |s| s.libio.rename(b"/mnt/f", b"/mnt/g"), [OK, NO, OK, OK]),
        ("rename to a name that is there", |s| s.libio.rename(b"/mnt/d", b"/mnt/e"), [Err(Errno::Exist); 4]),
        ("statvfs", |s| s.libio.statvfs(b"/mnt").map(|_| ()), [Err(Errno::NoSys), Err(Errno::NoSys), OK, OK]),
        (
            "mount in it",
            |s| s.libio.mount(Box::new(Imfs::new(ImfsOptions::default())), b"/mnt/d", true),
            [OK, OK, NO, NO],
        ),
    ];
    for (column, fs) in columns.into_iter().enumerate() {
        for (name, call, expected) in &rows {
            let mut system = System::new(fs, Quirks::Rtems2018, 2 << 20);
            system.write_file("/mnt/f", b"content").unwrap();
            system.libio.mkdir(b"/mnt/d", 0o755).unwrap();
            system.libio.mkdir(b"/mnt/e", 0o755).unwrap();
            assert_eq!(call(&mut system), expected[column], "{name} on {fs:?}");
        }
    }
}

#[test]
fn unmount_needs_the_full_imfs() {
    for (fs, expected) in [(Fs::Imfs, OK), (Fs::MiniImfs, NO)] {
        let mut system = System::new(fs, Quirks::Rtems2018, 1 << 20);
        system.libio.mount(Box::new(Imfs::new(ImfsOptions::default())), b"/mnt", true).unwrap();
        assert_eq!(system.libio.unmount(b"/mnt"), expected);
    }
}

#[test]
fn links_are_followed() {
    for fs in [Fs::Imfs, Fs::Rfs(512)] {
        let mut system = System::new(fs, Quirks::Fixed, 2 << 20);
        system.libio.mkdir(b"/mnt/d", 0o755).unwrap();
        system.write_file("/mnt/d/f", b"content").unwrap();
        let long = b"/mnt/d/../d/../d/../d/./f";
        for (link, target) in [(&b"/mnt/a"[..], &b"d/f"[..]), (b"/mnt/b", long), (b"/mnt/c", b"b"), (b"/mnt/e", b"d")] {
            system.libio.symlink(target, link).unwrap();
            assert_eq!(system.libio.readlink(link).unwrap(), target);
        }
        system.remount();
        for path in ["/mnt/a", "/mnt/b", "/mnt/c", "/mnt/e/f", "/mnt/e/../d/f"] {
            assert_eq!(system.read_file(path).as_deref(), Ok(&b"content"[..]), "{path} on {fs:?}");
        }
        system.libio.symlink(b"loop", b"/mnt/loop").unwrap();
        assert_eq!(system.read_file("/mnt/loop"), Err(Errno::Loop));
        system.libio.symlink(b"new", b"/mnt/dangling").unwrap();
        assert_eq!(system.read_file("/mnt/dangling"), Err(Errno::NoEnt));
        system.write_file("/mnt/dangling", b"made through the link").unwrap();
        assert_eq!(system.read_file("/mnt/new").as_deref(), Ok(&b"made through the link"[..]));
    }
}

/// RFS of 2018 loses the content of a long symbolic link, which it neither marks as modified nor reads.
#[test]
fn long_symbolic_links_are_lost_in_2018() {
    let target = b"a/target/of/more/than/twenty/characters";
    for (quirks, kept) in [(Quirks::Rtems2018, false), (Quirks::Fixed, true)] {
        let mut system = System::new(Fs::Rfs(512), quirks, 1 << 20);
        system.libio.symlink(target, b"/mnt/link").unwrap();
        system.remount();
        system.write_file("/mnt/other", &[0; 40_000]).unwrap();
        assert_eq!(system.libio.readlink(b"/mnt/link").unwrap() == target, kept, "{quirks:?}");
    }
}

/// Writing less than a block into a full last block makes the file shorter in 2018.
#[test]
fn a_full_last_block_is_cut_in_2018() {
    for (quirks, bytes) in [(Quirks::Rtems2018, 1024 + 10), (Quirks::Fixed, 2048)] {
        let mut system = System::new(Fs::Rfs(1024), quirks, 1 << 20);
        system.write_file("/mnt/f", &[7; 2048]).unwrap();
        let fd = system.libio.open(b"/mnt/f", OpenFlags::READ_WRITE, 0).unwrap();
        assert_eq!(system.libio.pwrite(fd, &[1; 10], 1024), Ok(10));
        assert_eq!(system.libio.fstat(fd).unwrap().size_bytes, bytes, "{quirks:?}");
        system.libio.close(fd).unwrap();
    }
}

#[test]
fn an_unlinked_open_file_keeps_its_content_but_on_rfs_of_2018() {
    let cases = [(Fs::Imfs, Quirks::Rtems2018), (Fs::Dosfs(0), Quirks::Rtems2018), (Fs::Rfs(512), Quirks::Fixed)];
    for (fs, quirks) in cases {
        let mut system = System::new(fs, quirks, 2 << 20);
        system.write_file("/mnt/f", &[3; 5000]).unwrap();
        let fd = system.libio.open(b"/mnt/f", OpenFlags::READ_WRITE, 0).unwrap();
        system.libio.unlink(b"/mnt/f").unwrap();
        system.write_file("/mnt/other", &[9; 20_000]).unwrap();
        let mut buffer = vec![0; 6000];
        assert_eq!(system.libio.read(fd, &mut buffer), Ok(5000), "{fs:?}");
        assert!(buffer[..5000].iter().all(|&byte| byte == 3), "{fs:?}");
        system.libio.close(fd).unwrap();
        assert_eq!(system.list("/mnt").unwrap(), ["other"]);
    }
}

#[test]
fn offsets_and_vectors() {
    for fs in [Fs::Imfs, Fs::Rfs(512), Fs::Dosfs(0)] {
        let mut system = System::new(fs, Quirks::Rtems2018, 2 << 20);
        let fd = system.libio.open(b"/mnt/f", OpenFlags::CREATE, 0o644).unwrap();
        assert_eq!(system.libio.writev(fd, &[b"one ", b"", b"two ", b"three"]), Ok(13));
        assert_eq!(system.libio.pwrite(fd, b"TWO", 4), Ok(3));
        assert_eq!(system.libio.lseek(fd, 0, Whence::Current), Ok(13));
        assert_eq!(system.libio.lseek(fd, -5, Whence::End), Ok(8));
        let (mut first, mut second) = ([0; 2], [0; 9]);
        assert_eq!(system.libio.readv(fd, &mut [&mut first, &mut second]), Ok(5));
        assert_eq!((&first, &second[..3]), (b"th", &b"ree"[..]));
        let mut all = [0; 20];
        assert_eq!(system.libio.pread(fd, &mut all, 0), Ok(13));
        assert_eq!(&all[..13], b"one TWO three");
        assert_eq!(system.libio.lseek(fd, -1, Whence::Set), Err(Errno::Inval));
        assert_eq!(system.libio.writev(fd, &[]), Err(Errno::Inval));
        system.libio.close(fd).unwrap();
        assert_eq!(system.libio.read(fd, &mut all), Err(Errno::BadF));
    }
}

#[test]
fn what_may_not_be_done_with_a_descriptor() {
    let mut system = System::new(Fs::Rfs(512), Quirks::Rtems2018, 1 << 20);
    system.write_file("/mnt/f", b"content").unwrap();
    let fd = system.libio.open(b"/mnt/f", OpenFlags::READ, 0).unwrap();
    assert_eq!(system.libio.write(fd, b"x"), Err(Errno::BadF));
    assert_eq!(system.libio.ftruncate(fd, 0), Err(Errno::Inval));
    assert_eq!(system.libio.read_dir(fd), Err(Errno::NotDir));
    assert_eq!(system.libio.unmount(b"/mnt"), Err(Errno::Busy));
    system.libio.close(fd).unwrap();
    assert_eq!(system.libio.open(b"/mnt", OpenFlags::WRITE, 0), Err(Errno::IsDir));
    assert_eq!(system.libio.open(b"/mnt/f/g", OpenFlags::READ, 0), Err(Errno::NotDir));
    assert_eq!(system.libio.rmdir(b"/mnt/f"), Err(Errno::NotDir));
    assert_eq!(system.libio.mkdir(b"/mnt/f", 0o755), Err(Errno::Exist));
    assert_eq!(system.libio.mkdir(b"/mnt/new/", 0o755), OK);
    assert_eq!(system.libio.rmdir(b"/mnt"), Err(Errno::Busy));
    assert_eq!(system.libio.unlink(b"/mnt/."), Err(Errno::Inval));
    let exclusive = OpenFlags { exclusive: true, ..OpenFlags::CREATE };
    assert_eq!(system.libio.open(b"/mnt/f", exclusive, 0), Err(Errno::Exist));
    let open: Vec<_> = (0..32).map(|_| system.libio.open(b"/mnt/f", OpenFlags::READ, 0).unwrap()).collect();
    assert_eq!(system.libio.open(b"/mnt/f", OpenFlags::READ, 0), Err(Errno::NFile));
    open.into_iter().for_each(|fd| system.libio.close(fd).unwrap());
}

#[test]
fn memory_that_runs_out_is_reported() {
    let options =
        ImfsOptions { block_size: BlockSize::new(64).unwrap(), memory_blocks: Some(50), ..ImfsOptions::default() };
    let cache = Bdbuf::new(Sim::new(SimConfig::default()), BdbufConfig::default()).unwrap();
    let mut libio = Libio::new(cache, Box::new(Imfs::new(options)), 4);
    let fd = libio.open(b"/f", OpenFlags::CREATE, 0o644).unwrap();
    assert_eq!(libio.write(fd, &[1; 64 * 60]), Err(Errno::NoSpc));
    assert_eq!(libio.write(fd, &[1; 64 * 20]), Ok(64 * 20));
    assert_eq!(libio.ftruncate(fd, 279_488), Err(Errno::FBig));
    libio.close(fd).unwrap();
    libio.unlink(b"/f").unwrap();
    assert_eq!(libio.memory_blocks(), 0);
}

/// One ustar header and its records.
fn tar_entry(name: &str, kind: u8, link: &str, data: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[124..135].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
    header[156] = kind;
    header[157..157 + link.len()].copy_from_slice(link.as_bytes());
    header[257..262].copy_from_slice(b"ustar");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header.extend(data);
    header.resize(header.len().next_multiple_of(512), 0);
    header
}

#[test]
fn a_tar_image_is_copied_only_when_it_is_written() {
    let image = [
        tar_entry("etc/", b'5', "", b""),
        tar_entry("etc/motd", b'0', "", &[b'm'; 1000]),
        tar_entry("link", b'2', "etc/motd", b""),
        vec![0; 1024],
    ];
    let cache = Bdbuf::new(Sim::new(SimConfig::default()), BdbufConfig::default()).unwrap();
    let mut imfs = Imfs::new(ImfsOptions::default());
    imfs.load_tar(&cache, image.concat().into()).unwrap();
    let mut libio = Libio::new(cache, Box::new(imfs), 4);
    let mut buffer = [0; 2000];
    let fd = libio.open(b"/link", OpenFlags::READ, 0).unwrap();
    assert_eq!(libio.read(fd, &mut buffer), Ok(1000));
    libio.close(fd).unwrap();
    assert_eq!(libio.memory_blocks(), 0);
    let fd = libio.open(b"/etc/motd", OpenFlags::READ_WRITE, 0).unwrap();
    assert_eq!(libio.memory_blocks(), 9, "8 blocks of 128 B and a table");
    assert_eq!(libio.write(fd, b"changed"), Ok(7));
    libio.close(fd).unwrap();
    let fd = libio.open(b"/link", OpenFlags::READ, 0).unwrap();
    assert_eq!(libio.read(fd, &mut buffer), Ok(1000));
    assert_eq!(&buffer[..9], b"changedmm");
    libio.close(fd).unwrap();
}
