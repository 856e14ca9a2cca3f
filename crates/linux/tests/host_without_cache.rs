//! A file system that delays writes below a host without a page cache.

use crate::support;

use ffslab_fs::{FileKind, FileSystem, Host, InodeDirt, NewNode, NoPageCache};
use ffslab_sim::{Sim, SimConfig};
use support::MemFs;

#[test]
fn what_an_operation_left_dirty_is_written_after_it() {
    let mut fs = MemFs::delaying(&Sim::new(SimConfig::default()));
    let log = fs.log.clone();
    let mut host = NoPageCache::default();
    let ino = fs.create(&mut host, 1, b"f", &NewNode::of(FileKind::File)).unwrap();
    host.set_page(ino, 2, &[7; 4096]);
    fs.write_begin(&mut host, ino, 8192, 4096, true).unwrap();
    fs.write_end(&mut host, ino, 8192, 4096).unwrap();
    assert!(log.borrow().written.is_empty() && host.is_page_dirty(ino, 2));
    assert_eq!(host.inode_dirt(ino), Some(InodeDirt::Data));
    host.write_through(&mut fs).unwrap();
    assert_eq!(log.borrow_mut().take_written(), [(ino, Some(2)), (ino, None)]);
    assert!(!host.is_page_dirty(ino, 2) && host.inode_dirt(ino).is_none());
    host.write_through(&mut fs).unwrap();
    assert!(log.borrow().written.is_empty());
}

#[test]
fn cutting_the_page_off_drops_it() {
    let mut host = NoPageCache::default();
    host.set_page(5, 2, &[7; 4096]);
    host.dirty_page(5, 2);
    let mut dropped = Vec::new();
    host.truncate_pages(5, 2 * 4096 + 1, &mut |index| dropped.push(index));
    assert_eq!((host.page(5, 2).unwrap()[..2].to_vec(), dropped.len()), (vec![7, 0], 0));
    host.truncate_pages(5, 8192, &mut |index| dropped.push(index));
    assert_eq!((host.page(5, 2), dropped), (None, vec![2]));
    assert!(!host.is_page_dirty(5, 2));
}
