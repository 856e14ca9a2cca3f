//! Attaching a partition: the scan, the volume table, the distribution of the erase blocks, and erases that are still
//! to be done.
//!
//! Follows Linux 6.1 `drivers/mtd/ubi/build.c` (`ubi_attach_mtd_dev`, `autoresize`), `attach.c` (`ubi_attach`), `vtbl.c`
//! (`init_volumes`, `check_attaching_info`), `wl.c` (`ubi_wl_init`) and `eba.c` (`ubi_eba_init`).

use crate::causes;
use ffslab_mtd::Mtd;

use crate::device::{Device, EraseWork, Space, VolumeState, UNMAPPED};
use crate::error::{AttachError, UbiError};
use crate::fastmap::Fastmap;
use crate::io::Io;
use crate::media::{Record, VolumeKind, FLAG_AUTORESIZE, FLAG_SKIP_CHECK, LAYOUT_LEBS, LAYOUT_VOLUME, RECORD_BYTES};
use crate::options::{Layout, UbiOptions};
use crate::scan::{Scan, ScannedPeb, ScannedVolume};
use crate::table::read_table;
use crate::wear::{Place, Wear};

/// Blocks for wear levelling (`WL_RESERVED_PEBS`) and for the atomic change of a LEB (`EBA_RESERVED_PEBS`).
pub const WORKING_PEBS: u32 = 1 + 1;

impl Device {
    pub fn attach(mtd: Mtd, options: &UbiOptions) -> Result<Device, AttachError> {
        options.check()?;
        let layout = Layout::new(&mtd, options)?;
        let sim = mtd.sim().clone();
        causes::register(&sim);
        if options.fastmap {
            causes::register_fastmap(&sim);
        }
        let can = *mtd.capabilities();
        let _why = sim.because(&causes::UBI_ATTACH);
        let mut io = Io::new(mtd, layout, options.reads_failed_writes);
        let mut buffer = vec![0; layout.peb_bytes as usize];
        let mut fastmap = Fastmap::of(options, &layout);
        let mut scan = match &mut fastmap {
            Some(fastmap) => fastmap.scan(&mut io, &mut buffer)?,
            None => Scan::run(&mut io, &mut buffer, false)?,
        };
        if scan.is_empty && layout.is_read_only() {
            let reason =
                "the erase counter header stands in the same page or sub-page, so the partition can only be read, \
                          and it is empty";
            return Err(AttachError::Layout { offset: layout.offsets.vid_header_offset, reason });
        }
        if scan.is_empty {
            io.image_number = options.image_number;
        }
        let table = {
            let _why = scan.is_empty.then(|| sim.because(&causes::FORMATTING));
            read_table(&mut io, &mut scan, &mut buffer)?
        };
        let mut space = Space::new(options, can.chip_blocks, can.has_bad_blocks);
        space.bad_pebs = scan.bad_pebs;
        space.good_pebs = layout.pebs - scan.bad_pebs;
        space.corrupted_pebs = scan.corrupted_pebs;
        space.kept_pebs = scan.corrupted_pebs + scan.alien_pebs;
        space.available_pebs = space.good_pebs - space.kept_pebs;
        let mut device = Device {
            sim: sim.clone(),
            wear: Wear::new(layout.pebs, options),
            space,
            volumes: Vec::new(),
            table,
            next_sequence_number: 0,
            next_birth_number: 0,
            locked_leb: None,
            buffer,
            io,
        };
        device.wear.fastmap = fastmap;
        let autoresize_id = device.make_known_volumes(&mut scan)?;
        device.start_wear_levelling(&scan);
        device.start_fastmap(&scan)?;
        device.next_sequence_number = scan.max_sequence_number.wrapping_add(1);
        device.reserve(WORKING_PEBS, "moving data, beside the volumes")?;
        device.reserve(device.fastmap_pebs(), "two fastmaps, beside the volumes")?;
        device.ensure_wear_levelling();
        if !device.io.read_only {
            device.ensure_anchor();
        }
        device.space.calculate_level();
        device.space.refill_bad_reserve();
        if let Some(id) = autoresize_id {
            device.autoresize(id)?;
        }
        device.wear.thread_enabled = true;
        sim.spawn_new(&causes::UBI_THREAD);
        sim.wake(&causes::UBI_THREAD);
        Ok(device)
    }

