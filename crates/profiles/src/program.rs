//! What the program that does the steps of an experiment computes itself on a board: the table `[program]`.

use crate::constant::{ns_of_us, whole_ns, Amount, Sourced};
use schemars::JsonSchema;
use serde::Deserialize;

/// What the program that does the steps computes beside its calls. A key that is absent costs nothing.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProgramTable {
    /// Between two steps: it looks at counters, writes down what the step did and reads the next one.
    between_steps_us: Option<Sourced<Amount>>,
    /// Beside a mount: a thread begins, the program sets read-ahead.
    mount_us: Option<Sourced<Amount>>,
    /// Beside an unmount.
    umount_us: Option<Sourced<Amount>>,
    /// Beside a power cut.
    crash_us: Option<Sourced<Amount>>,
    /// From a power cut until the system is up again. Nothing runs meanwhile, but the clocks go on.
    boot_us: Option<Sourced<Amount>>,
    /// Beside an attach of UBI.
    ubi_attach_us: Option<Sourced<Amount>>,
    /// Beside making a volume of UBI.
    ubi_make_volume_us: Option<Sourced<Amount>>,
    /// After a request of a sequential pattern: it keeps how long it took and makes up the next one.
    next_sequential_ns: Option<Sourced<Amount>>,
    /// After a request at a random place.
    next_random_ns: Option<Sourced<Amount>>,
    /// After an append.
    next_append_ns: Option<Sourced<Amount>>,
    /// After a file was made: the name of the next one is printed.
    next_file_ns: Option<Sourced<Amount>>,
    /// A sleep between requests, beside the time slept and the slack of the timer.
    sleep_ns: Option<Sourced<Amount>>,
    /// Statistics of a step's latencies, whatever their number.
    evaluation_ns: Option<Sourced<Amount>>,
    /// The same for each call.
    evaluation_call_ns: Option<Sourced<Amount>>,
    /// The same for each comparison of the sort, n x log2(n) of n calls.
    evaluation_comparison_ns: Option<Sourced<Amount>>,
}

/// How long the program that does the steps computes, in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramCosts {
    pub between_steps_ns: u64,
    /// Beside steps of these names.
    pub steps_ns: [(&'static str, u64); 5],
    /// From a power cut until the system is up again.
    pub boot_ns: u64,
    pub next_sequential_ns: u64,
    pub next_random_ns: u64,
    pub next_append_ns: u64,
    pub next_file_ns: u64,
    pub sleep_ns: u64,
    pub evaluation_ns: u64,
    pub evaluation_call_ns: u64,
    pub evaluation_comparison_ns: u64,
}

impl ProgramTable {
    pub(crate) fn costs(&self) -> ProgramCosts {
        ProgramCosts {
            between_steps_ns: ns_of_us(&self.between_steps_us),
            steps_ns: [
                ("mount", ns_of_us(&self.mount_us)),
                ("umount", ns_of_us(&self.umount_us)),
                ("crash", ns_of_us(&self.crash_us)),
                ("ubi_attach", ns_of_us(&self.ubi_attach_us)),
                ("ubi_make_volume", ns_of_us(&self.ubi_make_volume_us)),
            ],
            boot_ns: ns_of_us(&self.boot_us),
            next_sequential_ns: whole_ns(&self.next_sequential_ns),
            next_random_ns: whole_ns(&self.next_random_ns),
            next_append_ns: whole_ns(&self.next_append_ns),
            next_file_ns: whole_ns(&self.next_file_ns),
            sleep_ns: whole_ns(&self.sleep_ns),
            evaluation_ns: whole_ns(&self.evaluation_ns),
            evaluation_call_ns: whole_ns(&self.evaluation_call_ns),
            evaluation_comparison_ns: whole_ns(&self.evaluation_comparison_ns),
        }
    }
}
