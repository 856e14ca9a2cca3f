//! Extended attributes: the calls. Names with values are shared between inodes; what an inode has are references to them.
//!
//! Follows `fs/jffs2/xattr.c` (`do_jffs2_getxattr`, `do_jffs2_setxattr`, `jffs2_listxattr`, `check_xattr_ref_inode`),
//! `xattr_user.c`, `xattr_trusted.c` and `security.c`. As there, an attribute that is replaced or loses its inode is only
//! forgotten: nothing on flash says so but the newer reference, or the missing inode.

use ffslab_fs::{Errno, Host, Ino, Result, XattrMode};

use crate::causes;
use crate::format::{pad, XATTR_BYTES, XREF_BYTES};
use crate::refs::NONE;
use crate::reserve::Purpose;
use crate::summary::{FRAME_BYTES, XATTR_ENTRY_BYTES, XREF_ENTRY_BYTES};
use crate::xattr_store::Soundness;
use crate::xattr_table::Reference;
use crate::Jffs2;

/// Namespaces with their codes on flash (`JFFS2_XPREFIX_*` in `include/uapi/linux/jffs2.h`).
const NAMESPACES: [(u8, &[u8]); 3] = [(1, b"user."), (SECURITY, b"security."), (5, b"trusted.")];
const SECURITY: u8 = 2;

/// The code of a name's namespace, and the name without it.
fn split(name: &[u8]) -> Option<(u8, &[u8])> {
    NAMESPACES.iter().find_map(|(code, namespace)| Some((*code, name.strip_prefix(*namespace)?)))
}

/// Whether attributes of this name are kept.
pub(crate) fn is_kept(name: &[u8]) -> bool {
    split(name).is_some()
}

impl Jffs2 {
    /// Looks for two attributes of the same name, of which the older one dies; all of the inode's attributes come into
    /// memory for it, once (`check_xattr_ref_inode`).
    pub(crate) fn check_xattrs_of(&mut self, ino: u32) -> Result<()> {
        match self.store.space.xattrs.of_inode.get(&ino) {
            Some(of) if !of.is_checked => {}
            _ => return Ok(()),
        }
        let _why = self.store.flash.sim.because_if_none(&causes::INODE_READ);
        while self.drop_one_double(ino)? {}
        if let Some(of) = self.store.space.xattrs.of_inode.get_mut(&ino) {
            of.is_checked = true;
        }
        Ok(())
    }

