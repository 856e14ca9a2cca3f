//! A profile as its file and the files that it builds on say it together: `base = "omap3evm"`, and then only what differs.
//!
//! What comes from a built-in base was measured on another board, so it counts as `unverified` here, and its source says whose it
//! is. What comes from a file of the user's own keeps its status. A plain number counts as `unverified`.

use crate::built_in::{find, is_path, kind_of_built_in, Kind, Text};
use crate::circumstances::{Circumstances, When};
use crate::driver;
use crate::error::ProfileError;
use crate::keys::{keys_of, Key};
use crate::part::PartKind;
use ffslab_workload::toml_text::{friendlier, line_of, toml_error, unknown, TomlError};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;
use toml::de::DeTable;
use toml::{Table, Value};

/// Source of a number that was given without one.
const NO_SOURCE: &str = "given without a source";

/// What a key says, and where.
#[derive(Clone)]
pub(crate) struct Entry {
    /// A text, or a constant as a table of value, source, status and ci95.
    pub value: Value,
    file: String,
    pub line: usize,
}

impl Entry {
    /// The number of a constant.
    pub fn number(&self) -> Option<f64> {
        match self.value.get("value")? {
            Value::Integer(whole) => Some(*whole as f64),
            Value::Float(number) => Some(*number),
            _ => None,
        }
    }

    fn error(&self, message: String) -> ProfileError {
        let (file_name, line) = (self.file.clone(), Some(self.line));
        TomlError { file_name, line, message }.into()
    }

    /// Makes of a constant one of which somebody else's profile says so much.
    pub fn assume(&mut self, number: Option<f64>, says: impl Fn(&str) -> String) {
        let Some(constant) = self.value.as_table_mut() else { return };
        let source = constant.get("source").and_then(Value::as_str).unwrap_or_default();
        constant.insert("source".to_string(), Value::from(says(source)));
        constant.insert("status".to_string(), Value::from("unverified"));
        constant.remove("ci95");
        if let Some(number) = number {
            constant.insert("value".to_string(), Value::Float(number));
        }
    }
}

/// What a profile and its bases say together.
pub(crate) struct Merged {
    /// By key with its table: `driver.read_us`.
    pub entries: BTreeMap<String, Entry>,
    file: String,
    /// Of a part: which kind.
    pub part_kind: PartKind,
}

/// Reads a profile of this kind with its bases.
///
/// Errors: all unknown keys of a file; all keys that are missing; bases that lead back to a file.
pub(crate) fn merged(kind: Kind, source: &Text) -> Result<Merged, ProfileError> {
    merged_for(kind, source, None)
}

/// As [`merged`], with the layers of a board that hold in these circumstances.
///
/// Errors: as those of [`merged`].
pub(crate) fn merged_for(
    kind: Kind,
    source: &Text,
    circumstances: Option<&Circumstances<'_>>,
) -> Result<Merged, ProfileError> {
    let merged = with_base(kind, source, circumstances, &mut Vec::new())?;
    let given = &merged.entries;
    let mut missing: Vec<String> = keys_of(kind, merged.part_kind)
        .iter()
        .filter(|key| key.is_needed(given.keys()) && !given.contains_key(&key.path))
        .map(|key| format!("{} ({})", key.path, key.explained()))
        .collect();
    if kind == Kind::Board {
        missing.extend(driver::missing_times(given));
        missing.extend(missing_ecc(&merged, &source.folder));
    }
    if missing.is_empty() {
        Ok(merged)
    } else {
        Err(ProfileError::Missing { file: merged.file, kind: titled(kind, merged.part_kind), missing })
    }
}

