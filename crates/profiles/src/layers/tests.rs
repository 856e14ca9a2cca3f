use super::part_named;
use crate::built_in::BUILT_IN;
use crate::circumstances::Circumstances;
use crate::part::PartKind;
use crate::{block_device, rtems_board, show, template, Profile, ShownConstant, Status};
use std::path::{Path, PathBuf};

/// A folder of its own for a test, gone at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ffslab-layers-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn save(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn board(&self, text: &str) -> Result<Profile, String> {
        self.save("board.toml", text);
        Profile::load("./board.toml", None, None, &self.0).map_err(|error| error.to_string())
    }

    fn refused(&self, text: &str) -> String {
        self.board(text).unwrap_err().replace(&self.0.display().to_string(), "")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn constant(path: &str, key: &str) -> ShownConstant {
    show(path).unwrap().values.into_iter().find(|constant| constant.key == key).unwrap()
}

fn here() -> &'static Path {
    Path::new("")
}

#[test]
fn what_a_board_does_not_say_is_its_bases_and_unverified() {
    let folder = Folder::new("inherit");
    let mine = folder.board("base = \"omap3evm\"\npage_cache_KiB = 4096\n").unwrap();
    let base = Profile::load("omap3evm", None, None, here()).unwrap();
    assert_eq!((mine.page_cache_bytes(), mine.driver()), (4096 << 10, base.driver()));
    assert_eq!((mine.part_name, mine.kernel_name), (base.part_name.clone(), base.kernel_name.clone()));
    assert_eq!(mine.board.title, "Mistral OMAP3 EVM (TI OMAP3530), changed");
    let path = folder.0.join("board.toml").display().to_string();
    let own = constant(&path, "page_cache_KiB");
    assert_eq!((own.status, own.source.as_str()), (Status::Unverified, "given without a source"));
    let inherited = constant(&path, "driver.read_us");
    assert!(inherited.source.starts_with("of omap3evm: openflash-slides") && inherited.status == Status::Unverified);
    // Somebody's own numbers are as good in the next file as in the first.
    folder.save(
        "more.toml",
        "base = \"./board.toml\"\n[vfs]\ncall_ns = { value = 5, source = \"me\", status = \"measured\" }",
    );
    let last = folder.save("last.toml", "base = \"./more.toml\"");
    assert_eq!(constant(&last, "vfs.call_ns").status, Status::Measured);
    assert_eq!(constant(&last, "page_cache_KiB").source, "given without a source");
    assert_eq!(show(&last).unwrap().base.as_deref(), Some("./more.toml"));
}

#[test]
fn a_slower_cpu_takes_longer_where_nothing_else_is_said() {
    let folder = Folder::new("scale");
    let text = "base = \"omap3evm\"\ncpu_time_scale = 2\n[cpu]\ncrc_ns_per_B = 7\n";
    let (mine, base) = (folder.board(text).unwrap(), Profile::load("omap3evm", None, None, here()).unwrap());
    let (mine_costs, base_costs) = (mine.cpu_costs(true).unwrap(), base.cpu_costs(true).unwrap());
    for work in ffslab_sim::Work::ALL {
        let times = if *work == ffslab_sim::Work::Crc { 1.4 } else { 2.0 };
        let (mine_ns, base_ns) = (mine_costs.ns(*work, 100_000) as f64, base_costs.ns(*work, 100_000) as f64);
        assert!((mine_ns - times * base_ns).abs() <= 200.0, "{work:?}: {mine_ns} {base_ns}");
    }
    // What the driver adds is the CPU's, and chip and bus are not slower.
    let (read_ns, program_ns) = (base.driver().read.overhead_ns, base.driver().program.overhead_ns);
    assert_eq!((mine.vfs_costs().call_ns, mine.driver().read.overhead_ns), (2_000, 2 * read_ns));
    assert_eq!(mine.driver().program.overhead_ns, program_ns + read_ns);
    assert_eq!(mine.part.timing(), base.part.timing());
    let shown = constant(&folder.0.join("board.toml").display().to_string(), "cpu.page_write_us");
    assert!(shown.source.starts_with("2 times that of omap3evm: ") && shown.ci95.is_none(), "{}", shown.source);
    let says = "board.toml:1: cpu_time_scale: it multiplies what a base says: give base, too";
    assert!(folder.refused("cpu_time_scale = 2").ends_with(says));
    assert!(folder.refused("base = \"omap3evm\"\ncpu_time_scale = 0").contains("above 0 and up to 1000"));

    folder.save("rtems.toml", "base = \"beaglebone-black\"\ncpu_time_scale = 3\n");
    let base = rtems_board("beaglebone-black", here()).unwrap();
    let mine = rtems_board("./rtems.toml", &folder.0).unwrap();
    assert_eq!((mine.call_ps, mine.memory_read_ps), (3 * base.call_ps, base.memory_read_ps));
}

