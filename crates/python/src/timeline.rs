//! Timelines of logs, whose events Python has read.

use crate::border::InputError;
use ffslab_lab::io_reason;
use ffslab_timeline::{Arg, Row, Rows, Trace};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use std::path::PathBuf;

type Column<'py> = PyReadonlyArray1<'py, i64>;

/// A track: its name, the category of its slices, their starts and ends, the numbers of their names, the names, and the
/// columns of their arguments (a negative value says nothing). The slices come in the order of their starts, the longest first.
type TrackOf<'py> = (String, String, Column<'py>, Column<'py>, Column<'py>, Vec<String>, Vec<(String, Column<'py>)>);

/// Writes a timeline; times are those since its start. Returns how many events it has.
#[pyfunction]
pub fn write_timeline(path: PathBuf, title: &str, tracks: Vec<TrackOf<'_>>) -> PyResult<u64> {
    let failed = |error: std::io::Error| {
        InputError::new_err(format!("{}: cannot be written: {}", path.display(), io_reason(&error)))
    };
    let mut trace = Trace::create(&path, 1).map_err(failed)?;
    let group = trace.group(title);
    for (rank, (name, category, starts, ends, numbers, names, columns)) in (0..).zip(&tracks) {
        let category = trace.category(category);
        let names: Vec<_> = names.iter().map(|name| trace.name(name)).collect();
        let (starts, ends, numbers) = (starts.as_array(), ends.as_array(), numbers.as_array());
        let columns: Vec<_> = columns.iter().map(|(key, column)| (key.as_str(), column.as_array())).collect();
        let mut rows = Rows::new((group, rank), name);
        let mut args = Vec::with_capacity(columns.len());
        for (place, ((&start, &end), &number)) in starts.iter().zip(ends).zip(numbers).enumerate() {
            args.clear();
            let known = columns.iter().filter(|(_, column)| column[place] >= 0);
            args.extend(known.map(|(key, column)| Arg::Number(key, column[place] as u64)));
            let what = (category, names[number as usize]);
            rows.add(&mut trace, Row { start_ns: start as u64, end_ns: end as u64, what, args: &args });
        }
        rows.end(&mut trace);
    }
    Ok(trace.finish().map_err(failed)?.events_n)
}
