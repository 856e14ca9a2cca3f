//! From a path to an inode, through the layers (`fs/overlayfs/namei.c`, `ovl_lookup`).

use crate::inodes::{Inode, Known, Node};
use crate::marks::{is_whiteout, IMPURE, METACOPY, OPAQUE, ORIGIN, PROTECTED, REDIRECT};
use crate::{joined, Overlay};
use ffslab_fs::{Errno, FileKind, Ino, Result, Stat};
use ffslab_linux::namei::{self, Child, End, LastLink, Names};
use ffslab_system::Calls;
use std::cell::RefCell;
use std::rc::Rc;

/// The last name of a path.
pub(crate) struct Found {
    /// Without slashes around it; "" is the root.
    pub path: Vec<u8>,
    pub known: Known,
    /// The path ended in "/", "." or "..", so it names an existing directory, but no name that could be made or removed.
    pub is_special: bool,
    pub has_slash: bool,
}

impl Found {
    /// As an end of a rename.
    pub fn end(&self) -> End {
        let kind = self.known.node().map(|node| node.borrow().kind);
        End { kind, is_special: self.is_special, has_slash: self.has_slash }
    }

    /// The directory that has the name.
    pub fn directory(&self) -> &[u8] {
        above(&self.path)
    }
}

/// The path of the directory above.
pub(crate) fn above(path: &[u8]) -> &[u8] {
    path.iter().rposition(|&byte| byte == b'/').map_or(b"", |slash| &path[..slash])
}

/// The last name of a path.
pub(crate) fn last_name(path: &[u8]) -> &[u8] {
    path.iter().rposition(|&byte| byte == b'/').map_or(path, |slash| &path[slash + 1..])
}

impl Names for Overlay {
    /// A path without slashes around it.
    type Name = Vec<u8>;

    fn root(&self) -> Vec<u8> {
        Vec::new()
    }

    fn above(&self, directory: &Vec<u8>) -> Vec<u8> {
        above(directory).to_vec()
    }

    fn child(&mut self, directory: &Vec<u8>, name: &[u8]) -> Result<Child<Vec<u8>>> {
        let path = if directory.is_empty() { name.to_vec() } else { [directory, &b"/"[..], name].concat() };
        let is_new = self.names.get(&path).is_none();
        let kind = self.known(&path)?.node().map(|node| node.borrow().kind);
        Ok(Child { name: path, kind, is_new })
    }

    fn read_link(&mut self, link: &Vec<u8>) -> Result<Vec<u8>> {
        self.target_of(link)
    }
}

impl Overlay {
    pub(crate) fn walk(&mut self, path: &[u8], last_link: LastLink) -> Result<Found> {
        let namei::Found { child, is_special, has_slash } = namei::walk(self, path, last_link)?;
        Ok(Found { known: self.known(&child.name)?, path: child.name, is_special, has_slash })
    }

    /// A path whose target exists.
    pub(crate) fn existing(&mut self, path: &[u8], last_link: LastLink) -> Result<(Vec<u8>, Node)> {
        let found = self.walk(path, last_link)?;
        let node = found.known.node().cloned().ok_or(Errno::NoEnt)?;
        if found.has_slash && !node.borrow().is_directory() {
            return Err(Errno::NotDir);
        }
        Ok((found.path, node))
    }

    /// The inode of a path of which it is known that it exists.
    pub(crate) fn node(&mut self, path: &[u8]) -> Result<Node> {
        self.known(path)?.node().cloned().ok_or(Errno::NoEnt)
    }

    /// What is known of a name whose directory is there.
    pub(crate) fn known(&mut self, path: &[u8]) -> Result<Known> {
        if let Some(known) = self.names.get(path) {
            return Ok(known.clone());
        }
        if path.is_empty() {
            // The root is known from the mount on.
            return Err(Errno::NoDev);
        }
        let directory = self.node(above(path))?;
        if last_name(path).len() > self.name_bytes_max() {
            return Err(Errno::NameTooLong);
        }
        let known = self.look_up(&directory, path)?;
        self.names.set(path, known.clone());
        Ok(known)
    }

    pub(crate) fn name_bytes_max(&self) -> usize {
        let of = |layer: &crate::Layer| layer.with(|vfs| vfs.fs().map_or(0, |fs| fs.name_bytes_max()));
        std::iter::once(&self.upper).chain(&self.lowers).map(of).max().unwrap_or(0)
    }

