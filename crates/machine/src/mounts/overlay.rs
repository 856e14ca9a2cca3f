//! Overlays of other mounts: `fs = "overlayfs"`.

use super::keys::{MountKeys, OVERLAYFS};
use super::member::{lead, Done, Member};
use crate::error::MachineError;
use crate::stack::Stack;
use ffslab_linux::Vfs;
use ffslab_overlayfs::{Layer, Mounted, Options, Overlay, Place};
use ffslab_system::{Answer, MountDone, SystemError};
use std::cell::{RefCell, RefMut};
use std::rc::Rc;

/// An overlay, and what programs did there.
pub(super) struct Laid {
    /// The directory without slashes around it; "" covers the root.
    pub directory: Vec<u8>,
    pub overlay: RefCell<Overlay>,
    /// The number of the mount of its upper layer.
    pub upper: usize,
    pub done: Done,
}

struct OfStack(Rc<RefCell<Stack>>);

impl Mounted for OfStack {
    fn vfs(&self) -> RefMut<'_, Vfs> {
        RefMut::map(self.0.borrow_mut(), |stack| &mut stack.vfs)
    }
}

impl Laid {
    /// Errors: options that are not those of overlayfs, directories of the upper layer on two mounts or within one another.
    pub fn of(keys: &MountKeys, members: &[Member]) -> Result<Laid, MachineError> {
        let wrong = |says: String| MachineError::Mount { at: keys.at.clone(), says };
        let options = Options::of(&keys.options).map_err(wrong)?;
        let place = |Place(path): &Place| {
            let (number, rest) = lead(members.iter().map(Member::directory), path.as_bytes());
            (
                number,
                rest.strip_prefix(b"/")
                    .unwrap_or(rest)
                    .strip_suffix(b"/")
                    .unwrap_or(rest.strip_prefix(b"/").unwrap_or(rest))
                    .to_vec(),
            )
        };
        let ((upper, directory), (base, work)) = (place(&options.upper), place(&options.work));
        if upper != base {
            let says = "upperdir and workdir are on two mounts: put them into two directories of one".to_string();
            return Err(wrong(says));
        }
        let is_within = |one: &[u8], other: &[u8]| {
            other.is_empty() || one.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        if is_within(&directory, &work) || is_within(&work, &directory) {
            let says = "upperdir and workdir are one within the other: put them into two directories of one mount";
            return Err(wrong(says.to_string()));
        }
        let of_lowers: Vec<(usize, Vec<u8>)> = options.lowers.iter().map(place).collect();
        if of_lowers
            .iter()
            .any(|(number, lower)| *number == upper && (is_within(&directory, lower) || is_within(lower, &directory)))
        {
            return Err(wrong(
                "lowerdir and upperdir are one within the other: name a directory of its own".to_string(),
            ));
        }
        let layer = |(number, directory): (usize, Vec<u8>)| Layer {
            mount: Rc::new(OfStack(members[number].stack.clone())) as Rc<dyn Mounted>,
            directory,
        };
        let is_one_mount = of_lowers.iter().all(|(number, _)| *number == upper);
        let lowers = of_lowers.into_iter().map(layer).collect();
        let overlay = Overlay::new(layer((upper, directory)), work, lowers, is_one_mount);
        Ok(Laid {
            directory: keys.directory().as_bytes().to_vec(),
            overlay: RefCell::new(overlay),
            upper,
            done: Done::default(),
        })
    }

    pub fn at(&self) -> String {
        format!("/{}", String::from_utf8_lossy(&self.directory))
    }

    pub fn mount(&self) -> Result<(), SystemError> {
        let mounted = self.overlay.borrow_mut().mount();
        mounted.map_err(|error| SystemError::unusable(format!("mount at \"{}\": {error}", self.at())))
    }

    pub fn umount(&self) -> Answer<()> {
        let mut overlay = self.overlay.borrow_mut();
        if overlay.is_mounted() {
            overlay.umount()?;
        }
        Ok(())
    }

    /// `upper`: what was done on the mount of its upper layer, whose room it has.
    pub fn told(&self, upper: &MountDone) -> MountDone {
        MountDone {
            at: self.at(),
            fs: OVERLAYFS,
            bytes: upper.bytes,
            is_shared: false,
            blocks: None,
            read_bytes: self.done.read_bytes,
            written_bytes: self.done.written_bytes,
            page_programs: None,
            erases: Vec::new(),
            free_bytes: self.overlay.borrow().is_mounted().then_some(upper.free_bytes).flatten(),
        }
    }
}
