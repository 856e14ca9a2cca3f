//! Free and used erase blocks: which one is handed out next, when blocks are erased, what goes bad.
//!
//! Follows Linux 6.1 `drivers/mtd/ubi/wl.c`. A block is in one place at a time ([`Place`]). Blocks that are put back
//! wait as works for the background thread; a caller that finds no free block does works itself.

mod choice;
mod erasing;

use crate::causes;
use ffslab_policy::{FreePool, Leveller, LevellingSpec};
use ffslab_sim::{Reason, Switch};

use crate::device::{Device, EraseWork, Work, Works};
use crate::error::UbiError;
use crate::fastmap::Fastmap;
use crate::media::LebAddress;
use crate::options::{DataLife, UbiOptions};
use crate::protection::ProtectionQueue;
use crate::wear_tree::WearTree;

/// After so many failed works in a row the thread gives up (`WL_MAX_FAILURES`).
const FAILURES_MAX: u32 = 32;

/// Where an erase block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Bad, corrupted, of an unknown internal volume, or given up after an error that made the device read-only.
    Nowhere,
    Free,
    Used,
    /// Used, and its data should move because of bit flips.
    Scrub,
    /// Used, and its data cannot be read, so it is not moved again.
    Erroneous,
    /// Used, and handed out so recently that it is not moved.
    Protected,
    /// The block waits for its erase, or is being erased or moved.
    Pending,
    /// Free, and in a pool of the fastmap, from which it is handed out.
    Pooled,
    /// Free, and kept for the anchor of the next fastmap.
    Anchor,
    /// Holds a part of the fastmap.
    Fastmap,
}

pub struct Wear {
    /// Erase counter of each block; meaningless for blocks that are [`Place::Nowhere`].
    pub erases: Box<[u32]>,
    pub places: Box<[Place]>,
    pub free: WearTree,
    pub used: WearTree,
    pub scrub: WearTree,
    pub protection: ProtectionQueue,
    pub works: Works,
    /// The work in the middle of which the thread sleeps, while the medium erases, or has lost the CPU, behind the erase.
    pub erasing: Option<EraseWork>,
    /// A [`Work::Move`] is among the waiting works.
    pub move_scheduled: bool,
    pub threshold_erases: u32,
    /// See [`UbiOptions::asks_data_life`].
    asks_data_life: bool,
    /// See [`UbiOptions::flushes_all_works`].
    flushes_all_works: bool,
    /// The free blocks once more, for a rule other than the kernel's.
    free_rule: Option<FreePool>,
    /// A rule for levelling other than the kernel's, and the block whose data a waiting [`Work::Move`] moves by it.
    levelling: Option<LevellingSpec>,
    leveller: Option<Leveller>,
    chosen_by_rule: Option<u32>,
    /// Of a kernel that has one.
    pub fastmap: Option<Box<Fastmap>>,
    pub erases_max: u32,
    pub erroneous_pebs: u32,
    pub erroneous_pebs_max: u32,
    /// The thread exists and may work.
    pub thread_enabled: bool,
    failures: u32,
}

impl Wear {
    pub fn new(pebs: u32, options: &UbiOptions) -> Wear {
        let rules = &options.wear_rules;
        Wear {
            erases: vec![0; pebs as usize].into_boxed_slice(),
            places: vec![Place::Nowhere; pebs as usize].into_boxed_slice(),
            free: WearTree::new(pebs),
            used: WearTree::new(pebs),
            scrub: WearTree::new(pebs),
            protection: ProtectionQueue::new(pebs),
            works: Works::new(),
            erasing: None,
            move_scheduled: false,
            threshold_erases: options.wl_threshold_erases,
            asks_data_life: options.asks_data_life,
            flushes_all_works: options.flushes_all_works,
            free_rule: rules
                .free
                .or(rules.levelling.map(|rule| rule.free_rule()))
                .map(|rule| FreePool::new(rule, rules.seed)),
            levelling: rules.levelling,
            leveller: rules.levelling.map(|rule| Leveller::new(rule, rules.endurance_erases, pebs, rules.seed)),
            chosen_by_rule: None,
            fastmap: None,
            erases_max: 0,
            erroneous_pebs: 0,
            erroneous_pebs_max: (pebs / 10).max(16),
            thread_enabled: false,
            failures: 0,
        }
    }