impl Merged {
    /// The file that was asked for, for messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Makes of the keys what reads them.
    ///
    /// Errors: a value that its key cannot have, with its place.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ProfileError> {
        let mut table = Table::new();
        for (path, entry) in &self.entries {
            let (within, name) =
                path.rsplit_once('.').map_or((None, path.as_str()), |(table, name)| (Some(table), name));
            let into = match within {
                Some(within) => table.entry(within).or_insert_with(|| Table::new().into()).as_table_mut(),
                None => Some(&mut table),
            };
            into.expect("a table has no key of its own").insert(name.to_string(), entry.value.clone());
        }
        table.try_into().map_err(|error: toml::de::Error| self.located(&error))
    }

    /// The constants by key, each read as `T`; not the scale that is in them already.
    ///
    /// Errors: one that `T` cannot be, with its place.
    pub fn constants<T: DeserializeOwned>(&self) -> Result<BTreeMap<String, T>, ProfileError> {
        let is_constant = |(path, entry): &(&String, &Entry)| !entry.value.is_str() && *path != "cpu_time_scale";
        let constants = self.entries.iter().filter(is_constant);
        let table: Table = constants.map(|(path, entry)| (path.clone(), entry.value.clone())).collect();
        table.try_into().map_err(|error: toml::de::Error| self.located(&error))
    }

    /// An error with the place of the key that it is about.
    fn located(&self, error: &toml::de::Error) -> ProfileError {
        let message = friendlier(error.message());
        // The key stands in the text of the error alone: "... in `driver.read_us.value`".
        let said = error.to_string();
        let path = said.rsplit_once("in `").and_then(|(_, path)| path.trim_end().strip_suffix('`')).unwrap_or_default();
        let of_key = |path: &str| Some((path.to_string(), self.entries.get(path)?));
        let found = of_key(path).or_else(|| of_key(path.rsplit_once('.')?.0));
        match found {
            Some((path, entry)) => entry.error(format!("{path}: {message}")),
            None => TomlError { file_name: self.file.clone(), line: None, message }.into(),
        }
    }

    /// What a key says whose value is a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.entries.get(key)?.value.as_str()
    }
}

fn with_base(
    kind: Kind,
    source: &Text,
    circumstances: Option<&Circumstances<'_>>,
    chain: &mut Vec<String>,
) -> Result<Merged, ProfileError> {
    let part_kind = part_kind_of(kind, source, &mut Vec::new())?;
    let (mut entries, layers) = own_entries(kind, part_kind, source)?;
    let holding = layers.into_iter().filter(|layer| circumstances.is_some_and(|of| layer.when.holds(of)));
    holding.for_each(|layer| entries.extend(layer.entries));
    let mut own = Merged { entries, file: source.label.clone(), part_kind };
    if kind == Kind::Board {
        driver::refuse_two_times(&own.entries, &source.label)?;
    }
    let scale = own.entries.get("cpu_time_scale").cloned();
    let Some(name) = own.text("base").map(str::to_string) else {
        return match scale {
            Some(scale) => {
                Err(scale.error("cpu_time_scale: it multiplies what a base says: give base, too".to_string()))
            }
            None => Ok(own),
        };
    };
    let at = own.entries["base"].clone();
    let times = scale.as_ref().map(factor).transpose()?;
    let base_source = find(kind, &name, &source.folder).map_err(|error| at.error(format!("base: {error}")))?;
    chain.push(identity(source));
    if chain.contains(&identity(&base_source)) {
        return Err(at.error(format!("base: {name} builds on {} itself", source.label)));
    }
    let base = with_base(kind, &base_source, circumstances, chain)?;
    if base.part_kind != part_kind {
        let (is, here) = (base.part_kind.title(), part_kind.title());
        return Err(at.error(format!("base: {name} is a {is}, and this a {here}: a part builds on one of its kind")));
    }
    let given = own.entries.clone();
    for (path, entry) in &base.entries {
        let is_own = given.contains_key(path) || matches!(path.as_str(), "base" | "cpu_time_scale");
        if !is_own && !driver::is_superseded(path, &given) {
            own.entries.insert(path.clone(), inherited(kind, path, entry, &name, times));
        }
    }
    if kind == Kind::Board {
        driver::keep_overheads(&mut own, &given, &source.folder, (&base, &base_source.folder, &name))?;
    }
    Ok(own)
}

