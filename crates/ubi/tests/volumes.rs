//! Volumes: what a request must look like, their sizes, static volumes, what other calls answer when a volume is gone.

use crate::support;

use ffslab_ubi::{AttachError, BadReserve, Ubi, UbiError, UbiOptions, VolumeKind, VolumeRequest, VolumeSize};
use support::{content, Rig};

const BLOCKS: u32 = 24;
const LEB_BYTES: u32 = 7 * 512;

fn attached() -> (Rig, Ubi) {
    let rig = Rig::small(BLOCKS);
    let ubi = rig.attach();
    ubi.flush().unwrap();
    (rig, ubi)
}

fn dynamic(name: &str, lebs: u32) -> VolumeRequest {
    VolumeRequest::new(name, VolumeKind::Dynamic, VolumeSize::Lebs(lebs))
}

#[test]
fn impossible_requests_are_refused_and_change_nothing() {
    let (_, ubi) = attached();
    ubi.make_volume(&dynamic("a", 2)).unwrap();
    let available = ubi.available_lebs();
    let refused = |request: VolumeRequest| ubi.make_volume(&request).unwrap_err();
    assert_eq!(refused(dynamic("a", 1)), UbiError::VolumeExists);
    assert_eq!(refused(VolumeRequest { id: Some(0), ..dynamic("b", 1) }), UbiError::VolumeExists);
    assert!(matches!(refused(VolumeRequest { id: Some(20), ..dynamic("b", 1) }), UbiError::BadRequest(_)));
    assert!(matches!(refused(dynamic("", 1)), UbiError::BadRequest(_)));
    assert!(matches!(refused(dynamic("a\0", 1)), UbiError::BadRequest(_)));
    assert!(matches!(refused(dynamic(&"n".repeat(128), 1)), UbiError::BadRequest(_)));
    assert!(matches!(refused(dynamic("b", 0)), UbiError::BadRequest(_)));
    for alignment_bytes in [0, 100, 8 * 512, 4 * 512] {
        let request = VolumeRequest { alignment_bytes, ..dynamic("b", 1) };
        if alignment_bytes == 4 * 512 {
            ubi.make_volume(&request).unwrap();
            ubi.remove_volume(1).unwrap();
        } else {
            assert!(matches!(refused(request), UbiError::BadRequest(_)));
        }
    }
    let no_room = |needed_lebs, available_lebs| UbiError::NoRoom { needed_lebs, available_lebs };
    assert_eq!(refused(dynamic("b", available + 1)), no_room(u64::from(available) + 1, available));
    let huge = VolumeRequest { size: VolumeSize::Bytes(u64::MAX), ..dynamic("b", 1) };
    assert!(matches!(refused(huge), UbiError::NoRoom { needed_lebs: 4_294_967_296.., .. }));
    assert_eq!((ubi.available_lebs(), ubi.volumes().len()), (available, 1));
    ubi.make_volume(&dynamic(&"n".repeat(127), available)).unwrap();
    assert_eq!(refused(VolumeRequest { size: VolumeSize::AllAvailable, ..dynamic("c", 1) }), no_room(1, 0));
}

#[test]
fn volumes_come_back_as_they_were_made() {
    let (rig, ubi) = attached();
    let bytes = VolumeSize::Bytes(u64::from(LEB_BYTES) * 2 + 1);
    ubi.make_volume(&VolumeRequest { id: Some(4), size: bytes, ..dynamic("fünf", 0) }).unwrap();
    ubi.make_volume(&VolumeRequest { alignment_bytes: 1024, ..dynamic("aligned", 2) }).unwrap();
    let of_static = VolumeRequest::new("fixed", VolumeKind::Static, VolumeSize::Lebs(3));
    assert_eq!(ubi.make_volume(&of_static), Ok(1));
    let before = ubi.volumes();
    let names: Vec<(u32, &str, u32, u32)> =
        before.iter().map(|info| (info.id, info.name.as_str(), info.lebs, info.leb_bytes)).collect();
    assert_eq!(names, [(0, "aligned", 2, 6 * 512), (1, "fixed", 3, LEB_BYTES), (4, "fünf", 3, LEB_BYTES)]);
    assert_eq!((before[1].used_bytes, before[2].used_bytes), (0, u64::from(LEB_BYTES) * 3));
    let available = ubi.available_lebs();
    ubi.detach();
    let ubi = rig.attach();
    assert_eq!((ubi.volumes(), ubi.available_lebs()), (before, available));
    assert_eq!(ubi.open_by_name("fünf").unwrap().id(), 4);
    assert_eq!(ubi.open_by_name("layout volume").err(), Some(UbiError::NoVolume));
}

