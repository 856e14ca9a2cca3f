//! A volume beside a model of it in memory: what each LEB must hold, and what it may hold after a restart.
#![allow(dead_code)]

use ffslab_flash::Torn;
use ffslab_ubi::{AttachError, PebCounts, Ubi, UbiError, Volume};

use super::{content, make_all, Rig};

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Appends pages.
    Write {
        leb: u32,
        pages: u32,
    },
    Change {
        leb: u32,
        pages: u32,
    },
    Map {
        leb: u32,
    },
    Unmap {
        leb: u32,
    },
    Erase {
        leb: u32,
    },
    Flush,
    /// The program sleeps and the thread works.
    Rest,
    Reattach,
}

impl Act {
    fn leb(self) -> Option<u32> {
        match self {
            Act::Write { leb, .. } | Act::Change { leb, .. } => Some(leb),
            Act::Map { leb } | Act::Unmap { leb } | Act::Erase { leb } => Some(leb),
            Act::Flush | Act::Rest | Act::Reattach => None,
        }
    }
}

/// What a LEB holds: the pages that were written.
type Content = Vec<u8>;

#[derive(Clone)]
struct Ghost {
    content: Content,
    torn: bool,
}

#[derive(Clone, Default)]
struct Leb {
    now: Option<Content>,
    /// Earlier contents that are perhaps not yet erased: after a restart the LEB may have one of them instead of nothing.
    ghosts: Vec<Ghost>,
    version: u32,
    /// A page was torn: nothing is appended any more.
    torn: bool,
}

impl Leb {
    fn replace(&mut self, new: Option<Content>) {
        if let Some(content) = std::mem::replace(&mut self.now, new) {
            self.ghosts.push(Ghost { content, torn: self.torn });
        }
        self.version += 1;
        self.torn = false;
    }
}

pub struct World {
    pub rig: Rig,
    pub ubi: Ubi,
    pub volume: Volume,
    lebs: Vec<Leb>,
    page_bytes: usize,
}

impl World {
    pub fn new(rig: Rig) -> World {
        let ubi = rig.attach();
        rig.sleep(&ubi, 10);
        let volume = make_all(&ubi);
        rig.sleep(&ubi, 10);
        let lebs = vec![Leb::default(); volume.lebs() as usize];
        let page_bytes = volume.min_io_bytes() as usize;
        World { rig, ubi, volume, lebs, page_bytes }
    }

    pub fn lebs(&self) -> u32 {
        self.lebs.len() as u32
    }

    pub fn pages(&self) -> u32 {
        self.volume.leb_bytes() / self.page_bytes as u32
    }

    /// Does a call and keeps the model in step. After an error the model stands as before the call.
    pub fn apply(&mut self, act: Act) -> Result<(), UbiError> {
        match act {
            Act::Write { leb, .. } => {
                let (offset, data) = self.appended(act);
                if !data.is_empty() {
                    self.volume.write(leb, offset as u32, &data)?;
                    let state = &mut self.lebs[leb as usize];
                    state.version += 1;
                    state.now.get_or_insert_default().extend(data);
                }
            }
            Act::Change { leb, .. } => {
                let new = self.changed(act);
                self.volume.change(leb, &new)?;
                self.lebs[leb as usize].replace(Some(new));
            }
            Act::Map { leb } => match self.volume.map(leb) {
                Err(UbiError::AlreadyMapped) => assert!(self.lebs[leb as usize].now.is_some()),
                result => {
                    result?;
                    assert_eq!(self.lebs[leb as usize].now.replace(Content::new()), None);
                }
            },
            Act::Unmap { leb } => {
                self.volume.unmap(leb)?;
                self.lebs[leb as usize].replace(None);
            }
            Act::Erase { leb } => {
                self.volume.erase(leb)?;
                self.lebs[leb as usize].replace(None);
                self.lebs[leb as usize].ghosts.clear();
            }
            Act::Flush => {
                self.ubi.flush()?;
                self.lebs.iter_mut().for_each(|leb| leb.ghosts.clear());
            }
            Act::Rest => {
                self.rig.sleep(&self.ubi, 10);
                if self.ubi.is_read_only() {
                    return Err(UbiError::PowerCut);
                }
                assert_eq!(self.ubi.peb_counts().pending_pebs, 0);
                self.lebs.iter_mut().for_each(|leb| leb.ghosts.clear());
            }
            Act::Reattach => {
                self.ubi.detach();
                self.attach().map_err(|error| match error {
                    AttachError::Ubi(error) => error,
                    other => panic!("{other}"),
                })?;
                self.settle(None);
            }
        }
        Ok(())
    }

