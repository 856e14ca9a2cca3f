//! The scan of all erase blocks: which LEB each one holds, which are free, which must be erased.
//!
//! Follows Linux 6.1 `drivers/mtd/ubi/attach.c` (`scan_peb`, `ubi_add_to_av`, `ubi_compare_lebs`, `check_corruption`,
//! `late_analysis`). Of two blocks with the same LEB the one with the higher sequence number counts, unless it is a
//! copy whose data are not complete.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use ffslab_mtd::is_erased;

use crate::error::{AttachError, UbiError};
use crate::fastmap::format::{is_fastmap_volume, Counted};
use crate::io::{Found, Io};
use crate::media::{compat, crc, LebAddress, VidHeader, VolumeKind, LAYOUT_VOLUME, VOLUMES_MAX};

/// An erase block that holds nothing of use.
#[derive(Clone, Copy, Debug)]
pub struct ScannedPeb {
    pub peb_number: u32,
    /// `None`: not known; after the scan the mean takes its place.
    pub erases: Option<u32>,
    pub owner: Option<LebAddress>,
    /// The block is entirely erased, without an erase counter: it was never formatted.
    pub is_blank: bool,
}

/// The erase block that holds a LEB.
#[derive(Clone, Copy, Debug)]
pub struct ScannedLeb {
    pub peb_number: u32,
    pub erases: Option<u32>,
    pub scrub: bool,
    pub is_copy: bool,
    pub sequence_number: u64,
}

/// An erase block of a fastmap, the newest or an older one.
#[derive(Clone, Copy, Debug)]
pub struct ScannedFastmapPeb {
    pub peb_number: u32,
    pub erases: Option<u32>,
    pub volume_id: u32,
    pub leb_number: u32,
    pub sequence_number: u64,
}

/// What the headers of its LEBs state about a volume.
#[derive(Debug)]
pub struct ScannedVolume {
    pub kind: VolumeKind,
    pub used_lebs: u32,
    pub pad_bytes: u32,
    /// Bytes in the last LEB of a static volume.
    pub last_data_bytes: u32,
    pub lebs: BTreeMap<u32, ScannedLeb>,
}

#[derive(Default)]
pub struct Scan {
    pub volumes: BTreeMap<u32, ScannedVolume>,
    pub free: VecDeque<ScannedPeb>,
    pub erase: VecDeque<ScannedPeb>,
    pub corrupted_pebs: u32,
    /// Blocks of unknown internal volumes that must be preserved.
    pub alien_pebs: u32,
    pub bad_pebs: u32,
    /// Blocks of fastmaps, the last one that was found first; none in a kernel that knows of no fastmap.
    pub fastmap: VecDeque<ScannedFastmapPeb>,
    /// The blocks of the fastmap by which the partition was attached.
    pub fastmap_blocks: Vec<Counted>,
    /// The kernel knows what a fastmap is.
    knows_fastmap: bool,
    /// The first blocks are looked at in search of one.
    searches: bool,
    /// A volume identifier header was damaged in that search: a newer fastmap may stand there, so none is believed
    /// (`force_full_scan`).
    pub damaged_vid_header: bool,
    empty_pebs: u32,
    maybe_bad_pebs: u32,
    erases_sum: u64,
    counted_pebs: u32,
    pub erases_max: u32,
    pub mean_erases: u32,
    pub max_sequence_number: u64,
    /// All blocks are erased: the partition is to be formatted.
    pub is_empty: bool,
}

/// Which of two blocks with the same LEB is valid.
pub struct Comparison {
    pub second_is_newer: bool,
    flipped: bool,
    /// The data of the newer block do not match its header, so the older block is valid.
    corrupted: bool,
}

fn refuse<T>(peb: u32, reason: &'static str) -> Result<T, AttachError> {
    Err(AttachError::Block { peb, reason })
}

