//! # timeline: what happened when, for people
//!
//! **Role.** Writes down a run while it goes on, for two kinds of pictures: a *timeline* in the format of Perfetto
//! ([`Timeline`]), and *stacks*, the sums of time, energy, operations and erases by task, call, reason and operation, of
//! which flame graphs are drawn ([`Stacks`]). It hears of everything as an [`ffslab_sim::Observer`]. The timeline goes to
//! the file at once: memory does not grow with the run. [`Trace`] is the writer of the format alone, for other sources.
//!
//! **Follows.** Perfetto's `TrackEvent` (`protos/perfetto/trace/track_event/track_event.proto`, and the files beside it),
//! of which ten messages are needed; a slice is two packets of some 20 bytes.
//!
//! **Leaves out.** Perfetto's clock snapshots (there is one clock, of virtual time), its legacy and thread-scoped events.

mod counters;
mod lanes;
mod layers;
mod machine;
mod proto;
mod rows;
mod stacks;
mod timeline;
mod trace;
mod varint;
mod words;

pub use rows::{Row, Rows};
pub use stacks::{Cost, Frame, StackRow, Stacks};
pub use timeline::{Finished, Timeline, Wanted};
pub use trace::{Arg, Flow, Name, Rank, Trace, Track, Written};
pub use varint::push_varint;
