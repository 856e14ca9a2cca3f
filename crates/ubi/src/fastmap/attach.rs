//! Attaching by a fastmap: its search, its checks, and the look at the pools. Whatever contradicts itself leads to a scan of all blocks.
//!
//! Follows Linux 6.1.192 `drivers/mtd/ubi/attach.c` (`scan_fast`), `fastmap.c` (`ubi_scan_fastmap`, `ubi_attach_fastmap`, `scan_pool`)
//! and `wl.c` (`ubi_wl_init`). Beyond the kernel's checks a fastmap is refused that names a block twice, or one that is not there.

use std::collections::{BTreeMap, VecDeque};

use super::format::{is_fastmap_volume, ANCHOR_VOLUME, DATA_VOLUME};
use super::format::{Content, Counted, PoolRecord, Superblock, VolumeMap, ANCHORS_WITHIN_PEBS, SUPERBLOCK_BYTES};
use super::{Block, Fastmap};
use crate::device::{Device, EraseWork};
use crate::error::{AttachError, UbiError};
use crate::io::{Found, Io};
use crate::media::{EcHeader, LebAddress, VidHeader, VolumeKind, ERASE_COUNTER_MAX};
use crate::scan::{compare, Scan, ScannedFastmapPeb, ScannedLeb, ScannedPeb, ScannedVolume};
use crate::wear::Place;

/// Why a partition is not attached by its fastmap.
enum No {
    /// There is none; what was scanned in the search counts.
    Fastmap,
    /// It is of no use: all blocks are scanned, those of the search once more.
    Use,
    Error(AttachError),
}

impl From<UbiError> for No {
    fn from(error: UbiError) -> No {
        match error {
            UbiError::Uncorrectable => No::Use,
            error => No::Error(error.into()),
        }
    }
}

impl From<AttachError> for No {
    fn from(error: AttachError) -> No {
        No::Error(error)
    }
}

/// A header that can be read, and whether it had bit flips; others are of no use.
fn header<T>(found: Result<Found<T>, UbiError>) -> Result<(T, bool), No> {
    match found {
        Ok(Found::Header { header, flipped }) => Ok((header, flipped)),
        Ok(Found::Erased { .. } | Found::Garbage { .. }) => Err(No::Use),
        Err(error) => Err(error.into()),
    }
}

impl Fastmap {
    /// Looks for a fastmap and attaches by it, or scans all blocks. `buffer` has the size of a block.
    pub fn scan(&mut self, io: &mut Io, buffer: &mut [u8]) -> Result<Scan, AttachError> {
        let pebs = io.layout.pebs;
        if pebs <= ANCHORS_WITHIN_PEBS {
            return Scan::run(io, buffer, true);
        }
        let mut searched = Scan::searching();
        searched.look_at_all(io, 0..ANCHORS_WITHIN_PEBS, buffer)?;
        let found = if searched.damaged_vid_header { Err(No::Fastmap) } else { self.read(io, &searched, buffer) };
        match found {
            Ok(scan) => Ok(scan),
            Err(No::Fastmap) => {
                searched.ends_search();
                searched.look_at_all(io, ANCHORS_WITHIN_PEBS..pebs, buffer)?;
                searched.finished(pebs)
            }
            Err(No::Use) => Scan::run(io, buffer, true),
            Err(No::Error(error)) => Err(error),
        }
    }