    fn reserve(&mut self, needed: u32, purpose: &'static str) -> Result<(), AttachError> {
        let available = self.space.available_pebs;
        if self.space.reserve(needed) {
            Ok(())
        } else {
            Err(AttachError::NoSpace { purpose, needed, available, pebs: self.io.layout.pebs })
        }
    }

    // ---- volumes -------------------------------------------------------------------------------------------

    /// Makes the volumes of the volume table and maps their LEBs. Returns the volume that is to get all available
    /// blocks (autoresize).
    fn make_known_volumes(&mut self, scan: &mut Scan) -> Result<Option<u32>, AttachError> {
        let slots = self.slots();
        let mut autoresize_id = None;
        let mut needed = u64::from(LAYOUT_LEBS);
        for id in 0..slots {
            let record = self.record(id);
            needed += u64::from(record.reserved_pebs());
            if record.reserved_pebs() != 0 && record.flags() & FLAG_AUTORESIZE != 0 {
                if autoresize_id.is_some() {
                    return Err(AttachError::Volume { id, reason: "a second volume wants all that is available" });
                }
                autoresize_id = Some(id);
            }
        }
        // The sum is checked before any memory is allocated for the volumes, because the table may be damaged.
        self.reserve(u32::try_from(needed).unwrap_or(u32::MAX), "the volume table and its volumes")?;
        for id in 0..slots {
            let record = self.record(id);
            let volume = (record.reserved_pebs() != 0).then(|| self.volume_of_record(id, &record));
            let volume = volume.map(|volume| self.unproven(volume));
            match (volume, scan.volumes.get(&id)) {
                (None, Some(_)) => {
                    // The volume is not in the table but has LEBs: a power cut interrupted its removal.
                    scan.forget_volume(id);
                    self.volumes.push(None);
                }
                (Some(mut volume), Some(found)) => {
                    take_over(&mut volume, found, self.io.layout.leb_bytes)?;
                    self.volumes.push(Some(volume));
                }
                (volume, None) => self.volumes.push(volume),
            }
        }
        if let Some(&id) = scan.volumes.keys().find(|&&id| id >= slots && id < LAYOUT_VOLUME) {
            return Err(AttachError::Volume { id, reason: "the volume table has no place for its number" });
        }
        let mut layout_record = Record::from_bytes(&[0; RECORD_BYTES]);
        layout_record.set_reserved_pebs(LAYOUT_LEBS);
        layout_record.set_alignment(1, self.io.layout.leb_bytes);
        layout_record.set_kind(VolumeKind::Dynamic);
        layout_record.set_name(b"layout volume");
        let volume = self.volume_of_record(LAYOUT_VOLUME, &layout_record);
        let mut volume = self.unproven(volume);
        if let Some(found) = scan.volumes.get(&LAYOUT_VOLUME) {
            take_over(&mut volume, found, self.io.layout.leb_bytes)?;
        }
        self.volumes.push(Some(volume));
        Ok(autoresize_id)
    }

    /// A volume with no LEB mapped.
    pub fn volume_of_record(&mut self, id: u32, record: &Record) -> VolumeState {
        let mut volume = VolumeState {
            id,
            birth_number: self.take_birth_number(),
            name: record.name_field()[..record.name_bytes()].to_vec(),
            kind: record.kind().unwrap_or(VolumeKind::Dynamic),
            alignment_bytes: record.alignment_bytes(),
            pad_bytes: record.pad_bytes(),
            used_lebs: 0,
            last_leb_bytes: 0,
            used_bytes: 0,
            update_interrupted: record.update_marker() != 0,
            corrupted: false,
            checked: record.flags() & FLAG_SKIP_CHECK != 0,
            pebs: vec![UNMAPPED; record.reserved_pebs() as usize],
            unproven: Vec::new(),
            is_leaving: false,
        };
        volume.set_content(self.io.layout.leb_bytes, 0);
        volume
    }

    /// Enlarges a volume by all available LEBs and clears its autoresize flag.
    fn autoresize(&mut self, id: u32) -> Result<(), AttachError> {
        if self.io.read_only {
            return Ok(());
        }
        let mut record = self.record(id);
        record.set_flags(record.flags() & !FLAG_AUTORESIZE);
        self.put_record(id, &record);
        let lebs = self.volume(id)?.lebs() + self.space.available_pebs;
        if self.space.available_pebs == 0 {
            self.change_record(id, record)?;
        } else {
            self.resize_volume(id, lebs)?;
        }
        Ok(())
    }

