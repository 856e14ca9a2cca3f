//! The files that the steps of an experiment name: recorded programs to replay, job files, SQL, folders to copy and images
//! to load. Each is read once for all variants.

use crate::error::LabError;
use crate::fio::{FioFile, FioFileError};
use ffslab_images::file::read_file;
use ffslab_images::ImageError;
use ffslab_text::input::{self, read_text, Input, InputKind};
use ffslab_text::words::io_reason;
use ffslab_workload::host_tree::{HostTree, HostTreeError};
use ffslab_workload::postmark::{self, CommandFile, CommandFileError};
use ffslab_workload::steps::{CopyIn, Fio, Load, Postmark, Replay, Sqlite};
use ffslab_workload::trace::table::TraceColumns;
use ffslab_workload::trace::{self, Trace, TraceError};
use ffslab_workload::Step;
use std::collections::btree_map::{BTreeMap, Entry};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use thiserror::Error;

/// The files that steps name, by the keys of the steps.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// Recorded programs by what their steps say of them.
    traces: BTreeMap<TraceKey, Arc<Trace>>,
    trees: BTreeMap<String, Arc<HostTree>>,
    images: BTreeMap<String, Arc<Vec<u8>>>,
    /// Job files by name and whether they are read leniently.
    jobs: BTreeMap<(String, bool), Arc<FioFile>>,
    /// Commands of Postmark by file name, or by the commands in the step itself.
    postmarks: BTreeMap<(String, Option<String>), Arc<CommandFile>>,
    /// SQL by file name.
    scripts: BTreeMap<String, Arc<String>>,
    /// Files whose bytes steps write.
    contents: BTreeMap<String, Arc<Vec<u8>>>,
    /// Of a session: size and time of change of each file when it was read; `None`: it is no file.
    stamps: BTreeMap<String, Option<(u64, SystemTime)>>,
}

/// File name, root, the file on which it is replayed and which of its own that was.
type TraceKey = (String, Option<String>, Option<String>, Option<String>);

fn key_of(step: &Replay) -> TraceKey {
    (step.file.clone(), step.root.clone(), step.onto.clone(), step.only.clone())
}

/// Reads a recording in Parquet, which only Python can, as CSV. Errors: one line.
pub type ReadParquet<'a> = &'a dyn Fn(&Path) -> Result<String, ParquetError>;

/// What the reader of Parquet says of a recording that is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{says}")]
pub struct ParquetError {
    pub says: String,
}

