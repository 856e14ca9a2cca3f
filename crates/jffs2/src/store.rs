//! The store: everything below the inodes, in parts, each with its owner.
//!
//! A method belongs to the part that it changes and takes the others that it needs as arguments. Only what puts nodes on
//! flash needs all of them and is a method of [`Store`]; its layers, each of which calls only those before it, are
//! `flush.rs` (the page that waits goes out), `append.rs` (bytes of a node), `room.rs` (where the next node goes) and
//! `nodes.rs` (whole nodes).

use ffslab_mtd::Mtd;

use crate::causes;
use crate::erase::Eraser;
use crate::flash::Flash;
use crate::options::Options;
use crate::read::Reader;
use crate::space::Space;
use crate::wakeups::Timer;

pub struct Store {
    /// The medium and the page that waits in memory.
    pub flash: Flash,
    /// What every byte of the medium is used for.
    pub space: Space,
    pub eraser: Eraser,
    pub reader: Reader,
    pub timer: Timer,
}

impl Store {
    pub fn new(mtd: Mtd, options: Options) -> Store {
        causes::register(mtd.sim());
        let flash = Flash::new(mtd, options);
        Store {
            space: Space::new(&flash),
            eraser: Eraser::new(),
            reader: Reader::new(&flash),
            timer: Timer::default(),
            flash,
        }
    }
}