    /// Puts a block in a place. The block must not be in any list or tree.
    pub fn put(&mut self, peb: u32, place: Place) {
        let erases = self.erases[peb as usize];
        self.places[peb as usize] = place;
        match place {
            Place::Free => {
                self.free.insert(peb, erases);
                if let Some(rule) = &mut self.free_rule {
                    rule.insert(peb, erases);
                }
            }
            Place::Used => self.used.insert(peb, erases),
            Place::Scrub => self.scrub.insert(peb, erases),
            Place::Protected => self.protection.add(peb),
            Place::Erroneous => self.erroneous_pebs += 1,
            Place::Pending | Place::Nowhere | Place::Pooled | Place::Anchor | Place::Fastmap => {}
        }
    }

    /// Takes a block out of the list or tree in which it is. Returns where it was.
    pub fn take(&mut self, peb: u32) -> Place {
        let place = std::mem::replace(&mut self.places[peb as usize], Place::Pending);
        match place {
            Place::Free => {
                self.free.remove(peb);
                if let Some(rule) = &mut self.free_rule {
                    rule.take_this(peb);
                }
            }
            Place::Used => self.used.remove(peb),
            Place::Scrub => self.scrub.remove(peb),
            Place::Protected => self.protection.remove(peb),
            Place::Erroneous => self.erroneous_pebs -= 1,
            Place::Pending | Place::Nowhere | Place::Pooled | Place::Anchor | Place::Fastmap => {}
        }
        place
    }

    /// See [`crate::Ubi::levels_from_erases`].
    pub fn levels_from_erases(&self) -> Option<u32> {
        match self.levelling {
            None => Some(self.threshold_erases),
            Some(rule) => rule.lead_erases(),
        }
    }

    /// Another erase counter of a block, which stays where it is.
    pub fn set_erases(&mut self, peb: u32, erases: u32) {
        self.erases[peb as usize] = erases;
        self.erases_max = self.erases_max.max(erases);
        let tree = match self.places[peb as usize] {
            Place::Free => &mut self.free,
            Place::Used => &mut self.used,
            Place::Scrub => &mut self.scrub,
            _ => return,
        };
        // The trees stand in the order of the counters.
        tree.remove(peb);
        tree.insert(peb, erases);
        if let Some(rule) = self.free_rule.as_mut() {
            rule.set_erases(peb, erases);
        }
    }
}

fn because_of(work: &EraseWork) -> &'static Reason {
    if work.formats {
        &causes::FORMATTING
    } else {
        &causes::ERASE
    }
}

impl Device {
    // ---- works ---------------------------------------------------------------------------------------------

    pub fn schedule(&mut self, work: Work) {
        self.wear.works.push_back(work);
        if self.wear.thread_enabled {
            self.sim.wake(&causes::UBI_THREAD);
        }
    }

    pub fn schedule_erase(&mut self, peb: u32, owner: Option<LebAddress>, torture: bool) {
        let for_setup = self.sim.is_for_setup();
        self.schedule_erase_work(EraseWork { peb_number: peb, owner, torture, for_setup, formats: false });
    }

    pub fn schedule_erase_work(&mut self, work: EraseWork) {
        self.wear.places[work.peb_number as usize] = Place::Pending;
        self.schedule(Work::Erase(work));
    }

    fn run_work(&mut self, work: Work) -> Result<(), UbiError> {
        match work {
            Work::Erase(work) => {
                let _why = self.sim.because(because_of(&work));
                self.erase_worker(work)
            }
            Work::Move => {
                let _why = self.sim.because(&causes::WEAR_LEVELLING);
                self.move_worker()
            }
        }
    }

    /// Does the first work, if there is one (`do_work`).
    pub fn do_work(&mut self) -> Result<(), UbiError> {
        match self.wear.works.pop_front() {
            Some(work) => self.run_work(work),
            None => Ok(()),
        }
    }