    fn appended(&self, act: Act) -> (usize, Content) {
        let Act::Write { leb, pages } = act else { unreachable!() };
        let state = &self.lebs[leb as usize];
        let start = state.now.as_ref().map_or(0, Vec::len);
        let room = self.volume.leb_bytes() as usize - start;
        let bytes = if state.torn { 0 } else { room.min(pages as usize * self.page_bytes) };
        (start, content(leb, state.version + 1, bytes))
    }

    fn changed(&self, act: Act) -> Content {
        let Act::Change { leb, pages } = act else { unreachable!() };
        let bytes = (pages.clamp(1, self.pages()) as usize) * self.page_bytes;
        content(leb, self.lebs[leb as usize].version + 1, bytes)
    }

    pub fn attach(&mut self) -> Result<(), AttachError> {
        self.ubi = Ubi::attach(self.rig.mtd.clone(), &self.rig.options)?;
        self.volume = self.ubi.open(0).unwrap();
        Ok(())
    }

    /// The power went away: the chip is switched on, and all that was in memory is gone.
    pub fn power_on(&mut self) {
        self.ubi.detach();
        self.rig.nand.with_chip(|chip| chip.power_on());
    }

    pub fn cut_after(&self, operations: u64, torn: Torn) {
        self.rig.nand.with_chip(|chip| chip.cut_power_after(operations, torn));
    }

    // ---- comparing -----------------------------------------------------------------------------------------

    /// What a LEB reads as: pages, of which `None` cannot be corrected.
    fn pages_of(&self, leb: u32) -> Vec<Option<Vec<u8>>> {
        (0..self.pages())
            .map(|page| {
                let mut data = vec![0; self.page_bytes];
                match self.volume.read(leb, page * self.page_bytes as u32, &mut data) {
                    Ok(()) => Some(data),
                    Err(UbiError::Uncorrectable) => None,
                    Err(error) => panic!("LEB {leb}, page {page}: {error}"),
                }
            })
            .collect()
    }

    fn is(&self, found: &[Option<Vec<u8>>], expected: &[u8]) -> bool {
        let erased = vec![0xFF; self.page_bytes];
        let expected = expected.chunks(self.page_bytes).chain(std::iter::repeat(erased.as_slice()));
        found.iter().zip(expected).all(|(found, expected)| found.as_deref() == Some(expected))
    }

    fn is_ghost(&self, found: &[Option<Vec<u8>>], ghost: &Ghost) -> bool {
        if !ghost.torn {
            return self.is(found, &ghost.content);
        }
        let written = ghost.content.chunks(self.page_bytes);
        found.iter().zip(written).all(|(found, page)| {
            found.as_ref().is_none_or(|found| found == page || found.iter().all(|&byte| byte == 0xFF))
        })
    }

    /// Every LEB holds what the model says.
    pub fn check(&self) {
        for (leb, state) in (0..).zip(&self.lebs) {
            if state.torn {
                continue;
            }
            assert_eq!(self.volume.is_mapped(leb), state.now.is_some(), "LEB {leb}");
            assert!(self.is(&self.pages_of(leb), state.now.as_deref().unwrap_or_default()), "LEB {leb}");
        }
        self.check_blocks();
    }

    /// Every block is accounted for, and every LEB has one.
    pub fn check_blocks(&self) {
        let PebCounts { free_pebs, used_pebs, pending_pebs, fastmap_pebs, bad_pebs, kept_pebs, .. } =
            self.ubi.peb_counts();
        let mapped = (0..self.lebs()).filter(|&leb| self.volume.is_mapped(leb)).count() as u32;
        assert_eq!(used_pebs, mapped + 2, "LEBs of the volume and of the volume table");
        assert_eq!(free_pebs + used_pebs + pending_pebs + fastmap_pebs + bad_pebs + kept_pebs, self.rig.mtd.blocks());
        assert_eq!(kept_pebs, 0, "blocks that nobody uses");
        let good = self.rig.mtd.blocks() - bad_pebs;
        assert_eq!(self.ubi.available_lebs() + self.ubi.reserved_lebs(), good);
    }

