//! Memory of the process that runs the kit, to detect that a damaged image makes a file system allocate without limit.
//! bounds. Linux only: elsewhere nothing is measured.

/// The highest values so far, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Memory really used (`VmHWM` of proc(5)).
    pub resident_bytes: u64,
    /// Memory asked for (`VmPeak`); an allocation that is never touched counts here only.
    pub virtual_bytes: u64,
}

/// `None` where `/proc/self/status` does not contain them.
pub fn peak() -> Option<Peak> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        let kib: u64 = line[name.len()..].trim().trim_end_matches(" kB").parse().ok()?;
        Some(kib << 10)
    };
    Some(Peak { resident_bytes: field("VmHWM:")?, virtual_bytes: field("VmPeak:")? })
}