    /// The first work in the hands of the thread, which sleeps while the medium erases. Returns until when.
    fn begin_work(&mut self) -> Result<Option<u64>, UbiError> {
        let Some(Work::Erase(work)) = self.wear.works.front().copied() else { return self.do_work().map(|()| None) };
        if work.torture {
            return self.do_work().map(|()| None);
        }
        self.wear.works.pop_front();
        let _why = self.sim.because(because_of(&work));
        let _of_setup = self.sim.because_left_if(work.for_setup);
        match self.io.begin_erase(work.peb_number) {
            Ok(Some(until_ns)) => {
                self.wear.erasing = Some(work);
                Ok(Some(until_ns))
            }
            // A driver that polls offers the CPU behind the erase: the header is written in the thread's next turn.
            Ok(None) if self.sim.config().polls_with_resched => {
                self.wear.erasing = Some(work);
                Ok(None)
            }
            begun => {
                let counted = begun.and_then(|_| self.count_erase(work.peb_number, 1));
                self.erase_done(work.peb_number, counted).map(|()| None)
            }
        }
    }

    /// Goes on with the work in which the thread has slept, or another task needs its block. `may_sleep`: the thread sleeps on
    /// if others have interrupted the erase; returns until when.
    fn go_on_erasing(&mut self, may_sleep: bool) -> Result<Option<u64>, UbiError> {
        let Some(work) = self.wear.erasing else { return Ok(None) };
        let _why = self.sim.because(because_of(&work));
        let _of_setup = self.sim.because_left_if(work.for_setup);
        if let Some(until_ns) = self.io.erase_goes_on(work.peb_number) {
            if may_sleep {
                return Ok(Some(until_ns));
            }
            self.sim.wait_for_medium(until_ns);
        }
        self.wear.erasing = None;
        let counted = self.count_erase(work.peb_number, 1);
        self.erase_done(work.peb_number, counted).map(|()| None)
    }

    /// Waits for the erase during which the thread sleeps, and finishes that work. Nothing if there is none.
    pub fn end_erase(&mut self) -> Result<(), UbiError> {
        self.go_on_erasing(false).map(|_| ())
    }

    /// One turn of the background thread's loop; `false`: it sleeps until there is work, or the medium has erased
    /// (`ubi_thread`).
    pub fn thread_step(&mut self) -> bool {
        let done = match self.wear.erasing {
            Some(_) => self.go_on_erasing(true),
            // A kernel worker, which comes to its turn between two works.
            None if self.wear.wants_fastmap() && !self.io.read_only => self.update_fastmap().map(|()| None),
            None if self.wear.works.is_empty() || self.io.read_only || !self.wear.thread_enabled => {
                self.sim.block(&causes::UBI_THREAD);
                return false;
            }
            None => self.begin_work(),
        };
        match done {
            Ok(Some(until_ns)) => {
                self.sim.sleep_until(&causes::UBI_THREAD, until_ns);
                return false;
            }
            Ok(None) => self.wear.failures = 0,
            Err(_) if self.wear.failures >= FAILURES_MAX => {
                self.io.read_only = true;
                self.wear.thread_enabled = false;
            }
            Err(_) => self.wear.failures += 1,
        }
        true
    }

    /// See [`crate::Ubi::blocks_to_format`].
    pub fn blocks_to_format(&self) -> u32 {
        if self.io.read_only || !self.wear.thread_enabled {
            return 0;
        }
        let waiting =
            self.wear.works.iter().filter(|work| matches!(work, Work::Erase(EraseWork { formats: true, .. })));
        let begun = self.wear.erasing.as_ref().is_some_and(|work| work.formats);
        waiting.count() as u32 + u32::from(begun)
    }

    /// A scheduling point at which only UBI's own thread may get the CPU; other tasks wait for a scheduling point
    /// outside UBI.
    pub fn let_thread_run(&mut self) {
        let sim = self.sim.clone();
        loop {
            match sim.resched_in_driver() {
                Switch::Stay => return,
                Switch::Run(task) if task == &causes::UBI_THREAD => {
                    let _turn = sim.run_as(task);
                    while self.thread_step() && sim.resched_in_driver() == Switch::Stay {}
                }
                Switch::Run(_) | Switch::Yield => return sim.comes_later(),
            }
        }
    }