    /// After a restart: takes over what there is, if it may be so. `in_flight` was interrupted.
    pub fn settle(&mut self, in_flight: Option<Act>) {
        if self.ubi.is_attached_by_fastmap() {
            // A fastmap does not tell which LEBs were unmapped since: each shows when it is read.
            for leb in 0..self.lebs() {
                let _ = self.volume.read(leb, 0, &mut [0]);
            }
        }
        for leb in 0..self.lebs() {
            let of_this = in_flight.filter(|act| act.leb() == Some(leb));
            let found = self.volume.is_mapped(leb).then(|| self.pages_of(leb));
            let settled = self.explain(leb, found.as_deref(), of_this);
            let (now, torn) = settled.unwrap_or_else(|| {
                let written = self.lebs[leb as usize].now.as_ref().map(Vec::len);
                let readable = found.map(|pages| pages.iter().map(Option::is_some).collect::<Vec<_>>());
                panic!("LEB {leb} has something foreign after {in_flight:?}: had {written:?} bytes, now {readable:?}")
            });
            let state = &mut self.lebs[leb as usize];
            if state.now != now {
                state.replace(now);
            }
            state.torn |= torn;
        }
    }

    /// Which of the contents that are allowed a LEB has, and whether a page is torn.
    fn explain(
        &self,
        leb: u32,
        found: Option<&[Option<Vec<u8>>]>,
        act: Option<Act>,
    ) -> Option<(Option<Content>, bool)> {
        let state = &self.lebs[leb as usize];
        let was_mapped = state.now.is_some();
        let Some(found) = found else {
            let may_be_gone = !was_mapped || matches!(act, Some(Act::Unmap { .. } | Act::Erase { .. }));
            return may_be_gone.then_some((None, false));
        };
        if state.torn {
            return Some((state.now.clone(), true));
        }
        if let Some(now) = state.now.as_ref().filter(|now| self.is(found, now)) {
            return Some((Some(now.clone()), false));
        }
        if !was_mapped || matches!(act, Some(Act::Unmap { .. } | Act::Erase { .. })) {
            if let Some(ghost) = state.ghosts.iter().rev().find(|ghost| self.is_ghost(found, ghost)) {
                return Some((Some(ghost.content.clone()), ghost.torn));
            }
        }
        match act? {
            Act::Map { .. } => self.is(found, &[]).then(|| (Some(Content::new()), false)),
            act @ Act::Change { .. } if was_mapped => {
                let new = self.changed(act);
                self.is(found, &new).then_some((Some(new), false))
            }
            // Without an old content UBI does not look whether the new one is complete.
            act @ Act::Change { .. } => self.explain_write(found, Content::new(), &self.changed(act)),
            act @ Act::Write { .. } => {
                let (_, data) = self.appended(act);
                self.explain_write(found, state.now.clone().unwrap_or_default(), &data)
            }
            _ => None,
        }
    }

    /// A write that was cut short: some pages are new, one may be torn, the others erased.
    fn explain_write(
        &self,
        found: &[Option<Vec<u8>>],
        mut written: Content,
        data: &[u8],
    ) -> Option<(Option<Content>, bool)> {
        let start = written.len();
        for page in data.chunks(self.page_bytes) {
            if self.is(found, &written) {
                return Some((Some(written), false));
            }
            written.extend(page);
        }
        if self.is(found, &written) {
            return Some((Some(written), false));
        }
        // One page that cannot be read; those before it are as they should be, those after it erased.
        let torn = found.iter().position(Option::is_none)?;
        let sound = torn * self.page_bytes >= start
            && found[..torn].iter().zip(written.chunks(self.page_bytes)).all(|(a, b)| a.as_deref() == Some(b))
            && found[torn + 1..].iter().all(|page| page.as_ref().is_some_and(|page| page.iter().all(|&b| b == 0xFF)));
        sound.then_some((Some(written), true))
    }
}