    /// Reads the fastmap whose anchor is the newest.
    fn read(&mut self, io: &mut Io, searched: &Scan, buffer: &mut [u8]) -> Result<Scan, No> {
        let anchors = searched.fastmap.iter().filter(|found| found.volume_id == ANCHOR_VOLUME);
        // Among equals the one that was found last stands first.
        let newest = anchors.rev().max_by_key(|found| found.sequence_number);
        let Some(anchor) = newest.filter(|found| found.sequence_number > 0).map(|found| found.peb_number) else {
            return Err(No::Fastmap);
        };
        let mut bytes = [0; SUPERBLOCK_BYTES];
        io.read_data(anchor, 0, &mut bytes)?;
        let superblock = Superblock::decode(&bytes).map_err(|_| No::Use)?;
        if superblock.blocks.len() != self.blocks as usize || superblock.blocks[0].peb_number != anchor {
            return Err(No::Use);
        }
        let leb_bytes = io.layout.leb_bytes as usize;
        let mut data = vec![0; leb_bytes * superblock.blocks.len()];
        let mut sequence_number = 0;
        let mut blocks = Vec::new();
        for (number, (counted, part)) in superblock.blocks.iter().zip(data.chunks_exact_mut(leb_bytes)).enumerate() {
            let (header, torture) = read_part(io, counted.peb_number, number, part)?;
            sequence_number = header.sequence_number.max(sequence_number);
            blocks.push(Block { peb_number: counted.peb_number, torture });
        }
        if !superblock.crc_is_right(&data) {
            return Err(No::Use);
        }
        let content = Content::decode(&data).map_err(|_| No::Use)?;
        let mut found = Attached::of(&content, io.layout.pebs)?;
        found.scan.max_sequence_number = sequence_number;
        for pool in [&content.pool, &content.wl_pool] {
            found.look_at_pool(io, pool, buffer)?;
        }
        let mut scan = found.finished(io.layout.pebs, &superblock.blocks)?;
        // The list is turned round once more.
        scan.fastmap = searched.fastmap.iter().rev().copied().collect();
        scan.fastmap_blocks = superblock.blocks;
        (self.pool.max_pebs, self.wl_pool.max_pebs) =
            (content.pool.max_pebs as usize, content.wl_pool.max_pebs as usize);
        self.written = Some(blocks);
        self.disabled = false;
        self.attached_by_it = true;
        Ok(scan)
    }
}

/// The part `number` of a fastmap: its header, and whether it should be tested when it is erased.
fn read_part(io: &mut Io, peb: u32, number: usize, part: &mut [u8]) -> Result<(VidHeader, bool), No> {
    if peb >= io.layout.pebs || io.is_bad(peb) {
        return Err(No::Use);
    }
    let (ec, torture) = header(io.read_ec_header(peb))?;
    if io.image_number == 0 {
        io.image_number = ec.image_number;
    }
    check_image(io, &ec)?;
    let vid = match io.read_vid_header(peb)? {
        Found::Header { header, .. } => header,
        // The kernel has the same number for "all is 0xFF" and for "no fastmap" (`UBI_IO_FF`, `UBI_NO_FASTMAP`).
        Found::Erased { flipped: false } => return Err(No::Fastmap),
        Found::Erased { .. } | Found::Garbage { .. } => return Err(No::Use),
    };
    if vid.volume_id != if number == 0 { ANCHOR_VOLUME } else { DATA_VOLUME } {
        return Err(No::Use);
    }
    io.read_data(peb, 0, part)?;
    Ok((vid, torture))
}

fn check_image(io: &Io, header: &EcHeader) -> Result<(), No> {
    let is_other = header.image_number != 0 && header.image_number != io.image_number;
    if is_other {
        Err(No::Use)
    } else {
        Ok(())
    }
}

/// What a fastmap says, with what was found in the pools.
struct Attached {
    scan: Scan,
    /// Used blocks that no LEB has yet, with their erase counters and whether their data should move; in their order.
    used: BTreeMap<u32, (usize, Counted, bool)>,
    /// Free blocks of the pools.
    free: VecDeque<ScannedPeb>,
}

fn scanned(counted: &Counted, owner: Option<LebAddress>) -> ScannedPeb {
    ScannedPeb { peb_number: counted.peb_number, erases: Some(counted.erases), owner, is_blank: false }
}

