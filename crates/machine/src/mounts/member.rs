//! A mount of several, and which of them a path leads to.

use crate::stack::Stack;
use ffslab_sim::GivesTurn;
use std::cell::RefCell;
use std::rc::Rc;

/// A mount and what programs did there.
pub(super) struct Member {
    /// The directory without slashes around it; "" of the root.
    pub directory: Vec<u8>,
    pub options: Vec<String>,
    pub stack: Rc<RefCell<Stack>>,
    pub done: Done,
}

/// What programs did on a mount.
#[derive(Clone, Copy, Default)]
pub(super) struct Done {
    pub read_bytes: u64,
    pub written_bytes: u64,
}

impl Member {
    pub fn new(directory: &str, options: &[String], stack: Stack) -> Member {
        Member {
            directory: directory.as_bytes().to_vec(),
            options: options.to_vec(),
            stack: Rc::new(RefCell::new(stack)),
            done: Done::default(),
        }
    }

    pub fn directory(&self) -> &[u8] {
        &self.directory
    }

    /// Runs its background tasks. A reference that did not end would keep the machine alive, so it holds none.
    pub fn gives_turn(&self) -> GivesTurn {
        let stack = Rc::downgrade(&self.stack);
        Rc::new(move |task| {
            let Some(stack) = stack.upgrade() else { return true };
            let Ok(mut stack) = stack.try_borrow_mut() else { return false };
            stack.vfs.give_turn(task);
            true
        })
    }
}

/// The rest of `path` below `directory`, if it leads there.
fn below<'p>(directory: &[u8], path: &'p [u8]) -> Option<&'p [u8]> {
    let start = path.iter().position(|&byte| byte != b'/').unwrap_or(path.len());
    let rest = path[start..].strip_prefix(directory)?;
    (directory.is_empty() || rest.is_empty() || rest[0] == b'/').then_some(rest)
}

/// Which of the directories, without slashes around them, a path leads into, the deepest and then the last one, and the path there.
pub(super) fn lead<'p, 'd>(directories: impl Iterator<Item = &'d [u8]>, path: &'p [u8]) -> (usize, &'p [u8]) {
    let leads = |(number, directory): (usize, &[u8])| Some((directory.len(), number, below(directory, path)?));
    let (_, number, rest) = directories.enumerate().filter_map(leads).max_by_key(|lead| lead.0).unwrap_or((0, 0, path));
    (number, if rest.is_empty() { b"/" } else { rest })
}