    // ---- blocks --------------------------------------------------------------------------------------------

    fn start_wear_levelling(&mut self, scan: &Scan) {
        self.wear.erases_max = scan.erases_max;
        let mean = scan.mean_erases;
        for peb in &scan.erase {
            self.wear.erases[peb.peb_number as usize] = peb.erases.unwrap_or(mean);
            let ScannedPeb { peb_number, owner, is_blank, .. } = *peb;
            self.schedule_erase_work(EraseWork {
                peb_number,
                owner,
                torture: false,
                for_setup: false,
                formats: is_blank,
            });
        }
        for peb in &scan.free {
            self.wear.erases[peb.peb_number as usize] = peb.erases.unwrap_or(mean);
            self.wear.put(peb.peb_number, Place::Free);
        }
        for leb in scan.volumes.values().flat_map(|volume| volume.lebs.values()) {
            self.wear.erases[leb.peb_number as usize] = leb.erases.unwrap_or(mean);
            self.wear.put(leb.peb_number, if leb.scrub { Place::Scrub } else { Place::Used });
        }
    }

    /// Ends the background thread, after the erase in which it is (`kthread_stop`). Blocks that it has not erased are found
    /// again by the next attach (`ubi_detach_mtd_dev`). With a fastmap another one is written before.
    pub fn detach(&mut self) {
        if self.wear.thread_enabled {
            // A power cut shows at the next attach. Meanwhile the thread has been woken and waits until it may go on (`work_sem`), so one
            // work is done before it is told to stop.
            let _ = self.volume_changed().and_then(|()| if self.writes_fastmap() { self.do_work() } else { Ok(()) });
        }
        // What could not be finished the next attach finds.
        let _ = self.end_erase();
        self.vanish();
    }

    /// The same when the power has gone.
    pub fn vanish(&mut self) {
        if self.wear.thread_enabled {
            self.wear.thread_enabled = false;
            self.sim.kill(&causes::UBI_THREAD);
        }
        self.wear.works.clear();
        self.wear.erasing = None;
        self.wear.move_scheduled = false;
        self.io.read_only = true;
        self.volumes.clear();
    }

    /// Reads a static volume and compares its CRCs (`ubi_check_volume`). Returns `false` when it is corrupted.
    pub fn check_volume(&mut self, id: u32) -> Result<bool, UbiError> {
        let volume = self.volume(id)?;
        if volume.kind == VolumeKind::Dynamic {
            return Ok(true);
        }
        let (used_lebs, last_bytes) = (volume.used_lebs, volume.last_leb_bytes);
        let usable = volume.usable_leb_bytes(self.io.layout.leb_bytes);
        let mut data = vec![0; usable as usize];
        for leb in 0..used_lebs {
            let bytes = if leb + 1 == used_lebs { last_bytes } else { usable };
            match self.read_leb(id, leb, 0, &mut data[..bytes as usize], true) {
                Ok(()) => {}
                Err(UbiError::Uncorrectable) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Maps the LEBs that the scan has found (`check_av`, `init_volumes`).
fn take_over(volume: &mut VolumeState, found: &ScannedVolume, leb_bytes: u32) -> Result<(), AttachError> {
    let refuse = |reason| Err(AttachError::Volume { id: volume.id, reason });
    let lebs = volume.lebs();
    if found.lebs.last_key_value().is_some_and(|(&last, _)| last >= lebs) || found.used_lebs > lebs {
        return refuse("blocks were found that lie beyond its end");
    }
    if found.kind != volume.kind || found.pad_bytes != volume.pad_bytes {
        return refuse("its record and the headers of its blocks contradict each other");
    }
    for (&leb, place) in &found.lebs {
        volume.pebs[leb as usize] = place.peb_number;
    }
    if volume.kind == VolumeKind::Static && !found.lebs.is_empty() {
        if found.lebs.len() as u32 != found.used_lebs {
            volume.corrupted = true;
        } else {
            let usable = u64::from(volume.usable_leb_bytes(leb_bytes));
            let bytes = u64::from(found.used_lebs - 1) * usable + u64::from(found.last_data_bytes);
            volume.set_content(leb_bytes, bytes);
        }
    }
    Ok(())
}
