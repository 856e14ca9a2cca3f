//! A recording of any size as batches of a table. The recording is read several times, so that memory holds only the
//! state of its files: once for an overview, once for what must exist before the replay, once for the rows.

use super::error::{placed, TraceError};
use super::reading::{each_row, format_of_file, Format};
use super::rows::{Maker, Survey};
use super::source::{self, Open, Watched};
use super::table::TraceColumns;
use super::{Existing, Record};
use crate::strace::{Kept, Passes};
use std::path::Path;

/// Rows of a batch: some 40 MB of columns.
pub const BATCH_ROWS: usize = 1 << 16;

/// What is known of a recording before its rows are read.
#[derive(Clone, Debug)]
pub struct Head {
    /// The directory to which the paths of the rows are relative.
    pub root: String,
    /// Calls that are not replayed: their name and how many there are.
    pub ignored: Vec<(String, u64)>,
}

/// Reads a recording as [`super::read`] does, in batches: `begin` is called with the head, then `batch` with the rows
/// in order. Each returns whether to continue. `goes_on`, which is asked often, must return `true` as well.
///
/// Errors: those of [`super::read`], before the first batch; or that `goes_on` has returned `false`.
pub fn batches(
    path: &Path,
    root: Option<&str>,
    goes_on: &dyn Fn() -> bool,
    begin: &mut dyn FnMut(&Head) -> bool,
    batch: &mut dyn FnMut(TraceColumns) -> bool,
) -> Result<Head, TraceError> {
    if !path.is_file() {
        return of_a_pipe(path, root, begin, batch);
    }
    let format = format_of_file(path)?;
    let open: &Open = &|| Ok(Box::new(Watched { text: source::open(path)?, goes_on }));
    let passes: Box<dyn Pass> = match format {
        Format::Strace => Box::new(Passes::new(path, open, root)?),
        format => Box::new(RowPasses::new(path, format, open, root)?),
    };
    let (head, existing) = passes.pass(path, open, &mut |_| true)?;
    if !begin(&head) {
        return Ok(head);
    }
    let mut columns = TraceColumns::default();
    let mut goes_on = true;
    let mut full = |columns: &mut TraceColumns, least: usize| {
        if columns.op.len() >= least.max(1) {
            goes_on = batch(std::mem::take(columns));
        }
        goes_on
    };
    for existing in &existing {
        columns.push_existing(existing);
        if !full(&mut columns, BATCH_ROWS) {
            return Ok(head);
        }
    }
    passes.pass(path, open, &mut |record| {
        columns.push_record(&record);
        full(&mut columns, BATCH_ROWS)
    })?;
    full(&mut columns, 0);
    Ok(head)
}

/// Reads a recording from a pipe. A pipe can be read only once, so the recording is held in memory.
fn of_a_pipe(
    path: &Path,
    root: Option<&str>,
    begin: &mut dyn FnMut(&Head) -> bool,
    batch: &mut dyn FnMut(TraceColumns) -> bool,
) -> Result<Head, TraceError> {
    let trace = super::read(path, root)?;
    let head = Head { root: trace.root.clone(), ignored: trace.ignored.clone() };
    if begin(&head) {
        batch(TraceColumns::of(&trace));
    }
    Ok(head)
}

/// One reading of a recording from its beginning to its end.
trait Pass {
    fn pass(
        &self,
        path: &Path,
        open: &Open,
        each: &mut dyn FnMut(Record) -> bool,
    ) -> Result<(Head, Vec<Existing>), TraceError>;
}

impl Pass for Passes {
    fn pass(
        &self,
        path: &Path,
        open: &Open,
        each: &mut dyn FnMut(Record) -> bool,
    ) -> Result<(Head, Vec<Existing>), TraceError> {
        let Kept { root, existing, ignored } = Passes::pass(self, path, open, each)?;
        Ok((Head { root, ignored }, existing))
    }
}

/// The passes over a recording in a format that consists of rows.
struct RowPasses {
    format: Format,
    survey: Survey,
    root: String,
}

impl RowPasses {
    fn new(path: &Path, format: Format, open: &Open, root: Option<&str>) -> Result<RowPasses, TraceError> {
        let mut survey = Survey::default();
        each_row(path, format, open, &mut |row| {
            survey.see(&row);
            Ok(())
        })?;
        let root = survey.root(root).map_err(|refused| placed(path, refused))?;
        Ok(RowPasses { format, survey, root })
    }
}

impl Pass for RowPasses {
    fn pass(
        &self,
        path: &Path,
        open: &Open,
        each: &mut dyn FnMut(Record) -> bool,
    ) -> Result<(Head, Vec<Existing>), TraceError> {
        let mut maker = Maker::new(&self.survey, &self.root);
        let mut goes_on = true;
        let ignored = each_row(path, self.format, open, &mut |row| {
            maker.row(&row).map_err(|why| (row.line, why))?;
            for record in maker.take() {
                goes_on = goes_on && each(record);
            }
            Ok(())
        })?;
        let (existing, ignored) = maker.finish(ignored).map_err(|refused| placed(path, refused))?;
        Ok((Head { root: self.root.clone(), ignored }, existing))
    }
}
