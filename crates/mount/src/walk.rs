//! Which requests belong to one system call.
//!
//! The kernel walks a path by asking for one name after the other, and for the attributes of each directory on the way,
//! because it may not cache them. All of these requests belong to the call for which the path was walked: an open(2) of
//! "a/b" is four look-ups and an open. A walk without a further request was a call of its own, such as stat(2),
//! access(2), or an open(2) that found nothing. Which of the two it was is known only at the next request, so such a
//! call is charged a little later.

use ffslab_system::NodeId;

/// The kind of a request, as far as path walks are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A look-up of a name in a directory.
    LookUp,
    /// A request for attributes.
    Attributes,
    /// The call for which a path was walked.
    Call,
    /// A call for which two paths were walked (rename, link).
    CallOfTwoPaths,
}

/// How many walks may belong to one call: the ways to two directories, and look-ups that alternate between the two (the
/// last names, whether the program may write there).
const WALKS_MAX: usize = 6;

/// A series of look-ups, each of which continues where the one before ended.
#[derive(Clone, Copy)]
struct Walk {
    first: NodeId,
    /// The last directory or node that was asked about, and what was found there.
    last: [NodeId; 2],
}

#[derive(Default)]
pub struct Walks {
    process: u32,
    /// The walks of that process since its last call that was more than a walk.
    open: Vec<Walk>,
    /// Whether its last request asked for attributes.
    asked_attributes: bool,
}

impl Walks {
    /// Notes a request. Returns where the calls led that have ended before it and consisted of a walk only.
    pub fn request(&mut self, process: u32, kind: Kind, nodes: [NodeId; 2]) -> Vec<NodeId> {
        let mut ended = Vec::new();
        if process != self.process {
            ended = self.pause();
            self.process = process;
        }
        let again = kind == Kind::Attributes && self.asked_attributes;
        let goes_on = |walk: &Walk| nodes.iter().any(|node| walk.last.contains(node)) && !(again && walk.last == nodes);
        self.asked_attributes = kind == Kind::Attributes;
        match kind {
            Kind::LookUp | Kind::Attributes => {
                match self.open.last_mut().filter(|walk| goes_on(walk)) {
                    Some(walk) => walk.last = nodes,
                    None => self.open.push(Walk { first: nodes[0], last: nodes }),
                }
                if self.open.len() > WALKS_MAX {
                    ended.push(self.open.remove(0).last[1]);
                }
            }
            Kind::Call => {
                self.open.pop_if(|walk| goes_on(walk));
                ended.append(&mut self.pause());
            }
            Kind::CallOfTwoPaths => {
                while self.open.pop_if(|walk| nodes.contains(&walk.first)).is_some() {}
                for node in [nodes[1], nodes[0]] {
                    self.open.pop_if(|walk| walk.last.contains(&node));
                }
                ended.append(&mut self.pause());
            }
        }
        ended
    }

    /// Notes what a look-up found. The walk may continue from there, or from the directory in which it looked.
    pub fn found(&mut self, node: NodeId) {
        if let Some(walk) = self.open.last_mut() {
            walk.last[1] = node;
        }
    }

    /// Called when the program makes no requests for a while. Returns where the calls led that have ended and consisted
    /// of a walk only.
    pub fn pause(&mut self) -> Vec<NodeId> {
        self.open.drain(..).map(|walk| walk.last[1]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: NodeId = 1;
    const DIRECTORY: NodeId = 2;
    const FILE: NodeId = 3;

    fn request(walks: &mut Walks, kind: Kind, nodes: [NodeId; 2]) -> usize {
        walks.request(9, kind, nodes).len()
    }

    fn look_up(walks: &mut Walks, directory: NodeId, found: Option<NodeId>) -> usize {
        let ended = request(walks, Kind::LookUp, [directory, directory]);
        if let Some(node) = found {
            walks.found(node);
        }
        ended
    }

    /// open("d/f") as Linux 6.18 asks for it.
    fn walk_to_file(walks: &mut Walks) -> usize {
        request(walks, Kind::Attributes, [ROOT, ROOT])
            + look_up(walks, ROOT, Some(DIRECTORY))
            + request(walks, Kind::Attributes, [DIRECTORY, DIRECTORY])
            + look_up(walks, DIRECTORY, Some(FILE))
            + request(walks, Kind::Attributes, [FILE, FILE])
    }

    #[test]
    fn the_walk_belongs_to_the_call_that_follows() {
        let mut walks = Walks::default();
        assert_eq!(walk_to_file(&mut walks), 0);
        assert_eq!(request(&mut walks, Kind::Call, [FILE, FILE]), 0);
        assert_eq!(request(&mut walks, Kind::Call, [FILE, FILE]), 0);
    }

    #[test]
    fn a_walk_that_nothing_follows_was_a_call() {
        let mut walks = Walks::default();
        assert_eq!(walk_to_file(&mut walks), 0);
        assert_eq!(walk_to_file(&mut walks), 0, "it may be the second path of a rename");
        assert_eq!(request(&mut walks, Kind::Call, [7, 7]), 2);
        assert_eq!(walk_to_file(&mut walks), 0);
        assert_eq!(walks.pause().len(), 1);
    }

    #[test]
    fn attributes_asked_for_twice_are_two_calls() {
        let mut walks = Walks::default();
        assert_eq!(request(&mut walks, Kind::Attributes, [FILE, FILE]), 0);
        assert_eq!(request(&mut walks, Kind::Attributes, [FILE, FILE]), 0);
        assert_eq!(walks.pause().len(), 2);
    }

    #[test]
    fn many_calls_that_look_are_counted_at_last() {
        let mut walks = Walks::default();
        let ended: usize = (0..10).map(|_| walk_to_file(&mut walks)).sum();
        assert_eq!(ended + walks.pause().len(), 10);
    }

    #[test]
    fn another_process_ends_a_walk() {
        let mut walks = Walks::default();
        assert_eq!(walk_to_file(&mut walks), 0);
        assert_eq!(walks.request(8, Kind::Call, [FILE, FILE]), [FILE]);
    }

    #[test]
    fn a_rename_walks_two_paths() {
        let mut walks = Walks::default();
        request(&mut walks, Kind::Attributes, [ROOT, ROOT]);
        look_up(&mut walks, ROOT, Some(DIRECTORY));
        request(&mut walks, Kind::Attributes, [DIRECTORY, DIRECTORY]);
        request(&mut walks, Kind::Attributes, [ROOT, ROOT]);
        look_up(&mut walks, DIRECTORY, Some(FILE));
        look_up(&mut walks, ROOT, None);
        request(&mut walks, Kind::Attributes, [DIRECTORY, DIRECTORY]);
        request(&mut walks, Kind::Attributes, [ROOT, ROOT]);
        assert_eq!(request(&mut walks, Kind::CallOfTwoPaths, [DIRECTORY, ROOT]), 0);
    }

    #[test]
    fn what_came_before_a_rename_was_a_call() {
        let mut walks = Walks::default();
        walk_to_file(&mut walks);
        request(&mut walks, Kind::Attributes, [ROOT, ROOT]);
        look_up(&mut walks, ROOT, Some(DIRECTORY));
        look_up(&mut walks, DIRECTORY, Some(7));
        request(&mut walks, Kind::Attributes, [ROOT, ROOT]);
        look_up(&mut walks, ROOT, Some(DIRECTORY));
        look_up(&mut walks, DIRECTORY, Some(8));
        look_up(&mut walks, 7, Some(FILE));
        look_up(&mut walks, 8, None);
        assert_eq!(request(&mut walks, Kind::CallOfTwoPaths, [7, 8]), 1);
    }
}