    /// Asks the layers, the upper one first.
    fn look_up(&mut self, directory: &Node, path: &[u8]) -> Result<Known> {
        let (in_upper, below) = {
            let directory = directory.borrow();
            (directory.is_upper, directory.lowers.clone())
        };
        let mut upper = None;
        if in_upper {
            match self.above(|vfs| found(vfs, &joined(&[&self.upper.directory, path])))? {
                Some(stat) if is_whiteout(&stat) => return Ok(Known::Not { by_whiteout: true }),
                found => upper = found,
            }
        }
        let kind = upper.as_ref().map_or(FileKind::File, |stat| stat.kind);
        let mut inode = Inode { is_upper: upper.is_some(), ..Inode::new(path, kind) };
        if inode.is_upper {
            self.read_marks_of_upper(path, &mut inode);
            if inode.is_opaque || !inode.is_directory() {
                return Ok(Known::Is(self.complete(inode, None)));
            }
        }
        let mut lowest = None;
        for (&layer, is_last) in below.iter().zip((1..).map(|number| number == below.len())) {
            let below = &self.lowers[layer];
            let Some(stat) = below.with(|vfs| found(vfs, &below.path(path)))? else { continue };
            let is_first = inode.lowers.is_empty() && !inode.is_upper;
            if is_whiteout(&stat) {
                if is_first {
                    return Ok(Known::Not { by_whiteout: true });
                }
                break;
            }
            if stat.kind != FileKind::Directory {
                if is_first {
                    if stat.kind == FileKind::File {
                        // The kernel asks each file for it, whatever its layer.
                        self.lower_mark(layer, path, METACOPY);
                    }
                    inode.kind = stat.kind;
                    inode.lowers.push(layer);
                    lowest = Some(stat);
                }
                break;
            }
            inode.kind = FileKind::Directory;
            inode.lowers.push(layer);
            lowest = lowest.or(Some(stat));
            let hides = |name: &[u8]| below.with(|vfs| vfs.lgetxattr(&below.path(path), name)).is_ok_and(|v| v == b"y");
            if !is_last && hides(OPAQUE) {
                break;
            }
        }
        if inode.is_upper && !inode.lowers.is_empty() {
            self.complete_origin(directory, path, inode.lowers[0])?;
        }
        if !inode.is_upper && inode.lowers.is_empty() {
            return Ok(Known::Not { by_whiteout: false });
        }
        Ok(Known::Is(self.complete(inode, lowest)))
    }

    /// What the extended attributes of an upper inode say, asked for in the kernel's order (`ovl_lookup_single`, `ovl_check_origin`).
    fn read_marks_of_upper(&self, path: &[u8], inode: &mut Inode) {
        if inode.is_directory() {
            inode.is_opaque = self.upper_mark(path, OPAQUE).is_some_and(|value| value == b"y");
            if !inode.is_opaque {
                self.upper_mark(path, REDIRECT);
            }
        } else {
            if inode.kind == FileKind::File {
                self.upper_mark(path, METACOPY);
            }
            self.upper_mark(path, ORIGIN);
        }
    }

    /// What `ovl_get_inode` finds out of an inode that comes into memory.
    fn complete(&mut self, mut inode: Inode, lower: Option<Stat>) -> Node {
        let path = inode.path.clone();
        if inode.is_upper {
            self.upper_mark(&path, PROTECTED);
        }
        if inode.is_directory() {
            inode.is_impure = inode.is_upper && self.upper_mark(&path, IMPURE).is_some_and(|value| value == b"y");
            let is_merged = usize::from(inode.is_upper) + inode.lowers.len() > 1;
            inode.may_have_whiteouts = is_merged
                || match inode.lowers.first() {
                    Some(&layer) => self.lower_mark(layer, &path, ORIGIN).is_some(),
                    None => self.upper_mark(&path, ORIGIN).is_some(),
                };
            inode.number = Some(self.directory_number(&path, lower.as_ref()));
        } else if let Some(stat) = lower {
            // A hard link of the lower file system ends when one of its names is copied up.
            inode.number = (stat.links == 1).then_some(stat.ino);
        }
        Rc::new(RefCell::new(inode))
    }

    /// Directories of several mounts have numbers of their own; those of one mount have that of the lower one.
    fn directory_number(&mut self, path: &[u8], lower: Option<&Stat>) -> Ino {
        if self.is_one_mount {
            let upper = || self.above(|vfs| vfs.lstat(&self.upper_path(path))).map_or(0, |stat| stat.ino);
            return lower.map_or_else(upper, |stat| stat.ino);
        }
        self.next_number()
    }

    pub(crate) fn next_number(&mut self) -> Ino {
        let Some(state) = &mut self.state else { return 0 };
        state.last_ino += 1;
        state.last_ino
    }

    /// An inode that was made just now, in the upper layer.
    pub(crate) fn made(&mut self, path: &[u8], kind: FileKind, is_opaque: bool) -> Node {
        let number = (kind == FileKind::Directory).then(|| self.directory_number(path, None));
        let inode = Inode { is_upper: true, is_opaque, number, ..Inode::new(path, kind) };
        let node = Rc::new(RefCell::new(inode));
        self.names.set(path, Known::Is(node.clone()));
        node
    }

    /// The target of a symbolic link.
    pub(crate) fn target_of(&mut self, path: &[u8]) -> Result<Vec<u8>> {
        let node = self.node(path)?;
        let (layer, path) = self.real(&node.borrow(), path);
        Ok(layer.with(|vfs| vfs.readlink(&path))?)
    }

    /// The layer whose inode it is (`ovl_path_real`), and the path there.
    pub(crate) fn real(&self, inode: &Inode, path: &[u8]) -> (&crate::Layer, Vec<u8>) {
        let layer = match inode.lowers.first() {
            Some(&layer) if !inode.is_upper => &self.lowers[layer],
            _ => &self.upper,
        };
        (layer, layer.path(path))
    }
}

/// The inode of a name on one layer, if there is one.
pub(crate) fn found(vfs: &mut ffslab_linux::Vfs, path: &[u8]) -> Result<Option<Stat>> {
    match vfs.lstat(path) {
        Ok(stat) => Ok(Some(stat)),
        Err(refusal) => match refusal.errno() {
            Errno::NoEnt | Errno::NameTooLong => Ok(None),
            errno => Err(errno),
        },
    }
}
