//! The whole content of a mounted file system, as a value that can be compared.

use crate::call::Attributes;
use crate::model::Model;
use crate::nodes::{Content, NodeId, Xattrs, ROOT};
use crate::rig::Rig;
use crate::Failure;
use ffslab_fs::{Errno, FileKind};
use ffslab_system::Calls;
use std::collections::BTreeMap;

/// A name and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub attributes: Attributes,
    /// Bytes of a file, target of a symbolic link.
    pub content: Vec<u8>,
    /// The first path, in order, that stands for the same inode.
    pub first_path: Vec<u8>,
    pub xattrs: Xattrs,
}

/// Path to entry. The root is "/".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(pub BTreeMap<Vec<u8>, Entry>);

/// Limits for a walk, because a damaged file system may have a directory that contains itself.
#[derive(Clone, Copy, Debug)]
pub struct WalkLimits {
    pub depth_max: usize,
    pub entries_max: usize,
}

impl WalkLimits {
    pub const GENEROUS: WalkLimits = WalkLimits { depth_max: 64, entries_max: 100_000 };
}

impl Tree {
    /// Reads everything through system calls.
    ///
    /// # Errors
    /// The first call that failed, with its path; a tree beyond [`WalkLimits::GENEROUS`].
    pub fn read(rig: &mut Rig) -> Result<Tree, Failure> {
        let mut tree = Tree::default();
        let mut first_paths = BTreeMap::new();
        rig.program.double_names.clear();
        walk(rig, WalkLimits::GENEROUS, &mut |rig, path| {
            let failed = |call: &str, error: Errno| Failure::new(format!("{call}(\"{}\"): {error}", show(path)));
            let stat = rig.vfs.lstat(path).map_err(|refusal| failed("lstat", refusal.errno()))?;
            let content = match stat.kind {
                FileKind::File => rig.read_file(path).map_err(|error| failed("read", error))?,
                FileKind::Symlink => rig.vfs.readlink(path).map_err(|refusal| failed("readlink", refusal.errno()))?,
                _ => Vec::new(),
            };
            let first_path = first_paths.entry(stat.ino).or_insert_with(|| path.to_vec()).clone();
            let xattrs = rig.xattrs(path).map_err(|error| failed("getxattr", error))?;
            tree.0.insert(
                path.to_vec(),
                Entry { attributes: rig.program.attributes(&stat), content, first_path, xattrs },
            );
            Ok(())
        })?;
        Ok(tree)
    }

    /// What the model holds.
    pub fn of(model: &Model) -> Tree {
        let mut tree = Tree::default();
        add_model_entry(model, ROOT, b"/".to_vec(), &mut tree, &mut BTreeMap::new());
        tree
    }

    /// Copies `found` to wherever a file should hold zeros, so that any content is accepted there.
    pub fn forgive_zeros(&mut self, found: &Tree) {
        for (path, entry) in &mut self.0 {
            let Some(other) = found.0.get(path).filter(|other| other.content != entry.content) else { continue };
            for (byte, &there) in entry.content.iter_mut().zip(&other.content).filter(|(byte, _)| **byte == 0) {
                *byte = there;
            }
        }
    }

    /// The difference between `self`, which is correct, and `found`.
    pub fn difference(&self, found: &Tree) -> Option<String> {
        let mut differences = Vec::new();
        for (path, entry) in &self.0 {
            match found.0.get(path) {
                None => differences.push(format!("\"{}\" is missing", show(path))),
                Some(other) => differences.extend(entry.difference(other).map(|d| format!("\"{}\": {d}", show(path)))),
            }
        }
        for path in found.0.keys().filter(|path| !self.0.contains_key(*path)) {
            differences.push(format!("\"{}\" is there and should not be", show(path)));
        }
        let count = differences.len();
        differences.truncate(5);
        match count {
            0 => None,
            1..=5 => Some(differences.join("; ")),
            _ => Some(format!("{} and {} more", differences.join("; "), count - 5)),
        }
    }
}

