//! One line of strace's output.

use super::error::StraceError;
use super::{args, Outcome};

pub struct Line<'a> {
    pub process: u32,
    /// Time of day.
    pub at_ns: u64,
    pub event: Event<'a>,
}

pub enum Event<'a> {
    /// `name(...) = result <duration>`, which [`call`] splits further.
    Call(&'a str),
    /// The first part of a call, before `<unfinished ...>`.
    Unfinished(&'a str),
    /// The last part of a call, behind `<... name resumed>`.
    Resumed(&'a str),
    Exit,
    /// Signals and strace's own remarks.
    Nothing,
}

/// A whole call.
pub struct Parsed<'a> {
    pub name: &'a str,
    pub arguments: Vec<&'a str>,
    /// `None`: the call has no result (`?`), because it was interrupted before it did anything, or never returned.
    pub result: Option<Outcome>,
    pub duration_ns: u64,
}

/// Splits a line; `None` for an empty line and for remarks without a time.
pub fn parse(text: &str) -> Result<Option<Line<'_>>, StraceError> {
    if text.trim().is_empty() || text.starts_with("strace: ") {
        return Ok(None);
    }
    let (process, rest) = process_id(text).ok_or_else(|| unexpected(text))?;
    let (time, rest) = rest.split_once(' ').ok_or_else(|| unexpected(text))?;
    if time.contains(':') {
        return Err(StraceError::TimeOfDay { time: time.to_string() });
    }
    let at_ns = seconds_to_ns(time).ok_or_else(|| unexpected(text))?;
    let rest = rest.trim_start();
    let event = if rest.starts_with("+++ ") {
        Event::Exit
    } else if rest.starts_with("--- ") {
        Event::Nothing
    } else if let Some(resumed) = rest.strip_prefix("<... ") {
        let (_, remainder) = resumed.split_once(" resumed>").ok_or_else(|| unexpected(text))?;
        Event::Resumed(remainder)
    } else {
        call_name(rest).ok_or_else(|| unexpected(text))?;
        let unfinished = rest.strip_suffix("<unfinished ...>").or_else(|| rest.strip_suffix("<detached ...>"));
        match unfinished {
            Some(begun) => Event::Unfinished(begun),
            None => Event::Call(rest),
        }
    };
    Ok(Some(Line { process, at_ns, event }))
}

fn unexpected(text: &str) -> StraceError {
    StraceError::NoLine { found: text.chars().take(60).collect() }
}

/// `[pid  4711] `, `4711  ` or nothing, before the time.
fn process_id(text: &str) -> Option<(u32, &str)> {
    if let Some(rest) = text.strip_prefix("[pid") {
        let (id, rest) = rest.split_once(']')?;
        return Some((id.trim().parse().ok()?, rest.trim_start()));
    }
    let text = text.trim_start();
    let (first, rest) = text.split_once(' ')?;
    match first.parse() {
        Ok(id) => Some((id, rest.trim_start())),
        Err(_) => Some((0, text)),
    }
}

fn seconds_to_ns(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    if fraction.is_empty() || fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nanoseconds: u64 = format!("{fraction:0<9}").parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// The name before the opening parenthesis.
pub fn call_name(text: &str) -> Option<&str> {
    let name = &text[..text.find('(')?];
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'?';
    (!name.is_empty() && name.bytes().all(plain)).then_some(name)
}

/// Takes a whole call apart.
pub fn call(text: &str) -> Result<Parsed<'_>, StraceError> {
    let name = call_name(text).ok_or_else(|| unexpected(text))?;
    let cut = || StraceError::NoEnd { call: name.to_string() };
    let (arguments, rest) = args::split(&text[name.len() + 1..]).ok_or_else(cut)?;
    let result = rest.trim_start().strip_prefix("= ").ok_or_else(cut)?.trim();
    if result.is_empty() {
        return Err(cut());
    }
    let (value, duration) = match result.strip_suffix('>').and_then(|r| r.rsplit_once(" <")) {
        Some((value, seconds)) => (value.trim(), seconds_to_ns(seconds)),
        None => (result, None),
    };
    let word = value.split([' ', '<']).next().unwrap_or_default();
    let outcome = match (word, args::number(word)) {
        ("?", _) => None,
        (_, Some(-1)) => match value.split_whitespace().nth(1) {
            Some(error) if error.starts_with('E') => Some(Outcome::Error(error.to_string())),
            _ => Some(Outcome::Value(-1)),
        },
        (_, Some(number)) => Some(Outcome::Value(number)),
        // An address above 63 bits. No call that is replayed returns one.
        (_, None) if word.starts_with("0x") => Some(Outcome::Value(i64::MAX)),
        (_, None) => return Err(StraceError::Result { call: name.to_string(), result: word.to_string() }),
    };
    let duration_ns = match (duration, &outcome) {
        (Some(ns), _) => ns,
        (None, None) => 0,
        (None, Some(_)) => return Err(StraceError::NoDuration { call: name.to_string() }),
    };
    Ok(Parsed { name, arguments, result: outcome, duration_ns })
}

/// Whether the text of a call that is not interpreted is at least complete.
pub fn looks_complete(text: &str) -> bool {
    text.contains(") ") && text.contains("= ")
}
