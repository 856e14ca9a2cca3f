//! Renaming: a name moves, two names are exchanged, a whiteout takes the old name.
//!
//! Follows `fs/ubifs/dir.c` (`do_rename`, `ubifs_xrename`, `create_whiteout`).

use crate::budget::Request;
use crate::causes;
use crate::format::*;
use crate::inode::{entry_bytes, Inode};
use crate::journal::{Exchange, Rename};
use crate::namespace::check_name;
use crate::Ubifs;
use ffslab_fs::{Errno, FileKind, Host, Ino, InodeDirt, Result};

/// A device number on flash, as whiteouts have one: 0.
const WHITEOUT_DEVICE: [u8; 4] = [0; 4];
const WHITEOUT_REQUEST: Request = Request {
    fast: false,
    new_page: false,
    dirtied_page: false,
    new_dent: false,
    mod_dent: false,
    new_ino: true,
    dirtied_inos: 0,
    new_ino_bytes: align8(WHITEOUT_DEVICE.len() as u32),
    dirtied_ino_bytes: 0,
};

impl Ubifs {
    pub(crate) fn rename_inode(
        &mut self,
        host: &mut dyn Host,
        from: Ino,
        name: &[u8],
        to: Ino,
        new_name: &[u8],
        makes_whiteout: bool,
    ) -> Result<()> {
        check_name(new_name)?;
        let ino = self.find_known_name(from, name)?;
        let replaced = match self.find_known_name(to, new_name) {
            Ok(replaced) if replaced == ino => return Ok(()),
            Ok(replaced) => Some(replaced),
            Err(Errno::NoEnt) => None,
            Err(error) => return Err(error),
        };
        let moved = self.inode(ino)?;
        let (is_dir, moved_data) = (moved.kind == FileKind::Directory, moved.data.len() as u32);
        let mut replaced_data = 0;
        if let Some(replaced) = replaced {
            let target = self.inode(replaced)?;
            replaced_data = target.data.len() as u32;
            match (is_dir, target.kind == FileKind::Directory) {
                (true, false) => return Err(Errno::NotDir),
                (false, true) => return Err(Errno::IsDir),
                (true, true) if !self.is_empty_directory(replaced)? => return Err(Errno::NotEmpty),
                _ => {}
            }
        }
        if let Some(replaced) = replaced {
            self.purge_xattrs(host, replaced)?;
        }
        let request = Request {
            new_dent: true,
            mod_dent: true,
            dirtied_inos: 3,
            dirtied_ino_bytes: align8(replaced_data),
            ..Request::default()
        };
        let growth = self.budget(host, &request)?;
        let moved_request = Request { dirtied_inos: 1, dirtied_ino_bytes: align8(moved_data), ..Request::default() };
        let moved_growth = match self.budget(host, &moved_request) {
            Ok(moved_growth) => moved_growth,
            Err(error) => {
                self.core.space.release_budget(&self.core.lebs, growth);
                return Err(error);
            }
        };
        let result = self.make_whiteout(host, from, makes_whiteout).and_then(|whiteout| {
            let written = self.do_rename(host, (from, name), (to, new_name), ino, replaced, whiteout.as_deref());
            if let Some(whiteout) = whiteout {
                self.core.space.release_request(&self.core.lebs, &WHITEOUT_REQUEST);
                if written.is_ok() {
                    self.inodes.insert(whiteout.ino, whiteout);
                }
            }
            written
        });
        self.core.space.release_budget(&self.core.lebs, growth);
        match result {
            // The change time of the moved inode is not written with the rename, so the inode is marked as dirty. If it
            // was dirty before it has a budget already, and the new one is given back.
            Ok(()) if self.mark_dirty(host, ino, InodeDirt::Attributes)? => {
                self.core.space.release_budget(&self.core.lebs, moved_growth)
            }
            Ok(()) => {}
            Err(_) => self.core.space.release_budget(&self.core.lebs, moved_growth),
        }
        result?;
        // Only the moved inode decides whether the rename is written at once (`do_rename`): a synchronous directory
        // does not.
        self.write_if_sync(ino)
    }

