//! The keys of each kind of profile: their names, what they mean, which are needed. They come from the types that read the
//! files, so there is no second list.

use crate::board::Board;
use crate::built_in::Kind;
use crate::kernel::KernelProfile;
use crate::part::{ParallelNorFile, PartKind, RawNandFile, SpiNandFile, SpiNorFile};
use crate::rtems_files::{BoardFile, DeviceFile};
use schemars::generate::SchemaSettings;
use schemars::JsonSchema;
use serde_json::{Map, Value};
use std::sync::OnceLock;

/// A key of a profile.
pub(crate) struct Key {
    /// With its table: `driver.read_us`.
    pub path: String,
    /// What it means, in a sentence.
    pub about: String,
    /// Where a data sheet says it; empty where that needs no saying.
    pub look_up: String,
    /// A text such as the title, and no constant with a source.
    pub is_text: bool,
    /// Whether it is a list of words or numbers.
    pub is_list: bool,
    /// The words that it may be; empty: any text, a number, or true and false.
    pub words: Vec<String>,
    /// No profile is whole without it, or none that has anything of its table.
    required: bool,
    /// Whether the table in which it stands may be absent.
    in_optional_table: bool,
}

impl Key {
    /// Its table with the dot behind it, or nothing.
    pub fn table(&self) -> &str {
        self.path.rfind('.').map_or("", |dot| &self.path[..=dot])
    }

    pub fn name(&self) -> &str {
        &self.path[self.table().len()..]
    }

    /// What it means, with its unit or the words that it may be.
    pub fn explained(&self) -> String {
        let (unit, about) = (unit_of(self.name()), self.about.trim_end_matches('.'));
        match (self.words.is_empty(), unit.is_empty()) {
            (false, _) if self.is_list => format!("{about} (a list of {})", self.words.join(", ")),
            (false, _) => format!("{about} ({})", self.words.join(" or ")),
            (true, false) => format!("{about} ({unit})"),
            (true, true) => about.to_string(),
        }
    }

    /// Whether a profile with these keys needs it, too.
    pub fn is_needed<'a>(&self, mut given: impl Iterator<Item = &'a String>) -> bool {
        self.required && (!self.in_optional_table || given.any(|path| path.starts_with(self.table())))
    }
}

/// All keys of a kind of profile, of a part those of its own kind.
pub(crate) fn keys_of(kind: Kind, of_part: PartKind) -> &'static [Key] {
    // A schema takes much longer to make than a profile to read.
    static KEYS: [[OnceLock<Vec<Key>>; PartKind::ALL.len()]; Kind::ALL.len()] =
        [const { [const { OnceLock::new() }; 4] }; Kind::ALL.len()];
    let of_part = if kind == Kind::Part { of_part } else { PartKind::default() };
    KEYS[kind as usize][of_part as usize].get_or_init(|| read_keys(kind, of_part))
}

fn read_keys(kind: Kind, of_part: PartKind) -> Vec<Key> {
    let schema = match kind {
        Kind::Part => match of_part {
            PartKind::Nand => schema::<RawNandFile>(),
            PartKind::SpiNand => schema::<SpiNandFile>(),
            PartKind::SpiNor => schema::<SpiNorFile>(),
            PartKind::ParallelNor => schema::<ParallelNorFile>(),
        },
        Kind::Board | Kind::Controller | Kind::Core => schema::<Board>(),
        Kind::Kernel => schema::<KernelProfile>(),
        Kind::RtemsBoard => schema::<BoardFile>(),
        Kind::BlockDevice => schema::<DeviceFile>(),
    };
    let mut keys = Vec::new();
    collect("", &schema, false, &mut keys);
    keys
}

/// What stands in the comment of a key before the words of the data sheet.
const LOOK_UP: &str = " Look up: ";

fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

fn collect(prefix: &str, table: &Value, in_optional_table: bool, keys: &mut Vec<Key>) {
    let required = |name: &str| table["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    for (name, property) in table["properties"].as_object().into_iter().flatten() {
        let path = format!("{prefix}{name}");
        let mut alternatives = Vec::new();
        collect_alternatives(property, &mut alternatives);
        let mut objects = alternatives.iter().filter_map(|one| Some((*one, one["properties"].as_object()?)));
        let is_constant = |properties: &Map<String, Value>| properties.contains_key("value");
        let is_text = match objects.next() {
            Some((inner, properties)) if !is_constant(properties) => {
                collect(&format!("{path}."), inner, in_optional_table || !required(name), keys);
                continue;
            }
            found => found.is_none(),
        };
        let is_list = alternatives.iter().any(|one| one["items"].is_object() && one["type"] == "array");
        let mut words = Vec::new();
        alternatives.iter().filter(|one| one["properties"].is_null()).for_each(|one| collect_words(one, &mut words));
        let about = property["description"].as_str().unwrap_or_default();
        let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
        let (about, look_up) = about.split_once(LOOK_UP).unwrap_or((&about, ""));
        let (about, look_up) = (about.trim_end().to_string(), look_up.trim().to_string());
        keys.push(Key { path, about, look_up, is_text, is_list, words, required: required(name), in_optional_table });
    }
}

/// What a value may be: the schema itself, or those of which it is any.
fn collect_alternatives<'a>(schema: &'a Value, into: &mut Vec<&'a Value>) {
    match schema["anyOf"].as_array() {
        Some(any) => any.iter().for_each(|one| collect_alternatives(one, into)),
        None => into.push(schema),
    }
}

/// The words of an enumeration.
fn collect_words(schema: &Value, words: &mut Vec<String>) {
    let listed = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
    words.extend(listed.filter_map(|word| Some(format!("\"{}\"", word.as_str()?))));
    if schema["items"].is_object() {
        collect_words(&schema["items"], words);
    }
    schema["oneOf"].as_array().into_iter().flatten().for_each(|one| collect_words(one, words));
}

/// The unit that a key ends in.
pub(crate) fn unit_of(key: &str) -> &'static str {
    const UNITS: &[(&str, &str)] = &[
        ("_ns_per_B", "ns/B"),
        ("_KiB", "KiB"),
        ("_MiB", "MiB"),
        ("_bits", "bit"),
        ("_ns", "ns"),
        ("_us", "us"),
        ("_uJ", "uJ"),
        ("_mW", "mW"),
        ("_ms", "ms"),
        ("_pct", "%"),
        ("_MHz", "MHz"),
        ("_mA", "mA"),
        ("_uA", "uA"),
        ("_V", "V"),
        ("_years", "years"),
        ("_B", "B"),
    ];
    if key == "hz" {
        return "Hz";
    }
    UNITS.iter().find(|(suffix, _)| key.ends_with(suffix)).map_or("", |(_, unit)| unit)
}
