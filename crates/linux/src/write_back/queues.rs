//! Dirty inodes and the three queues on which they wait to be written (`fs/fs-writeback.c`, `struct bdi_writeback`).
//!
//! An inode becomes dirty at the end of the first queue. A round of write-back moves those that are old enough to the
//! second one and takes its inodes one after the other; an inode whose share of the round was used up before its pages
//! were written waits on the third one for the next round.

use ffslab_fs::{Errno, Ino, InodeDirt, PageSet};
use ffslab_policy::{DirtyFile, WriteBackRule};
use ffslab_sim::{Phase, Sim};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

use super::limits::tick;

/// Where an inode waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// In the order in which the inodes became dirty (`b_dirty`).
    Dirty,
    /// Chosen to be written now (`b_io`).
    Io,
    /// The inode's portion was used up; it is continued in the next round (`b_more_io`).
    MoreIo,
}

/// The state of an inode that has been dirty once, kept until the inode leaves memory.
#[derive(Default)]
pub(super) struct Inode {
    /// The inode itself must be written (`I_DIRTY_SYNC`, `I_DIRTY_DATASYNC`).
    pub dirt: Option<InodeDirt>,
    /// The inode got dirty pages since it was last written (`I_DIRTY_PAGES`). They may be clean again by now.
    pub had_pages: bool,
    /// Its dirty pages.
    pub pages: PageSet,
    /// Those dirty pages that the running round must write; pages that become dirty later are not among them
    /// (`PAGECACHE_TAG_TOWRITE`).
    pub to_write: PageSet,
    /// Tick at which it became dirty (`dirtied_when`).
    pub dirtied_tick: u64,
    /// When a program wrote to it last; kept only for an order that a policy makes.
    pub written_ns: u64,
    /// The page at which cyclic write-back continues (`writeback_index`).
    pub next_index: u64,
    /// Number of write-back errors so far, the last error, and whether any open file was told of it (`errseq_t`).
    pub errors: u64,
    pub last_error: Option<Errno>,
    pub error_was_told: bool,
    /// The last change of the inode itself that was not written.
    pub changed_in: Phase,
    /// See [`Inode::pages_left`], and when it was looked at last.
    left: PageSet,
    left_in: Phase,
    place: Option<(Queue, u64)>,
}

impl Inode {
    /// Whether anything of the inode is dirty (`I_DIRTY`).
    pub fn is_dirty(&self) -> bool {
        self.dirt.is_some() || self.had_pages
    }

    /// The dirty pages that were left by an earlier phase of the run than this one, and not changed since.
    pub fn pages_left(&mut self, phase: Phase) -> &mut PageSet {
        if self.left_in < phase {
            self.left_in = phase;
            self.left = self.pages.clone();
        }
        &mut self.left
    }
}

#[derive(Default)]
pub(super) struct Inodes {
    all: FxHashMap<Ino, Inode>,
    /// The three queues, first in, first out: keys increase with each inode that is added.
    queues: [BTreeMap<u64, Ino>; 3],
    next_ticket: u64,
    /// Dirty pages of all inodes.
    pub dirty_pages: u64,
}

impl Inodes {
    pub fn get(&self, ino: Ino) -> Option<&Inode> {
        self.all.get(&ino)
    }

    pub fn get_mut(&mut self, ino: Ino) -> Option<&mut Inode> {
        self.all.get_mut(&ino)
    }

    pub fn is_empty(&self, queue: Queue) -> bool {
        self.queues[queue as usize].is_empty()
    }

    pub fn first(&self, queue: Queue) -> Option<Ino> {
        self.queues[queue as usize].first_key_value().map(|(_, &ino)| ino)
    }

