//! One run: decides which operation comes next. Numbers are drawn in the order in which postmark 1.53 draws them.

use super::commands::Settings;
use super::mersenne::Mersenne;
use super::report::Totals;
use super::stdio;

/// The program's next operation. After it, [`Run::done`] must be called with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    MakeDirectory {
        path: String,
    },
    /// Opens (creating; truncating if buffered), writes pieces of these sizes, closes.
    Create {
        path: String,
        writes_bytes: Vec<u64>,
    },
    /// Opens, reads pieces of these sizes, closes.
    Read {
        path: String,
        reads_bytes: Vec<u64>,
    },
    /// Opens for appending, writes pieces of these sizes, closes.
    Append {
        path: String,
        writes_bytes: Vec<u64>,
    },
    Delete {
        path: String,
    },
    RemoveDirectory {
        path: String,
    },
    /// All initial files exist, and the transactions begin.
    TransactionsBegin,
    /// The transactions have ended, and the remaining files are deleted.
    TransactionsEnd,
    FilesDeleted,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    path: String,
    /// 0: unused.
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Directories(u64),
    Creation(u64),
    Transactions,
    Deletion(usize),
    RemoveDirectories(u64),
    Ended,
}

/// What [`Run::done`] will count.
enum Pending {
    Nothing,
    Read { bytes: u64 },
    Append { slot: usize, bytes: u64 },
    Delete { slot: usize },
}

pub struct Run {
    settings: Settings,
    random: Mersenne,
    slots: Vec<Slot>,
    next_slot: usize,
    phase: Phase,
    transactions_done: u64,
    /// Whether the second half of a transaction comes next.
    second_half: bool,
    pending: Pending,
    out_of_files: bool,
    pub totals: Totals,
}

impl Run {
    pub fn new(settings: Settings) -> Run {
        let mut random = Mersenne::new(settings.seed);
        // The program fills its buffer for writes with random letters, which takes so many random numbers.
        for _ in 0..settings.size_high_bytes * 2 {
            random.below(95);
        }
        let first = if settings.subdirectories_n > 1 { Phase::Directories(0) } else { Phase::Creation(0) };
        Run {
            random,
            slots: vec![Slot::default(); settings.files as usize * 2],
            next_slot: 0,
            phase: first,
            transactions_done: 0,
            second_half: false,
            pending: Pending::Nothing,
            out_of_files: false,
            totals: Totals { first_files: settings.files, ..Totals::default() },
            settings,
        }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether the program found no more files and ended the transactions early. In this case it prints no report.
    pub fn ran_out_of_files(&self) -> bool {
        self.out_of_files
    }

    /// The next operation; `None` at the end.
    pub fn next_operation(&mut self) -> Option<Operation> {
        self.pending = Pending::Nothing;
        loop {
            match self.phase {
                Phase::Directories(i) => match self.subdirectory(i) {
                    Some(path) => {
                        self.phase = Phase::Directories(i + 1);
                        return Some(Operation::MakeDirectory { path });
                    }
                    None => self.phase = Phase::Creation(0),
                },
                Phase::Creation(i) if i == self.settings.files => {
                    self.phase = Phase::Transactions;
                    return Some(Operation::TransactionsBegin);
                }
                Phase::Creation(i) => {
                    self.phase = Phase::Creation(i + 1);
                    if let Some(operation) = self.create() {
                        return Some(operation);
                    }
                }
                Phase::Transactions => match self.transaction() {
                    Some(operation) => return Some(operation),
                    None if self.phase == Phase::Transactions => {}
                    None => {
                        self.totals.files_deleted_in_transactions = self.totals.files_deleted;
                        return Some(Operation::TransactionsEnd);
                    }
                },
                Phase::Deletion(i) if i == self.slots.len() => {
                    self.phase = Phase::RemoveDirectories(0);
                    return Some(Operation::FilesDeleted);
                }
                Phase::Deletion(i) => {
                    self.phase = Phase::Deletion(i + 1);
                    if let Some(operation) = self.delete(i) {
                        return Some(operation);
                    }
                }
                Phase::RemoveDirectories(i) => match self.subdirectory(i) {
                    Some(path) if self.settings.subdirectories_n > 1 => {
                        self.phase = Phase::RemoveDirectories(i + 1);
                        return Some(Operation::RemoveDirectory { path });
                    }
                    _ => self.phase = Phase::Ended,
                },
                Phase::Ended => return None,
            }
        }
    }

    /// Must be called with whether the file of the last operation could be opened or deleted. As in the program, the
    /// reads and writes on it are counted whether or not they succeed.
    pub fn done(&mut self, ok: bool) {
        if !ok {
            return;
        }
        match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Nothing => {}
            Pending::Read { bytes } => {
                self.totals.files_read += 1;
                self.totals.read_bytes += bytes as f32;
            }
            Pending::Append { slot, bytes } => {
                self.slots[slot].bytes += bytes;
                self.totals.files_appended += 1;
            }
            Pending::Delete { slot } => {
                self.slots[slot].bytes = 0;
                self.totals.files_deleted += 1;
            }
        }
    }