#[test]
fn another_part_below_the_same_driver_keeps_what_the_driver_adds() {
    let folder = Folder::new("part");
    let by_key = Profile::load("omap3evm", Some("tc58nvg1s3e"), None, here()).unwrap().driver();
    let by_base = folder.board("base = \"omap3evm\"\npart = \"tc58nvg1s3e\"\n").unwrap().driver();
    for (a, b) in [(by_key.read, by_base.read), (by_key.program, by_base.program), (by_key.erase, by_base.erase)] {
        assert_eq!(a.overhead_ns, b.overhead_ns);
        assert!((a.power.cpu - b.power.cpu).abs() < 1e-6 && (a.power.memory - b.power.memory).abs() < 1e-6);
    }
    let path = folder.0.join("board.toml").display().to_string();
    assert!(show(&path).unwrap().values.iter().all(|constant| constant.key != "driver.read_us"));
    let shown = constant(&path, "driver.read_overhead_us");
    assert!(shown.source.starts_with("with part micron-slc-omap3evm there, without chip"), "{}", shown.source);
}

#[test]
fn a_controller_makes_the_bus_slower_than_the_chip_and_is_the_bases_unless_a_board_names_one() {
    let folder = Folder::new("controller");
    let mine = "base = \"omap3evm\"\npart = \"mt29f2g08abaea\"\ncpu_time_scale = 2\n";
    let bus_ps = |profile: &Profile| profile.part.timing().bus_ps_per_byte;
    // The memory controller of the OMAP3 has cycles of 82 ns, and the chip could do with 20.
    let inherited = folder.board(mine).unwrap();
    let base = Profile::load("omap3evm", None, None, here()).unwrap();
    assert_eq!((bus_ps(&inherited), bus_ps(&base)), (82_000, 50_000));
    assert!(inherited.driver_note().unwrap().contains("omap3evm, omap-gpmc"));
    let named = folder.board(&format!("{mine}controller = \"pl353\"\n")).unwrap();
    assert_eq!((bus_ps(&named), named.driver_note()), (30_000 + 2 * 60_000, None));
    assert_eq!(named.driver().read.overhead_ns, 80_000);
    // Times of one's own have the bus in them, and those of a controller that one names do not.
    let own = "[driver]\nread_overhead_us = 40\nprogram_overhead_us = 40\nerase_overhead_us = 9\n";
    let own_times = folder.board(&format!("{mine}{own}")).unwrap();
    assert_eq!((bus_ps(&own_times), own_times.driver_note()), (20_000, None));
    let both = folder.board(&format!("{mine}controller = \"gpmi\"\n{own}")).unwrap();
    assert_eq!((bus_ps(&both), both.driver().read.overhead_ns), (20_000, 40_000));
    let unknown = folder.refused(&format!("{mine}controller = \"gpmj\"\n"));
    assert!(unknown.contains("board.toml:4: controller: unknown controller `gpmj`: did you mean `gpmi`?"), "{unknown}");
}

