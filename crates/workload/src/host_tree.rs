//! A folder of the computer that runs the simulation, read into memory, to be copied into a simulated file system.
//!
//! Order and content do not depend on the machine: names are sorted as bytes, and of the attributes only the permission
//! bits are kept, as `cp -R` keeps them.

use ffslab_text::input::{self, InputKind};
use ffslab_text::words::io_reason;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// With more entries than this nothing is copied: no chip holds them, and probably the wrong folder was named.
const FILES_MAX: usize = 200_000;

/// Why a folder cannot be copied. One line that names the file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostTreeError {
    #[error("{}: cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{}: is neither a file, a folder nor a symbolic link", path.display())]
    OtherKind { path: PathBuf },
    #[error("{}: {why}", folder.display())]
    TooMuch { folder: PathBuf, why: Beyond },
}

/// A limit that a folder exceeds.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Beyond {
    #[error("there are more than {most} files and folders to copy: is it the right folder?")]
    Files { most: usize },
    #[error("the files to copy have more than {most_mib} MiB together, which is the limit")]
    Bytes { most_mib: u64 },
}

/// How many entries and bytes may still be read.
struct Room {
    files: usize,
    bytes: u64,
}

impl Room {
    fn take(&mut self, node: &HostNode) -> Result<(), Beyond> {
        let bytes = if let HostNode::File(data) = node { data.len() as u64 } else { 0 };
        self.files = self.files.checked_sub(1).ok_or(Beyond::Files { most: FILES_MAX })?;
        self.bytes =
            self.bytes.checked_sub(bytes).ok_or(Beyond::Bytes { most_mib: InputKind::Copied.bytes_max() >> 20 })?;
        Ok(())
    }
}

/// What stands under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostNode {
    Directory,
    File(Vec<u8>),
    /// With its target.
    Symlink(Vec<u8>),
}

/// An entry below the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEntry {
    /// Relative to the folder, names separated by '/'.
    pub path: Vec<u8>,
    /// Bits 07777.
    pub permissions: u32,
    pub node: HostNode,
}

/// Everything below a folder, directories before what they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTree {
    pub entries: Vec<HostEntry>,
}

impl HostTree {
    /// Reads a folder.
    ///
    /// Errors: one line that names the file: it cannot be read, or is neither file, folder nor symbolic link.
    pub fn read(folder: &Path) -> Result<HostTree, HostTreeError> {
        let mut tree = HostTree::default();
        tree.add(folder, b"", &mut Room { files: FILES_MAX, bytes: InputKind::Copied.bytes_max() })?;
        Ok(tree)
    }

    fn add(&mut self, folder: &Path, prefix: &[u8], room: &mut Room) -> Result<(), HostTreeError> {
        let at = |path: &Path, error: io::Error| HostTreeError::Unreadable {
            path: path.to_path_buf(),
            why: io_reason(&error),
        };
        let listed: Result<Vec<PathBuf>, io::Error> =
            fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
        let mut paths = listed.map_err(|error| at(folder, error))?;
        paths.sort_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
        for path in paths {
            let metadata = fs::symlink_metadata(&path).map_err(|error| at(&path, error))?;
            let kind = metadata.file_type();
            let node = if kind.is_dir() {
                HostNode::Directory
            } else if kind.is_file() {
                HostNode::File(input::read(&path, InputKind::Copied).map_err(|error| at(&path, error))?)
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).map_err(|error| at(&path, error))?;
                HostNode::Symlink(target.as_os_str().as_bytes().to_vec())
            } else {
                return Err(HostTreeError::OtherKind { path });
            };
            room.take(&node).map_err(|why| HostTreeError::TooMuch { folder: folder.to_path_buf(), why })?;
            let mut name = prefix.to_vec();
            name.extend_from_slice(path.file_name().unwrap_or_default().as_bytes());
            let below = (node == HostNode::Directory).then(|| [&name[..], b"/"].concat());
            let permissions = metadata.permissions().mode() & 0o7777;
            self.entries.push(HostEntry { path: name, permissions, node });
            if let Some(prefix) = below {
                self.add(&path, &prefix, room)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_and_directories_come_first() {
        let root = std::env::temp_dir().join(format!("ffslab-host-tree-{}", std::process::id()));
        fs::create_dir_all(root.join("b/deep")).unwrap();
        fs::write(root.join("b/deep/x"), "inside").unwrap();
        fs::write(root.join("a"), "first").unwrap();
        std::os::unix::fs::symlink("a", root.join("c")).unwrap();
        let tree = HostTree::read(&root);
        fs::remove_dir_all(&root).unwrap();
        let tree = tree.unwrap();
        let names: Vec<&[u8]> = tree.entries.iter().map(|entry| &entry.path[..]).collect();
        assert_eq!(names, [&b"a"[..], b"b", b"b/deep", b"b/deep/x", b"c"]);
        assert_eq!(tree.entries[0].node, HostNode::File(b"first".to_vec()));
        assert_eq!(tree.entries[4].node, HostNode::Symlink(b"a".to_vec()));
    }

    #[test]
    fn a_folder_that_is_missing_is_named() {
        let error = HostTree::read(Path::new("/nowhere/at all")).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/at all: cannot be read"), "{error}");
    }
}
