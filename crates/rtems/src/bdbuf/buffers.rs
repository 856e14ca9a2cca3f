//! The buffers: groups, the three lists, the look-up by block.
//!
//! One record per minimum-size slot of the cache memory. The lists are circular and run through the records (indices
//! instead of pointers, one sentinel per list), so that a buffer leaves its list without knowing which. RTEMS looks up
//! blocks in an AVL tree; here it is a hash table with chains through the records. Nothing depends on the tree's shape
//! except the order in which a purge frees buffers, which only matters to several devices with different block sizes.

use super::config::BdbufConfig;
use ffslab_sim::Phase;

/// A buffer of the cache, held by a caller between get or read and release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferId(pub(super) u32);

/// A device that the cache serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskId(pub(super) u16);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Free,
    Empty,
    Cached,
    AccessCached,
    AccessModified,
    AccessEmpty,
    AccessPurged,
    Modified,
    Sync,
    Transfer,
    TransferPurged,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    next: u32,
    previous: u32,
    hash_next: u32,
    /// Media block with which the content of the buffer begins.
    pub block: u32,
    pub disk: DiskId,
    pub state: State,
    pub waiters: u8,
    /// Its last modification that was not written.
    pub changed_in: Phase,
    pub hold_timer_ms: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// Buffers into which the group is cut; each is `slots_per_group / buffers` slots long.
    pub buffers: u32,
    /// Buffers of the group that are neither free nor clean, plus the tasks that wait for one of its buffers.
    pub users: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// Free buffers at the head, then clean ones; among those the least recently used stands first.
    Lru = 0,
    Modified = 1,
    Sync = 2,
}

const NONE: u32 = u32::MAX;

pub(super) struct Buffers {
    /// The slots, then one sentinel per list.
    records: Vec<Buffer>,
    pub groups: Vec<Group>,
    pub slots: u32,
    pub slots_per_group: u32,
    /// How many buffers the look-up table holds.
    pub blocks_known: u32,
    buckets: Vec<u32>,
    bucket_shift: u32,
    slot_bytes: usize,
    memory: Vec<u8>,
}

impl Buffers {
    pub fn new(config: &BdbufConfig) -> Self {
        let slots_per_group = config.slots_per_group();
        let groups = config.groups();
        // Slots behind the last whole group have no group in RTEMS and would corrupt memory when used; its own
        // configuration macro never leaves any, and here they do not exist.
        let slots = groups * slots_per_group;
        let blank = Buffer {
            next: NONE,
            previous: NONE,
            hash_next: NONE,
            block: 0,
            disk: DiskId(u16::MAX),
            state: State::Free,
            waiters: 0,
            changed_in: Phase::default(),
            hold_timer_ms: 0,
        };
        let bucket_bits = (slots * 2).next_power_of_two().trailing_zeros().max(1);
        let mut buffers = Self {
            records: vec![blank; slots as usize + 3],
            groups: vec![Group { buffers: slots_per_group, users: 0 }; groups as usize],
            slots,
            slots_per_group,
            blocks_known: 0,
            buckets: vec![NONE; 1 << bucket_bits],
            bucket_shift: 32 - bucket_bits,
            slot_bytes: config.buffer_min_bytes as usize,
            memory: vec![0; slots as usize * config.buffer_min_bytes as usize],
        };
        for list in [List::Lru, List::Modified, List::Sync] {
            let sentinel = buffers.sentinel(list);
            buffers.records[sentinel as usize].next = sentinel;
            buffers.records[sentinel as usize].previous = sentinel;
        }
        for slot in 0..slots {
            buffers.append(List::Lru, slot);
        }
        buffers
    }