    /// Does the waiting works of one LEB, of one volume, or all of them, after that of the thread (`ubi_wl_flush`).
    pub fn flush(&mut self, volume: Option<u32>, leb: Option<u32>) -> Result<(), UbiError> {
        if self.wear.flushes_all_works {
            return self.flush_all_works();
        }
        self.end_erase()?;
        let wanted = |work: &Work| match (volume, work) {
            (None, _) => true,
            (Some(volume), Work::Erase(EraseWork { owner: Some(owner), .. })) => {
                owner.volume_id == volume && leb.is_none_or(|leb| leb == owner.leb_number)
            }
            _ => false,
        };
        while let Some(at) = self.wear.works.iter().position(wanted) {
            if let Some(work) = self.wear.works.remove(at) {
                self.run_work(work)?;
            }
        }
        Ok(())
    }

    /// The flush before Linux 3.5: the caller and the thread take works in turns, and the caller waits for the last one of the thread.
    fn flush_all_works(&mut self) -> Result<(), UbiError> {
        while !self.wear.works.is_empty() {
            self.let_thread_run();
            self.do_work()?;
        }
        self.end_erase()
    }

    // ---- handing out and taking back -----------------------------------------------------------------------

    /// Hands out a free block, which is erased and has an erase counter header, for data that live so long (`ubi_wl_get_peb`).
    pub fn get_peb(&mut self, life: DataLife) -> Result<u32, UbiError> {
        if self.wear.fastmap.is_some() {
            return self.get_peb_of_pool();
        }
        while self.wear.free.is_empty() {
            if self.wear.works.is_empty() && self.wear.erasing.is_none() {
                return Err(UbiError::NoSpace);
            }
            self.let_thread_run();
            if self.wear.works.is_empty() {
                self.end_erase()?
            } else {
                self.do_work()?
            }
        }
        let next = self.wear.next_free(life);
        self.tell_refusal();
        let peb = next.ok_or(UbiError::NoSpace)?;
        self.wear.take(peb);
        self.wear.put(peb, Place::Protected);
        Ok(peb)
    }

    /// Ends the run if a rule that stands in for the kernel's gave an answer that is none.
    fn tell_refusal(&self) {
        if let Some(refusal) = self.wear.refusal() {
            self.sim.give_up(refusal);
        }
    }

    /// Takes a block back, which is to be erased (`ubi_wl_put_peb`).
    pub fn put_peb(&mut self, peb: u32, owner: LebAddress, torture: bool) {
        match self.wear.places[peb as usize] {
            // The block was given up after an error that made the device read-only, or its erase is waiting already.
            Place::Nowhere | Place::Pending | Place::Free | Place::Pooled | Place::Anchor | Place::Fastmap => {}
            Place::Used | Place::Scrub | Place::Erroneous | Place::Protected => {
                let erroneous = self.wear.take(peb) == Place::Erroneous;
                self.schedule_erase(peb, Some(owner), torture || erroneous);
            }
        }
    }

    /// Marks a block as one whose data should move because of bit flips (`ubi_wl_scrub_peb`).
    pub fn scrub_peb(&mut self, peb: u32) {
        if matches!(self.wear.places[peb as usize], Place::Used | Place::Protected) {
            self.wear.take(peb);
            self.wear.put(peb, Place::Scrub);
            self.ensure_wear_levelling();
        }
    }

    /// Schedules a move if one is needed (`ensure_wear_leveling`).
    pub fn ensure_wear_levelling(&mut self) {
        if self.wear.move_scheduled {
            return;
        }
        let must_move = !self.wear.scrub.is_empty() || self.wear.wants_a_move();
        self.tell_refusal();
        if !must_move {
            return;
        }
        self.wear.move_scheduled = true;
        self.schedule(Work::Move);
    }
}