#[test]
fn requests_outside_a_volume_are_refused() {
    let (_, ubi) = attached();
    ubi.make_volume(&VolumeRequest { alignment_bytes: 1024, ..dynamic("v", 2) }).unwrap();
    let volume = ubi.open(0).unwrap();
    let bad = Err(UbiError::BadRange);
    assert_eq!(volume.write(2, 0, &[0; 512]), bad);
    assert_eq!(volume.write(0, 100, &[0; 512]), bad);
    assert_eq!(volume.write(0, 0, &[0; 100]), bad);
    assert_eq!(volume.write(0, 6 * 512, &[0; 512]), bad, "the seventh page is padding");
    assert_eq!(volume.write(0, u32::MAX - 511, &[0; 512]), bad);
    assert_eq!(volume.change(0, &[0; 7 * 512]), bad);
    assert_eq!(volume.read(0, 6 * 512, &mut [0]), bad);
    assert_eq!(volume.read(u32::MAX, 0, &mut [0]), bad);
    assert_eq!(volume.unmap(2), bad);
    assert_eq!(volume.map(2), bad);
    assert!(!volume.is_mapped(2));
    volume.write(0, 5 * 512, &[7; 512]).unwrap();
    let mut data = [0; 3];
    volume.read(0, 5 * 512 - 1, &mut data).unwrap();
    assert_eq!(data, [0xFF, 7, 7]);
    volume.map(1).unwrap();
    assert_eq!(volume.map(1), Err(UbiError::AlreadyMapped));
}

#[test]
fn a_volume_that_is_gone_cannot_be_used() {
    let (_, ubi) = attached();
    ubi.make_volume(&dynamic("v", 2)).unwrap();
    let volume = ubi.open(0).unwrap();
    volume.write(0, 0, &[1; 512]).unwrap();
    ubi.remove_volume(0).unwrap();
    assert_eq!(volume.read(0, 0, &mut [0]), Err(UbiError::NoVolume));
    assert_eq!(ubi.open(0).err(), Some(UbiError::NoVolume));
    assert_eq!(ubi.remove_volume(0), Err(UbiError::NoVolume));
    // Another one of the same number is not the same, and has nothing of the old one.
    ubi.make_volume(&dynamic("w", 2)).unwrap();
    assert_eq!(volume.write(0, 0, &[0; 512]), Err(UbiError::NoVolume));
    assert_eq!((volume.lebs(), volume.name().as_str(), volume.is_mapped(0)), (0, "", false));
    assert!(!ubi.open(0).unwrap().is_mapped(0));
    ubi.detach();
    assert_eq!(ubi.open(0).err(), Some(UbiError::NoVolume));
    assert_eq!(ubi.make_volume(&dynamic("x", 1)), Err(UbiError::ReadOnly));
}

#[test]
fn a_volume_grows_and_shrinks() {
    let (rig, ubi) = attached();
    ubi.make_volume(&dynamic("v", 4)).unwrap();
    let volume = ubi.open(0).unwrap();
    let available = ubi.available_lebs();
    for leb in 0..4 {
        volume.write(leb, 0, &content(leb, 0, 512)).unwrap();
    }
    ubi.resize_volume(0, 6).unwrap();
    assert_eq!((volume.lebs(), ubi.available_lebs()), (6, available - 2));
    volume.write(5, 0, &content(5, 0, 512)).unwrap();
    ubi.resize_volume(0, 2).unwrap();
    assert_eq!((volume.lebs(), ubi.available_lebs()), (2, available + 2));
    assert_eq!(
        ubi.resize_volume(0, available + 5),
        Err(UbiError::NoRoom { needed_lebs: u64::from(available) + 3, available_lebs: available + 2 })
    );
    assert!(matches!(ubi.resize_volume(0, 0), Err(UbiError::BadRequest(_))));
    let (ubi, volume) = rig.reattach(&ubi);
    let mut data = [0; 512];
    volume.read(1, 0, &mut data).unwrap();
    assert_eq!(data.as_slice(), content(1, 0, 512));
    assert_eq!((volume.lebs(), ubi.available_lebs(), ubi.peb_counts().used_pebs), (2, available + 2, 4));
}