    /// The inode that the policy takes from a queue, of those that became dirty no later than `until_tick`.
    pub fn first_by(&self, rule: &mut WriteBackRule, queue: Queue, until_tick: i64, sim: &Sim) -> Option<Ino> {
        let tick_ns = 1_000_000_000 / u64::from(sim.config().tick_rate_hz);
        let (now_ns, now_tick) = (sim.now_ns(), tick(sim));
        let waiting = self.queues[queue as usize].values().filter_map(|&ino| {
            let inode = self.all.get(&ino).filter(|inode| inode.dirtied_tick as i64 <= until_tick)?;
            let (dirty_pages, written_ns) = (inode.pages.count(), inode.written_ns);
            let dirtied_ns = now_ns.saturating_sub(now_tick.saturating_sub(inode.dirtied_tick) * tick_ns);
            Some(DirtyFile { ino, dirty_pages, dirtied_ns, written_ns })
        });
        rule.choose(waiting, now_ns)
    }

    /// Whether any inode waits to be written (`WB_has_dirty_io`).
    pub fn any_waits(&self) -> bool {
        self.queues.iter().any(|queue| !queue.is_empty())
    }

    /// Marks an inode as dirty, or as more dirty than it was (`__mark_inode_dirty`). Returns `true` when no inode was
    /// waiting before.
    pub fn mark(&mut self, ino: Ino, dirt: Option<InodeDirt>, tick: u64, phase: Phase) -> bool {
        let nobody_waited = !self.any_waits();
        let inode = self.all.entry(ino).or_default();
        let was_dirty = inode.is_dirty();
        match dirt {
            Some(_) => {
                inode.changed_in = if inode.dirt.is_none() { phase } else { inode.changed_in.max(phase) };
                inode.dirt = inode.dirt.max(dirt);
            }
            None => inode.had_pages = true,
        }
        // An inode that is being written is put into the right queue after that.
        if was_dirty || matches!(inode.place, Some((Queue::Io | Queue::MoreIo, _))) {
            return false;
        }
        inode.dirtied_tick = tick;
        self.put(ino, Queue::Dirty);
        nobody_waited
    }

    /// Puts the inode at the end of a queue.
    pub fn put(&mut self, ino: Ino, queue: Queue) {
        self.take(ino);
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.queues[queue as usize].insert(ticket, ino);
        self.all.entry(ino).or_default().place = Some((queue, ticket));
    }

    /// Takes the inode off its queue.
    pub fn take(&mut self, ino: Ino) {
        if let Some((queue, ticket)) = self.all.get_mut(&ino).and_then(|inode| inode.place.take()) {
            self.queues[queue as usize].remove(&ticket);
        }
    }

    /// Puts the inode to the end of the first queue, and makes it as young as its neighbours there if it is older
    /// (`redirty_tail`).
    pub fn redirty(&mut self, ino: Ino, tick: u64) {
        let youngest = self.queues[Queue::Dirty as usize].last_key_value().and_then(|(_, ino)| self.all.get(ino));
        let youngest_tick = youngest.map_or(0, |inode| inode.dirtied_tick);
        if let Some(inode) = self.all.get_mut(&ino) {
            if inode.dirtied_tick < youngest_tick {
                inode.dirtied_tick = tick;
            }
        }
        self.put(ino, Queue::Dirty);
    }

    /// Begins a round with the inodes that are to be continued, followed by those that became dirty no later than
    /// `until_tick`, the oldest first (`queue_io`).
    pub fn begin_round(&mut self, until_tick: i64) {
        while let Some(ino) = self.first(Queue::MoreIo) {
            self.put(ino, Queue::Io);
        }
        while let Some(ino) = self.first(Queue::Dirty) {
            if self.all.get(&ino).is_some_and(|inode| inode.dirtied_tick as i64 > until_tick) {
                break;
            }
            self.put(ino, Queue::Io);
        }
    }

    /// Marks a page as dirty. Returns `true` when it was clean before.
    pub fn dirty_page(&mut self, ino: Ino, index: u64) -> bool {
        let added = self.all.entry(ino).or_default().pages.insert(index);
        self.dirty_pages += u64::from(added);
        added
    }

