//! From a path to what it names, name by name (`yaffsfs_DoFindDirectory` of `direct/yaffsfs.c`).

use crate::Bare;
use ffslab_fs::{causes, Errno, FileKind, Ino};
use ffslab_system::Answer;

/// The deepest nesting of symbolic links (`YAFFSFS_MAX_SYMLINK_DEREFERENCES`).
const LINKS_MAX: u32 = 5;

/// What a path names: the directory, the last name in it, and what that stands for.
pub(crate) struct Found {
    pub directory: Ino,
    pub name: Vec<u8>,
    pub ino: Option<Ino>,
}

impl Found {
    /// What is there. [`Errno::NoEnt`]: nothing.
    pub fn there(&self) -> Answer<Ino> {
        Ok(self.ino.ok_or(Errno::NoEnt)?)
    }
}

impl Bare {
    pub(crate) fn kind_of(&mut self, ino: Ino) -> Answer<FileKind> {
        self.call(&causes::METADATA, |fs, _| fs.getattr(ino)).map(|stat| stat.kind)
    }

    fn look_up(&mut self, directory: Ino, name: &[u8]) -> Answer<Option<Ino>> {
        match self.call(&causes::METADATA, |fs, _| fs.lookup(directory, name)) {
            Ok(ino) => Ok(Some(ino)),
            Err(error) if error == Errno::NoEnt => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Finds what a path names. `follow`: a symbolic link at its end is followed.
    pub(crate) fn find(&mut self, path: &[u8], follow: bool) -> Answer<Found> {
        let root = self.call(&causes::METADATA, |fs, _| Ok(fs.root()))?;
        // The directories above the one that is looked into, for "..".
        let mut above = vec![root];
        self.walk(&mut above, path, follow, 0)
    }

    fn walk(&mut self, above: &mut Vec<Ino>, path: &[u8], follow: bool, links: u32) -> Answer<Found> {
        if path.starts_with(b"/") {
            above.truncate(1);
        }
        let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).collect();
        let mut found = Found { directory: above[above.len() - 1], name: Vec::new(), ino: above.last().copied() };
        for (i, &name) in names.iter().enumerate() {
            let is_last = i + 1 == names.len();
            let directory = found.there()?;
            if self.kind_of(directory)? != FileKind::Directory {
                return Err(Errno::NotDir.into());
            }
            if above.last() != Some(&directory) {
                above.push(directory);
            }
            match name {
                b"." => continue,
                b".." => {
                    above.truncate((above.len() - 1).max(1));
                    found = Found { directory: above[above.len() - 1], name: Vec::new(), ino: above.last().copied() };
                    continue;
                }
                _ => found = Found { directory, name: name.to_vec(), ino: self.look_up(directory, name)? },
            }
            let Some(ino) = found.ino else { continue };
            if (follow || !is_last) && self.kind_of(ino)? == FileKind::Symlink {
                if links == LINKS_MAX {
                    return Err(Errno::Loop.into());
                }
                let target = self.call(&causes::METADATA, |fs, _| fs.readlink(ino))?;
                found = self.walk(above, &target, true, links + 1)?;
            }
        }
        Ok(found)
    }
}