impl Attached {
    fn of(content: &Content, pebs: u32) -> Result<Attached, No> {
        let lists = [&content.free, &content.used, &content.scrub, &content.erase];
        let mut sum = 0;
        for counted in lists.into_iter().flatten() {
            if counted.peb_number >= pebs || counted.erases > ERASE_COUNTER_MAX {
                return Err(No::Use);
            }
            sum += u64::from(counted.erases);
        }
        let count: usize = lists.map(|list| list.len()).iter().sum();
        let erases_max = lists.into_iter().flatten().map(|counted| counted.erases).max().unwrap_or(0);
        let mut scan = Scan::default();
        (scan.bad_pebs, scan.erases_max) = (content.bad_pebs, erases_max);
        scan.mean_erases = (sum / (count as u64).max(1)) as u32;
        scan.free = content.free.iter().map(|counted| scanned(counted, None)).collect();
        scan.erase = content.erase.iter().map(|counted| scanned(counted, None)).collect();
        let used = content.used.iter().map(|counted| (*counted, false));
        let used = used.chain(content.scrub.iter().map(|counted| (*counted, true)));
        let used = used.enumerate().map(|(at, (counted, scrub))| (counted.peb_number, (at, counted, scrub))).collect();
        let mut found = Attached { scan, used, free: VecDeque::new() };
        for volume in &content.volumes {
            found.add_volume(volume)?;
        }
        Ok(found)
    }

    fn add_volume(&mut self, map: &VolumeMap) -> Result<(), No> {
        let mut volume = ScannedVolume {
            kind: map.kind,
            used_lebs: if map.kind == VolumeKind::Static { map.used_lebs } else { 0 },
            pad_bytes: map.pad_bytes,
            last_data_bytes: map.last_leb_bytes,
            lebs: BTreeMap::new(),
        };
        // What a signed number has as negative is no block (`UBI_LEB_UNMAPPED`).
        for (leb, &peb) in (0..).zip(&map.pebs).filter(|(_, &peb)| peb <= i32::MAX as u32) {
            let Some((_, counted, scrub)) = self.used.remove(&peb) else { return Err(No::Use) };
            let erases = Some(counted.erases);
            volume.lebs.insert(leb, ScannedLeb { peb_number: peb, erases, scrub, is_copy: false, sequence_number: 0 });
        }
        self.scan.volumes.insert(map.id, volume);
        Ok(())
    }

    /// Finds what was written to the blocks of a pool since the fastmap was written.
    fn look_at_pool(&mut self, io: &mut Io, pool: &PoolRecord, buffer: &mut [u8]) -> Result<(), No> {
        for &peb in &pool.pebs {
            if peb >= io.layout.pebs || io.is_bad(peb) {
                return Err(No::Use);
            }
            io.mtd.sim().work_of_mounting(|costs| costs.attach_block_ns);
            let (ec, ec_flipped) = header(io.read_ec_header(peb))?;
            check_image(io, &ec)?;
            match io.read_vid_header(peb)? {
                Found::Erased { .. } => {
                    self.unmap(peb);
                    let erases = ec.erases;
                    self.scan.erases_max = self.scan.erases_max.max(erases);
                    self.free.push_back(scanned(&Counted { peb_number: peb, erases }, None));
                }
                Found::Header { header, flipped } => {
                    let max = &mut self.scan.max_sequence_number;
                    *max = header.sequence_number.max(*max);
                    if !is_fastmap_volume(header.volume_id) {
                        self.add_leb(io, (peb, ec.erases), &header, ec_flipped || flipped, buffer)?;
                    }
                }
                Found::Garbage { .. } => return Err(No::Use),
            }
        }
        Ok(())
    }

    /// A block of the pool is free, whatever the map says.
    fn unmap(&mut self, peb: u32) {
        for volume in self.scan.volumes.values_mut() {
            volume.lebs.retain(|_, leb| leb.peb_number != peb);
        }
    }

