//! # erofs: the compressed file system of Android, which is never written
//!
//! **Role.** A root that is read-only: an image that `mkfs.erofs` made, on a block device on raw flash ([`ffslab_rawblock::RawBlock`]).
//! [`Erofs`] reads the flash where Linux does. What stands in an image is here, too, for who only looks into one.
//!
//! **Follows.** `fs/erofs` of Linux 5.10, 6.1 and 6.12 of Debian: `super.c`, `inode.c`, `namei.c`, `dir.c`, `data.c`, `zmap.c`, `zdata.c`,
//! `decompressor.c`, and `erofs_fs.h` for what stands in an image; `fs/iomap/buffered-io.c` for files that are not compressed.
//!
//! **Leaves out.** The compressor lzma, blocks that are no pages of 4 KiB, images on several devices: they are refused. Extended
//! attributes, of which a program is told that there are none. That decompression of what is read ahead is put off to a worker.

mod clusters;
mod content;
mod expand;
mod extents;
mod files;
mod fs;
mod image;
pub mod inode;
mod metadata;
mod names;
mod superblock;
mod windows;

pub use extents::{map, Extent, Index, Stored};
pub use fs::Erofs;
pub use image::{content, Content};
pub use metadata::Metadata;
pub use names::{names, Name};
pub use superblock::{Superblock, BLOCK_BYTES, MAGIC, SUPERBLOCK_AT};
pub use windows::Windows;
