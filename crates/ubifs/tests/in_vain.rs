//! What a call reads that is refused in the end.

use crate::support;

use ffslab_flash::Geometry;
use ffslab_fs::{Errno, XattrMode};
use ffslab_linux::{Calls, OpenFlags};
use ffslab_ubifs::Options;
use support::{Bench, Files};

const GEOMETRY: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 64 };

fn bench() -> Bench {
    let mut bench = Bench::new(GEOMETRY, 4 << 20, Options::default());
    bench.mount().unwrap();
    bench
}

/// Lets the driver, which keeps the last page that it read, read another one.
fn read_another_page(bench: &mut Bench) {
    let other = bench.vfs.open(b"other", OpenFlags { create: true, ..OpenFlags::READ_WRITE }, 0o644).unwrap();
    bench.vfs.pwrite(other, &[9; 4096], 0).unwrap();
    bench.vfs.fsync(other).unwrap();
    bench.vfs.drop_pages().unwrap();
    bench.vfs.pread(other, &mut [0; 1], 0).unwrap();
    bench.vfs.close(other).unwrap();
}

/// Page reads of `call`.
fn reads<R>(bench: &mut Bench, call: impl FnOnce(&mut Bench) -> R) -> (R, u64) {
    let before = bench.sim.total().page_reads;
    let result = call(bench);
    let after = bench.sim.total().page_reads;
    (result, after - before)
}

/// `check_dir_empty` comes first. The name was made in this mount and never read, so whoever looked for it would read it.
#[test]
fn a_directory_that_is_not_empty_costs_the_read_of_its_first_entry() {
    let mut bench = bench();
    for directory in ["d", "e"] {
        bench.vfs.mkdir(directory.as_bytes(), 0o755).unwrap();
        let fd = bench.open_new(&format!("{directory}/f"));
        bench.vfs.close(fd).unwrap();
    }
    bench.vfs.mkdir(b"g", 0o755).unwrap();
    bench.vfs.sync().unwrap();
    read_another_page(&mut bench);
    let rmdir = reads(&mut bench, |bench| bench.vfs.rmdir(b"d").map_err(Errno::from));
    assert_eq!(rmdir, (Err(Errno::NotEmpty), 1));
    read_another_page(&mut bench);
    let rename = reads(&mut bench, |bench| bench.vfs.rename(b"g", b"e").map_err(Errno::from));
    assert_eq!(rename, (Err(Errno::NotEmpty), 1));
}

/// `ubifs_xattr_set` looks for the entry, and reads the inode only to change it.
#[test]
fn an_attribute_that_exists_already_is_not_read_to_refuse_a_new_one() {
    let mut bench = bench();
    let fd = bench.open_new("f");
    bench.vfs.close(fd).unwrap();
    bench.vfs.setxattr(b"f", b"user.one", &[7; 100], XattrMode::Any).unwrap();
    bench.vfs.umount().unwrap();
    bench.mount().unwrap();
    bench.vfs.stat(b"f").unwrap();
    let set =
        |mode| move |bench: &mut Bench| bench.vfs.setxattr(b"f", b"user.one", &[8; 100], mode).map_err(Errno::from);
    read_another_page(&mut bench);
    let (refused, entry) = reads(&mut bench, set(XattrMode::Create));
    read_another_page(&mut bench);
    let (changed, inode) = reads(&mut bench, set(XattrMode::Replace));
    assert_eq!((refused, changed), (Err(Errno::Exist), Ok(())));
    assert!(entry > 0 && inode > 0, "the entry costs {entry} reads, the inode {inode}");
}

/// `ubifs_write_begin` reads the page before it asks whether there is room, and leaves it in the cache.
#[test]
fn a_page_is_read_although_there_is_no_room_for_its_change() {
    let mut bench = bench();
    let fd = bench.open_new("f");
    bench.vfs.pwrite(fd, &[7; 8192], 0).unwrap();
    bench.vfs.fsync(fd).unwrap();
    let full = bench.open_new("full");
    while bench.vfs.write(full, &[8; 4096]).is_ok_and(|bytes| bytes == 4096) {}
    bench.vfs.fsync(full).unwrap();
    while bench.vfs.write(full, &[8; 4096]).is_ok_and(|bytes| bytes == 4096) {}
    bench.vfs.drop_pages().unwrap();
    let (written, _) = reads(&mut bench, |bench| bench.vfs.pwrite(fd, b"x", 10).map_err(Errno::from));
    assert_eq!(written, Err(Errno::NoSpc));
    let mut page = [0; 4096];
    let (read, page_reads) = reads(&mut bench, |bench| bench.vfs.pread(fd, &mut page, 0).map_err(Errno::from));
    assert_eq!((read, page_reads, page), (Ok(4096), 0, [7; 4096]));
    let second = reads(&mut bench, |bench| bench.vfs.pread(fd, &mut page, 4096).map_err(Errno::from));
    assert!(second.1 > 0, "the page beside it is not in the cache");
}

/// The kernel knows the inode of a name from its cache of names, and reads the entry where it takes it away: after it has written
/// the new one. If that write has emptied the buffer in which the old entry was, it is read from the flash.
#[test]
fn a_name_whose_entry_leaves_the_buffer_meanwhile_is_read_to_be_removed() {
    let mut left = 0;
    for files in 1..12 {
        let mut bench = bench();
        for file in 0..files {
            let fd = bench.open_new(&format!("f{file}"));
            bench.vfs.close(fd).unwrap();
        }
        let before = bench.sim.total();
        bench.vfs.rename(format!("f{}", files - 1).as_bytes(), b"g").unwrap();
        let after = bench.sim.total();
        let has_left = after.page_programs > before.page_programs;
        if has_left {
            assert_eq!(after.page_reads - before.page_reads, 1, "{files} files");
            left += 1;
        }
    }
    assert!(left > 0);
}
