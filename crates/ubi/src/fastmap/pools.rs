//! The pools: which free blocks stand ready, and how they are handed out.
//!
//! Follows Linux 6.1.192 `drivers/mtd/ubi/fastmap-wl.c` (`ubi_refill_pools_and_lock`, `wait_free_pebs_for_pool`, `ubi_wl_get_peb`,
//! `ubi_wl_get_fm_peb`, `ubi_ensure_anchor_pebs`).

use super::format::ANCHORS_WITHIN_PEBS;
use super::Fastmap;
use crate::attach::WORKING_PEBS;
use crate::causes;
use crate::device::{Device, Work};
use crate::error::UbiError;
use crate::wear::{Place, Wear};
use crate::wear_tree::WearTree;

/// So often a full pool is asked for before UBI says that it has no room.
const ATTEMPTS_MAX: u32 = 10;

impl Wear {
    /// A kernel worker is to write a fastmap.
    pub fn wants_fastmap(&self) -> bool {
        self.fastmap.as_ref().is_some_and(|fastmap| fastmap.update_wanted)
    }

    /// Takes the free block at the root of the tree for a use of its own; one in which an anchor can stand is left where it is as
    /// long as there is no fastmap (`may_reserve_for_fm`).
    pub fn root_beside_anchors(&self) -> Option<u32> {
        let spares = |fastmap: &Fastmap| !fastmap.disabled && fastmap.written.is_none();
        match self.free.root() {
            Some(root) if root < ANCHORS_WITHIN_PEBS && self.fastmap.as_deref().is_some_and(spares) => {
                self.free.behind_root()
            }
            root => root,
        }
    }

    /// A block was erased: it is free, or becomes the next anchor if there is none (`__erase_worker`).
    pub fn put_erased(&mut self, peb: u32) {
        match &mut self.fastmap {
            Some(fastmap) if !fastmap.disabled && fastmap.anchor_number.is_none() && peb < ANCHORS_WITHIN_PEBS => {
                fastmap.anchor_number = Some(peb);
                fastmap.produces_anchor = false;
                self.put(peb, Place::Anchor);
            }
            _ => self.put(peb, Place::Free),
        }
    }

    /// What is left in the pools and the block for the next anchor are free again.
    fn return_unused(&mut self) {
        let Some(fastmap) = self.fastmap.as_mut() else { return };
        let mut unused = fastmap.wl_pool.rest().to_vec();
        unused.extend(fastmap.pool.rest());
        unused.extend(fastmap.anchor_number.take());
        for pool in [&mut fastmap.pool, &mut fastmap.wl_pool] {
            pool.pebs.clear();
            pool.used = 0;
        }
        for peb in unused {
            self.put(peb, Place::Free);
        }
    }
}

/// The least worn block in which an anchor can stand (`find_anchor_wl_entry`).
pub fn best_anchor(tree: &WearTree) -> Option<u32> {
    tree.iter().find(|&peb| peb < ANCHORS_WITHIN_PEBS)
}

impl Device {
    /// Hands out the next block of the pool. When one of the pools is used up, they are filled and a fastmap is written.
    pub fn get_peb_of_pool(&mut self) -> Result<u32, UbiError> {
        for attempt in 1.. {
            let is_used_up = |fastmap: &Fastmap| fastmap.pool.is_used_up() || fastmap.wl_pool.is_used_up();
            if self.wear.fastmap.as_deref().is_some_and(is_used_up) {
                self.update_fastmap()?;
            }
            if let Some(peb) = self.wear.fastmap.as_mut().and_then(|fastmap| fastmap.pool.take()) {
                self.wear.put(peb, Place::Protected);
                return Ok(peb);
            }
            if attempt == ATTEMPTS_MAX {
                break;
            }
            while self.wear.free.is_empty() && !self.wear.works.is_empty() {
                self.let_thread_run();
                self.do_work()?;
            }
        }
        Err(UbiError::NoSpace)
    }