    /// Half of a transaction; `None` when this half does nothing, or at the end (the phase tells which).
    fn transaction(&mut self) -> Option<Operation> {
        if self.second_half {
            self.second_half = false;
            self.transactions_done += 1;
            if self.settings.bias_create_n == -1 {
                return None;
            }
            return if (self.random.below(10) as i64) < self.settings.bias_create_n {
                self.create()
            } else {
                let slot = self.used_slot();
                self.delete(slot)
            };
        }
        let none_left = self.totals.files_created == self.totals.files_deleted;
        if none_left || self.transactions_done == self.settings.transactions_n {
            self.out_of_files = none_left && self.transactions_done < self.settings.transactions_n;
            self.phase = Phase::Deletion(0);
            return None;
        }
        self.second_half = true;
        if self.settings.bias_read_n == -1 {
            return None;
        }
        let reads = (self.random.below(10) as i64) < self.settings.bias_read_n;
        let slot = self.used_slot();
        if reads {
            Some(self.read(slot))
        } else {
            self.append(slot)
        }
    }

    fn used_slot(&mut self) -> usize {
        loop {
            let slot = self.random.below(self.slots.len() as u64) as usize;
            if self.slots[slot].bytes > 0 {
                return slot;
            }
        }
    }

    fn free_slot(&mut self) -> Option<usize> {
        let at = self.next_slot;
        let free = match self.slots.get(at) {
            Some(slot) if slot.bytes == 0 => at,
            _ => self.slots.iter().position(|slot| slot.bytes == 0)?,
        };
        self.next_slot = free + 1;
        Some(free)
    }

    fn create(&mut self) -> Option<Operation> {
        let slot = self.free_slot()?;
        let path = self.new_path();
        let range = self.settings.size_high_bytes - self.settings.size_low_bytes;
        let bytes = self.settings.size_low_bytes + self.random.below(range);
        self.slots[slot] = Slot { path: path.clone(), bytes };
        self.totals.written_bytes += bytes as f32;
        Some(Operation::Create { path, writes_bytes: self.writes(bytes) })
    }

    fn new_path(&mut self) -> String {
        let mut path = String::new();
        let locations = &self.settings.locations;
        if !locations.is_empty() {
            let weights: u64 = locations.iter().map(|location| location.weight_n).sum();
            let mut share = if locations.len() == 1 { 0 } else { self.random.below(weights) };
            let chosen = locations.iter().find(|location| {
                let here = share < location.weight_n;
                share = share.wrapping_sub(location.weight_n);
                here
            });
            if let Some(directory) = chosen.map(|location| &location.directory).filter(|name| !name.is_empty()) {
                path = format!("{directory}/");
            }
        }
        if self.settings.subdirectories_n > 1 {
            path += &format!("s{}/", self.random.below(self.settings.subdirectories_n));
        }
        self.totals.files_created += 1;
        path + &self.totals.files_created.to_string()
    }

