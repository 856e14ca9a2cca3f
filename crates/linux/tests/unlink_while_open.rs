//! An inode lives as long as a name or an open descriptor holds it.

use crate::support;

use ffslab_fs::Errno;
use ffslab_linux::{Calls, OpenFlags};
use support::empty;

const CREATE: OpenFlags = OpenFlags { create: true, ..OpenFlags::READ_WRITE };

#[test]
fn unlink_of_a_closed_file_evicts_it_at_once() {
    let (mut vfs, log) = empty();
    let fd = vfs.open(b"f", CREATE, 0o644).unwrap();
    vfs.write(fd, &[1; 5000]).unwrap();
    vfs.close(fd).unwrap();
    vfs.unlink(b"f").unwrap();
    assert_eq!(log.borrow().evicted, [2]);
    assert_eq!(vfs.stat(b"f"), Err(Errno::NoEnt.into()));
}

#[test]
fn an_open_file_keeps_its_data_until_it_is_closed() {
    let (mut vfs, log) = empty();
    let fd = vfs.open(b"f", CREATE, 0o644).unwrap();
    vfs.write(fd, b"hello").unwrap();
    vfs.unlink(b"f").unwrap();
    assert!(log.borrow().evicted.is_empty());
    vfs.drop_caches().unwrap();
    let mut buffer = [0; 10];
    assert_eq!(vfs.pread(fd, &mut buffer, 0), Ok(5));
    assert_eq!(vfs.fstat(fd).unwrap().links, 0);
    let again = vfs.open(b"f", CREATE, 0o644).unwrap();
    assert_eq!(vfs.fstat(again).unwrap().size_bytes, 0, "a new file of the same name");
    vfs.close(fd).unwrap();
    assert_eq!(log.borrow().evicted, [2]);
    assert_eq!(vfs.stat(b"f").unwrap().ino, 3);
}

#[test]
fn a_second_descriptor_and_a_second_name_count_too() {
    let (mut vfs, log) = empty();
    let first = vfs.open(b"a", CREATE, 0o644).unwrap();
    vfs.link(b"a", b"b").unwrap();
    let second = vfs.open(b"b", OpenFlags::READ, 0).unwrap();
    vfs.unlink(b"a").unwrap();
    vfs.close(first).unwrap();
    assert!(log.borrow().evicted.is_empty());
    vfs.unlink(b"b").unwrap();
    assert!(log.borrow().evicted.is_empty());
    vfs.close(second).unwrap();
    assert_eq!(log.borrow().evicted, [2]);
}

#[test]
fn a_file_opened_by_another_name_survives_the_removal_of_all_names() {
    let (mut vfs, log) = empty();
    let fd = vfs.open(b"a", CREATE, 0o644).unwrap();
    vfs.link(b"a", b"b").unwrap();
    vfs.unlink(b"a").unwrap();
    vfs.unlink(b"b").unwrap();
    assert!(log.borrow().evicted.is_empty());
    vfs.close(fd).unwrap();
    assert_eq!(log.borrow().evicted, [2]);
}

#[test]
fn rename_over_an_open_file() {
    let (mut vfs, log) = empty();
    let old = vfs.open(b"target", CREATE, 0o644).unwrap();
    vfs.write(old, b"old").unwrap();
    let new = vfs.open(b"source", CREATE, 0o644).unwrap();
    vfs.write(new, b"new").unwrap();
    vfs.rename(b"source", b"target").unwrap();
    let mut buffer = [0; 3];
    vfs.pread(old, &mut buffer, 0).unwrap();
    assert_eq!(&buffer, b"old");
    assert!(log.borrow().evicted.is_empty());
    vfs.close(old).unwrap();
    assert_eq!(log.borrow().evicted, [2]);
    assert_eq!(vfs.stat(b"target").unwrap().ino, 3);
    assert_eq!(vfs.stat(b"source"), Err(Errno::NoEnt.into()));
}

#[test]
fn rename_over_a_closed_file_evicts_it() {
    let (mut vfs, log) = empty();
    for name in [&b"target"[..], b"source"] {
        let fd = vfs.open(name, CREATE, 0o644).unwrap();
        vfs.close(fd).unwrap();
    }
    vfs.rename(b"source", b"target").unwrap();
    assert_eq!(log.borrow().evicted, [2]);
}

#[test]
fn a_removed_directory_that_is_open() {
    let (mut vfs, log) = empty();
    vfs.mkdir(b"d", 0o755).unwrap();
    let fd = vfs.open(b"d", OpenFlags { directory: true, ..OpenFlags::READ }, 0).unwrap();
    vfs.rmdir(b"d").unwrap();
    assert!(log.borrow().evicted.is_empty());
    assert_eq!(vfs.readdir(fd), Err(Errno::NoEnt.into()));
    vfs.mkdir(b"d", 0o755).unwrap();
    vfs.close(fd).unwrap();
    assert_eq!(log.borrow().evicted, [2]);
    assert_eq!(vfs.readdir_path(b"d"), Ok(vec![]));
}

#[test]
fn pages_of_an_evicted_inode_do_not_reappear() {
    let (mut vfs, _) = empty();
    let fd = vfs.open(b"f", CREATE, 0o644).unwrap();
    vfs.write(fd, &[7; 4096]).unwrap();
    vfs.close(fd).unwrap();
    vfs.unlink(b"f").unwrap();
    let fd = vfs.open(b"g", CREATE, 0o644).unwrap();
    vfs.ftruncate(fd, 4096).unwrap();
    let mut buffer = [1; 4096];
    vfs.pread(fd, &mut buffer, 0).unwrap();
    assert_eq!(buffer, [0; 4096]);
}