/// Why a file that a step names cannot be used. One line with its path.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ReadError {
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    #[error(transparent)]
    Jobs(#[from] FioFileError),
    #[error(transparent)]
    Commands(#[from] CommandFileError),
    #[error("{}: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error(transparent)]
    Folder(#[from] HostTreeError),
    #[error(transparent)]
    Image(#[from] ImageError),
}

impl From<ReadError> for LabError {
    fn from(error: ReadError) -> LabError {
        LabError::Input(error.to_string())
    }
}

impl Traces {
    /// Reads the files that `steps` name and that have not been read yet. Paths are relative to `base_dir`.
    ///
    /// Errors: those of the trace, job file, folder or image reader.
    pub fn read<'a>(
        &mut self,
        steps: impl Iterator<Item = &'a Step>,
        base_dir: &Path,
        parquet: Option<ReadParquet>,
    ) -> Result<(), ReadError> {
        for step in steps.flat_map(Step::each) {
            if let Step::CopyIn(copy) = step {
                if !self.trees.contains_key(&copy.from) {
                    let tree = HostTree::read(&base_dir.join(&copy.from))?;
                    self.trees.insert(copy.from.clone(), Arc::new(tree));
                }
            }
            if let Some(file) = step.content_file() {
                if let Entry::Vacant(place) = self.contents.entry(file.to_string()) {
                    place.insert(Arc::new(content_of(&base_dir.join(file))?));
                }
            }
            if let Step::Load(load) = step {
                if let Entry::Vacant(place) = self.images.entry(load.image.clone()) {
                    place.insert(Arc::new(read_file(&base_dir.join(&load.image))?));
                }
            }
            if let Step::Fio(fio) = step {
                let key = (fio.file.clone(), fio.lenient);
                if let Entry::Vacant(place) = self.jobs.entry(key) {
                    place.insert(Arc::new(FioFile::read(&base_dir.join(&fio.file), fio.lenient)?));
                }
            }
            if let Step::Postmark(step) = step {
                if let Entry::Vacant(place) = self.postmarks.entry((step.file.clone(), step.commands.clone())) {
                    place.insert(Arc::new(commands(step, base_dir)?));
                }
            }
            if let Step::Sqlite(Sqlite { script: Some(script), .. }) = step {
                if let Entry::Vacant(place) = self.scripts.entry(script.clone()) {
                    place.insert(Arc::new(text_of(&base_dir.join(script), InputKind::Script)?));
                }
            }
            let Step::Replay(replay) = step else { continue };
            let key = key_of(replay);
            if self.traces.contains_key(&key) {
                continue;
            }
            let (path, root) = (base_dir.join(&replay.file), replay.root.as_deref());
            let trace = match parquet.filter(|_| is_parquet(&path)) {
                Some(parquet) => trace::parse(&path, &parquet(&path)?, root),
                None => trace::read(&path, root),
            };
            let trace = match &replay.onto {
                Some(onto) => trace?.onto(onto, replay.only.as_deref())?,
                None => trace?,
            };
            self.traces.insert(key, Arc::new(trace));
        }
        Ok(())
    }

    /// Forgets the file that a step names when it has changed since it was read, and folders in any case: a session may go on
    /// while somebody writes to them.
    pub(crate) fn forget_changed(&mut self, step: &Step, base_dir: &Path) {
        step.inner().iter().for_each(|inner| self.forget_changed(inner, base_dir));
        let Some(file) = file_of(step) else { return };
        let is_file = |about: &std::fs::Metadata| about.is_file();
        let stamp = base_dir.join(file).metadata().ok().filter(is_file);
        let stamp = stamp.and_then(|about| Some((about.len(), about.modified().ok()?)));
        if self.stamps.insert(file.to_string(), stamp) == Some(stamp) && stamp.is_some() {
            return;
        }
        self.contents.remove(file);
        self.traces.retain(|(name, ..), _| name != file);
        self.jobs.retain(|(name, _), _| name != file);
        self.postmarks.retain(|(name, _), _| name != file);
        self.scripts.remove(file);
        self.images.remove(file);
        self.trees.remove(file);
    }

    /// The bytes of the file that a step writes, if it has been read.
    pub fn content_of(&self, step: &Step) -> Option<Arc<Vec<u8>>> {
        self.contents.get(step.content_file()?).cloned()
    }

    /// The trace of a step, if it has been read.
    pub fn of(&self, step: &Replay) -> Option<Arc<Trace>> {
        self.traces.get(&key_of(step)).cloned()
    }

    /// The folder of a step, if it has been read.
    pub fn tree_of(&self, step: &CopyIn) -> Option<Arc<HostTree>> {
        self.trees.get(&step.from).cloned()
    }

    /// The image of a step, if it has been read.
    pub fn image_of(&self, step: &Load) -> Option<Arc<Vec<u8>>> {
        self.images.get(&step.image).cloned()
    }

    /// The job file of a step, if it has been read.
    pub fn jobs_of(&self, step: &Fio) -> Option<Arc<FioFile>> {
        self.jobs.get(&(step.file.clone(), step.lenient)).cloned()
    }

    /// The command file of a step, if it has been read.
    pub fn postmark_of(&self, step: &Postmark) -> Option<Arc<CommandFile>> {
        self.postmarks.get(&(step.file.clone(), step.commands.clone())).cloned()
    }

    /// The SQL of a step, if it has been read.
    pub fn sql_of(&self, step: &Sqlite) -> Option<Arc<String>> {
        match &step.script {
            Some(script) => self.scripts.get(script).cloned(),
            None => step.sql.clone().map(Arc::new),
        }
    }

    /// Number of calls that a step makes; see [`Step::calls`].
    pub fn calls(&self, step: &Step) -> u64 {
        match step {
            Step::Replay(replay) => self.of(replay).map_or(1, |trace| trace.records.len() as u64),
            Step::CopyIn(copy) => self.tree_of(copy).map_or(1, |tree| tree.entries.len().max(1) as u64),
            Step::Fio(fio) => self.jobs_of(fio).map_or(1, |jobs| jobs.calls()),
            Step::Postmark(step) => self.postmark_of(step).map_or(1, |file| {
                let of_run = |settings: &postmark::Settings| {
                    settings.files.saturating_add(settings.transactions_n).saturating_mul(2)
                };
                file.runs.iter().map(|run| of_run(&run.settings)).fold(0, u64::saturating_add)
            }),
            other => other.calls(),
        }
    }
}

/// Whether a file holds Parquet, by its first bytes. A pipe cannot be looked into; what cannot be read is told by the
/// reader of the other formats.
pub fn is_parquet(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = |mut input: Input| input.read_exact(&mut magic);
    path.is_file() && input::open(path, InputKind::Trace).and_then(read).is_ok() && magic == *b"PAR1"
}

/// The commands of a step: those in the step itself, or those of the file that it names.
fn commands(step: &Postmark, base_dir: &Path) -> Result<CommandFile, ReadError> {
    if let Some(text) = &step.commands {
        return Ok(postmark::parse(text, &step.file)?);
    }
    let path = base_dir.join(&step.file);
    let place = path.display().to_string();
    Ok(postmark::parse(&text_of(&path, InputKind::Commands)?, &place)?)
}

/// The file or folder of this computer that a step names.
pub(crate) fn file_of(step: &Step) -> Option<&str> {
    match step {
        Step::Replay(Replay { file, .. })
        | Step::Fio(Fio { file, .. })
        | Step::Postmark(Postmark { file, commands: None, .. })
        | Step::Sqlite(Sqlite { script: Some(file), .. })
        | Step::Load(Load { image: file, .. })
        | Step::CopyIn(CopyIn { from: file, .. }) => Some(file),
        _ => step.content_file(),
    }
}

/// The bytes of a file that a step writes. Errors: it cannot be read, or it is empty.
fn content_of(path: &Path) -> Result<Vec<u8>, ReadError> {
    let unreadable = |why: String| ReadError::Unreadable { path: path.to_path_buf(), why };
    let bytes = input::read(path, InputKind::Copied).map_err(|error| unreadable(io_reason(&error)))?;
    if bytes.is_empty() {
        Err(unreadable("it is empty: content_file needs bytes to write".to_string()))
    } else {
        Ok(bytes)
    }
}

fn text_of(path: &Path, kind: InputKind) -> Result<String, ReadError> {
    read_text(path, kind).map_err(|error| ReadError::Unreadable { path: path.to_path_buf(), why: io_reason(&error) })
}

/// Reads a recording of any format (see [`trace::read`]) as batches of a table. `begin` is called with the directory to
/// which the paths are relative, and `batch` then with the rows. Reading stops when one of them or `goes_on`, which is
/// called often, returns `false`. Returns notes on calls that are not in the table.
///
/// Errors: one line of the reader.
pub fn convert_trace(
    path: &Path,
    root: Option<&str>,
    goes_on: &dyn Fn() -> bool,
    begin: &mut dyn FnMut(&str) -> bool,
    batch: &mut dyn FnMut(TraceColumns) -> bool,
) -> Result<Vec<String>, LabError> {
    let head = trace::stream::batches(path, root, goes_on, &mut |head| begin(&head.root), batch);
    let head = head.map_err(|error| LabError::Input(error.to_string()))?;
    Ok(head.ignored.iter().map(|(what, count)| format!("not in the table: {what} ({count})")).collect())
}