fn of_block(peb: u32) -> impl Fn(UbiError) -> AttachError {
    move |error| match error {
        UbiError::BadHeader => AttachError::Block {
            peb,
            reason: "its header says what cannot be: another version, other header places, or impossible sizes",
        },
        other => AttachError::Ubi(other),
    }
}

impl Scan {
    /// Looks at every erase block; `buffer` has the size of one.
    pub fn run(io: &mut Io, buffer: &mut [u8], knows_fastmap: bool) -> Result<Scan, AttachError> {
        let mut scan = Scan { knows_fastmap, ..Scan::default() };
        let pebs = io.layout.pebs;
        scan.look_at_all(io, 0..pebs, buffer)?;
        scan.finished(pebs)
    }

    /// The scan that looks for a fastmap.
    pub fn searching() -> Scan {
        Scan { knows_fastmap: true, searches: true, ..Scan::default() }
    }

    /// There is none, so the other blocks are looked at, too.
    pub fn ends_search(&mut self) {
        self.searches = false;
    }

    pub fn look_at_all(&mut self, io: &mut Io, pebs: Range<u32>, buffer: &mut [u8]) -> Result<(), AttachError> {
        for peb in pebs {
            self.look_at(io, peb, buffer)?;
        }
        Ok(())
    }

    /// What all blocks together say.
    pub fn finished(mut self, pebs: u32) -> Result<Scan, AttachError> {
        let scan = &mut self;
        if scan.counted_pebs > 0 {
            scan.mean_erases = (scan.erases_sum / u64::from(scan.counted_pebs)) as u32;
        }
        scan.judge(pebs)?;
        let mean = Some(scan.mean_erases);
        for leb in scan.volumes.values_mut().flat_map(|volume| volume.lebs.values_mut()) {
            leb.erases = leb.erases.or(mean);
        }
        for peb in scan.free.iter_mut().chain(&mut scan.erase) {
            peb.erases = peb.erases.or(mean);
        }
        Ok(self)
    }

    fn look_at(&mut self, io: &mut Io, peb: u32, buffer: &mut [u8]) -> Result<(), AttachError> {
        if io.is_bad(peb) {
            self.bad_pebs += 1;
            return Ok(());
        }
        io.mtd.sim().work_of_mounting(|costs| costs.attach_block_ns);
        let header = io.read_ec_header(peb);
        if let (Err(UbiError::BadHeader), Some(found)) = (&header, io.other_vid_header_offset()) {
            return Err(AttachError::OtherLayout { peb, found, expected: io.layout.offsets.vid_header_offset });
        }
        let (erases, flipped, ec_uncorrectable) = match header.map_err(of_block(peb))? {
            Found::Erased { flipped } => {
                self.empty_pebs += 1;
                self.queue(ScannedPeb { peb_number: peb, erases: None, owner: None, is_blank: true }, flipped);
                return Ok(());
            }
            Found::Garbage { uncorrectable } => (None, true, uncorrectable),
            Found::Header { header, flipped } => {
                if io.image_number == 0 {
                    io.image_number = header.image_number;
                }
                if header.image_number != 0 && header.image_number != io.image_number {
                    return refuse(peb, "it belongs to another image than the blocks before it");
                }
                (Some(header.erases), flipped, false)
            }
        };
        match io.read_vid_header(peb).map_err(of_block(peb))? {
            Found::Header { header, flipped: bits_flipped } => {
                if !self.add(io, peb, erases, &header, flipped || bits_flipped, buffer)? {
                    return Ok(());
                }
            }
            Found::Garbage { uncorrectable } => {
                self.damaged_vid_header |= self.searches;
                if uncorrectable && ec_uncorrectable {
                    self.maybe_bad_pebs += 1;
                }
                if erases.is_none() || leftover_of_a_power_cut(io, peb, buffer)? {
                    self.queue_erase(peb, erases, None, true);
                } else {
                    self.corrupted_pebs += 1;
                }
            }
            Found::Erased { flipped: true } => self.queue_erase(peb, erases, None, true),
            Found::Erased { .. } if flipped => self.queue_erase(peb, erases, None, true),
            Found::Erased { .. } => {
                self.free.push_back(ScannedPeb { peb_number: peb, erases, owner: None, is_blank: false })
            }
        }
        if let Some(erases) = erases {
            self.erases_sum += u64::from(erases);
            self.counted_pebs += 1;
            self.erases_max = self.erases_max.max(erases);
        }
        Ok(())
    }

