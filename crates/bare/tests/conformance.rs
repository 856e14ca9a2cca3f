//! What a program on the bare system sees is what the model of the conformance kit says, with YAFFS2 linked into it.

use ffslab_bare::{Bare, Costs};
use ffslab_conformance::{must, systems, Subject};
use ffslab_flash::Geometry;
use ffslab_fs::{DirectFileSystem, FileSystem};
use ffslab_mtd::Mtd;
use ffslab_sim::{Sim, SimConfig};
use ffslab_system::SystemError;
use ffslab_yaffs2::{Generation, Options, Yaffs2};

/// 64 erase blocks of 32 KiB.
const GEOMETRY: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 64 };

fn options(generation: Generation) -> Options {
    Options { background: None, direct: true, ..Options::of(generation) }
}

/// For its medium and its limits.
struct Direct(Options);

impl Subject for Direct {
    fn name(&self) -> &str {
        "yaffs2"
    }

    fn geometry(&self) -> Geometry {
        GEOMETRY
    }

    fn mount(&self, mtd: Mtd) -> Result<Box<dyn FileSystem>, String> {
        Yaffs2::mount(mtd, self.0).map(|fs| Box::new(fs) as Box<dyn FileSystem>).map_err(|error| error.to_string())
    }
}

fn machine(options: Options) -> Bare {
    let sim = Sim::new(SimConfig::default());
    let medium = Direct(options).medium(&sim).unwrap_or_else(|failure| panic!("{failure}"));
    let mount = Box::new(move |medium: &Mtd, _: &[String]| {
        let mounted = Yaffs2::mount(medium.clone(), options).map_err(SystemError::unusable)?;
        Ok(Box::new(mounted) as Box<dyn DirectFileSystem>)
    });
    Bare::new(sim, medium, mount, Costs::default(), 1_300_000_000)
}

#[test]
fn random_sequences_behave_like_the_model() {
    let latitude = systems::Latitude {
        own_entries: &[b"lost+found"],
        name_bytes_max: 255,
        file_bytes_max: u64::from(u32::MAX),
        // YAFFS2 stamps a dirty file anew when it is flushed.
        keeps_set_times: false,
        // `yaffs_link` follows it.
        link_follows: true,
        handles_are_apart: false,
        rename_replaces_nothing: false,
    };
    let mut sum = systems::Report::default();
    for (seed, generation) in (0..64).zip([Generation::Y2010, Generation::Today].into_iter().cycle()) {
        sum += must(systems::check(&mut machine(options(generation)), latitude, seed, 120));
    }
    println!("{sum:?}");
    assert!(sum.calls > 7000 && sum.refused > 500 && sum.remounts > 150, "{sum:?}");
    assert!(sum.lacking_calls < sum.calls / 5 && sum.refused_otherwise < sum.calls / 50, "{sum:?}");
}
