//! A profile as its file and the files that it builds on say it together: `base = "omap3evm"`, and then only what differs.
//!
//! What comes from a built-in base was measured on another board, so it counts as `unverified` here, and its source says whose it
//! is. What comes from a file of the user's own keeps its status. A plain number counts as `unverified`.

use crate::built_in::{is_path, kind_of_built_in, Kind};
use crate::circumstances::{Circumstances, When};
use crate::classes;
use crate::driver;
use crate::driver_keys;
use crate::entries::{factor, Entry, Merged, REFERENCE_BOARD};
use crate::error::ProfileError;
use crate::keys::{keys_of, Key};
use crate::look_up::{find, Text};
use crate::part::{Part, PartKind};
use ffslab_text::toml_text::{friendlier, line_of, toml_error, unknown, TomlError};
use std::collections::BTreeMap;
use std::path::Path;
use toml::de::DeTable;
use toml::{Table, Value};

/// Source of a number that was given without one.
const NO_SOURCE: &str = "given without a source";

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
    if matches!(kind, Kind::Controller | Kind::Core) {
        return Ok(merged);
    }
    let mut missing: Vec<String> = keys_of(kind, merged.part_kind)
        .iter()
        .filter(|key| key.is_needed(given.keys()) && !given.contains_key(&key.path))
        .map(|key| format!("{} ({})", key.path, key.explained()))
        .collect();
    if kind == Kind::Board {
        missing.extend(driver_keys::missing_times(given));
        missing.extend(missing_ecc(&merged, &source.folder));
    }
    if missing.is_empty() {
        Ok(merged)
    } else {
        Err(ProfileError::Missing { file: merged.file, kind: titled(kind, merged.part_kind), missing })
    }
}

/// The part of this name or path; a path is relative to `folder`.
pub(crate) fn part_named(name: &str, folder: &Path) -> Result<Part, ProfileError> {
    Part::of(&merged(Kind::Part, &find(Kind::Part, name, folder)?)?)
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
    let mut own = Merged { entries, file: source.label.clone(), part_kind, cpu_times: None, driver_of: None };
    if kind == Kind::Board {
        driver_keys::refuse_two_times(&own.entries, &source.label)?;
    }
    let core = if kind == Kind::Board {
        classes::core(&own, |kind, class, at| class_of(kind, class, at, source))?
    } else {
        None
    };
    let Some(name) = own.text("base").map(str::to_string) else {
        return without_base(kind, own, source);
    };
    let at = own.entries["base"].clone();
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
    let times = match (&core, base.cpu_times) {
        (Some(core), Some(of_base)) => Some(core.times / of_base),
        (Some(_), None) => return Err(own.entries["core"].error(NEEDS_REFERENCE.to_string())),
        (None, _) => own.entries.get("cpu_time_scale").map(factor).transpose()?,
    };
    own.cpu_times = base.cpu_times.map(|of_base| of_base * times.unwrap_or(1.0));
    if kind == Kind::Board {
        let of_cpu = own.cpu_times.unwrap_or(times.unwrap_or(1.0));
        add_controller(&mut own, source, of_cpu)?;
    }
    for (path, entry) in core.into_iter().flat_map(|core| core.entries) {
        own.entries.entry(path).or_insert(entry);
    }
    let given = own.entries.clone();
    let has_controller = given.contains_key("controller");
    for (path, entry) in &base.entries {
        let is_own = given.contains_key(path)
            || path == "base"
            || (kind != Kind::Core && classes::OF_TIMES.contains(&path.as_str()));
        let is_of_other = has_controller && classes::is_of_controller(path);
        if !is_own && !is_of_other && !driver_keys::is_superseded(path, &given) {
            own.entries.insert(path.clone(), inherited(kind, path, entry, &name, times));
        }
    }
    if kind == Kind::Board && !has_controller {
        own.driver_of = if driver_keys::gives_times(&given) {
            None
        } else if given.contains_key("part") {
            Some(name.clone())
        } else {
            base.driver_of.clone()
        };
        let base =
            driver::Base { merged: &base, folder: &base_source.folder, name: &name, times: times.unwrap_or(1.0) };
        driver::keep_overheads(&mut own, &given, &source.folder, &base, &part_named)?;
    }
    Ok(own)
}

/// A profile that builds on no other.
fn without_base(kind: Kind, mut own: Merged, source: &Text) -> Result<Merged, ProfileError> {
    let needs_base = |key: &str, message: &str| own.entries.get(key).map(|entry| entry.error(message.to_string()));
    let refused = match kind {
        Kind::Core => None,
        _ => needs_base("cpu_time_scale", "cpu_time_scale: it multiplies what a base says: give base, too")
            .or_else(|| needs_base("core", NEEDS_REFERENCE)),
    };
    if let Some(error) = refused {
        return Err(error);
    }
    own.cpu_times = (source.label == reference_board()).then_some(1.0);
    if kind == Kind::Board {
        add_controller(&mut own, source, 1.0)?;
    }
    Ok(own)
}

/// What the file of a class says that a board names at `at`.
fn class_of(kind: Kind, name: &str, at: &Entry, source: &Text) -> Result<BTreeMap<String, Entry>, ProfileError> {
    let class = find(kind, name, &source.folder).map_err(|error| at.error(format!("{}: {error}", kind.name())))?;
    let (mut entries, _) = own_entries(Kind::Board, PartKind::default(), &class)?;
    if let Some(entry) = entries.get("base") {
        return Err(entry.error(format!("base: a {} builds on nothing", kind.name())));
    }
    entries.remove("title");
    Ok(entries)
}

/// Adds what the controller says that a file names. `times`: how many times as long as on the reference board the CPU takes.
fn add_controller(own: &mut Merged, source: &Text, times: f64) -> Result<(), ProfileError> {
    let Some(at) = own.entries.get("controller").cloned() else { return Ok(()) };
    let name = at.value.as_str().unwrap_or_default();
    classes::add_controller(own, name, class_of(Kind::Controller, name, &at, source)?, times);
    Ok(())
}

const NEEDS_REFERENCE: &str =
    "core: its times are multiples of those of omap3evm: give base = \"omap3evm\", or a board that builds on it";

/// The label of the board whose CPU all others are compared with.
fn reference_board() -> String {
    format!("profiles/boards/{REFERENCE_BOARD}.toml")
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
    match times.filter(|_| classes::is_cpu_time(kind, path)) {
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
    let of_own = of_own.into_iter().map(|Layer { title, entries, .. }| {
        (title, Merged { entries, file: source.label.clone(), part_kind, cpu_times: None, driver_of: None })
    });
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
const NOT_IN_LAYERS: [&str; 8] =
    ["title", "base", "part", "kernel", "cpu_time_scale", "core", "clock_MHz", "controller"];

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
