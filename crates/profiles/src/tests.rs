use crate::built_in::{Kind, BUILT_IN};
use crate::{list, show, Profile, KERNEL_DEFAULT};
use ffslab_linux::{NameHash, WriteBackKnobs, WriteBackRules};
use ffslab_mtd::{ecc, Driver, Ecc};
use std::path::Path;

fn here() -> &'static Path {
    Path::new("")
}

#[test]
fn every_built_in_profile_can_be_used_and_shown() {
    for (kind, name, _) in BUILT_IN.iter() {
        match kind {
            Kind::Board => drop(Profile::load(name, None, None, here()).unwrap()),
            Kind::Part => drop(Profile::load("zero-overhead", Some(name), None, here()).unwrap()),
            Kind::Kernel => drop(Profile::load("zero-overhead", None, Some(name), here()).unwrap()),
            // `show` reads them.
            Kind::RtemsBoard | Kind::BlockDevice | Kind::Controller | Kind::Core => {}
        }
        let shown = show(name).unwrap();
        assert!(shown.values.len() >= if *kind == Kind::Core { 2 } else { 4 }, "{name}");
        assert!(shown.values.iter().all(|constant| !constant.source.is_empty()), "{name}");
        assert!(shown.title.is_some() && (shown.derived.is_some() == (*kind == Kind::Board)), "{name}");
    }
    assert_eq!(list().unwrap().len(), BUILT_IN.len());
}

#[test]
fn every_file_of_the_folder_is_built_in() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles");
    for of in ["parts", "boards", "block-devices", "controllers", "cores"] {
        let files = std::fs::read_dir(folder.join(of)).unwrap();
        let mut found: Vec<String> =
            files.map(|f| f.unwrap().path().file_stem().unwrap().to_str().unwrap().to_string()).collect();
        found.sort();
        let mut known: Vec<&str> = BUILT_IN.iter().filter(|(k, _, _)| k.folder() == of).map(|(_, n, _)| *n).collect();
        known.sort();
        assert_eq!(found, known);
    }
}

/// Chip, bus and derived overhead together are the published total; so are power and energy.
#[test]
fn driver_totals_come_out_as_published() {
    let profile = Profile::load("omap3evm", None, None, here()).unwrap();
    let (timing, driver) = (profile.part.timing(), profile.driver());
    let page_ns = 2112 * timing.bus_ps_per_byte / 1_000;
    let published = [
        (timing.read_ns + page_ns, driver.read, 185_065, 34.6, 2.2),
        (timing.program_ns + page_ns, driver.program, 407_600, 74.6, 6.3),
        // The driver reads the mark of a block before it erases it.
        (timing.read_ns + timing.erase_ns, driver.erase, 536_400, 97.5, 8.5),
    ];
    for (chip_ns, cost, total_ns, cpu_uj, memory_uj) in published {
        assert_eq!(chip_ns + cost.overhead_ns, total_ns);
        let energy_uj = |milliwatt: f64| milliwatt * total_ns as f64 * 1e-6;
        assert!((energy_uj(cost.power.cpu) - cpu_uj).abs() < 1e-6);
        assert!((energy_uj(cost.power.memory) - memory_uj).abs() < 1e-6);
    }
}

#[test]
fn a_board_that_names_no_kernel_runs_a_long_term_one_of_today() {
    let named = |kernel| Profile::load("omap3evm", None, kernel, here()).unwrap().kernel_name;
    assert_eq!((&named(None)[..], &named(Some("2.6.37"))[..]), (KERNEL_DEFAULT, "2.6.37"));
    let shown = show("luckfox-pico-max").unwrap();
    assert_eq!(shown.kernel.as_deref(), Some(KERNEL_DEFAULT));
    assert_eq!(Profile::load("zero-overhead", None, None, here()).unwrap().kernel_name, "6.1", "its own");
}

#[test]
fn another_part_keeps_the_drivers_own_costs() {
    let own = Profile::load("omap3evm", None, Some("2.6.37"), here()).unwrap();
    let other = Profile::load("omap3evm", Some("tc58nvg1s3e"), Some("6.1"), here()).unwrap();
    // The kernel of the board reports each bit that was corrected, 6.1 does not.
    assert_eq!((own.driver().bitflip_threshold_bits, other.driver().bitflip_threshold_bits), (Some(1), None));
    assert_eq!(Driver { bitflip_threshold_bits: Some(1), ..other.driver() }, own.driver());
    assert_eq!(other.part.timing().erase_ns, 2_500_000);
    assert_eq!(other.read_ahead_kib(), 0);
}

#[test]
fn software_ecc_in_place_of_hardware_is_the_hamming_code_of_linux() {
    let profile = Profile::load("omap3evm", None, None, here()).unwrap();
    let driver = Driver { ecc: profile.driver().ecc.by(&ecc::SOFTWARE), ..profile.driver() };
    assert_eq!((profile.driver().ecc.code.step_bytes, driver.ecc), (512, Ecc::SOFTWARE));
    driver.check(&profile.part.geometry()).unwrap();
    profile.driver().check(&profile.part.geometry()).unwrap();
}

