//! # linux: system calls, directory entry cache, page cache, read-ahead
//!
//! **Role.** The virtual file system of Linux over one mounted [`ffslab_fs::FileSystem`]. Programs (workloads, the
//! conformance kit, FUSE) call [`Vfs`]; what reaches the file system below is what a real kernel would have asked of
//! it: which names are looked up, which pages are read, in which order, and when other tasks get the CPU.
//!
//! **Follows.** Linux 6.1: `fs/namei.c` (path walk), `fs/dcache.c` and `fs/inode.c` (life of names and inodes), `fs/xattr.c`,
//! `fs/drop_caches.c`, `mm/filemap.c` (buffered read and write), `mm/readahead.c`, `mm/fadvise.c`, `mm/memory.c` and `mm/msync.c` (shared maps of files); for file systems that
//! delay writes `fs/fs-writeback.c`, `fs/sync.c`, `mm/page-writeback.c`. For the board of the papers the read side of
//! Linux 2.6.37: `do_generic_file_read` and the read-ahead of that time ([`ReadAheadRules`]); and its write-back
//! ([`WriteBackRules`]). What is read ahead and which file is written back first can be the
//! decision of a policy ([`PagePolicies`]).
//!
//! **Leaves out.** More than one process and more than one mount (`machine::mounts` puts several of these on one machine), permissions (everything runs as root, with umask 0), access times
//! (the flash file systems mount `noatime`), private maps and madvise(2), locks, the two-list replacement of `mm/vmscan.c` (the page
//! cache here is one LRU list).

mod attributes;
mod calls;
mod config;
mod dentries;
mod files;
mod flags;
mod maps;
mod memory;
pub mod namei;
mod names;
mod node_calls;
mod node_table;
mod nodes;
mod open_file;
mod page_cache;
mod read;
mod read_ahead;
mod shrink;
mod vfs;
mod walk;
mod window;
mod write;
mod write_back;
mod xattr;

pub use config::{
    DirtyLimits, Kernel, PagePolicies, ReadAheadRules, ShrinkRules, VfsConfig, VfsCosts, WriteBackKnobs, WriteBackRules,
};
pub use vfs::{DeviceTask, Vfs};

pub use ffslab_fs::{NameHash, Result, Unwritten};
pub use ffslab_system::{
    timed, Advice, Answer, Caller, Calls, Entry, Fd, MapAccess, NewTime, NodeChange, NodeEntry, NodeId, OpenFlags,
    Whence,
};