    /// Queues a block for its erase. `first`: in front of the others, because its content is not trustworthy.
    fn queue_erase(&mut self, peb: u32, erases: Option<u32>, owner: Option<LebAddress>, first: bool) {
        self.queue(ScannedPeb { peb_number: peb, erases, owner, is_blank: false }, first);
    }

    fn queue(&mut self, peb: ScannedPeb, first: bool) {
        if first {
            self.erase.push_front(peb);
        } else {
            self.erase.push_back(peb);
        }
    }

    /// Handles a block with a good volume identifier header. Returns `false` when its erase counter is left out of the
    /// mean.
    fn add(
        &mut self,
        io: &mut Io,
        peb: u32,
        erases: Option<u32>,
        header: &VidHeader,
        flipped: bool,
        buffer: &mut [u8],
    ) -> Result<bool, AttachError> {
        if self.knows_fastmap && is_fastmap_volume(header.volume_id) {
            let LebAddress { volume_id, leb_number } = header.address();
            let sequence_number = header.sequence_number;
            let found = ScannedFastmapPeb { peb_number: peb, erases, volume_id, leb_number, sequence_number };
            self.fastmap.push_front(found);
            return Ok(true);
        }
        if header.volume_id > VOLUMES_MAX && header.volume_id != LAYOUT_VOLUME {
            match header.compat {
                compat::DELETE => {
                    self.queue_erase(peb, erases, Some(header.address()), true);
                    return Ok(false);
                }
                compat::READ_ONLY => io.read_only = true,
                compat::PRESERVE => {
                    self.alien_pebs += 1;
                    return Ok(false);
                }
                _ => return refuse(peb, "it belongs to an internal volume that only a later UBI understands"),
            }
        }
        self.add_leb(io, peb, erases, header, flipped, buffer)?;
        Ok(true)
    }

    /// Adds a LEB, or chooses between two blocks that both hold it (`ubi_add_to_av`).
    pub fn add_leb(
        &mut self,
        io: &mut Io,
        peb: u32,
        erases: Option<u32>,
        header: &VidHeader,
        flipped: bool,
        buffer: &mut [u8],
    ) -> Result<(), AttachError> {
        let (id, leb, sequence_number) = (header.volume_id, header.leb_number, header.sequence_number);
        self.max_sequence_number = self.max_sequence_number.max(sequence_number);
        let volume = self.volumes.entry(id).or_insert_with(|| ScannedVolume {
            kind: header.kind,
            used_lebs: header.used_lebs,
            pad_bytes: header.pad_bytes,
            last_data_bytes: 0,
            lebs: BTreeMap::new(),
        });
        let is_last = volume.lebs.last_key_value().is_none_or(|(&last, _)| last <= leb);
        let fits =
            volume.kind == header.kind && volume.used_lebs == header.used_lebs && volume.pad_bytes == header.pad_bytes;
        let entry = ScannedLeb { peb_number: peb, erases, scrub: flipped, is_copy: header.is_copy, sequence_number };
        let loser = match volume.lebs.get_mut(&leb) {
            None => None,
            Some(known) => {
                let comparison = compare(io, known, peb, header, buffer)?;
                if !comparison.second_is_newer {
                    self.queue_erase(peb, erases, Some(header.address()), comparison.corrupted);
                    return Ok(());
                }
                let old = std::mem::replace(known, ScannedLeb { scrub: flipped || comparison.flipped, ..entry });
                Some((old, comparison.corrupted))
            }
        };
        if !fits {
            return refuse(peb, "its volume identifier header contradicts that of another block of the volume");
        }
        if is_last {
            volume.last_data_bytes = header.data_bytes;
        }
        match loser {
            None => {
                volume.lebs.insert(leb, entry);
            }
            Some((old, first)) => self.queue_erase(old.peb_number, old.erases, Some(header.address()), first),
        }
        Ok(())
    }

