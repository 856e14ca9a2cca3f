//! Lists of directories, merged of all layers (`fs/overlayfs/readdir.c`).

use crate::inodes::Inode;
use crate::lookup::found;
use crate::marks::is_whiteout;
use crate::{joined, Overlay};
use ffslab_fs::{Errno, FileKind, Result};
use ffslab_system::{Calls, Entry};
use std::collections::HashMap;

pub(crate) struct Merged {
    pub entry: Entry,
    pub is_upper: bool,
    pub is_whiteout: bool,
}

impl Overlay {
    /// The names that programs see.
    pub(crate) fn list(&mut self, inode: &Inode) -> Result<Vec<Entry>> {
        if inode.is_gone {
            return Err(Errno::NoEnt);
        }
        if !inode.may_have_whiteouts {
            let (layer, path) = self.real(inode, &inode.path);
            return Ok(layer.with(|vfs| vfs.readdir_path(&path))?);
        }
        let merged = self.merged(inode)?;
        Ok(merged.into_iter().filter(|merged| !merged.is_whiteout).map(|merged| merged.entry).collect())
    }

    /// Names and whiteouts of all layers (`ovl_dir_read_merged`): those of the lowest one come first, in its order.
    pub(crate) fn merged(&self, inode: &Inode) -> Result<Vec<Merged>> {
        let upper = inode.is_upper.then_some(&self.upper);
        let layers: Vec<_> = upper.into_iter().chain(inode.lowers.iter().map(|&layer| &self.lowers[layer])).collect();
        let mut all: Vec<Merged> = Vec::new();
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut order = Vec::new();
        for (number, layer) in layers.iter().enumerate() {
            let is_lowest = number + 1 == layers.len();
            let (path, begin) = (layer.path(&inode.path), all.len());
            for entry in layer.with(|vfs| vfs.readdir_path(&path))? {
                let place = *places.entry(entry.name.clone()).or_insert_with(|| {
                    let may_be_whiteout = entry.kind == Some(FileKind::CharDevice);
                    all.push(Merged { entry, is_upper: inode.is_upper && number == 0, is_whiteout: may_be_whiteout });
                    all.len() - 1
                });
                if is_lowest {
                    order.push(place);
                }
            }
            // Each device file is looked at (`ovl_check_whiteouts`).
            for merged in all[begin..].iter_mut().filter(|merged| merged.is_whiteout) {
                let name = joined(&[&path[1..], &merged.entry.name]);
                if let Some(stat) = layer.with(|vfs| found(vfs, &name))? {
                    merged.is_whiteout = is_whiteout(&stat);
                }
            }
        }
        let mut is_placed = vec![false; all.len()];
        order.iter().for_each(|&place| is_placed[place] = true);
        order.extend((0..all.len()).filter(|&place| !is_placed[place]));
        let mut all: Vec<Option<Merged>> = all.into_iter().map(Some).collect();
        Ok(order.into_iter().filter_map(|place| all[place].take()).collect())
    }
}
