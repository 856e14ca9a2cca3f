//! Slices that are known as a whole, as a log of a real system holds them: those that lie in one another are drawn so, and
//! one that only overlaps another gets a track more.

use crate::trace::{Arg, Flow, Name, Rank, Trace, Track};

/// One slice, or an instant if it takes no time. Rows come in the order of their starts, the longest first.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    pub start_ns: u64,
    pub end_ns: u64,
    pub what: (Name, Name),
    pub args: &'a [Arg<'a>],
}

struct Place {
    track: Track,
    /// Ends of the slices that are open, the innermost last.
    open: Vec<u64>,
}

/// Slices below one name, on as many tracks as it takes.
pub struct Rows {
    group: Track,
    rank: Rank,
    name: String,
    places: Vec<Place>,
}

impl Rows {
    pub fn new((group, rank): (Track, Rank), name: &str) -> Rows {
        Rows { group, rank, name: name.to_string(), places: Vec::new() }
    }

    pub fn add(&mut self, trace: &mut Trace, row: Row) {
        for place in &mut self.places {
            place.close(trace, row.start_ns);
        }
        let fits = |place: &Place| place.open.last().is_none_or(|&end_ns| row.end_ns <= end_ns);
        let found = self.places.iter().position(fits);
        let place = found.unwrap_or_else(|| {
            let name = match self.places.len() {
                0 => self.name.clone(),
                more => format!("{} (overlap {more})", self.name),
            };
            self.places.push(Place { track: trace.track((self.group, self.rank), &name), open: Vec::new() });
            self.places.len() - 1
        });
        let Place { track, open } = &mut self.places[place];
        if row.start_ns == row.end_ns {
            trace.instant(*track, row.start_ns, row.what, row.args, Flow::None);
            return;
        }
        trace.begin(*track, row.start_ns, row.what, row.args, Flow::None);
        open.push(row.end_ns);
    }

    pub fn end(mut self, trace: &mut Trace) {
        for place in &mut self.places {
            place.close(trace, u64::MAX);
        }
    }
}

impl Place {
    fn close(&mut self, trace: &mut Trace, until_ns: u64) {
        while let Some(end_ns) = self.open.pop_if(|end_ns| *end_ns <= until_ns) {
            trace.end(self.track, end_ns);
        }
    }
}