    /// A block of the pool holds a LEB (`update_vol`).
    fn add_leb(
        &mut self,
        io: &mut Io,
        (peb, erases): (u32, u32),
        header: &VidHeader,
        scrub: bool,
        buffer: &mut [u8],
    ) -> Result<(), No> {
        let Some(volume) = self.scan.volumes.get_mut(&header.volume_id) else { return Err(No::Use) };
        let (leb, is_copy, sequence_number) = (header.leb_number, header.is_copy, header.sequence_number);
        let is_last = volume.lebs.last_key_value().is_none_or(|(&last, _)| last <= leb);
        let entry = ScannedLeb { peb_number: peb, erases: Some(erases), scrub, is_copy, sequence_number };
        match volume.lebs.get_mut(&leb) {
            Some(known) if known.peb_number == peb => {}
            Some(known) => {
                let is_newer = compare(io, known, peb, header, buffer)?.second_is_newer;
                let loser = if is_newer { std::mem::replace(known, entry) } else { entry };
                if is_newer && is_last {
                    volume.last_data_bytes = header.data_bytes;
                }
                let counted = Counted { peb_number: loser.peb_number, erases: loser.erases.unwrap_or(0) };
                self.scan.erase.push_back(scanned(&counted, Some(header.address())));
            }
            None => {
                volume.lebs.insert(leb, entry);
                if is_last {
                    volume.last_data_bytes = header.data_bytes;
                }
                if volume.kind == VolumeKind::Static {
                    volume.used_lebs = header.used_lebs;
                }
            }
        }
        Ok(())
    }

    /// Used blocks that nobody claims are erased. Each block must have one place.
    fn finished(self, pebs: u32, own: &[Counted]) -> Result<Scan, No> {
        let Attached { mut scan, used, free } = self;
        scan.free.extend(free);
        let mut unclaimed: Vec<_> = used.into_values().collect();
        unclaimed.sort_by_key(|&(at, ..)| at);
        scan.erase.extend(unclaimed.iter().map(|(_, counted, _)| scanned(counted, None)));
        let mut is_seen = vec![false; pebs as usize];
        let in_lists = scan.free.iter().chain(&scan.erase).map(|peb| peb.peb_number);
        let lebs = scan.volumes.values().flat_map(|volume| volume.lebs.values()).map(|leb| leb.peb_number);
        for peb in in_lists.chain(lebs).chain(own.iter().map(|counted| counted.peb_number)) {
            if std::mem::replace(&mut is_seen[peb as usize], true) {
                return Err(No::Use);
            }
        }
        let missing = is_seen.iter().filter(|&&is_seen| !is_seen).count();
        if missing as u32 == scan.bad_pebs {
            Ok(scan)
        } else {
            Err(No::Use)
        }
    }
}

impl Device {
    /// The blocks of fastmaps after the scan: those of the one that was read stay, others are erased, old anchors at once, so that
    /// nobody ever finds them again.
    pub fn start_fastmap(&mut self, scan: &Scan) -> Result<(), AttachError> {
        for counted in &scan.fastmap_blocks {
            self.wear.erases[counted.peb_number as usize] = counted.erases;
            self.wear.put(counted.peb_number, Place::Fastmap);
        }
        for found in &scan.fastmap {
            let &ScannedFastmapPeb { peb_number, erases, volume_id, leb_number, .. } = found;
            if self.wear.places[peb_number as usize] != Place::Nowhere {
                continue;
            }
            self.wear.erases[peb_number as usize] = erases.unwrap_or(scan.mean_erases);
            if volume_id == ANCHOR_VOLUME {
                self.erase_and_count(peb_number, &mut false)?;
                self.wear.put(peb_number, Place::Free);
            } else {
                let owner = Some(LebAddress { volume_id, leb_number });
                let (torture, for_setup, formats) = (false, false, false);
                self.schedule_erase_work(EraseWork { peb_number, owner, torture, for_setup, formats });
            }
        }
        Ok(())
    }
}
