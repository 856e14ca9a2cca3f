//! A workload that runs on a machine that keeps what power cuts need.

use crate::book::Book;
use crate::cuts::{Point, Taken};
use crate::ledger::Ledger;
use crate::log::{Effect, Log, Node, NodeKind, ROOT};
use crate::namespace::Namespace;
use crate::recover::recover;
use crate::tree::{FileOrSo, Tree};
use crate::witness::Witness;
use ffslab_block::{Command, Device};
use ffslab_flash::Torn;
use ffslab_lab::data::Table;
use ffslab_lab::{LabError, Session};
use ffslab_machine::block_device::device_mut;
use ffslab_machine::file_systems::{promises, Promises};
use ffslab_machine::spec::{MachineSpec, State};
use ffslab_mtd::{MediumImage, Modifications};
use ffslab_system::SystemError;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use thiserror::Error;

/// Why a workload cannot be watched.
#[derive(Debug, Error)]
pub enum CannotRecord {
    #[error("files are open: close them first, power cuts are looked for from the mount on")]
    Mounted,
    #[error("there is no flash whose operations could be cut: its medium is memory or a device of constant costs; give a device of flash with a translation layer")]
    NoFlash,
    #[error("the chip ages, and a power cut of one that does cannot be made afterwards: leave out [stack.ageing]")]
    Ages,
    #[error(
        "what is there before the first power cut cannot be read, so what is left after one cannot be judged: {0}"
    )]
    Unreadable(String),
    #[error("nothing is being recorded")]
    NotBegun,
    #[error(transparent)]
    System(#[from] SystemError),
}

/// A session whose workload can be recorded.
pub struct Watched {
    pub session: Session,
    pub recorder: Recorder,
}

/// What keeps the workload of a session that was made for it.
pub struct Recorder {
    book: Rc<RefCell<Book>>,
    begun: Option<Begun>,
}

struct Begun {
    base: State,
    before: Tree,
    options: Vec<String>,
}

/// A workload with all that it did, on a machine that can be built again.
pub struct Recording {
    pub spec: MachineSpec,
    /// What the medium held before.
    pub base: State,
    /// Files that it held.
    pub before: Tree,
    pub modifications: Modifications,
    /// What the block device was told, where there is one.
    pub(crate) commands: Vec<Command>,
    pub log: Log,
    pub options: Vec<String>,
    /// Of its file system.
    pub promises: Promises,
    /// Faults of the simulated system that the workload met.
    pub faults_met: Vec<&'static str>,
}

impl Watched {
    /// See [`Session::new`].
    ///
    /// Errors: as there.
    pub fn new(stack: Table, seed: u64, base_dir: &Path) -> Result<Watched, LabError> {
        let book = Rc::new(RefCell::new(Book::default()));
        let session = Session::wrapped(stack, seed, base_dir, |system| Box::new(Witness::new(system, book.clone())))?;
        Ok(Watched { session, recorder: Recorder { book, begun: None } })
    }

    /// From now on everything is kept. `options`: those of the mounts after power cuts.
    ///
    /// Errors: something is mounted, or there is nothing to cut.
    pub fn begin(&mut self, options: Vec<String>) -> Result<(), CannotRecord> {
        self.recorder.begin(&mut self.session, options)
    }

    /// The workload is over.
    ///
    /// Errors: it was never begun.
    pub fn end(&mut self) -> Result<Recording, CannotRecord> {
        self.recorder.end(&mut self.session)
    }
}

impl Recorder {
    /// See [`Watched::begin`]; `session` is the one with which it was made.
    ///
    /// Errors: as there.
    pub fn begin(&mut self, session: &mut Session, options: Vec<String>) -> Result<(), CannotRecord> {
        if session.system().is_mounted() {
            // Who drives a device has nothing to unmount, and brings what waits to its flash.
            session.system_mut().umount().map_err(|_| CannotRecord::Mounted)?;
        }
        let system = session.system();
        let mtd = system.mtd().ok_or(CannotRecord::NoFlash)?;
        if !mtd.keep_modifications() {
            return Err(CannotRecord::NoFlash);
        }
        drop(mtd.take_modifications());
        let medium = system.snapshot()?;
        if matches!(&medium, MediumImage::Chip(chip) if chip.has_ages()) {
            return Err(CannotRecord::Ages);
        }
        let base = State { medium, at_ns: system.now_ns(), content_position_bytes: 0 };
        let found = recover(session.machine_spec(), &base, &options, false);
        // What cannot be mounted yet is made by the workload; what can, and cannot be read, would condemn every cut.
        let before = match found.tree {
            Err(text) if found.is_mounted => return Err(CannotRecord::Unreadable(text)),
            tree => tree.unwrap_or_default(),
        };
        let mut book = self.book.borrow_mut();
        *book = Book {
            is_on: true,
            start_operations: system.modifying_operations(),
            start_ns: system.now_ns(),
            log: Log::default(),
            namespace: Namespace::of(&before, &mut |_, _, _| {}),
        };
        drop(book);
        let mtd = mtd.clone();
        if let Some(device) = device_mut(session.system_mut()) {
            device.keep_commands(&mtd);
        }
        self.begun = Some(Begun { base, before, options });
        Ok(())
    }