    /// Decides whether this is an empty partition, a UBI partition, or something else.
    fn judge(&mut self, pebs: u32) -> Result<(), AttachError> {
        let pebs = pebs - self.bad_pebs - self.alien_pebs;
        let corrupted_max = if pebs >= 20 { pebs / 20 } else { 8 };
        if self.corrupted_pebs > 0 && self.corrupted_pebs >= corrupted_max {
            return Err(AttachError::Corrupted { corrupted: self.corrupted_pebs });
        }
        if self.empty_pebs + self.maybe_bad_pebs == pebs {
            // One or two unreadable blocks may have gone bad without a mark. More of them may be data of another kind.
            if self.maybe_bad_pebs > 2 {
                return Err(AttachError::NotUbi);
            }
            self.is_empty = true;
        }
        Ok(())
    }

    /// Queues all LEBs of a volume for an erase, because the volume is not in the volume table.
    pub fn forget_volume(&mut self, id: u32) {
        if let Some(volume) = self.volumes.remove(&id) {
            for (leb, found) in volume.lebs {
                self.queue_erase(
                    found.peb_number,
                    found.erases,
                    Some(LebAddress { volume_id: id, leb_number: leb }),
                    false,
                );
            }
        }
    }
}

/// Examines a block with a good erase counter header and a damaged volume identifier header: did a power cut interrupt
/// an erase or the writing of the header (`true`), or does the block hold data that should be kept
/// (`check_corruption`)?
fn leftover_of_a_power_cut(io: &Io, peb: u32, buffer: &mut [u8]) -> Result<bool, AttachError> {
    let data = &mut buffer[..io.layout.leb_bytes as usize];
    match io.read_data(peb, 0, data) {
        Ok(true) | Err(UbiError::Uncorrectable) => Ok(true),
        Ok(false) => Ok(is_erased(data)),
        Err(error) => Err(error.into()),
    }
}

pub fn compare(
    io: &mut Io,
    first: &ScannedLeb,
    second_peb: u32,
    second: &VidHeader,
    buffer: &mut [u8],
) -> Result<Comparison, AttachError> {
    if first.sequence_number == second.sequence_number {
        return refuse(second_peb, "it has the sequence number of another block with the same LEB");
    }
    let second_is_newer = second.sequence_number > first.sequence_number;
    let (peb, is_copy) = if second_is_newer { (second_peb, second.is_copy) } else { (first.peb_number, first.is_copy) };
    if !is_copy {
        return Ok(Comparison { second_is_newer, flipped: false, corrupted: false });
    }
    let (header, flipped) = if second_is_newer {
        (*second, false)
    } else {
        match io.read_vid_header(peb).map_err(of_block(peb))? {
            Found::Header { header, flipped } => (header, flipped),
            _ => return refuse(peb, "its volume identifier header was good a moment ago, and is not any more"),
        }
    };
    let data = &mut buffer[..header.data_bytes as usize];
    let data_flipped = match io.read_data(peb, 0, data) {
        Ok(flipped) => flipped,
        Err(UbiError::Uncorrectable) => true,
        Err(error) => return Err(error.into()),
    };
    if crc(data) == header.data_crc {
        Ok(Comparison { second_is_newer, flipped: flipped || data_flipped, corrupted: false })
    } else {
        Ok(Comparison { second_is_newer: !second_is_newer, flipped: false, corrupted: true })
    }
}