#[test]
fn a_volume_with_the_flag_takes_what_is_available_at_the_next_attach() {
    let (rig, ubi) = attached();
    ubi.make_volume(&VolumeRequest { autoresize: true, ..dynamic("v", 3) }).unwrap();
    let all = ubi.available_lebs() + 3;
    assert_eq!(ubi.open(0).unwrap().lebs(), 3);
    let (ubi, volume) = rig.reattach(&ubi);
    assert_eq!((volume.lebs(), ubi.available_lebs()), (all, 0));
    // Only once.
    ubi.resize_volume(0, 5).unwrap();
    let (ubi, volume) = rig.reattach(&ubi);
    assert_eq!((volume.lebs(), ubi.available_lebs()), (5, all - 5));
}

#[test]
fn a_static_volume_is_written_as_a_whole_and_checked_when_it_is_opened() {
    let (rig, ubi) = attached();
    ubi.make_volume(&VolumeRequest::new("fixed", VolumeKind::Static, VolumeSize::Lebs(3))).unwrap();
    let volume = ubi.open(0).unwrap();
    assert_eq!(volume.read(0, 0, &mut [0]), Err(UbiError::BadRange), "it is empty");
    let data = content(1, 1, LEB_BYTES as usize + 700);
    volume.update(&data).unwrap();
    assert_eq!(volume.write(0, 0, &[0; 512]), Err(UbiError::ReadOnly));
    assert_eq!(volume.unmap(0), Err(UbiError::ReadOnly));
    assert_eq!(volume.update(&vec![0; 3 * LEB_BYTES as usize + 1]), Err(UbiError::BadRange));
    ubi.detach();
    let ubi = rig.attach();
    let open = rig.counts(|| drop(ubi.open(0).unwrap()));
    // Two LEBs with 7 and 2 pages; the header of each. The header page passes through the cache of the NAND core.
    assert_eq!(open.page_reads, 1 + 7 + 1 + 2);
    assert_eq!(rig.counts(|| drop(ubi.open(0).unwrap())).page_reads, 0);
    let volume = ubi.open(0).unwrap();
    let mut found = vec![0; data.len()];
    let (first, second) = found.split_at_mut(LEB_BYTES as usize);
    volume.read(0, 0, first).unwrap();
    volume.read(1, 0, second).unwrap();
    assert_eq!(found, data);
    assert_eq!(volume.read(1, 0, &mut [0; 701]), Err(UbiError::BadRange));
    assert_eq!(volume.read(u32::MAX, 0, &mut [0]), Err(UbiError::BadRange));
    assert_eq!(volume.info().unwrap().used_bytes, data.len() as u64);
    assert_eq!(ubi.resize_volume(0, 1), Err(UbiError::BadRequest("the data of the static volume would not fit")));
    ubi.resize_volume(0, 2).unwrap();
    assert_eq!(volume.info().unwrap().used_bytes, data.len() as u64);
    volume.update(&[]).unwrap();
    assert_eq!((volume.info().unwrap().used_bytes, volume.is_mapped(0)), (0, false));
}