/// Which kind of part a file is: what it says itself, or what its base is. `seen`: the files that built on it.
fn part_kind_of(kind: Kind, source: &Text, seen: &mut Vec<String>) -> Result<PartKind, ProfileError> {
    if kind != Kind::Part {
        return Ok(PartKind::default());
    }
    let table: Table = source.parse()?;
    let text = |key: &str| table.get(key).and_then(Value::as_str);
    if let Some(says) = text("kind") {
        let known = PartKind::ALL.map(PartKind::name);
        return PartKind::ALL.into_iter().find(|kind| kind.name() == says).ok_or_else(|| {
            let line = source.text.lines().position(|line| line.trim_start().starts_with("kind")).map(|at| at + 1);
            let message = format!("kind: {}", unknown("value", says, &known));
            TomlError { file_name: source.label.clone(), line, message }.into()
        });
    }
    let Some(base) = text("base") else { return Ok(PartKind::default()) };
    seen.push(identity(source));
    match find(kind, base, &source.folder) {
        Ok(base) if !seen.contains(&identity(&base)) => part_kind_of(kind, &base, seen),
        // Whoever reads the file tells what is wrong with its base.
        _ => Ok(PartKind::default()),
    }
}

/// What a profile is in messages.
pub(crate) fn titled(kind: Kind, part_kind: PartKind) -> &'static str {
    match (kind, part_kind) {
        (Kind::Part, PartKind::Nand) => "part",
        (Kind::Part, kind) => kind.title(),
        (kind, _) => kind.name(),
    }
}

/// Keys of its ECC that a board lacks whose part is raw NAND: chips with a serial bus correct themselves, and NOR needs none.
fn missing_ecc(board: &Merged, folder: &Path) -> Vec<String> {
    let keys = keys_of(Kind::Board, PartKind::default()).iter();
    let of_ecc = keys.filter(|key| key.table().is_empty() && key.name().starts_with("ecc"));
    let missing: Vec<&Key> = of_ecc.filter(|key| !board.entries.contains_key(&key.path)).collect();
    let part = || merged(Kind::Part, &find(Kind::Part, board.text("part")?, folder).ok()?).ok();
    if missing.is_empty() || part().is_some_and(|part| part.part_kind != PartKind::Nand) {
        return Vec::new();
    }
    missing.iter().map(|key| format!("{} ({})", key.path, key.explained())).collect()
}

/// Which file a profile is, however its path is written.
fn identity(source: &Text) -> String {
    let full = std::fs::canonicalize(&source.label);
    full.map_or_else(|_| source.label.clone(), |path| path.display().to_string())
}

/// The factor of the CPU's times.
fn factor(scale: &Entry) -> Result<f64, ProfileError> {
    let number = scale.number().filter(|number| *number > 0.0 && *number <= 1_000.0);
    number.ok_or_else(|| scale.error("cpu_time_scale: a number above 0 and up to 1000 is needed".to_string()))
}

/// What a key of the base says in a profile that builds on it.
fn inherited(kind: Kind, path: &str, entry: &Entry, base: &str, times: Option<f64>) -> Entry {
    let mut entry = entry.clone();
    if let Some(text) = entry.value.as_str() {
        let changed = match path {
            "title" => format!("{text}, changed"),
            // Paths in the base are relative to its folder.
            _ if is_path(text) && is_path(base) => {
                Path::new(base).parent().unwrap_or(Path::new("")).join(text).display().to_string()
            }
            _ => text.to_string(),
        };
        entry.value = Value::from(changed);
        return entry;
    }
    match times.filter(|_| is_cpu_time(kind, path)) {
        Some(times) => {
            let number = entry.number().map(|number| number * times);
            entry.assume(number, |source| format!("{times} times that of {base}: {source}"));
        }
        None if kind_of_built_in(base).is_some() => {
            entry.assume(None, |source| format!("of {base}: {source}"));
        }
        None => {}
    }
    entry
}

