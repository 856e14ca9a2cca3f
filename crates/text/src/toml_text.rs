//! Reading what people write: errors with file and line, unknown keys with the nearest known one.

use crate::words::nearest;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// A TOML text that cannot be read: where, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file_name}{}: {message}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct TomlError {
    pub file_name: String,
    /// Line, from 1. `None`: the error says no place.
    pub line: Option<usize>,
    /// One line.
    pub message: String,
}

/// Line (from 1) of the byte at `offset` in `text`.
pub fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

/// Deserializes a TOML text.
///
/// Errors: see [`toml_error`].
pub fn parse_toml<T: DeserializeOwned>(text: &str, file_name: &str) -> Result<T, TomlError> {
    toml::from_str(text).map_err(|error| toml_error(text, file_name, &error))
}

/// What is wrong with a TOML text, in words, with its line.
pub fn toml_error(text: &str, file_name: &str, error: &toml::de::Error) -> TomlError {
    let line = error.span().map(|span| line_of(text, span.start));
    let message = one_bracket(text, error).unwrap_or_else(|| friendlier(error.message()));
    TomlError { file_name: file_name.to_string(), line, message }
}

/// The key that an error is about, below the value that was read: "policy.victim". `None`: it is about that value itself.
// toml keeps these keys for what it prints of an error without a text, and gives them in no other way.
pub fn key_of(error: &toml::de::Error) -> Option<String> {
    let printed = error.to_string();
    let last = printed.trim_end().rsplit_once('\n')?.1;
    Some(last.strip_prefix("in `")?.strip_suffix('`')?.to_string())
}

/// What is wrong in a table of a text, in words, with the key: "[stack.policy] victim: invalid type ...". `table`: what
/// the text calls the table; without it the key is named alone.
pub fn named(error: &toml::de::Error, table: Option<&str>) -> String {
    let says = friendlier(error.message());
    let Some(key) = key_of(error) else { return says };
    let is_about_keys = says.starts_with("unknown key ") || says.starts_with("the key ");
    match (table, key.rsplit_once('.')) {
        (None, _) => format!("{key}: {says}"),
        (Some(table), _) if is_about_keys => format!("[{table}.{key}]: {says}"),
        (Some(table), None) => format!("[{table}] {key}: {says}"),
        (Some(table), Some((inner, key))) => format!("[{table}.{inner}] {key}: {says}"),
    }
}

/// Lists of steps, of which people write `[measure]` for each step: the second one is a table that is there already.
const LISTS_OF_STEPS: [&str; 4] = ["setup", "measure", "state", "steps"];

fn one_bracket(text: &str, error: &toml::de::Error) -> Option<String> {
    let at = error.span()?.start;
    let line = text.get(text[..at].rfind('\n').map_or(0, |end| end + 1)..)?.lines().next()?;
    let name = line.trim_start().strip_prefix('[')?.split_once(']')?.0.trim();
    let is_slip = error.message().contains("duplicate key") && LISTS_OF_STEPS.contains(&name);
    is_slip.then(|| format!("each step begins with [[{name}]], in two brackets"))
}

/// Rewrites messages of serde. A long list of known words is replaced by the nearest one if there is one, and names of
/// Rust types are removed.
pub fn friendlier(message: &str) -> String {
    let one_line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    for (start, kind) in [("unknown field `", "key"), ("unknown variant `", "value")] {
        let Some((word, rest)) = one_line.strip_prefix(start).and_then(|rest| rest.split_once('`')) else {
            continue;
        };
        let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
        return unknown(kind, word, &known);
    }
    if one_line == "wanted string or table" {
        return "a word is needed, in quotes".to_string();
    }
    match one_line.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        Some(key) => format!("the key `{key}` is missing"),
        None => in_words(&one_line),
    }
}

/// Describes in words what was expected, if serde names a Rust type.
fn in_words(message: &str) -> String {
    let Some((start, kind)) = message.rsplit_once("expected ") else { return message.to_string() };
    let expected = match kind {
        "u8" => format!("a whole number from 0 to {}", u8::MAX),
        "u16" => format!("a whole number from 0 to {}", u16::MAX),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u64" | "usize" => "a whole number of 0 or more".to_string(),
        "f64" => "a number".to_string(),
        "a boolean" => "true or false".to_string(),
        "a sequence" => "a list, in brackets".to_string(),
        "a map" => "a table".to_string(),
        _ if kind.starts_with("struct ") => "a table".to_string(),
        _ => return message.to_string(),
    };
    format!("{start}expected {expected}")
}

/// "unknown key `requsts`: did you mean `requests`?", or the list of all known words if none is similar.
pub fn unknown(kind: &str, word: &str, known: &[&str]) -> String {
    let hint = match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "none is allowed here".to_string(),
        None => format!("known: {}", known.join(", ")),
    };
    format!("unknown {kind} `{word}`: {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Example {
        #[allow(dead_code)]
        requests: u32,
    }

    fn error(text: &str) -> String {
        parse_toml::<Example>(text, "a.toml").unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line_and_the_nearest_known_one() {
        assert_eq!(error("\n# c\nrequsts = 1\n"), "a.toml:3: unknown key `requsts`: did you mean `requests`?");
        assert_eq!(error("colour = 1\n"), "a.toml:1: unknown key `colour`: known: requests");
    }

    #[test]
    fn the_key_of_an_error_is_known_with_its_table() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Outer {
            #[allow(dead_code)]
            inner: Example,
        }
        let told = |text: &str| {
            let table = toml::de::DeTable::parse(text).unwrap();
            let value = toml::Spanned::new(table.span(), toml::de::DeValue::Table(table.into_inner()));
            let error = Outer::deserialize(toml::de::ValueDeserializer::from(value)).unwrap_err();
            named(&error, Some("stack"))
        };
        let kind = "expected a whole number from 0 to 4294967295";
        assert_eq!(
            told("[inner]\nrequests = 'x'"),
            format!("[stack.inner] requests: invalid type: string \"x\", {kind}")
        );
        assert_eq!(told("inner = 3"), "[stack] inner: invalid type: integer `3`, expected a table");
        assert_eq!(told("inner = { colour = 1 }"), "[stack.inner]: unknown key `colour`: known: requests");
        assert_eq!(told("[inner]"), "[stack.inner]: the key `requests` is missing");
        assert_eq!(told("inter = 1"), "unknown key `inter`: did you mean `inner`?");
    }

    #[test]
    fn a_list_of_steps_in_one_bracket_is_told_so() {
        let steps = "[measure]\nstep = \"sync\"\n# c\n [measure] # again\nstep = \"sync\"\n";
        assert_eq!(error(steps), "a.toml:4: each step begins with [[measure]], in two brackets");
        let twice = error("[other]\n[other]\n");
        assert!(twice.starts_with("a.toml:2: duplicate key"), "{twice}");
    }

    #[test]
    fn missing_keys_wrong_types_and_broken_syntax_have_one_line() {
        assert!(error("").contains("the key `requests` is missing"));
        assert!(error("requests = \"x\"").starts_with("a.toml:1: invalid type: string \"x\", expected a whole"));
        let negative = error("requests = -1");
        assert!(negative.ends_with("integer `-1`, expected a whole number from 0 to 4294967295"), "{negative}");
        let broken = error("requests = 1\n[stack\n");
        assert!(broken.starts_with("a.toml:2: ") && !broken.contains('\n'), "{broken}");
    }
}