#[test]
fn options_that_cannot_work_are_refused_with_a_reason() {
    let rig = Rig::new(20);
    let refused = |change: fn(&mut UbiOptions)| {
        let mut options = rig.options.clone();
        change(&mut options);
        Ubi::attach(rig.mtd.clone(), &options).map(|_| ()).unwrap_err()
    };
    let layout = |offset: u32, reason| AttachError::Layout { offset, reason };
    assert_eq!(
        refused(|options| options.vid_header_offset_bytes = Some(60)),
        layout(60, "the erase counter header stands there")
    );
    assert_eq!(
        refused(|options| options.vid_header_offset_bytes = Some(1000)),
        layout(1000, "it crosses the border of a page or sub-page")
    );
    assert_eq!(
        refused(|options| options.vid_header_offset_bytes = Some(514)),
        layout(514, "it must be a multiple of 4")
    );
    assert_eq!(
        refused(|options| options.vid_header_offset_bytes = Some(u32::MAX)),
        layout(u32::MAX, "there is no room for data behind it")
    );
    assert_eq!(refused(|options| options.bad_reserve = BadReserve::Per1024OfChip(769)), AttachError::BadReserve(769));
    assert_eq!(refused(|options| options.wl_threshold_erases = 1), AttachError::WearThreshold(1));
    assert_eq!(rig.sim.total().operations(), 0);
    let mut rig = rig;
    rig.options.vid_header_offset_bytes = Some(1024 + 64);
    let (ubi, volume) = rig.formatted();
    volume.write(0, 0, &content(0, 0, 2048)).unwrap();
    let (_, volume) = rig.reattach(&ubi);
    let mut data = vec![0; 2048];
    volume.read(0, 0, &mut data).unwrap();
    assert_eq!(data, content(0, 0, 2048));
}

#[test]
fn without_sub_page_writes_a_partition_made_with_them_can_be_read() {
    let mut rig = Rig::new(20);
    let (ubi, volume) = rig.formatted();
    volume.write(0, 0, &content(0, 0, 2048)).unwrap();
    ubi.detach();
    rig.options.subpage_writes = false;
    rig.options.vid_header_offset_bytes = Some(512);
    let ubi = rig.attach();
    let volume = ubi.open(0).unwrap();
    let mut data = vec![0; 2048];
    volume.read(0, 0, &mut data).unwrap();
    assert_eq!(data, content(0, 0, 2048));
    assert!(ubi.is_read_only());
    assert_eq!(volume.map(1), Err(UbiError::ReadOnly));
    ubi.detach();
    // With the header where it would be without sub-pages nothing fits.
    rig.options.vid_header_offset_bytes = None;
    assert_eq!(
        Ubi::attach(rig.mtd.clone(), &rig.options).map(|_| ()),
        Err(AttachError::OtherLayout { peb: 0, found: 512, expected: 2048 })
    );
}

#[test]
fn a_partition_that_is_too_small_is_refused() {
    for (blocks, told) in [
        (1, "not enough erase blocks for the volume table: 2 are needed, 1 of 1 are available"),
        (3, "not enough erase blocks for moving data, beside the volumes: 2 are needed, 1 of 3 are available"),
    ] {
        let rig = Rig::small(blocks);
        let error = Ubi::attach(rig.mtd.clone(), &rig.options).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), told);
    }
}

#[test]
fn an_empty_partition_that_could_only_be_read_is_refused() {
    let mut rig = Rig::new(20);
    rig.options.vid_header_offset_bytes = Some(64);
    let error = Ubi::attach(rig.mtd.clone(), &rig.options).map(|_| ()).unwrap_err().to_string();
    assert!(error.starts_with("the volume identifier header at byte 64 does not fit: "), "{error}");
    assert!(error.ends_with("can only be read, and it is empty"), "{error}");
}

#[test]
fn who_has_the_blocks_is_told() {
    let (_, ubi) = attached();
    ubi.make_volume(&dynamic("v", 4)).unwrap();
    let room = ubi.room();
    let parts = [room.volume_table_pebs, room.working_pebs, room.bad_reserve_pebs, room.bad_pebs, room.kept_pebs];
    assert_eq!(parts.iter().sum::<u32>() + room.volume_pebs + room.available_pebs, room.pebs);
    assert_eq!((room.volume_pebs, room.available_pebs), (4, ubi.available_lebs()));
    assert!(room.to_string().contains("2 hold the volume table, 2 are kept for moving data"), "{room}");
    assert!(room.to_string().contains("4 belong to volumes"), "{room}");
}
