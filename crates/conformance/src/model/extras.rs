//! Optional features: extended attributes, and files without names.

use super::{Model, OpenFile};
use crate::call::How;
use crate::nodes::{Change, Content, NodeId};
use crate::tree::Tree;
use ffslab_fs::{Errno, FileKind, Result, XattrMode};

impl Model {
    pub(super) fn open_unnamed(&mut self, slot: usize, path: &str, exclusive: bool) -> Result<()> {
        if self.open_file(slot).is_some() {
            self.close(slot)?;
        }
        self.nodes.directory(self.existing(path, true)?)?;
        let node = self.nodes.create_unnamed(Content::File(Vec::new()), 0o644);
        if !exclusive {
            self.linkable.insert(node);
        }
        self.open[slot] = Some(OpenFile { node, how: How::WRITE, position: 0 });
        Ok(())
    }

    pub(super) fn link_slot(&mut self, slot: usize, to: &str) -> Result<()> {
        let node = self.slot(slot)?.node;
        let target = self.vacant(to)?;
        if self.nodes.directory(node).is_ok() {
            return Err(Errno::Perm);
        }
        if self.nodes.get(node)?.links == 0 && !self.linkable.contains(&node) {
            return Err(Errno::NoEnt);
        }
        self.linkable.remove(&node);
        self.nodes.link(node, target.dir, &target.name)
    }

    /// The value of an extended attribute, if it exists. `unfit`: the error for a namespace that only files and
    /// directories may have.
    pub(super) fn xattr(&self, id: NodeId, name: &str, unfit: Errno) -> Result<Option<Vec<u8>>> {
        let node = self.nodes.get(id)?;
        if name.starts_with("user.") && !matches!(node.content.kind(), FileKind::File | FileKind::Directory) {
            return Err(unfit);
        }
        match ["user.", "trusted.", "security."].iter().find_map(|namespace| name.strip_prefix(namespace)) {
            None => Err(Errno::NotSup),
            Some("") => Err(Errno::Inval),
            Some(_) => Ok(node.xattrs.get(name.as_bytes()).cloned()),
        }
    }

    /// Gives inodes the extended attributes that were found in `found` and that they do not have, if these once were set: a
    /// file system may bring them back, see [`crate::Subject::older_xattrs_may_return`].
    pub fn adopt_older_xattrs(&mut self, found: &Tree) {
        for (path, entry) in &found.0 {
            let Some(id) = std::str::from_utf8(path).ok().and_then(|path| self.existing(path, false).ok()) else {
                continue;
            };
            for (name, value) in &entry.xattrs {
                let has = self.nodes.get(id).is_ok_and(|node| node.xattrs.contains_key(name));
                if !has && self.nodes.xattr_was_set(name, value) {
                    self.nodes.apply(Change::Xattr { id, name: name.clone(), value: Some(value.clone()) });
                }
            }
        }
    }

    pub(super) fn set_xattr(&mut self, id: NodeId, name: &str, value: Vec<u8>, mode: XattrMode) -> Result<()> {
        match (self.xattr(id, name, Errno::Perm)?, mode) {
            (Some(_), XattrMode::Create) => return Err(Errno::Exist),
            (None, XattrMode::Replace) => return Err(Errno::NoData),
            _ => {}
        }
        self.nodes.apply(Change::Xattr { id, name: name.as_bytes().to_vec(), value: Some(value) });
        Ok(())
    }
}
