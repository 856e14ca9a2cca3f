//! A program with littlefs on a chip of the conformance kit.

use ffslab_bare::paths::{Make, PathProgram};
use ffslab_bare::Costs;
use ffslab_conformance::on::Kind;
use ffslab_fs::PathFileSystem;
use ffslab_littlefs::{format, Config, Littlefs};
use ffslab_mtd::Mtd;
use ffslab_sim::{Sim, SimConfig};
use ffslab_system::SystemError;

/// littlefs with the usual configuration, or with this one.
pub struct Linked(pub Option<Config>);

impl Linked {
    fn config(&self, medium: &Mtd) -> Config {
        self.0.unwrap_or(Config::usual(medium.capabilities()))
    }
}

impl Make for Linked {
    fn mount(&self, medium: &Mtd, _: &[String]) -> Result<Box<dyn PathFileSystem>, SystemError> {
        let mounted = Littlefs::mount(medium, &self.config(medium)).map_err(SystemError::unusable)?;
        Ok(Box::new(mounted))
    }

    fn format(&self, medium: &Mtd) -> Result<(), SystemError> {
        format(medium, &self.config(medium)).map_err(SystemError::unusable)
    }
}

/// A chip of this kind with so many erase blocks.
pub fn medium(kind: Kind, blocks: u32) -> Mtd {
    let sim = Sim::new(SimConfig::default());
    (kind.medium)(&sim, kind.with_blocks(blocks)).unwrap_or_else(|failure| panic!("{failure}"))
}

#[allow(dead_code)] // Of some of the tests.
pub fn program(kind: Kind, blocks: u32) -> PathProgram {
    program_on(medium(kind, blocks), None)
}

pub fn program_on(medium: Mtd, config: Option<Config>) -> PathProgram {
    PathProgram::new(medium.sim().clone(), medium, Box::new(Linked(config)), Costs::default(), 0)
}
