//! Calls by node and name: what a program above that walks paths itself can rely on.

use crate::support;

use ffslab_fs::{Errno, FileKind, NewNode, RenameFlags};
use ffslab_linux::{Caller, Calls, NodeChange, OpenFlags};
use support::empty;

const ROOT: u64 = 1;
const USER: Caller = Caller { uid: 7, gid: 8 };
const READ_WRITE: OpenFlags = OpenFlags::READ_WRITE;

#[test]
fn a_look_up_costs_nothing_and_reaches_the_file_system_once() {
    let (mut vfs, log) = empty();
    let (fd, made) = vfs.create_below(ROOT, b"f", READ_WRITE, 0o600, USER).unwrap();
    vfs.close(fd).unwrap();
    log.borrow_mut().lookups.clear();
    let before_ns = vfs.sim().now_ns();
    let found = vfs.look_up_node(ROOT, b"f").unwrap();
    assert_eq!((found.id, found.stat.uid, found.stat.gid, found.stat.permissions), (made.id, 7, 8, 0o600));
    assert_eq!(vfs.look_up_node(ROOT, b"g"), Err(Errno::NoEnt));
    assert_eq!(vfs.look_up_node(ROOT, b"g"), Err(Errno::NoEnt));
    assert_eq!(log.borrow().lookups, ["g"]);
    assert_eq!(vfs.sim().now_ns(), before_ns);
}

#[test]
fn an_unlinked_file_lives_until_it_is_released_and_is_deleted_at_once_otherwise() {
    let (mut vfs, log) = empty();
    let (fd, node) = vfs.create_below(ROOT, b"f", READ_WRITE, 0o644, USER).unwrap();
    vfs.pwrite(fd, b"still here", 0).unwrap();
    vfs.unlink_below(ROOT, b"f").unwrap();
    assert_eq!(vfs.stat_node(node.id).map(|stat| stat.links), Ok(0));
    vfs.flush(fd).unwrap();
    let mut buffer = [0; 10];
    assert_eq!(vfs.pread(fd, &mut buffer, 0), Ok(10));
    assert!(log.borrow().evicted.is_empty());
    vfs.release(fd).unwrap();
    assert_eq!(log.borrow().evicted, [node.stat.ino]);
    assert_eq!(vfs.stat_node(node.id), Err(Errno::NoEnt));

    let (fd, node) = vfs.create_below(ROOT, b"g", READ_WRITE, 0o644, USER).unwrap();
    vfs.close(fd).unwrap();
    vfs.unlink_below(ROOT, b"g").unwrap();
    assert!(log.borrow().evicted.contains(&node.stat.ino), "to be remembered keeps nothing alive");
    assert_eq!(vfs.open_node(node.id, READ_WRITE), Err(Errno::NoEnt));
}

#[test]
fn a_node_is_opened_by_the_name_that_is_left() {
    let (mut vfs, _) = empty();
    let (fd, node) = vfs.create_below(ROOT, b"one", READ_WRITE, 0o644, USER).unwrap();
    vfs.close(fd).unwrap();
    let linked = vfs.link_below(node.id, ROOT, b"two").unwrap();
    assert_eq!((linked.id, linked.stat.links), (node.id, 2));
    vfs.unlink_below(ROOT, b"two").unwrap();
    assert_eq!(vfs.look_up_node(ROOT, b"one").map(|found| found.id), Ok(node.id));
    let fd = vfs.open_node(node.id, READ_WRITE).unwrap();
    assert_eq!(vfs.node_path(node.id), b"one");
    vfs.close(fd).unwrap();
}

#[test]
fn names_move_between_directories_and_removed_directories_hold_nothing() {
    let (mut vfs, _) = empty();
    let directory = || NewNode::of(FileKind::Directory);
    let a = vfs.make_below(ROOT, b"a", directory(), USER).unwrap().id;
    let b = vfs.make_below(ROOT, b"b", directory(), USER).unwrap().id;
    let inner = vfs.make_below(a, b"d", directory(), USER).unwrap().id;
    vfs.rename_below((a, b"d"), (b, b"e"), RenameFlags::NONE).unwrap();
    assert_eq!(vfs.node_path(inner), b"b/e");
    assert_eq!(vfs.rename_below((ROOT, b"b"), (inner, b"x"), RenameFlags::NONE), Err(Errno::Inval));
    assert_eq!(vfs.rmdir_below(ROOT, b"b"), Err(Errno::NotEmpty));
    vfs.rmdir_below(ROOT, b"a").unwrap();
    assert_eq!(vfs.look_up_node(a, b"d"), Err(Errno::NoEnt));
    assert!(vfs.create_below(a, b"f", READ_WRITE, 0o644, USER).is_err());
}

#[test]
fn a_directory_with_the_set_group_id_bit_hands_its_group_on() {
    let (mut vfs, _) = empty();
    let node = NewNode { permissions: 0o2775, ..NewNode::of(FileKind::Directory) };
    let shared = vfs.make_below(ROOT, b"shared", node, Caller { uid: 1, gid: 99 }).unwrap().id;
    let (_, file) = vfs.create_below(shared, b"f", READ_WRITE, 0o644, USER).unwrap();
    assert_eq!((file.stat.uid, file.stat.gid, file.stat.permissions), (7, 99, 0o644));
    let inner = vfs.make_below(shared, b"d", NewNode::of(FileKind::Directory), USER).unwrap();
    assert_eq!((inner.stat.gid, inner.stat.permissions), (99, 0o2755));
}

#[test]
fn several_attributes_change_in_one_call() {
    let (mut vfs, _) = empty();
    let (_, node) = vfs.create_below(ROOT, b"f", READ_WRITE, 0o644, USER).unwrap();
    let change = NodeChange { size_bytes: Some(5000), permissions: Some(0o600), ..NodeChange::default() };
    let stat = vfs.change_node(node.id, &change).unwrap();
    assert_eq!((stat.size_bytes, stat.permissions), (5000, 0o600));
}
