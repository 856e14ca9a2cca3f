//! The files that a system shows.

use ffslab_fs::FileKind;
use ffslab_system::{OpenFlags, System};
use std::collections::BTreeMap;

/// What stands under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOrSo {
    Directory,
    File(Vec<u8>),
    Symlink(Vec<u8>),
    Other,
    /// It is there and cannot be read: the error's name.
    Unreadable(&'static str),
}

/// Everything below the root, by path ("/a/b"), without the root.
pub type Tree = BTreeMap<Vec<u8>, FileOrSo>;

/// Bytes that one call asks for.
const READ_BYTES: usize = 64 << 10;
/// Deeper directories are a circle.
const DEPTH_MAX: usize = 64;

/// Reads all files.
///
/// Errors: a directory that cannot be read, in a line.
pub fn read(system: &mut dyn System) -> Result<Tree, String> {
    let mut tree = Tree::new();
    if system.has_keys() {
        keys(system, &mut tree)?;
        return Ok(tree);
    }
    directory(system, b"/", &mut tree, 0)?;
    Ok(tree)
}

/// The keys of a store, each as a file in the root.
fn keys(system: &mut dyn System, tree: &mut Tree) -> Result<(), String> {
    let entries = system.list_values().map_err(|error| format!("the keys cannot be listed: {error}"))?;
    for entry in entries {
        let found = match system.get_value(&entry.key) {
            Ok(value) => FileOrSo::File(value),
            Err(error) => FileOrSo::Unreadable(error.name()),
        };
        tree.insert([b"/", entry.key.as_slice()].concat(), found);
    }
    Ok(())
}

fn directory(system: &mut dyn System, path: &[u8], tree: &mut Tree, depth: usize) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("{}: directories without an end", shown(path)));
    }
    let failed = |error: ffslab_system::Refusal| format!("{}: cannot be read: {error}", shown(path));
    for entry in system.readdir_path(path).map_err(failed)? {
        let mut below = path.to_vec();
        if below.last() != Some(&b'/') {
            below.push(b'/');
        }
        below.extend_from_slice(&entry.name);
        let stat = match system.lstat(&below) {
            Ok(stat) => stat,
            Err(error) => {
                tree.insert(below, FileOrSo::Unreadable(error.name()));
                continue;
            }
        };
        let found = match stat.kind {
            FileKind::Directory => FileOrSo::Directory,
            FileKind::File | FileKind::BlockDevice => file(system, &below),
            FileKind::Symlink => match system.readlink(&below) {
                Ok(target) => FileOrSo::Symlink(target),
                Err(error) => FileOrSo::Unreadable(error.name()),
            },
            _ => FileOrSo::Other,
        };
        let is_directory = found == FileOrSo::Directory;
        tree.insert(below.clone(), found);
        if is_directory {
            directory(system, &below, tree, depth + 1)?;
        }
    }
    Ok(())
}

fn file(system: &mut dyn System, path: &[u8]) -> FileOrSo {
    let fd = match system.open(path, OpenFlags::READ, 0) {
        Ok(fd) => fd,
        Err(error) => return FileOrSo::Unreadable(error.name()),
    };
    let mut content = Vec::new();
    let mut piece = vec![0; READ_BYTES];
    let found = loop {
        match system.pread(fd, &mut piece, content.len() as u64) {
            Ok(0) => break FileOrSo::File(content),
            Ok(bytes) => content.extend_from_slice(&piece[..bytes]),
            Err(error) => break FileOrSo::Unreadable(error.name()),
        }
    };
    match system.close(fd) {
        Ok(()) => found,
        Err(error) => FileOrSo::Unreadable(error.name()),
    }
}

/// A path for a message.
pub fn shown(path: &[u8]) -> String {
    ffslab_text::quoting::printable(path, true).into_owned()
}

/// The first difference between two trees; `None`: there is none.
pub fn difference(before: &Tree, after: &Tree) -> Option<String> {
    for (path, was) in before {
        match after.get(path) {
            None => return Some(format!("{} is gone", shown(path))),
            Some(is) if is != was => return Some(format!("{} is another", shown(path))),
            Some(_) => {}
        }
    }
    after.keys().find(|path| !before.contains_key(*path)).map(|path| format!("{} is new", shown(path)))
}
