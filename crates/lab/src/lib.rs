//! # lab: from an experiment file to results
//!
//! **Role.** Reads experiments, has the machine built that they describe (`machine`), runs their steps on it in virtual time,
//! and reports: latencies, flash operations by cause, energy, wear. The Python package and its command line are thin layers over [`run_experiment`], [`Session`] and [`SCHEMAS`].
//!
//! **Follows.** The methodology of the papers: explore, model, simulate, compare.
//!
//! **Leaves out.** Comparing with measured cases (`validate`); looking into images (`images`, `inspect`). Plots, tables and files of results: Python writes them. Several file systems at once.

mod activity;
pub mod ageing;
mod call;
mod columns;
pub mod counts;
pub mod data;
pub mod error;
mod estimate;
pub mod experiment;
pub mod film;
mod fingerprint;
mod fio;
mod keys;
mod lab;
pub mod legend;
pub mod life;
mod observed;
mod pieces;
pub mod planned;
pub mod postmark;
mod probe_log;
mod programs;
mod ready;
mod recorded;
mod recorder;
mod repeats;
pub mod replay;
pub mod requests;
pub mod result;
pub mod run;
pub mod schemas;
pub mod session;
mod shared;
pub mod slowest;
pub mod state;
pub mod stats;
mod table;
pub mod tally;
mod threads;
pub mod traces;
mod turns;

pub use activity::Activity;
pub use columns::{BlockColumns, BlockRow, RequestColumns};
pub use error::LabError;
pub use experiment::Experiment;
pub use ffslab_fs::{Errno, Stat};
pub use ffslab_jffs2::Endian;
pub use ffslab_system::{Fd, OpenFlags, Refusal, SystemError};
pub use ffslab_text::input::{open as open_input, InputKind};
pub use ffslab_text::quoting;
pub use ffslab_text::words::io_reason;
pub use ffslab_workload::trace::table::TraceColumns;
pub use ffslab_workload::Step;
pub use keys::{variant_keys, KeyOf, Keys};
pub use lab::{check_experiment, run_experiment, run_experiment_as_text, run_experiment_with, Given};
pub use observed::{Observe, Observed, Observing, SoFar, StackColumns};
pub use pieces::VariantText;
pub use planned::{content_source, planned_variants, PlannedVariant};
pub use recorded::{recorded_calls, RecordedStep, ToRecord};
pub use repeats::{repeated, Ran, Repeated, Spread};
pub use result::{RunResult, SharedSetups};
pub use run::SavedImage;
pub use schemas::{Described, SCHEMAS};
pub use session::{Session, SessionResult};
pub use shared::Quiet;
pub use state::StateCache;
pub use table::{Column, Columns};
pub use threads::on_threads;
pub use traces::convert_trace;