    /// See [`Watched::end`].
    ///
    /// Errors: as there.
    pub fn end(&mut self, session: &mut Session) -> Result<Recording, CannotRecord> {
        let Begun { base, before, options } = self.begun.take().ok_or(CannotRecord::NotBegun)?;
        let mtd = session.system().mtd().ok_or(CannotRecord::NoFlash)?;
        let modifications = mtd.take_modifications();
        let commands = device_mut(session.system_mut()).map_or_else(Vec::new, Device::take_commands);
        let mut book = self.book.borrow_mut();
        book.is_on = false;
        let log = std::mem::take(&mut book.log);
        let spec = session.machine_spec().clone();
        let promises = promises(session.keys().fs());
        let faults_met = session.system().sim().faults_met();
        Ok(Recording { spec, base, before, modifications, commands, log, options, promises, faults_met })
    }
}

/// Gets how many things were told, and files by path; says whether to go on.
pub type EachTold<'a> = dyn FnMut(usize, &BTreeMap<&str, &[u8]>) -> bool + 'a;

/// The partition's bytes, if they can be taken, and what a mount shows.
pub type AfterCut = (Option<Vec<u8>>, Result<Tree, String>);

impl Recording {
    /// Programs and erases: a cut can be at each of them, and after the last.
    pub fn operations(&self) -> u64 {
        self.modifications.operations.len() as u64
    }

    /// What the application told, each after how many operations.
    pub fn told_all(&self) -> Vec<(String, u64)> {
        let told = self.log.entries.iter().filter_map(|entry| match &entry.effect {
            Effect::Told(what) => Some((what.to_string(), entry.after_operations)),
            _ => None,
        });
        told.collect()
    }

    /// Calls `each` once before anything was told, and then whenever something was: how many things were told, and the content of
    /// those of the files that were there, as programs saw them. `each` says whether to go on.
    pub fn each_told(&self, paths: &[String], each: &mut EachTold) {
        let mut contents = Contents::default();
        self.effects_before().iter().for_each(|effect| contents.apply(effect));
        let mut told = 0;
        if !each(told, &contents.of(paths)) {
            return;
        }
        for entry in &self.log.entries {
            contents.apply(&entry.effect);
            if matches!(entry.effect, Effect::Told(_)) {
                told += 1;
                if !each(told, &contents.of(paths)) {
                    return;
                }
            }
        }
    }

    /// The partition's bytes after a cut, if they can be taken, and what a mount then shows.
    ///
    /// Errors: the machine cannot be made, or the device takes no write, in a line.
    pub fn after(&self, point: Point, oob: bool) -> Result<AfterCut, String> {
        let state = match point.taken {
            Taken::Cache { seed } => self.lost_cache(point.operation_number, seed)?,
            Taken::Operation(torn) => self.at_cut(point.operation_number, torn),
        };
        let image = self.spec.build(Some(&state)).map_err(|error| error.to_string())?.image(oob).ok();
        Ok((image, recover(&self.spec, &state, &self.options, false).tree))
    }

    /// What the medium holds after a cut of an operation.
    pub(crate) fn at_cut(&self, operation_number: u64, left: Torn) -> State {
        let mut medium = self.base.medium.clone();
        for (number, change) in (1..).zip(&self.modifications.operations) {
            if number > operation_number {
                break;
            }
            let torn = if number == operation_number { left } else { Torn::Complete };
            self.modifications.apply(change, torn, &mut medium);
        }
        State { medium, at_ns: self.base.at_ns, content_position_bytes: 0 }
    }

    /// The promises before the workload.
    pub fn ledger(&self) -> Ledger {
        let mut ledger = Ledger::new(self.promises.older_data_may_return);
        self.effects_before().iter().for_each(|effect| ledger.apply(effect));
        ledger
    }

    /// What made the files that were there before.
    fn effects_before(&self) -> Vec<Effect> {
        let mut effects = Vec::new();
        Namespace::of(&self.before, &mut |place, kind, seen| {
            let Some(node) = place.node else { return };
            effects.push(Effect::Made { node, kind });
            effects.push(Effect::Named { directory: place.directory, name: place.name, to: Some(node) });
            if let FileOrSo::File(content) = seen {
                effects.push(Effect::Data { node, at: 0, data: Arc::from(content.as_slice()) });
            }
        });
        effects.push(Effect::AllSafe);
        effects
    }
}

/// Files as programs see them.
#[derive(Default)]
struct Contents {
    names: HashMap<(Node, Arc<[u8]>), Node>,
    files: HashMap<Node, Vec<u8>>,
}

impl Contents {
    fn apply(&mut self, effect: &Effect) {
        match effect {
            Effect::Made { node, kind: NodeKind::File } => drop(self.files.insert(*node, Vec::new())),
            Effect::Named { directory, name, to: Some(node) } => {
                self.names.insert((*directory, name.clone()), *node);
            }
            Effect::Named { directory, name, to: None } => drop(self.names.remove(&(*directory, name.clone()))),
            Effect::Data { node, at, data } => {
                let content = self.files.entry(*node).or_default();
                let end = *at as usize + data.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[*at as usize..end].copy_from_slice(data);
            }
            Effect::Size { node, bytes } => self.files.entry(*node).or_default().resize(*bytes as usize, 0),
            Effect::Made { .. } | Effect::Safe { .. } | Effect::AllSafe | Effect::Told(_) => {}
        }
    }

    fn of<'p>(&self, paths: &'p [String]) -> BTreeMap<&'p str, &[u8]> {
        let content = |path: &'p String| {
            let mut node = ROOT;
            for part in path.split('/').filter(|part| !part.is_empty()) {
                node = *self.names.get(&(node, Arc::from(part.as_bytes())))?;
            }
            Some((path.as_str(), self.files.get(&node)?.as_slice()))
        };
        paths.iter().filter_map(content).collect()
    }
}
