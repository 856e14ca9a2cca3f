//! What programs give as data (JSON), written as the TOML that people write: one reader checks both.

use crate::error::LabError;
use ffslab_text::toml_text::friendlier;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A value of JSON. Tables keep the order of their keys, which is that of an experiment's axes.
#[derive(Clone, Debug, PartialEq)]
enum Data {
    /// TOML has none: a key without a value is left out.
    Nothing,
    Truth(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    List(Vec<Data>),
    Table(Vec<(String, Data)>),
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Data, D::Error> {
        deserializer.deserialize_any(AnyData)
    }
}

struct AnyData;

impl<'de> Visitor<'de> for AnyData {
    type Value = Data;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a text, a number, true, false, a list or a table")
    }

    fn visit_unit<E>(self) -> Result<Data, E> {
        Ok(Data::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Data, E> {
        Ok(Data::Truth(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Data, E> {
        Ok(Data::Whole(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Data, E> {
        i64::try_from(value).map(Data::Whole).map_err(|_| E::custom(format!("{value} is more than {}", i64::MAX)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Data, E> {
        Ok(Data::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Data, E> {
        Ok(Data::Text(value.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Data, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element()? {
            list.push(value);
        }
        Ok(Data::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Data, A::Error> {
        let mut table = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            table.push(entry);
        }
        Ok(Data::Table(table))
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Data::Nothing => serializer.serialize_none(),
            Data::Truth(value) => serializer.serialize_bool(*value),
            Data::Whole(value) => serializer.serialize_i64(*value),
            Data::Number(value) => serializer.serialize_f64(*value),
            Data::Text(value) => serializer.serialize_str(value),
            Data::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                values.iter().try_for_each(|value| list.serialize_element(value))?;
                list.end()
            }
            Data::Table(entries) => {
                let mut table = serializer.serialize_map(None)?;
                let given = entries.iter().filter(|(_, value)| *value != Data::Nothing);
                given.into_iter().try_for_each(|(key, value)| table.serialize_entry(key, value))?;
                table.end()
            }
        }
    }
}

fn table_of(json: &str) -> Result<Data, LabError> {
    let wrong = |text: &str| LabError::Input(format!("data: {text}"));
    match serde_json::from_str(json).map_err(|error| wrong(&friendlier(&error.to_string())))? {
        table @ Data::Table(_) => Ok(table),
        other => Err(wrong(&format!("must be a table of keys and values, not {other:?}"))),
    }
}

/// A table in JSON as TOML, keys in their order; those whose value is null are left out.
///
/// Errors: text that is no table in JSON, values that TOML cannot hold.
pub fn toml_of(json: &str) -> Result<String, LabError> {
    toml::to_string(&table_of(json)?).map_err(|error| LabError::Input(format!("data: {error}")))
}

/// A profile in JSON as people write it in TOML: `read_us = { value = 185.065, source = "..." }` for each constant, those of
/// no table first.
///
/// Errors: as those of [`toml_of`].
pub fn profile_toml_of(json: &str) -> Result<String, LabError> {
    let Data::Table(entries) = table_of(json)? else { return Ok(String::new()) };
    let is_constant = |value: &Data| matches!(value, Data::Table(inner) if inner.iter().any(|(key, _)| key == "value"));
    let (constants, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(_, value)| is_constant(value));
    let (groups, texts): (Vec<_>, Vec<_>) = others.into_iter().partition(|(_, value)| matches!(value, Data::Table(_)));
    let mut text = lines_of(&texts)?;
    if !constants.is_empty() {
        text += &format!("\n{}", lines_of(&constants)?);
    }
    for (name, group) in &groups {
        let Data::Table(constants) = group else { continue };
        text += &format!("\n[{}]\n{}", key_of(name)?, lines_of(constants)?);
    }
    Ok(text)
}

fn lines_of(entries: &[(String, Data)]) -> Result<String, LabError> {
    let given = entries.iter().filter(|(_, value)| *value != Data::Nothing);
    given.map(|(key, value)| Ok(format!("{} = {}\n", key_of(key)?, inline(value)?))).collect()
}

/// A key, in quotation marks when it must be.
fn key_of(key: &str) -> Result<String, LabError> {
    let is_bare = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if is_bare {
        Ok(key.to_string())
    } else {
        inline(&Data::Text(key.to_string()))
    }
}

/// A value in one line.
fn inline(value: &Data) -> Result<String, LabError> {
    let mut text = String::new();
    value
        .serialize(toml::ser::ValueSerializer::new(&mut text))
        .map_err(|error| LabError::Input(format!("data: {error}")))?;
    Ok(text)
}

/// A combination of values: for each axis, in the order of axes, the position of its value; `None`: the axis is left out.
pub(crate) type Point = Vec<Option<usize>>;

/// What holds in place of what an experiment file says: a table of the same shape, with the tables `stack` and `axes` merged key
/// by key.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Keys of the stack that the file may have and that do not hold any more.
    pub(crate) removed: Vec<String>,
    /// What is new, in TOML.
    pub(crate) toml: String,
    /// The combinations of values to run, instead of all.
    pub(crate) points: Option<Vec<Point>>,
}

impl Change {
    /// From a table in JSON. A key of the stack whose value is null is taken away. `points` is no key of an experiment: it is a
    /// list of the combinations to run: for each axis the position of its value, or null to leave it out.
    ///
    /// Errors: as those of [`toml_of`].
    pub fn of(json: &str) -> Result<Change, LabError> {
        let Data::Table(mut entries) = table_of(json)? else { return Ok(Change::default()) };
        let points = entries.iter().position(|(name, _)| name == POINTS).map(|at| entries.remove(at).1);
        let points = points.map(|points| points_of(&points)).transpose()?;
        let toml = toml::to_string(&Data::Table(entries.clone()))
            .map_err(|error| LabError::Input(format!("data: {error}")))?;
        let stack = entries.into_iter().find(|(name, _)| name == "stack");
        let removed = match stack {
            Some((_, Data::Table(keys))) => {
                keys.into_iter().filter(|(_, value)| *value == Data::Nothing).map(|(key, _)| key).collect()
            }
            _ => Vec::new(),
        };
        Ok(Change { removed, toml, points })
    }
}

const POINTS: &str = "points";

fn points_of(points: &Data) -> Result<Vec<Point>, LabError> {
    let wrong = || LabError::Input(format!("data: {POINTS} is a list of lists of positions, not {points:?}"));
    let list = |data: &Data| match data {
        Data::List(values) => Ok(values.clone()),
        _ => Err(wrong()),
    };
    let position = |data: &Data| match data {
        Data::Nothing => Ok(None),
        Data::Whole(position) => usize::try_from(*position).map(Some).map_err(|_| wrong()),
        _ => Err(wrong()),
    };
    list(points)?.iter().map(|point| list(point)?.iter().map(position).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    #[test]
    fn a_table_keeps_the_order_of_its_keys() {
        let json = r#"{"title": "x\u007f\n", "axes": {"b": [1, 2], "a": ["x", 0.5]}, "seed": 3, "none": null,
                       "setup": [{"step": "mount", "hot": true}]}"#;
        let expected = "title = \"x\\u007F\\n\"\nseed = 3\n\n[axes]\nb = [1, 2]\na = [\"x\", 0.5]\n\n[[setup]]\n\
                        step = \"mount\"\nhot = true\n";
        let read = |text: &str| text.parse::<toml::Table>().unwrap();
        let made = toml_of(json).unwrap();
        assert_eq!(read(&made), read(expected));
        assert!(made.find("b = ") < made.find("a = "), "{made}");
    }

    #[test]
    fn constants_of_a_profile_are_a_line_each() {
        let json = r#"{"title": "a \"b\"", "none": null, "ecc": {"value": "hw", "source": "x\ty"},
                       "driver": {"read_us": {"value": 1.5, "source": "s", "ci95": [1.0, 2.5]}}, "a b": {"c": 1}}"#;
        let expected =
            "title = 'a \"b\"'\n\necc = { value = \"hw\", source = \"x\\ty\" }\n\n[driver]\nread_us = { value = 1.5, \
                        source = \"s\", ci95 = [1.0, 2.5] }\n\n[\"a b\"]\nc = 1\n";
        assert_eq!(profile_toml_of(json).unwrap(), expected);
        expected.parse::<toml::Table>().unwrap();
        assert!(profile_toml_of("[]").is_err());
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for json in ["1", "[]", "{", r#"{"a": 18446744073709551615}"#] {
            assert!(matches!(toml_of(json), Err(LabError::Input(_))), "{json}");
        }
    }

    #[test]
    fn a_change_takes_the_place_of_what_the_file_says() {
        let text =
            "title = \"x\"\nstack = { board = \"omap3evm\", fs = \"ubifs\", partition_blocks = 9, image = \"a\" }\n\
                    measure = [{ step = \"mount\" }]\n";
        let change = Change::of(r#"{"stack": {"partition_blocks": 160, "image": null, "endian": "big"}}"#).unwrap();
        let stack = &Experiment::parse_with(text, "x", Some(&change)).unwrap().variants[0].stack;
        let keys = stack.linux().unwrap();
        assert_eq!((keys.partition_blocks, keys.image.as_deref()), (160, None));
        assert_eq!(keys.fs, "ubifs");
        let wrong = Change::of(r#"{"stack": {"partition_block": 160}}"#).unwrap();
        let said = Experiment::parse_with(text, "x", Some(&wrong)).unwrap_err().to_string();
        assert!(said.starts_with("x:2: ") && said.contains("partition_block"), "{said}");
    }

    #[test]
    fn a_change_adds_axes_in_its_order_and_replaces_what_stands_at_the_top() {
        let text = "title = \"x\"\nseed = 2\nstack = { board = \"omap3evm\", fs = \"ubifs\", partition_blocks = 90 }\n\
                    measure = [{ step = \"mount\" }]\naxes = { read_ahead_KiB = [0, 128] }\n";
        let json = r#"{"seed": 7, "axes": {"uptime_us": [1, 2], "fs": ["jffs2", "yaffs2"], "read_ahead_KiB": [4]}}"#;
        let changed = Experiment::parse_with(text, "x", Some(&Change::of(json).unwrap())).unwrap();
        let names: Vec<&str> = changed.axes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, changed.variants.len()), (vec!["uptime_us", "fs", "read_ahead_KiB"], 4));
        assert_eq!(changed.variants[3].name, "uptime_us=2, fs=yaffs2, read_ahead_KiB=4");
        assert_eq!(changed.variants[0].seed, 7);
        let fixed = Change::of(r#"{"stack": {"read_ahead_KiB": 8}}"#).unwrap();
        let fixed = Experiment::parse_with(text, "x", Some(&fixed)).unwrap();
        assert_eq!((fixed.axes.len(), fixed.variants[0].stack.linux().unwrap().read_ahead_kib), (0, Some(8)));
        let chosen = Change::of(r#"{"points": [[1], [0], [1]], "axes": {"read_ahead_KiB": [4, 8]}}"#).unwrap();
        let chosen = Experiment::parse_with(text, "x", Some(&chosen)).unwrap();
        let names: Vec<&str> = chosen.variants.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(names, ["read_ahead_KiB=8", "read_ahead_KiB=4", "read_ahead_KiB=8"]);
        // YAFFS2 knows no compression: the axis is left out there, and so is the key that the file has for the others.
        let json = r#"{"stack": {"compression": "lzo"}, "axes": {"fs": ["ubifs", "yaffs2"], "compression": ["zlib"]},
                       "points": [[0, 0, 0], [0, 1, null]]}"#;
        let left_out = Experiment::parse_with(text, "x", Some(&Change::of(json).unwrap())).unwrap();
        let names: Vec<&str> = left_out.variants.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(names, ["read_ahead_KiB=0, fs=ubifs, compression=zlib", "read_ahead_KiB=0, fs=yaffs2"]);
        for none in [r#"{"points": [[2]]}"#, r#"{"points": [[0, 0]]}"#, r#"{"points": []}"#] {
            assert!(Experiment::parse_with(text, "x", Some(&Change::of(none).unwrap())).is_err(), "{none}");
        }
        assert!(Change::of(r#"{"points": [0]}"#).is_err() && Change::of(r#"{"points": [[-1]]}"#).is_err());
        let wrong = Change::of(r#"{"axes": {"partition_block": [1]}}"#).unwrap();
        let said = Experiment::parse_with(text, "x", Some(&wrong)).unwrap_err().to_string();
        assert!(said.starts_with("x: ") && said.contains("partition_block"), "{said}");
    }
}
