//! A file to begin with: every key of a kind of profile with its unit, its meaning and what the base says of it.

use crate::built_in::Kind;
use crate::entries::Merged;
use crate::error::ProfileError;
use crate::keys::{keys_of, Key};
use crate::layers::{merged, titled};
use crate::show::named;
use std::fmt::Write;
use toml::Value;

/// Width of comments in columns.
const COLUMNS: usize = 110;

/// The text of a profile that builds on `base`, a built-in name or a path, and says nothing of its own yet: all keys are commented
/// out, with the values of the base. In the file the base is called `called`.
///
/// Errors: those of reading `base`.
pub fn template(base: &str, called: &str) -> Result<String, ProfileError> {
    let (kind, source) = named(base)?;
    let of_base = merged(kind, &source)?;
    let mut text = String::new();
    for line in [
        format!("A {} that builds on {base}: what this file does not say is taken from there.", titled(kind, of_base.part_kind)),
        "Remove the `#` in front of what you know, and write what holds for yours. A plain number, as in `key = 25`, counts as \
         unverified. Better say where it comes from and how far it can be trusted (datasheet, measured, published, unverified):"
            .to_string(),
    ] {
        comment(&mut text, &line);
    }
    text.push_str("#   key = { value = 25, source = \"data sheet of ..., table 5\", status = \"datasheet\" }\n");
    comment(&mut text, "`ffslab profiles show` with the path of this file prints what holds then, `ffslab profiles diff` what differs.");
    let title = format!("My {}", kind.name());
    for (key, value) in [("title", title.as_str()), ("base", called)] {
        writeln!(text, "{key} = {}", Value::from(value)).expect("a string takes all");
    }
    let keys: Vec<&Key> = keys_of(kind, of_base.part_kind)
        .iter()
        .filter(|key| !["title", "base", "kind"].contains(&key.path.as_str()))
        .collect();
    // In the order of the base's file; what the base does not say stands at the end of its table.
    let line_of = |path: &str| of_base.entries.get(path).map_or(usize::MAX, |entry| entry.line);
    let first_of = |table: &str| {
        let of_table = keys.iter().filter(|key| key.table() == table);
        of_table.map(|key| line_of(&key.path)).min().unwrap_or(usize::MAX)
    };
    let place = |key: &Key| {
        let (table, is_scale) = (key.table(), key.path == "cpu_time_scale");
        (!table.is_empty(), first_of(table), table.to_string(), !is_scale, line_of(&key.path), key.path.clone())
    };
    let mut ordered = keys.clone();
    ordered.sort_by_key(|key| place(key));
    let mut table = String::new();
    for key in ordered {
        if key.table() != table {
            table = key.table().to_string();
            write!(text, "\n[{}]", table.trim_end_matches('.')).expect("a string takes all");
            text.push('\n');
        }
        text.push('\n');
        comment(&mut text, &key.explained());
        if !key.look_up.is_empty() {
            comment(&mut text, &format!("Data sheet: {}", key.look_up));
        }
        let (name, says) = (key.name(), value_of(&of_base, key, kind));
        match says {
            Some(says) => writeln!(text, "# {name} = {says}"),
            None => writeln!(text, "# {name} = ...  ({base} does not say it)"),
        }
        .expect("a string takes all");
    }
    Ok(text)
}

/// What the base says of a key, as TOML.
fn value_of(of_base: &Merged, key: &Key, kind: Kind) -> Option<String> {
    if key.path == "cpu_time_scale" {
        return Some("1.0".to_string());
    }
    let value = &of_base.entries.get(&key.path)?.value;
    let value = value.get("value").unwrap_or(value);
    // A path in the base holds from the folder of the base.
    let is_path_elsewhere = kind == Kind::Board && value.as_str().is_some_and(crate::is_path);
    (!is_path_elsewhere).then(|| value.to_string())
}

/// Writes a comment in lines of at most [`COLUMNS`] columns, where words allow.
fn comment(text: &mut String, says: &str) {
    let mut columns = 0;
    for word in says.split(' ') {
        if columns > 0 && columns + 1 + word.chars().count() > COLUMNS {
            text.push('\n');
            columns = 0;
        }
        text.push_str(if columns == 0 { "# " } else { " " });
        text.push_str(word);
        columns += word.chars().count() + if columns == 0 { 2 } else { 1 };
    }
    text.push('\n');
}