    fn writes(&self, bytes: u64) -> Vec<u64> {
        if self.settings.buffered {
            stdio::writes(bytes, self.settings.write_bytes)
        } else {
            stdio::unbuffered(bytes, self.settings.write_bytes)
        }
    }

    fn read(&mut self, slot: usize) -> Operation {
        let Slot { path, bytes } = self.slots[slot].clone();
        self.pending = Pending::Read { bytes };
        let block_bytes = self.settings.read_bytes;
        let reads_bytes = if self.settings.buffered {
            stdio::reads(bytes, block_bytes)
        } else {
            stdio::unbuffered(bytes, block_bytes)
        };
        Operation::Read { path, reads_bytes }
    }

    fn append(&mut self, slot: usize) -> Option<Operation> {
        let Slot { path, bytes } = self.slots[slot].clone();
        let room = self.settings.size_high_bytes.checked_sub(bytes).filter(|&room| room > 0)?;
        let added = self.random.below(room) + 1;
        self.pending = Pending::Append { slot, bytes: added };
        self.totals.written_bytes += added as f32;
        Some(Operation::Append { path, writes_bytes: self.writes(added) })
    }

    fn delete(&mut self, slot: usize) -> Option<Operation> {
        let Slot { path, bytes } = self.slots[slot].clone();
        if bytes == 0 {
            return None;
        }
        self.pending = Pending::Delete { slot };
        Some(Operation::Delete { path })
    }

    /// Subdirectory number `i` over all locations.
    fn subdirectory(&self, i: u64) -> Option<String> {
        let each = self.settings.subdirectories_n;
        if each == 0 {
            return None;
        }
        let (location, number) = ((i / each) as usize, i % each);
        match self.settings.locations.get(location) {
            Some(location) if location.directory.is_empty() => Some(format!("s{number}")),
            Some(location) => Some(format!("{}/s{number}", location.directory)),
            None if self.settings.locations.is_empty() && location == 0 => Some(format!("s{number}")),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postmark::Location;

    fn all(settings: Settings) -> (Vec<Operation>, Run) {
        let mut run = Run::new(settings);
        let mut operations = Vec::new();
        while let Some(operation) = run.next_operation() {
            run.done(true);
            operations.push(operation);
        }
        (operations, run)
    }

    #[test]
    fn every_file_that_is_created_is_deleted() {
        let (operations, run) = all(Settings { files: 50, transactions_n: 200, ..Settings::default() });
        let count = |wanted: fn(&Operation) -> bool| operations.iter().filter(|&o| wanted(o)).count() as u64;
        assert_eq!(count(|o| matches!(o, Operation::Create { .. })), run.totals.files_created);
        assert_eq!(count(|o| matches!(o, Operation::Delete { .. })), run.totals.files_created);
        assert_eq!(run.totals.files_deleted, run.totals.files_created);
        assert!(run.totals.files_read + run.totals.files_appended <= 200 && run.totals.files_read > 60);
        assert!(!run.ran_out_of_files());
    }

    #[test]
    fn subdirectories_are_made_and_removed_in_each_location() {
        let locations = ["a", "b"].map(|name| Location { directory: name.to_string(), weight_n: 1 }).to_vec();
        let (operations, _) = all(Settings { files: 20, subdirectories_n: 3, locations, ..Settings::default() });
        let made: Vec<&str> = operations
            .iter()
            .filter_map(|o| match o {
                Operation::MakeDirectory { path } => Some(path.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(made, ["a/s0", "a/s1", "a/s2", "b/s0", "b/s1", "b/s2"]);
        assert!(operations.iter().any(|o| matches!(o, Operation::Create { path, .. } if path.starts_with("b/s"))));
        assert!(matches!(operations.last(), Some(Operation::RemoveDirectory { path }) if path == "b/s2"));
    }

    #[test]
    fn without_files_the_transactions_end() {
        let (_, run) = all(Settings { files: 1, bias_create_n: 0, ..Settings::default() });
        assert!(run.ran_out_of_files());
    }
}