#[test]
fn a_core_and_its_clock_say_how_long_the_cpu_takes() {
    let folder = Folder::new("core");
    let board = |base: &str, clock: u32| {
        folder.board(&format!("base = \"{base}\"\ncore = \"cortex-a8\"\nclock_MHz = {clock}\n"))
    };
    // The reference is such a core at 720 MHz.
    let base = Profile::load("omap3evm", None, None, here()).unwrap();
    let call_ns = |profile: &Profile| profile.vfs_costs().call_ns;
    assert_eq!(call_ns(&board("omap3evm", 720).unwrap()), call_ns(&base));
    assert_eq!(call_ns(&board("omap3evm", 360).unwrap()), 2 * call_ns(&base));
    // A base with another CPU does not make it faster or slower.
    assert_eq!(call_ns(&board("luckfox-pico-max", 360).unwrap()), 2 * call_ns(&base));
    let decompress = |profile: &Profile| profile.cpu_costs(false).unwrap().ns(ffslab_sim::Work::LzoDecompress, 1_000);
    assert_eq!(decompress(&board("omap3evm", 500).unwrap()), 20_000);
    let twice = folder.refused("base = \"omap3evm\"\ncore = \"cortex-a8\"\ncpu_time_scale = 2\n");
    assert!(twice.contains("board.toml:3: cpu_time_scale: it follows from core and clock_MHz"), "{twice}");
    let alone = folder.refused("base = \"omap3evm\"\nclock_MHz = 500\n");
    assert!(alone.contains("board.toml:2: clock_MHz: it is the clock of a core"), "{alone}");
    let elsewhere = board("qemu-arm926-500mips", 500).unwrap_err();
    assert!(elsewhere.contains("core: its times are multiples of those of omap3evm"), "{elsewhere}");
}

#[test]
fn a_newer_lzo_is_cheaper_than_the_one_that_was_measured() {
    let cost = |kernel: &str| {
        let profile = Profile::load("omap3evm", None, Some(kernel), here()).unwrap();
        profile.cpu_costs(false).unwrap().ns(ffslab_sim::Work::LzoOutput, 100_000)
    };
    assert_eq!(cost("2.6.37"), 18_610_000);
    assert_eq!(cost("6.1"), (18_610_000.0 * 0.57) as u64);
}

#[test]
fn a_driver_is_a_total_or_an_overhead_and_energies_belong_to_their_time() {
    let folder = Folder::new("driver");
    let mine = folder.board("base = \"omap3evm\"\n[driver]\nread_overhead_us = 12.5\n").unwrap().driver();
    let base = Profile::load("omap3evm", None, None, here()).unwrap().driver();
    assert_eq!((mine.read.overhead_ns, mine.read.power.cpu), (12_500, 0.0));
    assert_eq!((mine.program, mine.erase), (base.program, base.erase));
    let both = folder.refused("base = \"omap3evm\"\n[driver]\nread_overhead_us = 12.5\nread_us = 200\n");
    assert!(both.contains("driver.read_us and driver.read_overhead_us: the one includes chip and bus"), "{both}");
    let none = folder.refused("base = \"apf27\"\n[driver]\nread_us = 200\nprogram_us = 900\n");
    let says = "a key of a board is missing: driver.erase_us (us: with chip and bus) or driver.erase_overhead_us";
    assert!(none.contains(says), "{none}");
}

