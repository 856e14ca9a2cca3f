//! Which requests are one system call.
//!
//! The kernel walks a path by asking for one name after the other, and for the attributes of each directory on the way,
//! since it may not remember them. All that is part of the call that the path was walked for: an open(2) of "a/b" is
//! four looks and an open. A walk that nothing follows was a call of its own, as stat(2), access(2) or an open(2) that
//! found nothing. What follows is known only at the next request, so the cost of such a call is paid a little later.

use ffslab_linux::NodeId;

/// What a request does, as far as walks are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Asks for a name in a directory.
    LookUp,
    /// Asks for attributes.
    Attributes,
    /// Is the call that a path was walked for.
    Call,
    /// Is one that two paths were walked for (rename, link).
    CallOfTwoPaths,
}

/// Walks of a call of two paths: the way to each, then the last name of each.
const WALKS_OF_TWO_PATHS: u32 = 4;

#[derive(Default)]
pub struct Walks {
    /// Who asked last, and for what: the walk goes on from one of these nodes.
    last: Option<(u32, [NodeId; 2], Kind)>,
    /// Walks of the same program that have not been counted yet, the last one included.
    open: u32,
}

impl Walks {
    /// A request arrives. How many calls have ended before that did nothing but look.
    pub fn request(&mut self, process: u32, kind: Kind, nodes: [NodeId; 2]) -> u32 {
        let (same_process, goes_on) = match self.last {
            Some((last_process, at, last_kind)) if last_process == process => {
                let twice = kind == Kind::Attributes && last_kind == Kind::Attributes && at == nodes;
                (true, !twice && nodes.iter().any(|node| at.contains(node)))
            }
            _ => (false, false),
        };
        let is_look = matches!(kind, Kind::LookUp | Kind::Attributes);
        let ended = match kind {
            _ if !same_process => std::mem::take(&mut self.open),
            Kind::LookUp | Kind::Attributes if goes_on => 0,
            // Those of a call of two paths are known when it comes.
            Kind::LookUp | Kind::Attributes => u32::from(self.open == WALKS_OF_TWO_PATHS),
            Kind::Call => std::mem::take(&mut self.open).saturating_sub(u32::from(goes_on)),
            Kind::CallOfTwoPaths => {
                let walked = if goes_on { WALKS_OF_TWO_PATHS } else { 0 };
                std::mem::take(&mut self.open).saturating_sub(walked)
            }
        };
        if is_look {
            self.open += u32::from(!goes_on);
            self.open -= ended.min(u32::from(same_process));
            self.last = Some((process, nodes, kind));
        } else {
            self.last = None;
        }
        ended
    }

    /// What a look-up found: the walk may go on from there, or from the directory where it stood.
    pub fn found(&mut self, node: NodeId) {
        if let Some((_, [_, found], _)) = &mut self.last {
            *found = node;
        }
    }

    /// The program does nothing for a while: calls that only looked have ended.
    pub fn pause(&mut self) -> u32 {
        self.last = None;
        std::mem::take(&mut self.open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: NodeId = 1;
    const DIRECTORY: NodeId = 2;
    const FILE: NodeId = 3;

    fn look_up(walks: &mut Walks, directory: NodeId, found: Option<NodeId>) -> u32 {
        let ended = walks.request(9, Kind::LookUp, [directory, directory]);
        if let Some(node) = found {
            walks.found(node);
        }
        ended
    }

    /// open("d/f") as Linux 6.18 asks for it.
    fn walk_to_file(walks: &mut Walks) -> u32 {
        walks.request(9, Kind::Attributes, [ROOT, ROOT])
            + look_up(walks, ROOT, Some(DIRECTORY))
            + walks.request(9, Kind::Attributes, [DIRECTORY, DIRECTORY])
            + look_up(walks, DIRECTORY, Some(FILE))
            + walks.request(9, Kind::Attributes, [FILE, FILE])
    }

    #[test]
    fn the_walk_belongs_to_the_call_that_follows() {
        let mut walks = Walks::default();
        assert_eq!(walk_to_file(&mut walks), 0);
        assert_eq!(walks.request(9, Kind::Call, [FILE, FILE]), 0);
        assert_eq!(walks.request(9, Kind::Call, [FILE, FILE]), 0);
    }

    #[test]
    fn a_walk_that_nothing_follows_was_a_call() {
        let mut walks = Walks::default();
        assert_eq!(walk_to_file(&mut walks), 0);
        assert_eq!(walk_to_file(&mut walks), 0, "it may be the second path of a rename");
        assert_eq!(walks.request(9, Kind::Call, [7, 7]), 2);
        assert_eq!(walk_to_file(&mut walks), 0);
        assert_eq!(walks.pause(), 1);
    }

    #[test]
    fn attributes_asked_for_twice_are_two_calls() {
        let mut walks = Walks::default();
        assert_eq!(walks.request(9, Kind::Attributes, [FILE, FILE]), 0);
        assert_eq!(walks.request(9, Kind::Attributes, [FILE, FILE]), 0);
        assert_eq!(walks.pause(), 2);
    }

    #[test]
    fn many_calls_that_look_are_counted_at_last() {
        let mut walks = Walks::default();
        let ended: u32 = (0..10).map(|_| walk_to_file(&mut walks)).sum();
        assert_eq!(ended + walks.pause(), 10);
    }

    #[test]
    fn another_process_ends_a_walk() {
        let mut walks = Walks::default();
        assert_eq!(walk_to_file(&mut walks), 0);
        assert_eq!(walks.request(8, Kind::Call, [FILE, FILE]), 1);
    }

    #[test]
    fn a_rename_walks_two_paths() {
        let mut walks = Walks::default();
        walks.request(9, Kind::Attributes, [ROOT, ROOT]);
        look_up(&mut walks, ROOT, Some(DIRECTORY));
        walks.request(9, Kind::Attributes, [DIRECTORY, DIRECTORY]);
        walks.request(9, Kind::Attributes, [ROOT, ROOT]);
        look_up(&mut walks, DIRECTORY, Some(FILE));
        look_up(&mut walks, ROOT, None);
        assert_eq!(walks.request(9, Kind::CallOfTwoPaths, [DIRECTORY, ROOT]), 0);
    }
}