/// Whether a constant is time that the CPU computes. Memory is not faster because a CPU is.
fn is_cpu_time(kind: Kind, path: &str) -> bool {
    let is_time = ["_us", "_ns", "_ns_per_B"].iter().any(|unit| path.ends_with(unit));
    let is_of_cpu = match kind {
        Kind::Board => ["vfs.", "cpu.", "tracers.", "program."].iter().any(|table| path.starts_with(table)),
        Kind::RtemsBoard => !path.starts_with("memory_"),
        Kind::Part | Kind::Kernel | Kind::BlockDevice => false,
    };
    is_time && is_of_cpu
}

/// A part of a board's file that holds only in some circumstances: `[[layer]]`.
struct Layer {
    /// What it says of them, as people read it.
    title: String,
    when: When,
    entries: BTreeMap<String, Entry>,
}

/// Whether a board's file, or one that it builds on, has layers.
pub(crate) fn has_layers(kind: Kind, source: &Text) -> Result<bool, ProfileError> {
    let table: Table = source.parse()?;
    match table.get("base").and_then(Value::as_str) {
        _ if table.contains_key(LAYER) => Ok(true),
        Some(base) => has_layers(kind, &find(kind, base, &source.folder)?),
        None => Ok(false),
    }
}

/// The layers of a board's file behind those of the files that it builds on: when each holds, and what it says.
///
/// Errors: those of reading the files.
pub(crate) fn layers(kind: Kind, source: &Text) -> Result<Vec<(String, Merged)>, ProfileError> {
    if kind != Kind::Board {
        return Ok(Vec::new());
    }
    let part_kind = PartKind::default();
    let (own, of_own) = own_entries(kind, part_kind, source)?;
    let mut found = Vec::new();
    if let Some(base) = own.get("base").and_then(|entry| entry.value.as_str()) {
        let times = own.get("cpu_time_scale").map(factor).transpose()?.filter(|times| *times != 1.0);
        for (when, mut layer) in layers(kind, &find(kind, base, &source.folder)?)? {
            let entries = std::mem::take(&mut layer.entries);
            let of_base = |(path, entry): (String, Entry)| {
                let entry = inherited(kind, &path, &entry, base, times);
                (path, entry)
            };
            layer.entries = entries.into_iter().map(of_base).collect();
            found.push((when, layer));
        }
    }
    let of_own = of_own
        .into_iter()
        .map(|layer| (layer.title, Merged { entries: layer.entries, file: source.label.clone(), part_kind }));
    found.extend(of_own);
    Ok(found)
}

/// The keys of one file, plain values as constants, and its layers.
fn own_entries(
    kind: Kind,
    part_kind: PartKind,
    source: &Text,
) -> Result<(BTreeMap<String, Entry>, Vec<Layer>), ProfileError> {
    let values: Table = source.parse()?;
    let spans = DeTable::parse(&source.text).map_err(|error| toml_error(&source.text, &source.label, &error))?;
    let spans = spans.get_ref();
    let keys = keys_of(kind, part_kind);
    let mut reader = Reader::of(source, keys, (kind == Kind::Board).then_some(LAYER));
    reader.take("", &values, spans);
    let of_layers = values.get(LAYER).and_then(Value::as_array).filter(|_| kind == Kind::Board);
    let spans_of_layers = spans.iter().find(|(name, _)| name.get_ref() == LAYER);
    let spans_of_layers = spans_of_layers.and_then(|(_, value)| value.get_ref().as_array());
    let mut layers = Vec::new();
    for (table, span) in of_layers.into_iter().flatten().zip(spans_of_layers.into_iter().flat_map(|all| all.iter())) {
        let (Some(table), Some(spans)) = (table.as_table(), span.get_ref().as_table()) else { continue };
        let mut of_layer = Reader::of(source, keys, Some("when"));
        of_layer.take("", table, spans);
        let line = line_of(&source.text, span.span().start);
        let refused = |message: String| TomlError { file_name: source.label.clone(), line: Some(line), message };
        if let Some(key) = NOT_IN_LAYERS.iter().find(|key| of_layer.entries.contains_key(**key)) {
            return Err(refused(format!("layer: `{key}` is said once, and in no layer")).into());
        }
        let when = table
            .get("when")
            .cloned()
            .ok_or_else(|| refused("layer: `when` is missing: say when it holds".to_string()))?;
        let said = when.as_table().into_iter().flatten().map(|(key, value)| format!("{key} = {value}"));
        let title = said.collect::<Vec<_>>().join(", ");
        let when: When = when
            .try_into()
            .map_err(|error: toml::de::Error| refused(format!("layer: when: {}", friendlier(error.message()))))?;
        reader.unknown.append(&mut of_layer.unknown);
        layers.push(Layer { title, when, entries: of_layer.entries });
    }
    let Reader { entries, mut unknown, .. } = reader;
    unknown.sort();
    let Some((line, _)) = unknown.first() else { return Ok((entries, layers)) };
    let line = Some(*line);
    let others = unknown.iter().enumerate().map(|(i, (line, says))| match i {
        0 => says.clone(),
        _ => format!("line {line}: {says}"),
    });
    let message = others.collect::<Vec<_>>().join("; ");
    Err(TomlError { file_name: source.label.clone(), line, message }.into())
}

