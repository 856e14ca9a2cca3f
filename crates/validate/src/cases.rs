//! Reading files of measured cases, one JSON object per line.

use crate::case::Case;
use crate::error::CaseError;
use crate::stacks;
use ffslab_lab::LabError;
use ffslab_text::input;
use ffslab_text::toml_text::friendlier;
use ffslab_text::words::io_reason;
use std::io::Read;
use std::path::Path;

/// Reads all cases of a `.jsonl` file, whose content is `text`. `path` is for messages only.
///
/// Errors: the first case that cannot be understood; the message has its line and says what is wrong.
pub fn read_cases(path: &Path, text: &str) -> Result<Vec<Case>, LabError> {
    let mut cases = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let case =
            parse_case(line).map_err(|error| LabError::Input(format!("{}:{}: {error}", path.display(), index + 1)))?;
        cases.push(case);
    }
    if cases.is_empty() {
        return Err(LabError::Input(format!("{}: there is no case in it: one JSON object a line", path.display())));
    }
    Ok(cases)
}

/// Reads one case.
///
/// Errors: what is wrong, in one line.
pub fn parse_case(line: &str) -> Result<Case, CaseError> {
    let mut case: Case = serde_json::from_str(line).map_err(|error| malformed(&error))?;
    stacks::complete(&mut case);
    for (list, steps) in [("setup", &case.setup), ("measure", &case.measure)] {
        for (index, step) in steps.iter().enumerate() {
            let wrong = |why| CaseError::Step { list, number: index + 1, title: step.title(), why };
            step.check().map_err(wrong)?;
        }
    }
    let (from, at) = (case.expect.from_step, case.expect.at_step);
    if at >= case.measure.len() || from.is_some_and(|from| from >= at) {
        let steps = case.measure.len();
        return Err(CaseError::Phase { from, at, steps });
    }
    Ok(case)
}

/// Describes an error in the JSON of a case. The position within the line is left out, unless the error says nothing
/// else.
fn malformed(error: &serde_json::Error) -> CaseError {
    if error.is_data() {
        let text = error.to_string();
        let says = friendlier(text.rsplit_once(" at line ").map_or(text.as_str(), |(said, _)| said));
        return CaseError::Malformed { says };
    }
    CaseError::NoObject { column: error.column() }
}

/// The text of a file of cases, unpacked if it is gzipped.
pub fn read_text(path: &Path) -> Result<String, LabError> {
    let read = || {
        let mut text = String::new();
        input::open(path, input::InputKind::Cases)?.unpacked()?.read_to_string(&mut text)?;
        Ok(text)
    };
    read().map_err(|error| LabError::Input(format!("{}: cannot be read: {}", path.display(), io_reason(&error))))
}