impl Entry {
    fn difference(&self, found: &Entry) -> Option<String> {
        if !self.attributes.agree(&found.attributes) {
            return Some(format!("expected {:?}, found {:?}", self.attributes, found.attributes));
        }
        if self.first_path != found.first_path {
            return Some(format!(
                "should be the same inode as \"{}\", is that of \"{}\"",
                show(&self.first_path),
                show(&found.first_path)
            ));
        }
        for name in self.xattrs.keys().chain(found.xattrs.keys()) {
            let text = match (self.xattrs.get(name), found.xattrs.get(name)) {
                (Some(_), None) => Some("is missing".to_string()),
                (None, _) => Some("should not be there".to_string()),
                (Some(expected), Some(value)) => bytes_difference(expected, value),
            };
            if let Some(text) = text {
                return Some(format!("extended attribute \"{}\": {text}", show(name)));
            }
        }
        bytes_difference(&self.content, &found.content)
    }
}

/// The function that is called for each path.
pub type Visit<'a> = dyn FnMut(&mut Rig, &[u8]) -> Result<(), Failure> + 'a;

/// Calls `visit` for every path, parents before their entries, the root ("/") first.
pub fn walk(rig: &mut Rig, limits: WalkLimits, visit: &mut Visit<'_>) -> Result<(), Failure> {
    let mut waiting = vec![(b"/".to_vec(), FileKind::Directory, 0)];
    let mut seen = 0;
    while let Some((path, kind, depth)) = waiting.pop() {
        seen += 1;
        if seen > limits.entries_max || depth > limits.depth_max {
            return Err(Failure::new(format!(
                "\"{}\": more than {} entries, or deeper than {}",
                show(&path),
                limits.entries_max,
                limits.depth_max
            )));
        }
        visit(rig, &path)?;
        if kind == FileKind::Directory {
            let entries = rig.vfs.readdir_path(&path);
            let mut entries =
                entries.map_err(|error| Failure::new(format!("readdir(\"{}\"): {error}", show(&path))))?;
            rig.program.leave_out_own_entries(&mut rig.vfs, &path, &mut entries);
            entries.sort_by(|a, b| b.name.cmp(&a.name));
            if rig.subject.unlink_may_double_a_name() {
                let double_names = &mut rig.program.double_names;
                entries.dedup_by(|a, b| {
                    let same = a.name == b.name && a.ino == b.ino;
                    *double_names.entry(a.ino).or_insert(0) += u32::from(same);
                    same
                });
            }
            for entry in entries {
                // Linux tells the kind of each entry.
                let kind = entry.kind.unwrap_or(FileKind::File);
                waiting.push((join(&path, &entry.name), kind, depth + 1));
            }
        }
    }
    Ok(())
}

fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let separator: &[u8] = if directory == b"/" { b"" } else { b"/" };
    [directory, separator, name].concat()
}

fn add_model_entry(
    model: &Model,
    id: NodeId,
    path: Vec<u8>,
    tree: &mut Tree,
    first_paths: &mut BTreeMap<NodeId, Vec<u8>>,
) {
    let (Ok(node), Ok(attributes)) = (model.nodes.get(id), model.attributes(id)) else {
        return;
    };
    let first_path = first_paths.entry(id).or_insert_with(|| path.clone()).clone();
    let content = match &node.content {
        Content::File(bytes) | Content::Symlink(bytes) => bytes.clone(),
        _ => Vec::new(),
    };
    let xattrs = node.xattrs.clone();
    tree.0.insert(path.clone(), Entry { attributes, content, first_path, xattrs });
    if let Content::Directory(names) = &node.content {
        for (name, &child) in names {
            add_model_entry(model, child, join(&path, name), tree, first_paths);
        }
    }
}

/// The first difference between two byte strings.
pub fn bytes_difference(expected: &[u8], found: &[u8]) -> Option<String> {
    // Nearly always: a comparison of whole strings is many times faster than one of bytes, which says where they differ.
    if expected == found {
        return None;
    }
    let at = expected.iter().zip(found).position(|(a, b)| a != b);
    match at {
        Some(at) => {
            let wrong = expected.iter().zip(found).filter(|(a, b)| a != b).count();
            Some(format!(
                "byte {at} is {:#04x} instead of {:#04x} ({wrong} bytes differ; {} bytes instead of {})",
                found[at],
                expected[at],
                found.len(),
                expected.len()
            ))
        }
        None => Some(format!("{} bytes instead of {}", found.len(), expected.len())),
    }
}

/// A path as text for messages.
pub fn show(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