/// The array of a board's layers.
const LAYER: &str = "layer";
/// What a board is, whatever it is used for.
const NOT_IN_LAYERS: [&str; 5] = ["title", "base", "part", "kernel", "cpu_time_scale"];

struct Reader<'a> {
    source: &'a Text,
    keys: &'static [Key],
    /// A key that is no constant and is read elsewhere.
    passed_over: Option<&'static str>,
    entries: BTreeMap<String, Entry>,
    /// Lines with keys that there are not, and what to say of them.
    unknown: Vec<(usize, String)>,
}

impl<'a> Reader<'a> {
    fn of(source: &'a Text, keys: &'static [Key], passed_over: Option<&'static str>) -> Reader<'a> {
        Reader { source, keys, passed_over, entries: BTreeMap::new(), unknown: Vec::new() }
    }
}

impl Reader<'_> {
    fn take(&mut self, prefix: &str, values: &Table, spans: &DeTable<'_>) {
        for (name, spanned) in spans {
            let Some(value) = values.get(name.get_ref().as_ref()) else { continue };
            if prefix.is_empty() && self.passed_over == Some(name.get_ref().as_ref()) {
                continue;
            }
            let line = line_of(&self.source.text, name.span().start);
            let path = format!("{prefix}{}", name.get_ref());
            let key = self.keys.iter().find(|key| key.path == path);
            let is_table = self.keys.iter().any(|key| key.table() == format!("{path}."));
            match (key, value, spanned.get_ref().as_table()) {
                (Some(key), value, _) => {
                    let value = if key.is_text { value.clone() } else { as_constant(value) };
                    self.entries.insert(path, Entry { value, file: self.source.label.clone(), line });
                }
                (None, Value::Table(inner), Some(spans)) if is_table => self.take(&format!("{path}."), inner, spans),
                (None, ..) if is_table => {
                    self.unknown.push((line, format!("`{path}` is a table of constants: [{path}]")));
                }
                (None, ..) => self.unknown.push((line, self.unknown_key(prefix, name.get_ref()))),
            }
        }
    }

    fn unknown_key(&self, prefix: &str, name: &str) -> String {
        let in_table = self.keys.iter().filter(|key| key.table() == prefix);
        let tables = self.keys.iter().filter(|_| prefix.is_empty()).map(|key| key.table().trim_end_matches('.'));
        let mut known: Vec<&str> = in_table.map(Key::name).chain(tables.filter(|table| !table.is_empty())).collect();
        known.dedup();
        unknown("key", name, &known)
    }
}

/// A constant with its source and status; a plain value has none.
fn as_constant(value: &Value) -> Value {
    if value.is_table() {
        return value.clone();
    }
    let says = [("value", value.clone()), ("source", Value::from(NO_SOURCE)), ("status", Value::from("unverified"))];
    Value::Table(says.into_iter().map(|(key, value)| (key.to_string(), value)).collect())
}

#[cfg(test)]
mod tests;
