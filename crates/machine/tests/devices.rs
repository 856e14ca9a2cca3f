//! Block devices below RTEMS's file systems and bare programs: flash behind a translation layer holds what a plain device would, through
//! power cuts, and its time is accounted for.

use ffslab_flash::Torn;
use ffslab_machine::spec::State;
use ffslab_machine::{MachineSpec, StackTable};
use ffslab_system::{OpenFlags, System};
use std::path::Path;

const MAPPINGS: [&str; 5] = ["page-map", "dftl", "block-map", "bast", "fast"];
/// Several dies and planes; a layer that collects while it is idle.
const DIES: &str = "page-map\", channels = 2, dies = 2, planes = 2, idle_free_blocks = 6, interface = \"sd-card";
/// SPI NAND, whose layout of the out-of-band area leaves what stands there the bytes of bad block marks.
const SERIAL: &str = "page-map\", board = \"luckfox-pico-max";
const SECTOR_BYTES: usize = 512;

fn spec(stack: &str) -> MachineSpec {
    StackTable::parse(stack).unwrap().machine(Path::new(".")).unwrap().0
}

fn refusal(stack: &str) -> String {
    let table = StackTable::parse(stack).map_err(|error| error.to_string());
    match table.map(|table| table.machine(Path::new(".")).map(|(spec, _)| spec.build(None).map(drop))) {
        Err(text) => text,
        Ok(Err(error)) | Ok(Ok(Err(error))) => error.to_string(),
        Ok(Ok(Ok(()))) => panic!("{stack} is no mistake"),
    }
}

fn part_below(mapping: &str) -> &'static str {
    if mapping == SERIAL {
        "gd5f1gq5ue"
    } else {
        "k9f1g08u0a"
    }
}

fn rtems_on(fs: &str, mapping: &str) -> String {
    format!(
        "system = \"rtems\"\nboard = \"none\"\nfs = \"{fs}\"\n\
         device = {{ ftl = \"{mapping}\", part = \"{}\", blocks = 48, spare = 0.4 }}\n",
        part_below(mapping)
    )
}

fn bare_on(mapping: &str) -> String {
    format!(
        "system = \"bare\"\nfs = \"block-device\"\n\
         device = {{ ftl = \"{mapping}\", part = \"{}\", blocks = 24, spare = 0.6, buffer_pages = 3 }}\n",
        part_below(mapping)
    )
}

const CREATE: OpenFlags = OpenFlags { create: true, ..OpenFlags::READ_WRITE };

fn write(system: &mut dyn System, name: &[u8], data: &[u8], at: u64) {
    let fd = system.open(name, CREATE, 0o644).unwrap();
    assert_eq!(system.pwrite(fd, data, at).unwrap(), data.len());
    system.close(fd).unwrap();
}

fn read(system: &mut dyn System, name: &[u8], bytes: usize) -> Vec<u8> {
    let fd = system.open(name, OpenFlags::READ, 0).unwrap();
    let mut data = vec![0; bytes];
    let mut done = 0;
    while done < bytes {
        done += system.pread(fd, &mut data[done..], done as u64).unwrap();
    }
    system.close(fd).unwrap();
    data
}

