//! # squashfs: the compressed file system that is never written
//!
//! **Role.** What most boards have as their root: an image that `mksquashfs` made, on a block device on raw flash
//! ([`ffslab_rawblock::RawBlock`]). [`Squashfs`] reads the flash where Linux does. What stands in an image is here, too, for who
//! only looks into one.
//!
//! **Follows.** `fs/squashfs` of Linux 5.10, 6.1 and 6.12 as Debian builds it (`SQUASHFS_FILE_DIRECT`, devices read in blocks of 1 KiB, three fragments
//! kept): `super.c`, `block.c`, `cache.c`, `inode.c`, `namei.c`, `dir.c`, `file.c`, `file_direct.c`, `fragment.c`, `id.c`, `export.c`,
//! `xattr_id.c`, `symlink.c`, and `squashfs_fs.h` for what stands in an image.
//!
//! **Leaves out.** Extended attributes: a program is told that there are none of them, though mounting and looking up read what the kernel reads of
//! their tables. Access through NFS. More than one CPU, whose decompressors work side by side.

mod blocks;
mod cache;
mod compressor;
mod content;
mod files;
mod fs;
pub mod inode;
mod meta_index;
mod names;
mod superblock;
mod windows;

pub use compressor::Compressor;
pub use ffslab_rawblock::{little_endian, Wrong};
pub use fs::Squashfs;
pub use superblock::{other_version, Superblock, MAGIC};
pub use windows::Windows;

/// Metadata stand in blocks of so many bytes, once they are expanded.
pub const METADATA_BYTES: usize = 8192;
/// In the head of a metadata block: it stands there as it is.
pub const IS_PLAIN: u16 = 0x8000;
/// Where the size of a block of data stands: it stands there as it is.
pub const IS_PLAIN_DATA: u32 = 1 << 24;