#[test]
fn a_user_board_is_a_file_and_errors_say_where() {
    let folder = std::env::temp_dir().join(format!("ffslab-profile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = |name: &str| BUILT_IN.iter().find(|(_, n, _)| *n == name).unwrap().2.to_string();
    let save = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
    let load = |board: &str| Profile::load(board, None, None, &folder).map_err(|e| e.to_string());
    save("my-part.toml", text("mt29f2g08aac"));
    save("my.toml", text("zero-overhead").replace("\"micron-slc-omap3evm\"", "\"./my-part.toml\""));
    assert_eq!(load("my.toml").unwrap().part.timing().program_ns, 300_000);
    save("slip.toml", text("omap3evm").replace("erase_us", "erase_uss"));
    let message = load("./slip.toml").unwrap_err();
    assert!(message.contains("slip.toml:") && message.contains("`erase_us`"), "{message}");
    save("fast.toml", text("omap3evm").replace("185.065", "100"));
    let message = load("./fast.toml").unwrap_err();
    assert!(message.contains("driver.read_us = 100 us is less than the chip"), "{message}");
    save("bare.toml", text("omap3evm").replace("{ value = 185.065,", "{ values = 185.065,"));
    assert!(load("./bare.toml").unwrap_err().contains("did you mean `value`?"));
    save("minus.toml", text("omap3evm").replace("185.065", "-1"));
    assert!(load("./minus.toml").unwrap_err().contains("out of range"));
    let missing = load("./none.toml").unwrap_err();
    assert!(missing.contains("none.toml") && !missing.contains('\n'), "{missing}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_kernel_says_how_it_writes_back() {
    let since_4_19 = ["4.19", "5.10", "5.15", "6.1", "6.6", "6.12"].map(|kernel| (kernel, WriteBackRules::V6_1));
    for (kernel, rules) in [("2.6.37", WriteBackRules::V2_6)].into_iter().chain(since_4_19) {
        let profile = Profile::load("zero-overhead", None, Some(kernel), here()).unwrap();
        assert_eq!((profile.kernel().write_back, profile.write_back()), (rules, WriteBackKnobs::default()));
    }
    let shown = show("6.1").unwrap();
    let unit = |key: &str| shown.values.iter().find(|constant| constant.key == key).unwrap().unit;
    assert_eq!((unit("dirty_ratio_pct"), unit("dirty_expire_ms")), ("%", "ms"));
}

#[test]
fn kernels_hash_names_by_the_word_unless_they_are_too_old() {
    let folder = std::env::temp_dir().join(format!("ffslab-name-hash-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let own = "title = \"6.1 on 64 bits\"\nbase = \"6.1\"\nname_hash = \"words64\"\n";
    std::fs::write(folder.join("my-kernel.toml"), own).unwrap();
    let hash_of = |kernel| Profile::load("zero-overhead", None, Some(kernel), &folder).unwrap().kernel().name_hash;
    assert_eq!(hash_of("2.6.37"), NameHash::Bytes);
    assert_eq!((hash_of("4.19"), hash_of("6.12")), (NameHash::Words32, NameHash::Words32));
    assert_eq!(hash_of("./my-kernel.toml"), NameHash::Words64);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_ratio_above_100_is_refused() {
    let folder = std::env::temp_dir().join(format!("ffslab-ratio-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("k.toml"), "title = \"k\"\nbase = \"6.1\"\ndirty_ratio_pct = 120\n").unwrap();
    let message = Profile::load("zero-overhead", None, Some("./k.toml"), &folder).unwrap_err().to_string();
    assert!(message.contains("dirty_ratio_pct = 120: 0 to 100 is needed"), "{message}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_number_without_source_is_not_shown() {
    let folder = std::env::temp_dir().join(format!("ffslab-sources-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = BUILT_IN.iter().find(|(_, n, _)| *n == "sd-card").unwrap().2;
    let file = folder.join("card.toml");
    let first = text.lines().find(|line| line.starts_with("request_us")).unwrap();
    std::fs::write(&file, text.replace(first, "request_us = { value = 1.0 }")).unwrap();
    let message = show(file.to_str().unwrap()).unwrap_err().to_string();
    assert!(message.contains("card.toml:") && message.ends_with(": the key `source` is missing"), "{message}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn unknown_names_get_the_nearest_known_one() {
    let message = Profile::load("omap3ev", None, None, here()).unwrap_err().to_string();
    assert!(message.contains("unknown board `omap3ev`: did you mean `omap3evm`?"), "{message}");
    let message = show("2.6.36").unwrap_err().to_string();
    assert!(
        message.contains("it is older than 2.6.37, the oldest one whose rules are known; did you mean `2.6.37`?"),
        "{message}"
    );
}
