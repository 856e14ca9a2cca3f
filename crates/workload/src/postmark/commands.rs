//! Command files: the lines that `postmark` reads at its prompt or from a file.

use super::error::{CommandError, CommandFileError};
use ffslab_text::input::{read_text, InputKind};
use ffslab_text::words::io_reason;
use std::path::Path;

/// The settings that `set` commands change, with the program's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub size_low_bytes: u64,
    pub size_high_bytes: u64,
    /// Files that exist at once.
    pub files: u64,
    pub seed: u32,
    pub transactions_n: u64,
    /// 0 and 1 both mean that there are none.
    pub subdirectories_n: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// How many of ten choices are for reading rather than appending; -1: neither is done.
    pub bias_read_n: i64,
    /// How many of ten choices are for creating rather than deleting; -1: neither is done.
    pub bias_create_n: i64,
    pub buffered: bool,
    pub terse: bool,
    pub locations: Vec<Location>,
}

/// A directory that gets files, and how many shares of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// From the root of the file system, without a leading slash.
    pub directory: String,
    pub weight_n: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            size_low_bytes: 500,
            size_high_bytes: 10_000,
            files: 500,
            seed: 42,
            transactions_n: 500,
            subdirectories_n: 0,
            read_bytes: 512,
            write_bytes: 512,
            bias_read_n: 5,
            bias_create_n: 5,
            buffered: true,
            terse: false,
            locations: Vec::new(),
        }
    }
}

/// A `run` command with the settings at that point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredRun {
    pub settings: Settings,
    /// The file for its report; `None`: the report goes to the rest of the output.
    pub report_file: Option<String>,
}

/// A command file that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFile {
    pub runs: Vec<ConfiguredRun>,
}

/// Larger numbers are mistakes. The limit also bounds the memory for the table of files and for what is to be written.
const COUNT_MAX: u64 = 100_000_000;
const FILES_MAX: u64 = 1_000_000;
const SIZE_BYTES_MAX: u64 = 64 << 20;
const LOAD_DEPTH_MAX: usize = 16;

/// Reads a command file. `name` names it in messages; what it loads is read beside it.
///
/// Errors: `file:line: what is wrong`. The program itself only prints "Eh?" and goes on with another benchmark than meant.
pub fn parse(text: &str, name: &str) -> Result<CommandFile, CommandFileError> {
    let mut reader = Reader { settings: Settings::default(), runs: Vec::new(), quit: false };
    reader.read(text, name, 0)?;
    if reader.runs.is_empty() {
        Err(CommandFileError::NoRun { file: name.to_string() })
    } else {
        Ok(CommandFile { runs: reader.runs })
    }
}

struct Reader {
    settings: Settings,
    runs: Vec<ConfiguredRun>,
    quit: bool,
}

const COMMANDS: &[&str] = &[
    "set size",
    "set number",
    "set seed",
    "set transactions",
    "set location",
    "set subdirectories",
    "set read",
    "set write",
    "set buffering",
    "set bias read",
    "set bias create",
    "set report",
    "run",
    "load",
    "show",
    "help",
    "quit",
    "exit",
];

impl Reader {
    fn read(&mut self, text: &str, name: &str, depth: usize) -> Result<(), CommandFileError> {
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if self.quit || line.is_empty() || line.starts_with('#') {
                continue;
            }
            self.command(line, name, depth).map_err(|error| match error {
                CommandError::Loaded(error) => *error,
                why => CommandFileError::Line { file: name.to_string(), line: number + 1, why },
            })?;
        }
        Ok(())
    }

    fn command(&mut self, line: &str, name: &str, depth: usize) -> Result<(), CommandError> {
        let is = |command: &&&str| line == **command || line.starts_with(&format!("{command} "));
        let Some(command) = COMMANDS.iter().find(is) else {
            return Err(if line.starts_with('!') {
                CommandError::Shell { line: line.to_string() }
            } else {
                CommandError::Unknown { line: line.to_string(), known: COMMANDS }
            });
        };
        let rest = line[command.len()..].trim();
        let settings = &mut self.settings;
        let up_to = |most: u64| match rest.parse::<u64>() {
            Ok(value) if (1..=most).contains(&value) => Ok(value),
            _ => Err(CommandError::Number { command, least: 1, most, found: rest.to_string() }),
        };
        let positive = || up_to(COUNT_MAX);
        let bias = || match rest.parse::<i64>() {
            Ok(value) if (-1..=10).contains(&value) => Ok(value),
            _ => Err(CommandError::Number { command, least: -1, most: 10, found: rest.to_string() }),
        };
        match *command {
            "set size" => (settings.size_low_bytes, settings.size_high_bytes) = sizes(rest)?,
            "set number" => settings.files = up_to(FILES_MAX)?,
            "set seed" => settings.seed = positive()? as u32,
            "set transactions" => settings.transactions_n = positive()?,
            "set subdirectories" => settings.subdirectories_n = positive()?,
            "set read" => settings.read_bytes = up_to(SIZE_BYTES_MAX)?,
            "set write" => settings.write_bytes = up_to(SIZE_BYTES_MAX)?,
            "set bias read" => settings.bias_read_n = bias()?,
            "set bias create" => settings.bias_create_n = bias()?,
            "set location" => locate(&mut settings.locations, rest)?,
            "set buffering" => settings.buffered = word(command, rest, "true", "false")?,
            "set report" => settings.terse = word(command, rest, "terse", "verbose")?,
            "run" => {
                let report_file = rest.rsplit('/').next().filter(|file| !file.is_empty()).map(str::to_string);
                if report_file.as_ref().is_some_and(|file| file.starts_with('.')) {
                    return Err(CommandError::ReportFile { found: rest.to_string() });
                }
                self.runs.push(ConfiguredRun { settings: settings.clone(), report_file });
            }
            "load" => self.load(rest, name, depth)?,
            "quit" | "exit" => self.quit = true,
            // `show` and `help` only print.
            _ => {}
        }
        Ok(())
    }

    fn load(&mut self, file: &str, name: &str, depth: usize) -> Result<(), CommandError> {
        if file.is_empty() || depth == LOAD_DEPTH_MAX {
            return Err(CommandError::Load);
        }
        let path = Path::new(name).parent().unwrap_or(Path::new("")).join(file);
        let text = read_text(&path, InputKind::Commands)
            .map_err(|error| CommandError::Unreadable { file: file.to_string(), why: io_reason(&error) })?;
        let read = self.read(&text, &path.display().to_string(), depth + 1);
        read.map_err(|error| CommandError::Loaded(Box::new(error)))
    }
}

