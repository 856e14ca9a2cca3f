//! The protection queue: erase blocks that were handed out a short while ago and must not be moved yet.
//!
//! From Linux 6.1 `drivers/mtd/ubi/wl.c`: ten lists, the head advances with each erase, so a block is protected for ten
//! erases of whatever block. The lists are linked by block number, so that a block leaves its list in constant time.

/// `UBI_PROT_QUEUE_LEN`
const LISTS: u32 = 10;
const NIL: u32 = u32::MAX;
/// The list of a block that is in none.
const NO_LIST: u8 = u8::MAX;

#[derive(Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
}

pub struct ProtectionQueue {
    links: Box<[Link]>,
    first: [u32; LISTS as usize],
    last: [u32; LISTS as usize],
    list_of: Box<[u8]>,
    /// The list whose blocks lose their protection with the next erase.
    head: u32,
}

impl ProtectionQueue {
    pub fn new(pebs: u32) -> ProtectionQueue {
        ProtectionQueue {
            links: vec![Link { before: NIL, after: NIL }; pebs as usize].into_boxed_slice(),
            first: [NIL; LISTS as usize],
            last: [NIL; LISTS as usize],
            list_of: vec![NO_LIST; pebs as usize].into_boxed_slice(),
            head: 0,
        }
    }

    /// Adds a block to the list that is served last. The block must not be in any list.
    pub fn add(&mut self, peb: u32) {
        debug_assert_eq!(self.list_of[peb as usize], NO_LIST, "PEB {peb} is protected already");
        let list = (self.head + LISTS - 1) % LISTS;
        let before = self.last[list as usize];
        self.links[peb as usize] = Link { before, after: NIL };
        self.list_of[peb as usize] = list as u8;
        if before == NIL {
            self.first[list as usize] = peb;
        } else {
            self.links[before as usize].after = peb;
        }
        self.last[list as usize] = peb;
    }

    /// Takes a block out of its list.
    pub fn remove(&mut self, peb: u32) {
        let Link { before, after } = self.links[peb as usize];
        let list = usize::from(std::mem::replace(&mut self.list_of[peb as usize], NO_LIST));
        debug_assert!(list < self.first.len(), "PEB {peb} is not protected");
        if before == NIL {
            self.first[list] = after;
        } else {
            self.links[before as usize].after = after;
        }
        if after == NIL {
            self.last[list] = before;
        } else {
            self.links[after as usize].before = before;
        }
    }

    /// The protected blocks, list by list as they stand in memory (`ubi_for_each_protected_peb`).
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let of_list = |&first: &u32| std::iter::successors(known(first), |&peb| known(self.links[peb as usize].after));
        self.first.iter().flat_map(of_list)
    }

    /// Called after an erase: takes the blocks whose protection is over, one per call. `None` ends the round.
    pub fn serve(&mut self) -> Option<u32> {
        let peb = self.first[self.head as usize];
        if peb == NIL {
            self.head = (self.head + 1) % LISTS;
            return None;
        }
        self.remove(peb);
        Some(peb)
    }
}

fn known(peb: u32) -> Option<u32> {
    (peb != NIL).then_some(peb)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn erase(queue: &mut ProtectionQueue) -> Vec<u32> {
        std::iter::from_fn(|| queue.serve()).collect()
    }

    #[test]
    fn a_block_is_protected_for_ten_erases() {
        let mut queue = ProtectionQueue::new(8);
        queue.add(3);
        for _ in 0..9 {
            assert!(erase(&mut queue).is_empty());
        }
        assert_eq!(erase(&mut queue), [3]);
        assert!(erase(&mut queue).is_empty());
    }

    #[test]
    #[should_panic(expected = "PEB 3 is protected already")]
    fn a_block_cannot_be_protected_twice() {
        let mut queue = ProtectionQueue::new(8);
        queue.add(3);
        queue.add(3);
    }

    #[test]
    #[should_panic(expected = "PEB 3 is not protected")]
    fn only_protected_blocks_leave_the_queue() {
        ProtectionQueue::new(8).remove(3);
    }

    #[test]
    fn a_block_that_was_put_back_is_not_served() {
        let mut queue = ProtectionQueue::new(8);
        for peb in [1, 2, 5, 6] {
            queue.add(peb);
        }
        queue.remove(2);
        queue.remove(6);
        erase(&mut queue);
        queue.add(2);
        queue.remove(1);
        let served: Vec<Vec<u32>> = (0..10).map(|_| erase(&mut queue)).collect();
        assert_eq!(served[8], [5]);
        assert_eq!(served[9], [2]);
    }
}
