//! Images exchanged with the real tools: `ubinize` of mtd-utils makes them, `ubi_reader` (PyPI) reads them.
//!
//! A test whose tool is missing says so and passes, unless `FFSLAB_NOTHING_LEFT_OUT` is set.

use crate::support;

use std::fs;
use std::process::Command;

use ffslab_conformance::real_tools::{run, tool, Folder};
use ffslab_flash::ImageLayout;
use ffslab_ubi::{Ubi, UbiError, VolumeKind, VolumeRequest, VolumeSize};
use support::{content, Rig};

const BLOCKS: u32 = 40;
const BLOCK_BYTES: usize = 64 * 2048;

fn rig(subpage_writes: bool) -> Rig {
    let mut rig = Rig::new(BLOCKS);
    rig.options.subpage_writes = subpage_writes;
    rig
}

fn leb_bytes(subpage_writes: bool) -> usize {
    if subpage_writes {
        BLOCK_BYTES - 2048
    } else {
        BLOCK_BYTES - 4096
    }
}

fn read(ubi: &Ubi, name: &str) -> Vec<u8> {
    let volume = ubi.open_by_name(name).unwrap();
    let info = volume.info().unwrap();
    let mut data = vec![0; info.used_bytes as usize];
    for (leb, part) in (0..).zip(data.chunks_mut(info.leb_bytes as usize)) {
        volume.read(leb, 0, part).unwrap();
    }
    data
}

#[test]
fn what_ubinize_makes_is_read_identical() {
    let Some(ubinize) = tool("ubinize", "Debian: mtd-utils") else { return };
    for subpage_writes in [true, false] {
        let folder = Folder::new(if subpage_writes { "ubi-ubinize-s" } else { "ubi-ubinize" });
        let leb = leb_bytes(subpage_writes);
        let dynamic = content(1, 1, 3 * leb + 5000);
        let fixed = content(2, 1, 2 * leb + 777);
        let rest = content(3, 1, 100);
        for (name, data) in [("dynamic", &dynamic), ("fixed", &fixed), ("rest", &rest)] {
            fs::write(folder.path(name), data).unwrap();
        }
        let section = |id: u32, name: &str, more: &str| {
            let file = folder.path(name);
            format!("[{name}]\nmode=ubi\nimage={}\nvol_id={id}\nvol_name={name}\n{more}\n", file.display())
        };
        let ini = [
            section(0, "dynamic", &format!("vol_type=dynamic\nvol_size={}", 6 * leb)),
            section(2, "fixed", "vol_type=static"),
            section(1, "rest", &format!("vol_type=dynamic\nvol_size={leb}\nvol_flags=autoresize")),
        ];
        fs::write(folder.path("ubi.ini"), ini.concat()).unwrap();
        let image = folder.path("image");
        let mut command = Command::new(&ubinize);
        command.arg("-o").arg(&image).args(["-m", "2048", "-p", "128KiB", "-e", "7", "-Q", "4711"]);
        if subpage_writes {
            command.args(["-s", "512"]);
        }
        run(command.arg(folder.path("ubi.ini")));

        let rig = rig(subpage_writes);
        rig.nand.with_chip(|chip| chip.load_image(&image, 0..BLOCKS, ImageLayout::default())).unwrap();
        let ubi = rig.attach();
        assert_eq!(ubi.erase_counters()[2], Some(7));
        let volumes: Vec<(u32, String, VolumeKind)> =
            ubi.volumes().into_iter().map(|info| (info.id, info.name, info.kind)).collect();
        let expected = [
            (0, "dynamic".to_string(), VolumeKind::Dynamic),
            (1, "rest".to_string(), VolumeKind::Dynamic),
            (2, "fixed".to_string(), VolumeKind::Static),
        ];
        assert_eq!(volumes, expected);
        let found = read(&ubi, "dynamic");
        assert_eq!(found.len(), 6 * leb);
        assert_eq!(&found[..dynamic.len()], dynamic);
        assert!(found[dynamic.len()..].iter().all(|&byte| byte == 0xFF));
        assert_eq!(read(&ubi, "fixed"), fixed);
        assert_eq!(&read(&ubi, "rest")[..rest.len()], rest);
        assert_eq!(ubi.available_lebs(), 0, "the last volume has taken what there was");
        // The partition goes on living.
        let volume = ubi.open_by_name("dynamic").unwrap();
        volume.write(5, 0, &content(5, 0, 2048)).unwrap();
        assert_eq!(ubi.open_by_name("fixed").unwrap().map(0), Err(UbiError::ReadOnly));
        ubi.flush().unwrap();
        ubi.detach();
        let ubi = rig.attach();
        assert_eq!(&read(&ubi, "dynamic")[5 * leb..5 * leb + 2048], content(5, 0, 2048));
        assert_eq!(read(&ubi, "fixed"), fixed);
    }
}

#[test]
fn what_is_written_here_is_read_identical_by_ubi_reader() {
    let Some(extract) = tool("ubireader_extract_images", "PyPI: ubi_reader") else { return };
    for subpage_writes in [true, false] {
        let folder = Folder::new(if subpage_writes { "ubi-reader-s" } else { "ubi-reader" });
        let leb = leb_bytes(subpage_writes);
        let rig = rig(subpage_writes);
        let ubi = rig.attach();
        ubi.flush().unwrap();
        let (dynamic, fixed) = (content(1, 1, 4 * leb), content(2, 1, 2 * leb + 777));
        for (name, kind) in [("dynamic", VolumeKind::Dynamic), ("fixed", VolumeKind::Static)] {
            ubi.make_volume(&VolumeRequest::new(name, kind, VolumeSize::Lebs(4))).unwrap();
        }
        let volume = ubi.open_by_name("dynamic").unwrap();
        for (number, part) in (0..).zip(dynamic.chunks(leb)) {
            // Earlier contents lie on the chip as well, until their erase.
            volume.write(number, 0, &content(9, number, 4096)).unwrap();
            volume.change(number, part).unwrap();
        }
        ubi.open_by_name("fixed").unwrap().update(&fixed).unwrap();
        let image = folder.path("image");
        rig.nand.with_chip(|chip| chip.save_image(&image, 0..BLOCKS, ImageLayout::default())).unwrap();
        let out = folder.path("out");
        run(Command::new(&extract).arg("-o").arg(&out).arg(&image));
        let mut found = Vec::new();
        for entry in fs::read_dir(out.join("image")).unwrap() {
            found.push(entry.unwrap().path());
        }
        let of = |name: &str| {
            let file = found.iter().find(|file| file.to_string_lossy().contains(&format!("vol-{name}."))).unwrap();
            fs::read(file).unwrap()
        };
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(of("dynamic"), dynamic);
        assert_eq!(of("fixed"), fixed);
    }
}
