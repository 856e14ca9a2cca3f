//! Constants of block devices. The crate `profiles` reads them from `profiles/block-devices`, where each number stands with its
//! source and status.

/// What a request costs. The cost is the sum of parts per request, per command (one buffer) and per byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceProfile {
    pub title: String,
    /// Once per request: the driver's own work.
    pub request_ns: u64,
    /// Per buffer: sending the command, receiving the answer.
    pub command_ns: u64,
    /// Per read command, until the first byte comes.
    pub read_access_ns: u64,
    /// Per write command, until the device is ready again.
    pub write_busy_ns: u64,
    /// Picoseconds.
    pub read_ps_per_byte: u64,
    /// Picoseconds.
    pub write_ps_per_byte: u64,
    /// The CPU copies the bytes itself; otherwise the calling task sleeps until the device is done.
    pub occupies_cpu: bool,
    /// One request holds consecutive blocks only.
    pub consecutive_blocks: bool,
    /// Allocation unit of a card; 0: it has none.
    pub segment_bytes: u32,
    /// What a command takes longer in another segment than that of the command before.
    pub read_segment_ns: u64,
    pub write_segment_ns: u64,
}

impl DeviceProfile {
    /// A RAM disk that takes no time: counts only.
    pub fn instant() -> DeviceProfile {
        DeviceProfile { title: "RAM disk without delays".into(), occupies_cpu: true, ..DeviceProfile::default() }
    }

    /// The same interface above a medium that takes its own time.
    pub fn interface_alone(self) -> DeviceProfile {
        DeviceProfile { read_access_ns: 0, write_busy_ns: 0, ..self }
    }
}
