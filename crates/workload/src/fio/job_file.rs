//! The text of a job file: sections, options, `include`, environment variables.

use super::error::{JobFileError, LineError};
use ffslab_text::input::{read_text, InputKind};
use ffslab_text::words::io_reason;
use std::path::Path;

/// An option as it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The file, as it was named.
    pub file: String,
    pub line: u64,
    pub key: String,
    /// Empty when there is no "=".
    pub value: String,
}

/// A section other than [global]: the options of all [global] sections before it, followed by its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub name: String,
    /// Where it begins.
    pub line: u64,
    pub options: Vec<Line>,
}

/// Files may include files to this depth; more is a circle.
const INCLUDE_DEPTH_MAX: usize = 16;

/// Splits a job file into its jobs. `name` names it in messages; what it includes is read beside it.
///
/// Errors: `file:line: what is wrong`.
pub fn sections(text: &str, name: &str) -> Result<Vec<Section>, JobFileError> {
    let mut reader = Reader { globals: Vec::new(), sections: Vec::new(), place: Place::Nowhere };
    reader.read(text, name, 0)?;
    if reader.sections.is_empty() {
        return Err(JobFileError::NoJob { file: name.to_string() });
    }
    Ok(reader.sections)
}

enum Place {
    Nowhere,
    Global,
    Job,
}

struct Reader {
    globals: Vec<Line>,
    sections: Vec<Section>,
    place: Place,
}

impl Reader {
    fn read(&mut self, text: &str, name: &str, depth: usize) -> Result<(), JobFileError> {
        for (number, line) in text.lines().enumerate() {
            let number = number as u64 + 1;
            let at = |why| JobFileError::Line { file: name.to_string(), line: number, why };
            let line = line.split([';', '#']).next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            if let Some(section) = line.strip_prefix('[') {
                let section = section.strip_suffix(']').ok_or_else(|| at(LineError::NoBracket))?;
                if depth > 0 {
                    return Err(at(LineError::IncludedSection));
                }
                self.begin(section, number);
                continue;
            }
            if let Some(included) = line.strip_prefix("include ") {
                self.include(included.trim(), name, depth).map_err(at)?;
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            let value = with_environment(value.trim()).map_err(at)?;
            let line = Line { file: name.to_string(), line: number, key: key.trim().to_string(), value };
            match (&self.place, self.sections.last_mut()) {
                (Place::Job, Some(section)) => section.options.push(line),
                (Place::Global, _) => self.globals.push(line),
                _ => return Err(at(LineError::OutsideSection { key: line.key })),
            }
        }
        Ok(())
    }

    fn begin(&mut self, name: &str, line: u64) {
        // fio only compares the first six letters.
        if name.starts_with("global") {
            self.place = Place::Global;
        } else {
            self.place = Place::Job;
            // A `name` in [global] applies to no job, because each job takes the name of its section.
            let options = self.globals.iter().filter(|option| option.key != "name").cloned().collect();
            self.sections.push(Section { name: name.to_string(), line, options });
        }
    }

    fn include(&mut self, included: &str, name: &str, depth: usize) -> Result<(), LineError> {
        if depth == INCLUDE_DEPTH_MAX {
            return Err(LineError::Circle { file: included.to_string() });
        }
        let path = Path::new(name).parent().unwrap_or(Path::new("")).join(included);
        let text = read_text(&path, InputKind::Jobs)
            .map_err(|error| LineError::Unreadable { file: included.to_string(), why: io_reason(&error) })?;
        let read = self.read(&text, &path.display().to_string(), depth + 1);
        read.map_err(|error| LineError::Included(Box::new(error)))
    }
}

/// Replaces `${NAME}` by the variable of the environment.
fn with_environment(value: &str) -> Result<String, LineError> {
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, behind) =
            after.split_once('}').ok_or_else(|| LineError::OpenVariable { value: value.to_string() })?;
        out.push_str(before);
        out.push_str(&std::env::var(name).map_err(|_| LineError::NoVariable { name: name.to_string() })?);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globals_reach_the_jobs_behind_them() {
        let text = "; a comment\n[global]\nname=all\nbs=4k # trailing\n[a]\nrw=read\n[global]\nsync\n[b]\nrw = write\n";
        let jobs = sections(text, "x.fio").unwrap();
        let keys = |i: usize| jobs[i].options.iter().map(|l| format!("{}={}", l.key, l.value)).collect::<Vec<_>>();
        assert_eq!(keys(0), ["bs=4k", "rw=read"]);
        assert_eq!(keys(1), ["bs=4k", "sync=", "rw=write"]);
        assert_eq!((jobs[1].name.as_str(), jobs[1].line, jobs[1].options[2].line), ("b", 9, 10));
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        assert_eq!(
            sections("bs=4k\n", "x").unwrap_err().to_string(),
            "x:1: option `bs` stands outside of a section such as [global]"
        );
        assert_eq!(sections("[a\n", "x").unwrap_err().to_string(), "x:1: the section has no \"]\"");
        assert!(sections("[global]\nbs=4k\n", "x").unwrap_err().to_string().contains("holds no job"));
        assert!(sections("[a]\nsize=${FFSLAB_NO_SUCH}\n", "x")
            .unwrap_err()
            .to_string()
            .starts_with("x:2: the environment variable"));
    }
}