fn sizes(rest: &str) -> Result<(u64, u64), CommandError> {
    let wanted = || CommandError::Sizes { most_bytes: SIZE_BYTES_MAX, found: rest.to_string() };
    let mut words =
        rest.split_whitespace().map(|word| word.parse::<u64>().ok().filter(|&n| (1..=SIZE_BYTES_MAX).contains(&n)));
    let low = words.next().flatten().ok_or_else(wanted)?;
    let high = match words.next() {
        Some(high) => high.filter(|&high| high >= low).ok_or_else(wanted)?,
        None => low,
    };
    Ok((low, high))
}

/// "DIR [WEIGHT]" replaces all locations, "+DIR [WEIGHT]" adds one, "-DIR" removes one.
fn locate(locations: &mut Vec<Location>, rest: &str) -> Result<(), CommandError> {
    let plain = rest.trim_start_matches(['+', '-']);
    let (directory, weight) = plain.rsplit_once(' ').unwrap_or((plain, "1"));
    let directory = directory.trim_matches('/').to_string();
    let weight_n = weight.parse::<u64>().ok().filter(|&weight| (1..=COUNT_MAX).contains(&weight));
    let (Some(weight_n), false) = (weight_n, directory.is_empty() && plain.is_empty()) else {
        return Err(CommandError::Location { found: rest.to_string() });
    };
    if rest.starts_with('-') {
        let before = locations.len();
        locations.retain(|location| location.directory != directory);
        return if locations.len() < before {
            Ok(())
        } else {
            Err(CommandError::NoLocation { found: rest.to_string() })
        };
    }
    if !rest.starts_with('+') {
        locations.clear();
    }
    locations.push(Location { directory, weight_n });
    Ok(())
}

fn word(command: &'static str, rest: &str, yes: &'static str, no: &'static str) -> Result<bool, CommandError> {
    match rest {
        text if text == yes => Ok(true),
        text if text == no => Ok(false),
        _ => Err(CommandError::Word { command, yes, no, found: rest.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_what_was_set_before_it() {
        let text = "set size 100 200\nset number 10\nrun\nset location +/b 3\nset bias read -1\nset report terse\nrun out\nquit\nrun\n";
        let file = parse(text, "pm").unwrap();
        assert_eq!(file.runs.len(), 2);
        let first = &file.runs[0].settings;
        assert_eq!((first.size_low_bytes, first.size_high_bytes, first.files), (100, 200, 10));
        let second = &file.runs[1];
        assert_eq!(second.settings.locations, [Location { directory: "b".to_string(), weight_n: 3 }]);
        assert_eq!((second.settings.bias_read_n, second.settings.terse), (-1, true));
        assert_eq!(second.report_file.as_deref(), Some("out"));
    }

    #[test]
    fn what_the_program_would_not_understand_is_named() {
        let error = |text: &str| parse(text, "pm").unwrap_err().to_string();
        assert!(error("set numbr 5\nrun\n").starts_with("pm:1: unknown command `set numbr 5`: known: set size"));
        assert!(error("\nset number none\nrun\n").starts_with("pm:2: `set number` needs a number from 1"));
        assert!(error("set size 10 5\nrun\n").contains("low and perhaps a high bound"));
        assert!(error("set buffering on\nrun\n").contains("needs true or false"));
        assert!(error("set location -/a\nrun\n").contains("no such location"));
        assert!(error("set number 5\n").contains("no command `run`"));
        assert!(error("!ls\nrun\n").contains("shell"));
    }
}