#[test]
fn all_missing_and_all_unknown_keys_are_told_at_once() {
    let folder = Folder::new("missing");
    let missing = folder.refused("title = \"x\"\npart = \"tc58nvg1s3e\"\n[idle]\ncpu_mW = 3\n");
    assert!(missing.contains("10 keys of a board are missing: ") && !missing.contains('\n'), "{missing}");
    for says in [
        "page_cache_KiB (Memory that the page cache may take (KiB))",
        "nand_wait (What a task does while the chip works (\"busy\" or \"resched\" or \"sleep\"))",
        "idle.memory_mW",
        "vfs.call_ns",
    ] {
        assert!(missing.contains(says), "{says}: {missing}");
    }
    // Tables that may be absent are not asked for.
    assert!(!missing.contains("driver.") && !missing.contains("tracers."), "{missing}");
    let unknown = folder.refused("base = \"omap3evm\"\nkernl = \"6.1\"\n[driver]\nread_uss = 1\n");
    let says =
        "board.toml:2: unknown key `kernl`: did you mean `kernel`?; line 4: unknown key `read_uss`: did you mean";
    assert!(unknown.contains(says), "{unknown}");
    assert!(folder
        .refused("base = \"omap3evm\"\ndriver = 5")
        .ends_with(":2: `driver` is a table of constants: [driver]"));
    let wrong = folder.refused("base = \"omap3evm\"\n\nnand_wait = \"slep\"\n");
    assert!(wrong.ends_with("board.toml:3: nand_wait: unknown value `slep`: did you mean `sleep`?"), "{wrong}");
}

#[test]
fn bases_must_exist_be_of_the_kind_and_not_lead_back() {
    let folder = Folder::new("base");
    let absent = folder.refused("base = \"omap3ev\"\n");
    assert!(absent.contains("board.toml:1: base: unknown board `omap3ev`: did you mean `omap3evm`?"), "{absent}");
    assert!(folder.refused("base = \"sd-card\"\n").contains("base: unknown board `sd-card`"));
    folder.save("b.toml", "base = \"x/../board.toml\"\n");
    std::fs::create_dir_all(folder.0.join("x")).unwrap();
    let circle = folder.refused("base = \"./b.toml\"\n");
    assert!(circle.contains("b.toml:1: base: x/../board.toml builds on"), "{circle}");
    assert!(show(&folder.save("c.toml", "base = \"./c.toml\"")).is_err());
}

#[test]
fn paths_in_a_base_hold_from_its_own_folder() {
    let folder = Folder::new("paths");
    folder.save("boards/part.toml", "base = \"mt29f2g08abaea\"\nblocks = 4096\n");
    folder.save("boards/base.toml", "base = \"zero-overhead\"\npart = \"./part.toml\"\n");
    let mine = folder.board("base = \"boards/base.toml\"\n").unwrap();
    assert_eq!((mine.part.geometry().blocks, mine.part_name.as_str()), (4096, "boards/./part.toml"));
    folder.save("card.toml", "base = \"sd-card\"\ncommand_us = 45\n");
    let card = block_device("./card.toml", &folder.0).unwrap();
    assert_eq!((card.command_ns, card.write_busy_ns), (45_000, 1_093_000));
}

fn part_kind(name: &str) -> PartKind {
    part_named(name, here()).map_or(PartKind::default(), |part| part.kind())
}

