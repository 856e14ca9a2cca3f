//! What was done to a medium, in numbers.

/// Number of operations that a medium was asked for, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub reads: u64,
    pub read_bytes: u64,
    pub programs: u64,
    pub write_bytes: u64,
    pub erases: u64,
}

impl std::ops::Sub for Traffic {
    type Output = Traffic;
    fn sub(self, before: Traffic) -> Traffic {
        Traffic {
            reads: self.reads - before.reads,
            read_bytes: self.read_bytes - before.read_bytes,
            programs: self.programs - before.programs,
            write_bytes: self.write_bytes - before.write_bytes,
            erases: self.erases - before.erases,
        }
    }
}