    fn do_rename(
        &mut self,
        host: &mut dyn Host,
        (from, name): (Ino, &[u8]),
        (to, new_name): (Ino, &[u8]),
        ino: Ino,
        replaced: Option<Ino>,
        whiteout: Option<&Inode>,
    ) -> Result<()> {
        let _why = self.core.lebs.sim.clone().because(&causes::METADATA);
        let now = self.now(host);
        let cookies = (self.next_cookie(), self.next_cookie());
        let is_move = from != to;
        self.load(from)?;
        self.load(to)?;
        let copy = |fs: &Ubifs, ino: Ino| fs.inodes.get(&ino).cloned().ok_or(Errno::NoEnt);
        let mut inode = copy(self, ino)?;
        let mut old_dir = copy(self, from)?;
        let mut new_dir = copy(self, to)?;
        let mut target = replaced.map(|ino| copy(self, ino)).transpose()?;
        let is_dir = inode.kind == FileKind::Directory;
        inode.changed = now;
        let grown = entry_bytes(new_name);
        // The directory keeps its size if a whiteout takes over the old name.
        let shrunk = if whiteout.is_some() { 0 } else { entry_bytes(name) };
        if is_dir && (is_move || target.is_some()) {
            old_dir.links = old_dir.links.saturating_sub(1);
        }
        if is_dir && is_move && target.is_none() {
            new_dir.links += 1;
        }
        old_dir.size_bytes = old_dir.size_bytes.saturating_sub(shrunk);
        (old_dir.modified, old_dir.changed) = (now, now);
        if !is_move {
            new_dir = old_dir.clone();
        }
        (new_dir.modified, new_dir.changed) = (now, now);
        match &mut target {
            Some(target) => {
                target.links = if is_dir { 0 } else { target.links.saturating_sub(1) };
                target.changed = now;
            }
            None => new_dir.size_bytes += grown,
        }
        if !is_move {
            old_dir = new_dir.clone();
        }
        let rename = Rename {
            old_dir: &old_dir,
            old_name: name,
            new_dir: &new_dir,
            new_name,
            inode: &inode,
            replaced: target.as_deref(),
            whiteout,
            cookies,
        };
        let is_last = self.core.write_rename(&rename)?;
        if let Some(mut target) = target {
            self.core.space.mark_clean(&self.core.lebs, &mut target);
            target.synced_bytes = target.size_bytes;
            if is_last {
                target.deleted_in = self.core.commits.number;
            }
            self.inodes.insert(target.ino, target);
        }
        self.core.space.mark_clean(&self.core.lebs, &mut old_dir);
        if is_move {
            self.core.space.mark_clean(&self.core.lebs, &mut new_dir);
            self.inodes.insert(to, new_dir);
        }
        self.inodes.insert(from, old_dir);
        self.inodes.insert(ino, inode);
        Ok(())
    }

    /// Makes the inode of a whiteout, which stands for "there is nothing here", and reserves room for it. It is written
    /// together with the rename.
    fn make_whiteout(&mut self, host: &mut dyn Host, dir: Ino, wanted: bool) -> Result<Option<Box<Inode>>> {
        if !wanted {
            return Ok(None);
        }
        let mut whiteout = self.new_inode(host, dir, FileKind::CharDevice)?;
        whiteout.data = WHITEOUT_DEVICE.to_vec();
        self.budget(host, &WHITEOUT_REQUEST)?;
        Ok(Some(whiteout))
    }

    /// Each of two names gets what the other one stood for.
    pub(crate) fn exchange_names(
        &mut self,
        host: &mut dyn Host,
        (one_dir, one_name): (Ino, &[u8]),
        (other_dir, other_name): (Ino, &[u8]),
    ) -> Result<()> {
        let (one, other) = (self.find_known_name(one_dir, one_name)?, self.find_known_name(other_dir, other_name)?);
        let (one_kind, other_kind) = (self.inode(one)?.kind, self.inode(other)?.kind);
        let request = Request { new_dent: true, mod_dent: true, dirtied_inos: 2, ..Request::default() };
        let growth = self.budget(host, &request)?;
        let _why = self.core.lebs.sim.clone().because(&causes::METADATA);
        let now = self.now(host);
        let cookies = (self.next_cookie(), self.next_cookie());
        let mut dirs = [one_dir, other_dir].map(|dir| self.inodes.get(&dir).cloned());
        let [Some(first), Some(second)] = &mut dirs else {
            self.core.space.release_budget(&self.core.lebs, growth);
            return Err(Errno::NoEnt);
        };
        let is_move = one_dir != other_dir;
        (first.modified, first.changed, second.modified, second.changed) = (now, now, now, now);
        match (is_move, one_kind == FileKind::Directory, other_kind == FileKind::Directory) {
            (true, true, false) => (first.links, second.links) = (first.links.saturating_sub(1), second.links + 1),
            (true, false, true) => (first.links, second.links) = (first.links + 1, second.links.saturating_sub(1)),
            _ => {}
        }
        let exchange = Exchange {
            first_dir: first,
            first_name: one_name,
            first: (one, one_kind),
            second_dir: second,
            second_name: other_name,
            second: (other, other_kind),
            cookies,
        };
        let result = self.core.write_exchange(&exchange);
        self.core.space.release_budget(&self.core.lebs, growth);
        result?;
        for mut dir in dirs.into_iter().flatten() {
            // When both names are in the same directory, the first round has given back its budget already.
            dir.dirty &= self.inodes.get(&dir.ino).is_some_and(|known| known.dirty);
            self.core.space.mark_clean(&self.core.lebs, &mut dir);
            self.inodes.insert(dir.ino, dir);
        }
        // The kernel sets the change times of the two inodes in memory only: it neither writes them nor marks the
        // inodes as dirty.
        for ino in [one, other] {
            self.inode(ino)?.changed = now;
        }
        Ok(())
    }
}