    /// Removes the first reference that is damaged or has a newer one of the same name. `false`: there is none.
    fn drop_one_double(&mut self, ino: u32) -> Result<bool> {
        let references = self.store.space.xattrs.references_of(ino).to_vec();
        for (i, &one) in references.iter().enumerate() {
            if !self.load_reference(ino, one)? {
                return Ok(true);
            }
            for &other in &references[i + 1..] {
                self.bind(one, true);
                let loaded = self.load_reference(ino, other);
                self.bind(one, false);
                if !loaded? {
                    return Ok(true);
                }
                if let Some(older) = self.older_double(one, other) {
                    self.drop_reference(ino, older);
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn bind(&mut self, reference: u32, bound: bool) {
        let table = &mut self.store.space.xattrs;
        let datum = table.references.get(reference).map_or(NONE, |reference| reference.datum);
        if let Some(datum) = table.data.get_mut(datum) {
            datum.is_bound = bound;
        }
    }

    fn older_double(&self, one: u32, other: u32) -> Option<u32> {
        let table = &self.store.space.xattrs;
        let (a, b) = (table.references.get(one)?, table.references.get(other)?);
        let (x, y) = (table.data.get(a.datum)?, table.data.get(b.datum)?);
        let same = x.header.prefix == y.header.prefix && x.parts()?.0 == y.parts()?.0;
        same.then_some(if a.sequence > b.sequence { other } else { one })
    }

    fn drop_reference(&mut self, ino: u32, reference: u32) {
        self.store.space.xattrs.detach(ino, reference);
        self.store.space.xattrs.kill(reference);
    }

    /// Makes sure that the datum of a reference is in memory. `false`: it is damaged, and the reference is gone.
    fn load_reference(&mut self, ino: u32, reference: u32) -> Result<bool> {
        let store = &mut self.store;
        let datum = store.space.xattrs.references.get(reference).map_or(NONE, |reference| reference.datum);
        if store.space.load_datum(&store.flash, datum)? == Soundness::Sound {
            return Ok(true);
        }
        self.drop_reference(ino, reference);
        Ok(false)
    }

    /// The reference of an inode to the attribute of this name. Attributes of the same namespace come into memory on the
    /// way.
    fn find_xattr(&mut self, ino: u32, prefix: u8, name: &[u8]) -> Result<Option<u32>> {
        let _why = self.store.flash.sim.because_if_none(&causes::INODE_READ);
        for reference in self.store.space.xattrs.references_of(ino).to_vec() {
            let datum = self.store.space.xattrs.datum_of(reference);
            if datum.is_none_or(|datum| datum.header.prefix != prefix) || !self.load_reference(ino, reference)? {
                continue;
            }
            let datum = self.store.space.xattrs.datum_of(reference);
            if datum.and_then(|datum| datum.parts()).is_some_and(|(found, _)| found == name) {
                return Ok(Some(reference));
            }
        }
        Ok(None)
    }

    pub(crate) fn read_xattr(&mut self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        let (prefix, name) = split(name).ok_or(Errno::NotSup)?;
        self.load(ino)?;
        self.check_xattrs_of(ino)?;
        let reference = self.find_xattr(ino, prefix, name)?.ok_or(Errno::NoData)?;
        let datum = self.store.space.xattrs.datum_of(reference);
        datum.and_then(|datum| datum.parts()).map(|(_, value)| value.to_vec()).ok_or(Errno::NoData)
    }

    pub(crate) fn list_xattrs(&mut self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        self.load(ino)?;
        self.check_xattrs_of(ino)?;
        let _why = self.store.flash.sim.because_if_none(&causes::INODE_READ);
        let mut names = Vec::new();
        for reference in self.store.space.xattrs.references_of(ino).to_vec() {
            if !self.load_reference(ino, reference)? {
                continue;
            }
            let datum = self.store.space.xattrs.datum_of(reference);
            let Some((datum, (name, _))) = datum.and_then(|datum| Some((datum, datum.parts()?))) else { continue };
            if let Some((_, namespace)) = NAMESPACES.iter().find(|(code, _)| *code == datum.header.prefix) {
                names.push([*namespace, name].concat());
            }
        }
        Ok(names)
    }

    /// What the kernel looks for at each write: a capability that the write would have to take away. JFFS2 does not let it
    /// remember that there is none (`SB_NOSEC`), so attributes of that namespace come into memory (`cap_inode_need_killpriv`
    /// in `security/commoncap.c`, to which errors mean that there is none).
    pub(crate) fn look_for_capability(&mut self, ino: Ino) -> Result<()> {
        if self.store.space.xattrs.references_of(ino).is_empty() {
            return Ok(());
        }
        let looked = self.check_xattrs_of(ino).and_then(|()| self.find_xattr(ino, SECURITY, b"capability").map(drop));
        looked.or_else(|error| if error == Errno::PowerCut { Err(error) } else { Ok(()) })
    }

    /// Writes the attribute, or removes it if there is no value. As in the kernel, space for name and value is reserved
    /// before it is known whether they will be written.
    pub(crate) fn change_xattr(
        &mut self,
        host: &mut dyn Host,
        ino: Ino,
        name: &[u8],
        value: Option<&[u8]>,
        mode: XattrMode,
    ) -> Result<()> {
        let (prefix, name) = split(name).ok_or(Errno::NotSup)?;
        self.load(ino)?;
        self.check_xattrs_of(ino)?;
        let _why = self.store.flash.sim.clone().because(&causes::METADATA);
        let bytes = pad(XATTR_BYTES + name.len() as u32 + 1 + value.map_or(0, <[u8]>::len) as u32);
        // The kernel does not look, and writes beyond the end of the block.
        let longest = self.store.flash.block_bytes - pad(FRAME_BYTES + XATTR_ENTRY_BYTES);
        if bytes > longest || value.is_some_and(|value| value.len() > usize::from(u16::MAX)) {
            return Err(Errno::NoSpc);
        }
        self.reserve(host, bytes, Purpose::Write, XATTR_ENTRY_BYTES)?;
        let changed = match self.begin_change(ino, prefix, name, value, mode) {
            Ok(Some((old, datum))) => {
                self.complete_reservation();
                return self.refer(host, ino, old, datum);
            }
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        self.complete_reservation();
        changed
    }

    /// Removes the attribute, or writes name and value and returns the old reference and the new datum.
    fn begin_change(
        &mut self,
        ino: Ino,
        prefix: u8,
        name: &[u8],
        value: Option<&[u8]>,
        mode: XattrMode,
    ) -> Result<Option<(Option<u32>, u32)>> {
        let old = self.find_xattr(ino, prefix, name)?;
        match (old, value) {
            (Some(_), _) if mode == XattrMode::Create => Err(Errno::Exist),
            (None, _) if mode == XattrMode::Replace => Err(Errno::NoData),
            (None, None) => Err(Errno::NoData),
            (Some(old), None) => self.write_removal(ino, old).map(|()| None),
            (old, Some(value)) => {
                let bytes = [name, &[0], value].concat();
                let datum = self.store.create_datum(prefix, name.len() as u8, &bytes)?;
                Ok(Some((old, datum)))
            }
        }
    }

    fn write_removal(&mut self, ino: Ino, reference: u32) -> Result<()> {
        let marked = |fs: &mut Jffs2, dead: u32| {
            if let Some(reference) = fs.store.space.xattrs.references.get_mut(reference) {
                reference.sequence = reference.sequence & !1 | dead;
            }
        };
        marked(self, 1);
        match self.store.save_reference(reference) {
            Ok(()) => {
                self.drop_reference(ino, reference);
                Ok(())
            }
            Err(error) => {
                marked(self, 0);
                Err(error)
            }
        }
    }

    /// Writes the reference to a datum in place of an old one.
    fn refer(&mut self, host: &mut dyn Host, ino: Ino, old: Option<u32>, datum: u32) -> Result<()> {
        if let Err(error) = self.reserve(host, XREF_BYTES, Purpose::Write, XREF_ENTRY_BYTES) {
            self.store.space.xattrs.release(datum);
            return Err(error);
        }
        let table = &mut self.store.space.xattrs;
        let xid = table.data.get(datum).map_or(0, |datum| datum.header.xid);
        let new = table.references.add(Reference { node: NONE, ino, xid, datum, sequence: 0 });
        let saved = self.store.save_reference(new);
        let table = &mut self.store.space.xattrs;
        match saved {
            Ok(()) => {
                let of = table.of_inode.entry(ino).or_default();
                of.is_checked = true;
                of.references.insert(0, new);
                if let Some(old) = old {
                    self.drop_reference(ino, old);
                }
            }
            Err(_) => {
                table.references.remove(new);
                table.release(datum);
            }
        }
        self.complete_reservation();
        saved
    }
}
