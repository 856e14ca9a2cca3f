//! IMFS, the file system in memory that is RTEMS's root, and mini-IMFS, the same with less.
//!
//! Follows `cpukit/libfs/src/imfs` of RTEMS cf811a4eb2. A node stays as long as somebody refers to it; a directory keeps a
//! list of its children, new ones last, and is searched from the start.

mod fs;
mod memfile;
mod tar;

pub use memfile::{BlockSize, MemoryCounts};

use crate::bdbuf::{Bdbuf, DiskId};
use crate::libio::{Kind, S_IFBLK, S_IFDIR, S_IFLNK, S_IFMT, S_IFREG};
use ffslab_fs::Errno;
use memfile::Memfile;
use std::rc::Rc;

/// The longest name.
const NAME_MAX: usize = 255;
const LINKS_MAX: u32 = 8;

/// What an IMFS is built with.
#[derive(Clone, Debug, Default)]
pub struct ImfsOptions {
    /// `CONFIGURE_IMFS_MEMFILE_BYTES_PER_BLOCK`.
    pub block_size: BlockSize,
    /// mini-IMFS: no chmod, chown, utime, link, symlink, readlink, rename, unmount
    /// (`CONFIGURE_USE_MINIIMFS_AS_BASE_FILESYSTEM`).
    pub mini: bool,
    /// Number of memory blocks in the system; `None`: no limit.
    pub memory_blocks: Option<u64>,
}

enum Content {
    Directory {
        entries: Vec<u32>,
        mounted: Option<usize>,
    },
    Memory(Memfile),
    /// A file in a tar image: copied to memory when it is opened for writing.
    Linear {
        image: Rc<[u8]>,
        start: usize,
        bytes: usize,
    },
    Link(Vec<u8>),
    /// A further name of another node.
    HardLink(u32),
    Disk(DiskId),
}

struct Jnode {
    name: Vec<u8>,
    parent: u32,
    mode: u32,
    uid: u16,
    gid: u16,
    links: u32,
    /// Number of references: locations, names and hard links.
    references: u32,
    atime_s: u32,
    mtime_s: u32,
    ctime_s: u32,
    content: Content,
}

const ROOT: u32 = 0;

pub struct Imfs {
    nodes: Vec<Option<Jnode>>,
    options: ImfsOptions,
    counts: MemoryCounts,
}

impl Imfs {
    /// An empty root directory.
    pub fn new(options: ImfsOptions) -> Imfs {
        let content = Content::Directory { entries: Vec::new(), mounted: None };
        let root = Jnode {
            name: Vec::new(),
            parent: ROOT,
            mode: S_IFDIR | 0o755,
            uid: 0,
            gid: 0,
            links: 1,
            references: 1,
            atime_s: 0,
            mtime_s: 0,
            ctime_s: 0,
            content,
        };
        Imfs { nodes: vec![Some(root)], options, counts: MemoryCounts::default() }
    }

    /// Memory blocks and the work done on them.
    pub fn memory(&self) -> MemoryCounts {
        self.counts
    }

    pub fn block_size(&self) -> BlockSize {
        self.options.block_size
    }

    /// Memory of all blocks and tables, with what the allocator needs for each.
    pub fn heap_bytes(&self) -> u64 {
        self.counts.blocks * self.options.block_size.heap_bytes()
    }

    fn node(&self, node: u32) -> Result<&Jnode, Errno> {
        self.nodes.get(node as usize).and_then(Option::as_ref).ok_or(Errno::NxIo)
    }

    fn node_mut(&mut self, node: u32) -> Result<&mut Jnode, Errno> {
        self.nodes.get_mut(node as usize).and_then(Option::as_mut).ok_or(Errno::NxIo)
    }

    fn is_directory(&self, node: u32) -> bool {
        self.node(node).is_ok_and(|node| matches!(node.content, Content::Directory { .. }))
    }

    fn find(&self, directory: u32, name: &[u8]) -> Option<u32> {
        let Ok(Jnode { content: Content::Directory { entries, .. }, .. }) = self.node(directory) else { return None };
        entries.iter().copied().find(|&entry| self.node(entry).is_ok_and(|node| node.name == name))
    }

    /// `IMFS_create_node`.
    fn create(&mut self, now_s: u32, parent: u32, name: &[u8], mode: u32, content: Content) -> Result<u32, Errno> {
        if name.len() > NAME_MAX {
            return Err(Errno::NameTooLong);
        }
        let node = Jnode {
            name: name.to_vec(),
            parent,
            mode,
            uid: 0,
            gid: 0,
            links: 1,
            references: 1,
            atime_s: now_s,
            mtime_s: now_s,
            ctime_s: now_s,
            content,
        };
        let at = self.nodes.iter().position(Option::is_none).unwrap_or(self.nodes.len());
        match self.nodes.get_mut(at) {
            Some(free) => *free = Some(node),
            None => self.nodes.push(Some(node)),
        }
        self.add_to_directory(parent, at as u32)?;
        Ok(at as u32)
    }

    fn add_to_directory(&mut self, directory: u32, node: u32) -> Result<(), Errno> {
        match &mut self.node_mut(directory)?.content {
            Content::Directory { entries, .. } => entries.push(node),
            _ => return Err(Errno::NotDir),
        }
        self.node_mut(node)?.parent = directory;
        Ok(())
    }

    fn remove_from_directory(&mut self, node: u32) -> Result<(), Errno> {
        let parent = self.node(node)?.parent;
        if let Content::Directory { entries, .. } = &mut self.node_mut(parent)?.content {
            entries.retain(|&entry| entry != node);
        }
        Ok(())
    }

    /// Drops a reference to a node. With the last one the node is removed.
    fn drop_reference(&mut self, node: u32) {
        let Ok(jnode) = self.node_mut(node) else { return };
        jnode.references -= 1;
        if jnode.references > 0 {
            return;
        }
        if let Some(Jnode { content: Content::Memory(mut file), .. }) = self.nodes[node as usize].take() {
            file.free(self.options.block_size, &mut self.counts);
        }
    }

    /// Makes a block device reachable under a name in a directory, as `rtems_blkdev_create` does.
    pub fn add_device(&mut self, cache: &Bdbuf, directory: &[u8], name: &[u8], disk: DiskId) -> Result<(), Errno> {
        let directory = match self.find(ROOT, directory) {
            Some(directory) => directory,
            None => {
                let content = Content::Directory { entries: Vec::new(), mounted: None };
                self.create(cache.now_s(), ROOT, directory, S_IFDIR | 0o755, content)?
            }
        };
        if self.find(directory, name).is_some() {
            return Err(Errno::Exist);
        }
        self.create(cache.now_s(), directory, name, S_IFBLK | 0o777, Content::Disk(disk))?;
        Ok(())
    }

    fn kind(&self, node: u32) -> Result<Kind, Errno> {
        Ok(match &self.node(node)?.content {
            Content::Directory { .. } => Kind::Directory,
            Content::Memory(_) | Content::Linear { .. } => Kind::File,
            Content::Link(_) => Kind::Link,
            Content::HardLink(target) => return self.kind(*target),
            Content::Disk(_) => Kind::Device,
        })
    }
}

fn new_content(mode: u32) -> Result<Content, Errno> {
    match mode & S_IFMT {
        S_IFDIR => Ok(Content::Directory { entries: Vec::new(), mounted: None }),
        S_IFREG => Ok(Content::Memory(Memfile::default())),
        S_IFLNK => Err(Errno::Inval),
        // Device nodes by number and FIFOs need drivers that do not exist here.
        _ => Err(Errno::NotSup),
    }
}