/// What a new file says is what its base says, before and after all comments were removed from its keys.
#[test]
fn a_new_file_is_complete_and_loads() {
    let folder = Folder::new("new");
    for (kind, base, _) in BUILT_IN.iter() {
        let text = template(base, base).unwrap();
        let path = folder.save("new.toml", &text);
        let (new, old) = (show(&path).unwrap(), show(base).unwrap());
        let values = |shown: &crate::ShownProfile| {
            shown.values.iter().map(|one| (one.key.clone(), one.value.clone())).collect::<Vec<_>>()
        };
        assert_eq!((new.kind, new.base.as_deref(), values(&new)), (old.kind, Some(*base), values(&old)));
        let open = |line: &str| match line.strip_prefix("# ") {
            Some(key) if key.split(' ').nth(1) == Some("=") && !key.contains(" = ... ") => key.to_string(),
            _ => line.to_string(),
        };
        let whole: String = text.lines().map(|line| open(line) + "\n").collect();
        let path = folder.save("whole.toml", &whole);
        let whole = show(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(values(&whole), values(&old), "{base}");
        let mut own = whole.values.iter().filter(|one| one.when.is_none());
        assert!(own.all(|one| one.source == "given without a source"), "{base}");
        let asked = crate::keys::keys_of(*kind, part_kind(base));
        assert!(
            asked
                .iter()
                .filter(|key| key.path != "kind")
                .all(|key| text.contains(&format!("{} = ", key.name())) && !key.about.is_empty()),
            "{base}"
        );
    }
}

const LAYERED: &str = "base = \"zero-overhead\"\n[vfs]\ncall_ns = 7\n[[layer]]\nwhen = { fs = [\"jffs2\"] }\nvfs.call_ns = 9\n\
                       [[layer]]\nwhen = { fs = [\"jffs2\"], page_max_B = 512 }\ndriver.read_overhead_us = 2\ndriver.program_overhead_us = 3\n\
                       driver.erase_overhead_us = 4\n";

fn used_for(fs: &str, page_bytes: u32) -> Circumstances<'_> {
    let (fs, medium, kernel, ecc) = (Some(fs), "nand", "6.1", "hw");
    let yaffs2_version = crate::Yaffs2Version::Today;
    Circumstances { fs, medium, kernel, page_bytes, yaffs2_version, ecc, ecc_strength_bits: 1 }
}

#[test]
fn layers_hold_when_they_say_and_a_board_that_builds_on_them_comes_behind() {
    let folder = Folder::new("layers");
    folder.save("layered.toml", LAYERED);
    let costs = |text: &str, of: &Circumstances<'_>| {
        let mut profile = folder.board(text).unwrap();
        assert_eq!(profile.driver().read.overhead_ns, 0, "no layer holds before it is said what for");
        profile.hold_in(of, &folder.0).unwrap();
        (profile.vfs_costs().call_ns, profile.driver().read.overhead_ns)
    };
    assert_eq!(costs(LAYERED, &used_for("ubifs", 512)), (7, 0));
    assert_eq!(costs(LAYERED, &used_for("jffs2", 2048)), (9, 0));
    assert_eq!(costs(LAYERED, &used_for("jffs2", 512)), (9, 2_000));
    let twice = "base = \"./layered.toml\"\ncpu_time_scale = 2\n";
    assert_eq!(costs(twice, &used_for("jffs2", 512)), (18, 4_000), "commands and copies of the driver are the CPU's");
    assert_eq!(
        costs(&format!("{twice}[vfs]\ncall_ns = 5\n"), &used_for("jffs2", 512)).0,
        5,
        "the file itself comes last"
    );
    let shown = show(&folder.save("layered.toml", LAYERED)).unwrap();
    let of_calls = shown.values.iter().filter(|constant| constant.key == "vfs.call_ns");
    let of_calls: Vec<Option<&str>> = of_calls.map(|constant| constant.when.as_deref()).collect();
    assert_eq!(of_calls, [None, Some("fs = [\"jffs2\"]")]);
}

#[test]
fn a_layer_that_cannot_be_meant_is_refused_with_its_line() {
    let folder = Folder::new("layer");
    let with = |layer: &str| folder.refused(&format!("base = \"zero-overhead\"\n{layer}"));
    let said = with("[[layer]]\nvfs.call_ns = 9\n");
    assert!(said.contains("board.toml:2: layer: `when` is missing"), "{said}");
    let said = with("[[layer]]\nwhen = { filesystem = \"jffs2\" }\n");
    assert!(said.contains("board.toml:2: layer: when: unknown key `filesystem`"), "{said}");
    let said = with("[[layer]]\nwhen = { mounted = true }\npart = \"w25n01gv\"\n");
    assert!(said.contains("`part` is said once, and in no layer"), "{said}");
    let said = with("[[layer]]\nwhen = { mounted = true }\nvfs.call_us = 1\n");
    assert!(said.contains("board.toml:4: ") && said.contains("call_ns"), "{said}");
}