/// Bytes that nobody else wrote.
fn pattern(seed: u64, bytes: usize) -> Vec<u8> {
    (0..bytes as u64)
        .map(|i| ((i + 1).wrapping_mul(seed | 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8)
        .collect()
}

/// A program that writes files anew and in pieces.
fn work(system: &mut dyn System) {
    for round in 0..4u64 {
        for file in 0..3u64 {
            let name = format!("file{file}");
            write(system, name.as_bytes(), &pattern(round * 3 + file, 40_000), 0);
            write(system, name.as_bytes(), &pattern(99 - round, 3_000), round * 5_000);
        }
        system.sync().unwrap();
    }
}

/// A machine on which the program has run and unmounted.
fn worked_on(stack: &str) -> Box<dyn System> {
    let mut system = spec(stack).build(None).unwrap();
    system.mount(&[]).unwrap();
    work(&mut *system);
    system.umount().unwrap();
    system
}

#[test]
fn flash_below_a_layer_holds_what_a_plain_device_would() {
    for (fs, mappings) in
        [("dosfs", &MAPPINGS[..]), ("rfs", &MAPPINGS[..]), ("dosfs", &[DIES]), ("rfs", &[DIES]), ("dosfs", &[SERIAL])]
    {
        let mut kib = 0;
        let images: Vec<Vec<u8>> = mappings
            .iter()
            .map(|mapping| {
                let system = worked_on(&rtems_on(fs, mapping));
                let sim = system.sim().clone();
                assert_eq!(sim.total().time_ns() + sim.program_ns() + sim.idle_ns(), sim.now_ns(), "{fs} on {mapping}");
                assert!(sim.total().page_programs > 0, "{fs} on {mapping} uses no flash");
                kib = system.medium_bytes() / 1024;
                system.image(false).unwrap()
            })
            .collect();
        let plain = format!("system = \"rtems\"\nboard = \"none\"\nfs = \"{fs}\"\ndevice = \"sd-card\"\n");
        let plain = worked_on(&format!("{plain}device_KiB = {kib}\n")).image(false).unwrap();
        // Times of files differ, because the devices are not as fast.
        for (mapping, image) in mappings.iter().zip(&images) {
            let differing = image.iter().zip(&plain).filter(|(one, other)| one != other).count();
            assert!(image.len() == plain.len() && differing < 200, "{fs} on {mapping}: {differing} other bytes");
        }
    }
}

#[test]
fn a_synchronised_file_survives_a_power_cut_at_any_operation() {
    for fs in ["dosfs", "rfs"] {
        for (mapping, first) in MAPPINGS.iter().chain([&DIES, &SERIAL]).zip(1..) {
            for cut in (0..5).map(|step| first + step * 37) {
                let mut system = spec(&rtems_on(fs, mapping)).build(None).unwrap();
                system.mount(&[]).unwrap();
                let held = pattern(7, 60_000);
                write(&mut *system, b"kept", &held, 0);
                system.sync().unwrap();
                system
                    .cut_power_after(cut, if cut % 2 == 0 { Torn::Partial { seed: cut } } else { Torn::Nothing })
                    .unwrap();
                let fd = system.open(b"other", CREATE, 0o644);
                for at in (0..400_000).step_by(8192) {
                    let Ok(fd) = fd else { break };
                    if system.pwrite(fd, &pattern(at, 8192), at).is_err() || system.fsync(fd).is_err() {
                        break;
                    }
                }
                assert!(!system.is_powered(), "{fs} on {mapping}: the power stayed");
                system.crash().unwrap();
                system.mount(&[]).unwrap();
                assert!(read(&mut *system, b"kept", held.len()) == held, "{fs} on {mapping}, cut {cut}");
            }
        }
    }
}

#[test]
fn sectors_that_were_flushed_survive_power_cuts_and_states() {
    for mapping in MAPPINGS.into_iter().chain([DIES, SERIAL]) {
        let spec = spec(&bare_on(mapping));
        let mut system = spec.build(None).unwrap();
        let sectors = system.medium_bytes() as usize / SECTOR_BYTES;
        let mut flushed = vec![0u64; sectors];
        for round in 0..6u64 {
            let fd = system.open(b"disk", OpenFlags::READ_WRITE, 0).unwrap();
            for i in 0..60 {
                let sector = ((i * 7919 + round * 104_729) as usize) % sectors;
                let at = (sector * SECTOR_BYTES) as u64;
                let stamp = round * 1000 + i + 1;
                system.pwrite(fd, &pattern(stamp, SECTOR_BYTES), at).unwrap();
                flushed[sector] = stamp;
            }
            system.fsync(fd).unwrap();
            // What is written now may be lost or stay: each sector keeps its last content or the one before.
            system.cut_power_after(3 + round, Torn::Partial { seed: round }).unwrap();
            let mut maybe = Vec::new();
            for i in 0..400 {
                let sector = ((i * 31 + round * 17) as usize) % sectors;
                let stamp = 1_000_000 + round * 1000 + i;
                maybe.push((sector, stamp));
                if system.pwrite(fd, &pattern(stamp, SECTOR_BYTES), (sector * SECTOR_BYTES) as u64).is_err() {
                    break;
                }
            }
            assert!(!system.is_powered());
            system.crash().unwrap();
            let image = system.image(false).unwrap();
            for (sector, held) in image.chunks_exact(SECTOR_BYTES).enumerate() {
                let of = |stamp: u64| if stamp == 0 { vec![0; SECTOR_BYTES] } else { pattern(stamp, SECTOR_BYTES) };
                let later = maybe.iter().filter(|(of, _)| *of == sector).map(|(_, stamp)| *stamp);
                let found = later.chain([flushed[sector]]).find(|stamp| of(*stamp) == held);
                flushed[sector] =
                    found.unwrap_or_else(|| panic!("{mapping}: sector {sector} is lost in round {round}"));
            }
        }
        let state = State { medium: system.snapshot().unwrap(), at_ns: system.now_ns(), content_position_bytes: 0 };
        let restored = spec.build(Some(&state)).unwrap();
        assert_eq!(restored.now_ns(), system.now_ns());
        assert!(
            restored.image(false).unwrap() == system.image(false).unwrap(),
            "{mapping}: the state holds something else"
        );
    }
}

#[test]
fn mistakes_are_told_with_what_would_be_right() {
    let device = |keys: &str| format!("system = \"bare\"\nfs = \"block-device\"\ndevice = {keys}\n");
    let unknown = refusal(&device("{ ftl = \"page-mop\", part = \"k9f1g08u0a\" }"));
    assert!(unknown.contains("device.ftl") && unknown.contains("did you mean `page-map`?"), "{unknown}");
    let spare = refusal(&device("{ ftl = \"bast\", part = \"k9f1g08u0a\", blocks = 64, spare = 0.05 }"));
    assert!(spare.starts_with("device.spare = 0.05: bast needs blocks of its own"), "{spare}");
    let alone = refusal(&device("{ ftl = \"fast\", part = \"w25n01gv\" }"));
    assert!(alone.contains("device.board names the board whose controller drives it"), "{alone}");
    let serial = |more: &str| device(&format!("{{ ftl = \"fast\", part = \"w25n01gv\", blocks = 64, {more} }}"));
    let dies = refusal(&serial("board = \"luckfox-pico-max\", dies = 2"));
    assert!(dies.contains("a chip on a serial bus works alone"), "{dies}");
    let parallel = refusal(&device("{ ftl = \"fast\", part = \"k9f1g08u0a\", board = \"omap3evm\" }"));
    assert!(parallel.starts_with("device.board = \"omap3evm\": the controller inside"), "{parallel}");
    let no_bus = refusal(&serial("board = \"omap3evm\""));
    assert!(no_bus.contains("board `omap3evm` has no table [spi]"), "{no_bus}");
    let few = refusal(&device("{ ftl = \"fast\", part = \"f50l1g41a\", board = \"luckfox-pico-max\", blocks = 64 }"));
    assert!(few.contains("8 free out-of-band bytes a page"), "{few}");
    let part = refusal(&device("{ ftl = \"fast\", part = \"w25q128jv\" }"));
    assert!(part.starts_with("device.part = \"w25q128jv\": it is a"), "{part}");
    let none = refusal("system = \"bare\"\nfs = \"block-device\"\n");
    assert!(none.contains("name a block device"), "{none}");
    let foreign = refusal("system = \"bare\"\nfs = \"yaffs2\"\ndevice = \"sd-card\"\n");
    assert!(foreign.starts_with("device belongs to block-device"), "{foreign}");
    let policy = refusal("system = \"rtems\"\nfs = \"dosfs\"\ndevice = \"sd-card\"\npolicy = { victim = \"cat\" }\n");
    assert!(policy.starts_with("policy.victim: with fs = \"sd-card\" no policy chooses"), "{policy}");
    let twice = refusal(&format!("{}device_KiB = 1024\n", rtems_on("rfs", "fast")));
    assert!(twice.contains("device.blocks and device.spare say it"), "{twice}");
    let kind = refusal(&device("3"));
    assert!(kind.contains("the name of a block device, or a table"), "{kind}");
    let dies = refusal(&device("{ ftl = \"page-map\", part = \"k9f1g08u0a\", channels = 3 }"));
    assert!(dies.contains("channels = 3: a power of two is needed"), "{dies}");
    let many = refusal(&device("{ ftl = \"page-map\", part = \"k9f1g08u0a\", blocks = 25, planes = 2 }"));
    assert!(many.contains("the 25 blocks of a die cannot be divided"), "{many}");
}

/// A file system sees EIO. Why the device gave it is not lost.
#[test]
fn the_reason_of_an_error_can_be_asked_for() {
    let device =
        "{ ftl = \"page-map\", part = \"k9f1g08u0a\", blocks = 24, spare = 0.6, faults = { weakblocks = [\"0:1\"] } }";
    let weak: Vec<String> = (0..24).map(|block| format!("\"{block}:2\"")).collect();
    let device = device.replace("\"0:1\"", &weak.join(", "));
    let mut system =
        spec(&format!("system = \"bare\"\nfs = \"block-device\"\ndevice = {device}\n")).build(None).unwrap();
    let fd = system.open(b"disk", OpenFlags::READ_WRITE, 0).unwrap();
    let data = pattern(1, 4096);
    let error = (0..40_000u64).find_map(|i| system.pwrite(fd, &data, i % 200 * 4096).err());
    assert!(error.is_some_and(|error| error.to_string().starts_with("EIO")));
    let why = system.failure().unwrap();
    assert!(why.starts_with("the device failed: no block is left to write to"), "{why}");
}