    /// Fills both pools, and chooses the block for the next anchor.
    pub(super) fn refill_pools(&mut self) -> Result<(), UbiError> {
        let Some(fastmap) = self.wear.fastmap.as_ref() else { return Ok(()) };
        let writes = !self.io.read_only && !fastmap.disabled;
        let own_blocks = fastmap.blocks - 1;
        if writes {
            self.wait_for_free_pebs(own_blocks)?;
        }
        // The thread is in the middle of no work when the pools are filled (`work_sem`).
        self.end_erase()?;
        let writes = writes && !self.io.read_only;
        self.wear.return_unused();
        if let Some(fastmap) = self.wear.fastmap.as_ref().filter(|fastmap| !fastmap.disabled) {
            debug_assert!(fastmap.anchor_number.is_none());
            let anchor = self.take_fm_peb(true);
            self.keep_anchor(anchor);
        }
        loop {
            let Some(fastmap) = self.wear.fastmap.as_mut() else { return Ok(()) };
            let wants = fastmap.pool.pebs.len() < fastmap.pool.max_pebs;
            let wl_wants = fastmap.wl_pool.pebs.len() < fastmap.wl_pool.max_pebs;
            if !wants && !wl_wants {
                return Ok(());
            }
            if wants {
                if !self.has_enough_free(0, writes, own_blocks) {
                    return Ok(());
                }
                let Some(peb) = self.wear.medium_free() else { return Ok(()) };
                self.put_in_pool(peb, |fastmap| &mut fastmap.pool.pebs);
            }
            if wl_wants {
                if !self.has_enough_free(self.space.bad_reserve_pebs, writes, own_blocks) {
                    return Ok(());
                }
                let Some(peb) = self.wear.worn_free() else { return Ok(()) };
                self.put_in_pool(peb, |fastmap| &mut fastmap.wl_pool.pebs);
            }
        }
    }

    fn put_in_pool(&mut self, peb: u32, pool: fn(&mut Fastmap) -> &mut Vec<u32>) {
        self.wear.take(peb);
        self.wear.put(peb, Place::Pooled);
        if let Some(fastmap) = self.wear.fastmap.as_mut() {
            pool(fastmap).push(peb);
        }
    }

    /// Does waiting works until there are so many free blocks that the pools last for a while; at least one.
    fn wait_for_free_pebs(&mut self, own_blocks: u32) -> Result<(), UbiError> {
        loop {
            let in_pools = self
                .wear
                .fastmap
                .as_ref()
                .map_or(0, |fastmap| fastmap.pool.rest().len() + fastmap.wl_pool.rest().len());
            let free = self.wear.free.count() + in_pools as u32;
            let wanted = WORKING_PEBS + own_blocks + self.space.bad_reserve_pebs;
            self.let_thread_run();
            if self.wear.works.is_empty() {
                return Ok(());
            }
            match self.do_work() {
                Err(UbiError::PowerCut) => return Err(UbiError::PowerCut),
                Err(_) => return Ok(()),
                Ok(()) if free >= wanted => return Ok(()),
                Ok(()) => {}
            }
        }
    }

    /// Whether a pool may take one more block, so that the fastmap's own blocks are left (`has_enough_free_count`).
    fn has_enough_free(&self, reserve_pebs: u32, writes: bool, own_blocks: u32) -> bool {
        let Some(fastmap) = &self.wear.fastmap else { return false };
        let kept = if !fastmap.wl_pool.pebs.is_empty() && writes { own_blocks } else { 0 };
        self.wear.free.count() > reserve_pebs + kept
    }

    /// Takes a free block for the fastmap itself.
    pub(super) fn take_fm_peb(&mut self, anchor: bool) -> Option<u32> {
        if self.wear.free.count() <= self.space.bad_reserve_pebs {
            return None;
        }
        let peb = if anchor { best_anchor(&self.wear.free) } else { self.wear.medium_free() }?;
        self.wear.take(peb);
        self.wear.put(peb, Place::Fastmap);
        Some(peb)
    }

    fn keep_anchor(&mut self, peb: Option<u32>) {
        if let (Some(fastmap), Some(peb)) = (self.wear.fastmap.as_mut(), peb) {
            fastmap.anchor_number = Some(peb);
            self.wear.put(peb, Place::Anchor);
        }
    }

    /// Sees to it that there is a block for the next anchor, if need be by moving data away.
    pub fn ensure_anchor(&mut self) {
        let Some(fastmap) = &self.wear.fastmap else { return };
        if fastmap.disabled || fastmap.anchor_number.is_some() {
            return;
        }
        if let Some(peb) = self.take_fm_peb(true) {
            return self.keep_anchor(Some(peb));
        }
        if let Some(fastmap) = self.wear.fastmap.as_mut() {
            fastmap.produces_anchor = true;
        }
        if !self.wear.move_scheduled {
            self.wear.move_scheduled = true;
            self.schedule(Work::Move);
        }
    }

    /// Lets a kernel worker fill the pools.
    pub(super) fn want_fastmap(&mut self) {
        if let Some(fastmap) = self.wear.fastmap.as_mut() {
            fastmap.update_wanted = true;
            if self.wear.thread_enabled {
                self.sim.wake(&causes::UBI_THREAD);
            }
        }
    }
}
