//! Whose turn it is on the one CPU: the rule by which the processes of job files and the programs of an experiment share it.

/// Since when somebody could make the next call. The least one has its turn: whoever has been ready longest, and of those
/// who became ready at the same time the one who ran longest ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ready {
    pub at_ns: u64,
    ticket: u64,
}

/// Gives out the places in the queue.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    tickets: u64,
}

impl Turns {
    /// The place of somebody who has just run, or begins, and can make the next call at `at_ns`.
    pub fn ready(&mut self, at_ns: u64) -> Ready {
        self.tickets += 1;
        Ready { at_ns, ticket: self.tickets }
    }
}

/// The first in the queue, with his position in it. `None` stands for those who do not wait for a turn.
pub(crate) fn next(queue: impl Iterator<Item = Option<Ready>>) -> Option<(Ready, usize)> {
    queue.enumerate().filter_map(|(i, ready)| Some((ready?, i))).min()
}
