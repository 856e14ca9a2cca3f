//! The tasks of RTEMS's block cache. What they use the medium for are the reasons that all systems have.

pub use ffslab_fs::causes::*;
use ffslab_sim::Task;

/// The task that writes modified block buffers, and its workers.
pub static BDBUF_SWAPOUT: Task =
    Task { name: "bdbuf_swapout", title: "bdbuf swap-out", nice: 0, process: "bdbuf_swapout" };

/// The task that reads blocks ahead.
pub static BDBUF_READ_AHEAD: Task =
    Task { name: "bdbuf_read_ahead", title: "bdbuf read-ahead", nice: 0, process: "bdbuf_read_ahead" };