    #[inline]
    pub fn get(&self, buffer: u32) -> &Buffer {
        &self.records[buffer as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, buffer: u32) -> &mut Buffer {
        &mut self.records[buffer as usize]
    }

    #[inline]
    pub fn group_of(&self, buffer: u32) -> u32 {
        buffer / self.slots_per_group
    }

    #[inline]
    pub fn group(&self, buffer: u32) -> &Group {
        &self.groups[(buffer / self.slots_per_group) as usize]
    }

    #[inline]
    pub fn obtain_group(&mut self, buffer: u32) {
        self.groups[(buffer / self.slots_per_group) as usize].users += 1;
    }

    #[inline]
    pub fn release_group(&mut self, buffer: u32) {
        self.groups[(buffer / self.slots_per_group) as usize].users -= 1;
    }

    /// Where a buffer begins in the cache's memory.
    pub fn memory_offset(&self, buffer: u32) -> u64 {
        u64::from(buffer) * self.slot_bytes as u64
    }

    #[inline]
    pub fn data(&self, buffer: u32, bytes: u32) -> &[u8] {
        let start = buffer as usize * self.slot_bytes;
        &self.memory[start..start + bytes as usize]
    }

    #[inline]
    pub fn data_mut(&mut self, buffer: u32, bytes: u32) -> &mut [u8] {
        let start = buffer as usize * self.slot_bytes;
        &mut self.memory[start..start + bytes as usize]
    }

    // ---- lists -----------------------------------------------------------------------------------------------

    #[inline]
    fn sentinel(&self, list: List) -> u32 {
        self.slots + list as u32
    }

    #[inline]
    fn insert_between(&mut self, previous: u32, buffer: u32, next: u32) {
        self.records[previous as usize].next = buffer;
        self.records[next as usize].previous = buffer;
        let record = &mut self.records[buffer as usize];
        record.previous = previous;
        record.next = next;
    }

    #[inline]
    pub fn append(&mut self, list: List, buffer: u32) {
        let sentinel = self.sentinel(list);
        let last = self.records[sentinel as usize].previous;
        self.insert_between(last, buffer, sentinel);
    }

    #[inline]
    pub fn prepend(&mut self, list: List, buffer: u32) {
        let sentinel = self.sentinel(list);
        let first = self.records[sentinel as usize].next;
        self.insert_between(sentinel, buffer, first);
    }

    #[inline]
    pub fn extract(&mut self, buffer: u32) {
        let Buffer { next, previous, .. } = self.records[buffer as usize];
        self.records[previous as usize].next = next;
        self.records[next as usize].previous = previous;
    }

    #[inline]
    pub fn first(&self, list: List) -> Option<u32> {
        self.after(list, self.sentinel(list))
    }

    /// The buffer behind `buffer` in `list`.
    #[inline]
    pub fn after(&self, list: List, buffer: u32) -> Option<u32> {
        let next = self.records[buffer as usize].next;
        (next != self.sentinel(list)).then_some(next)
    }

    #[inline]
    pub fn is_empty(&self, list: List) -> bool {
        self.first(list).is_none()
    }

    // ---- look-up -----------------------------------------------------------------------------------------------

    #[inline]
    fn bucket(&self, disk: DiskId, block: u32) -> usize {
        // Fibonacci hashing: consecutive blocks land in different buckets.
        (block.wrapping_add(u32::from(disk.0) << 24).wrapping_mul(0x9E37_79B9) >> self.bucket_shift) as usize
    }

    #[inline]
    pub fn find(&self, disk: DiskId, block: u32) -> Option<u32> {
        let mut at = self.buckets[self.bucket(disk, block)];
        while at != NONE {
            let record = &self.records[at as usize];
            if record.block == block && record.disk == disk {
                return Some(at);
            }
            at = record.hash_next;
        }
        None
    }

    fn insert_key(&mut self, buffer: u32) {
        let record = self.records[buffer as usize];
        let bucket = self.bucket(record.disk, record.block);
        self.records[buffer as usize].hash_next = self.buckets[bucket];
        self.buckets[bucket] = buffer;
        self.blocks_known += 1;
    }

    pub fn remove_key(&mut self, buffer: u32) {
        self.blocks_known -= 1;
        let record = self.records[buffer as usize];
        let bucket = self.bucket(record.disk, record.block);
        let mut at = self.buckets[bucket];
        if at == buffer {
            self.buckets[bucket] = record.hash_next;
            return;
        }
        while at != NONE {
            let next = self.records[at as usize].hash_next;
            if next == buffer {
                self.records[at as usize].hash_next = record.hash_next;
                return;
            }
            at = next;
        }
        debug_assert!(false, "a buffer of state {:?} is not in the table", record.state);
    }

    /// All buffers of a disk that the table knows, by slot.
    pub fn of_disk(&self, disk: DiskId) -> impl Iterator<Item = u32> + use<'_> {
        (0..self.slots).filter(move |&slot| {
            let record = &self.records[slot as usize];
            record.disk == disk && record.state != State::Free && self.find(disk, record.block) == Some(slot)
        })
    }

    // ---- transitions ---------------------------------------------------------------------------------------------

    pub fn make_free(&mut self, buffer: u32) {
        self.get_mut(buffer).state = State::Free;
        self.prepend(List::Lru, buffer);
    }

    #[inline]
    pub fn make_cached(&mut self, buffer: u32) {
        self.get_mut(buffer).state = State::Cached;
        self.append(List::Lru, buffer);
    }

    /// `rtems_bdbuf_discard_buffer`.
    pub fn discard(&mut self, buffer: u32) {
        self.get_mut(buffer).state = State::Empty;
        if self.get(buffer).waiters == 0 {
            self.remove_key(buffer);
            self.make_free(buffer);
        }
    }

    /// Takes a free or clean buffer out of the look-up table and off the LRU list.
    pub fn remove_from_table_and_lru(&mut self, buffer: u32) {
        if self.get(buffer).state == State::Cached {
            self.remove_key(buffer);
        }
        self.extract(buffer);
    }

    /// `rtems_bdbuf_group_realloc`: divides a group into buffers of another size. Returns the first buffer, which the
    /// caller uses; the second value says whether there are others, which are now free.
    fn cut_group(&mut self, group: u32, buffers: u32) -> (u32, bool) {
        let first = group * self.slots_per_group;
        let step = self.slots_per_group / self.groups[group as usize].buffers;
        for slot in (first..first + self.slots_per_group).step_by(step as usize) {
            self.remove_from_table_and_lru(slot);
        }
        self.groups[group as usize].buffers = buffers;
        let step = self.slots_per_group / buffers;
        for slot in (first..first + self.slots_per_group).step_by(step as usize).skip(1) {
            self.make_free(slot);
        }
        (first, buffers > 1)
    }

    /// `rtems_bdbuf_get_buffer_from_lru_list`: takes the buffer to recycle for a block; it is in [`State::Empty`] and
    /// in the look-up table afterwards. The second value says whether further buffers became free.
    pub fn recycle(&mut self, disk: DiskId, block: u32, buffers_per_group: u32) -> Option<(u32, bool)> {
        let mut at = self.first(List::Lru);
        while let Some(buffer) = at {
            if self.get(buffer).waiters == 0 {
                let group = *self.group(buffer);
                let found = if group.buffers == buffers_per_group {
                    self.remove_from_table_and_lru(buffer);
                    Some((buffer, false))
                } else if group.users == 0 {
                    Some(self.cut_group(self.group_of(buffer), buffers_per_group))
                } else {
                    None
                };
                if let Some((buffer, others)) = found {
                    let record = self.get_mut(buffer);
                    record.disk = disk;
                    record.block = block;
                    record.waiters = 0;
                    record.state = State::Empty;
                    self.insert_key(buffer);
                    return Some((buffer, others));
                }
            }
            at = self.after(List::Lru, buffer);
        }
        None
    }
}
