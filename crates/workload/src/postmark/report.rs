//! The program's report, word by word and with its rounding: whole seconds, at least one.

use super::commands::Settings;
use std::fmt::Write;

/// What a run has done. Bytes are counted in single precision, as the program does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Number of files at the beginning.
    pub first_files: u64,
    pub files_created: u64,
    pub files_deleted: u64,
    pub files_deleted_in_transactions: u64,
    pub files_read: u64,
    pub files_appended: u64,
    pub read_bytes: f32,
    pub written_bytes: f32,
}

/// When the phases of a run began, and its end: virtual time in whole seconds, as time(2) tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instants {
    pub start_s: u64,
    pub transactions_start_s: u64,
    pub transactions_end_s: u64,
    pub end_s: u64,
}

impl Instants {
    fn between(from_s: u64, to_s: u64) -> u64 {
        to_s.saturating_sub(from_s).max(1)
    }

    fn all_s(&self) -> u64 {
        Instants::between(self.start_s, self.end_s)
    }

    fn creation_s(&self) -> u64 {
        Instants::between(self.start_s, self.transactions_start_s)
    }

    fn transactions_s(&self) -> u64 {
        Instants::between(self.transactions_start_s, self.transactions_end_s)
    }

    fn deletion_s(&self) -> u64 {
        Instants::between(self.transactions_end_s, self.end_s)
    }
}

impl Totals {
    /// The block that the program prints, verbose or terse.
    pub fn text(&self, settings: &Settings, at: &Instants) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ =
            if settings.terse { self.terse(&mut text, settings, at) } else { self.verbose(&mut text, settings, at) };
        text
    }

    fn verbose(&self, text: &mut String, settings: &Settings, at: &Instants) -> std::fmt::Result {
        let (all, transactions) = (at.all_s(), at.transactions_s());
        let deleted_alone = self.files_deleted - self.files_deleted_in_transactions;
        let created_mixed = self.files_created.saturating_sub(self.first_files);
        let files = |count: u64, seconds: u64| format!("{count} files ({} per second)", count / seconds);
        let plain = |count: u64, what: &str, seconds: u64| format!("\t{count} {what} ({} per second)", count / seconds);
        writeln!(text, "Time:\n\t{all} seconds total")?;
        let rate = settings.transactions_n / transactions;
        writeln!(text, "\t{transactions} seconds of transactions ({rate} per second)")?;
        writeln!(text, "\nFiles:\n{}", plain(self.files_created, "created", all))?;
        writeln!(text, "\t\tCreation alone: {}", files(self.first_files, at.creation_s()))?;
        writeln!(text, "\t\tMixed with transactions: {}", files(created_mixed, transactions))?;
        writeln!(text, "{}", plain(self.files_read, "read", transactions))?;
        writeln!(text, "{}", plain(self.files_appended, "appended", transactions))?;
        writeln!(text, "{}", plain(self.files_deleted, "deleted", all))?;
        writeln!(text, "\t\tDeletion alone: {}", files(deleted_alone, at.deletion_s()))?;
        writeln!(text, "\t\tMixed with transactions: {}", files(self.files_deleted_in_transactions, transactions))?;
        let data =
            |bytes: f32, what: &str| format!("\t{} {what} ({} per second)", scaled(bytes), scaled(bytes / all as f32));
        writeln!(text, "\nData:\n{}\n{}", data(self.read_bytes, "read"), data(self.written_bytes, "written"))
    }

    fn terse(&self, text: &mut String, settings: &Settings, at: &Instants) -> std::fmt::Result {
        let (all, transactions) = (at.all_s() as f32, at.transactions_s() as f32);
        let deleted_alone = self.files_deleted - self.files_deleted_in_transactions;
        let created_mixed = self.files_created.saturating_sub(self.first_files);
        let rates = [
            settings.transactions_n as f32 / transactions,
            self.files_created as f32 / all,
            self.first_files as f32 / at.creation_s() as f32,
            created_mixed as f32 / transactions,
            self.files_read as f32 / transactions,
            self.files_appended as f32 / transactions,
            self.files_deleted as f32 / all,
            deleted_alone as f32 / at.deletion_s() as f32,
            self.files_deleted_in_transactions as f32 / transactions,
            self.read_bytes / all,
            self.written_bytes / all,
        ];
        write!(text, "{} {}", at.all_s(), at.transactions_s())?;
        rates.iter().try_for_each(|rate| write!(text, " {rate:.2}"))?;
        writeln!(text)
    }
}

/// "1.50 megabytes"
fn scaled(bytes: f32) -> String {
    const MEGABYTE: f32 = 1_048_576.0;
    if bytes / MEGABYTE > 1.0 {
        format!("{:.2} megabytes", bytes / MEGABYTE)
    } else if bytes / 1024.0 != 0.0 {
        format!("{:.2} kilobytes", bytes / 1024.0)
    } else {
        format!("{bytes:.6} bytes")
    }
}