    /// Inodes that are dirty beside their pages.
    pub fn dirty(&self) -> u64 {
        self.all.values().filter(|inode| inode.dirt.is_some()).count() as u64
    }

    /// Marks a page as clean. Returns `true` when it was dirty before.
    pub fn clean_page(&mut self, ino: Ino, index: u64) -> bool {
        let Some(inode) = self.all.get_mut(&ino) else { return false };
        inode.left.remove(index);
        inode.to_write.remove(index);
        let removed = inode.pages.remove(index);
        self.dirty_pages -= u64::from(removed);
        removed
    }

    /// The first dirty page of the range.
    pub fn first_dirty_page(&self, ino: Ino, first: u64, last: u64) -> Option<u64> {
        self.all.get(&ino)?.pages.next(first).filter(|&page| page <= last)
    }

    /// Forgets an inode that leaves memory. Its dirty pages must have been dropped before.
    pub fn forget(&mut self, ino: Ino) {
        self.take(ino);
        self.all.remove(&ino);
    }

    /// Forgets clean inodes, except for those in use.
    pub fn forget_clean(&mut self, in_use: &dyn Fn(Ino) -> bool) {
        self.all.retain(|&ino, inode| inode.place.is_some() || inode.is_dirty() || in_use(ino));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(inodes: &Inodes, queue: Queue) -> Vec<Ino> {
        inodes.queues[queue as usize].values().copied().collect()
    }

    #[test]
    fn an_inode_that_is_dirtied_again_keeps_its_place() {
        let mut inodes = Inodes::default();
        assert!(inodes.mark(7, None, 10, Phase::default()));
        assert!(!inodes.mark(8, Some(InodeDirt::Attributes), 20, Phase::default()));
        assert!(!inodes.mark(7, Some(InodeDirt::Data), 30, Phase::default()));
        assert_eq!(queue(&inodes, Queue::Dirty), [7, 8]);
        assert_eq!(inodes.get(7).unwrap().dirtied_tick, 10);
    }

    #[test]
    fn a_round_takes_the_eldest_first_up_to_an_age() {
        let mut inodes = Inodes::default();
        for (ino, tick) in [(1, 10), (2, 20), (3, 30), (4, 40)] {
            inodes.mark(ino, None, tick, Phase::default());
        }
        inodes.put(1, Queue::MoreIo);
        inodes.begin_round(30);
        assert_eq!(queue(&inodes, Queue::Io), [1, 2, 3]);
        assert_eq!(queue(&inodes, Queue::Dirty), [4]);
        assert!(inodes.is_empty(Queue::MoreIo));
    }

    #[test]
    fn an_inode_put_back_is_as_young_as_the_youngest() {
        let mut inodes = Inodes::default();
        inodes.mark(1, None, 10, Phase::default());
        inodes.mark(2, None, 20, Phase::default());
        inodes.begin_round(10);
        inodes.redirty(1, 99);
        assert_eq!((queue(&inodes, Queue::Dirty), inodes.get(1).unwrap().dirtied_tick), (vec![2, 1], 99));
        inodes.begin_round(50);
        inodes.redirty(2, 100);
        assert_eq!(inodes.get(2).unwrap().dirtied_tick, 100, "younger ones wait already");
    }

    #[test]
    fn an_inode_that_leaves_memory_leaves_its_queue() {
        let mut inodes = Inodes::default();
        inodes.mark(1, None, 10, Phase::default());
        inodes.forget(1);
        assert!(!inodes.any_waits() && inodes.get(1).is_none());
        inodes.mark(2, None, 10, Phase::default());
        inodes.mark(3, None, 10, Phase::default());
        inodes.take(3);
        inodes.get_mut(3).unwrap().had_pages = false;
        inodes.forget_clean(&|_| false);
        assert!(inodes.get(2).is_some() && inodes.get(3).is_none());
    }
}
