//! What programs give as data: experiments, stacks, and what holds in place of what a file says. It is checked by the reader of
//! files, and written as the TOML that people write where one is wanted.

use crate::error::LabError;
use ffslab_text::toml_text::toml_error;
use serde::ser::{Error, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::Value;
use toml::de::{DeTable, DeValue};
use toml::Spanned;
pub use toml::Table;

/// A value that a program gives. Tables keep the order of their keys, which is that of an experiment's axes.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// TOML has none: a key without a value is left out.
    Nothing,
    Truth(bool),
    /// A number as TOML writes it, because the reader of files takes numbers from their text.
    Number(String),
    Text(String),
    List(Vec<Data>),
    Table(Vec<(String, Data)>),
}

/// An experiment as it is given: the text of a file, or data of the same shape.
#[derive(Clone, Debug)]
pub enum Written {
    Text(String),
    Data(Data),
}

impl From<&str> for Written {
    fn from(text: &str) -> Written {
        Written::Text(text.to_string())
    }
}

impl Written {
    /// Its table, and the first place behind everything that stands in it.
    ///
    /// Errors: a text that is no TOML; data that are no table, or that TOML cannot hold.
    pub(crate) fn table(&self, file_name: &str) -> Result<(DeTable<'_>, usize), LabError> {
        match self {
            Written::Text(text) => {
                let table = DeTable::parse(text).map_err(|error| toml_error(text, file_name, &error))?;
                Ok((table.into_inner(), text.len() + 1))
            }
            Written::Data(data) => {
                let mut place = 0;
                Ok((data.read_table(&mut place)?, place))
            }
        }
    }
}

impl Data {
    /// As a text of TOML is read. Keys and values get a place each from `place` on, in their order.
    ///
    /// Errors: it is no table, or holds what TOML cannot.
    pub(crate) fn read_table(&self, place: &mut usize) -> Result<DeTable<'_>, LabError> {
        let mut table = DeTable::new();
        for (key, value) in self.entries()?.iter().filter(|(_, value)| *value != Data::Nothing) {
            let key = Spanned::new(next(place), key.as_str().into());
            table.insert(key, value.read(place)?);
        }
        Ok(table)
    }

    fn read(&self, place: &mut usize) -> Result<Spanned<DeValue<'_>>, LabError> {
        let at = next(place);
        let value = match self {
            Data::Nothing => return Err(LabError::input("data: nothing stands in a list: leave it out")),
            Data::Truth(value) => DeValue::Boolean(*value),
            Data::Number(written) => match DeValue::parse(written) {
                Ok(value) => value.into_inner(),
                Err(error) => return Err(LabError::Input(format!("data: {written}: {}", error.message()))),
            },
            Data::Text(value) => DeValue::String(value.as_str().into()),
            Data::List(values) => {
                DeValue::Array(values.iter().map(|value| value.read(place)).collect::<Result<_, _>>()?)
            }
            Data::Table(_) => DeValue::Table(self.read_table(place)?),
        };
        Ok(Spanned::new(at, value))
    }

    fn entries(&self) -> Result<&[(String, Data)], LabError> {
        match self {
            Data::Table(entries) => Ok(entries),
            other => Err(LabError::Input(format!("data: must be a table of keys and values, not {other:?}"))),
        }
    }

    /// The same without the order of its keys.
    ///
    /// Errors: as those of [`toml_of`].
    pub fn to_table(&self) -> Result<Table, LabError> {
        self.entries()?;
        Table::try_from(self).map_err(|error| LabError::Input(format!("data: {error}")))
    }
}

fn next(place: &mut usize) -> std::ops::Range<usize> {
    *place += 1;
    *place - 1..*place
}

impl From<Value> for Data {
    fn from(json: Value) -> Data {
        match json {
            Value::Null => Data::Nothing,
            Value::Bool(value) => Data::Truth(value),
            Value::Number(number) => Data::Number(number.to_string()),
            Value::String(text) => Data::Text(text),
            Value::Array(values) => Data::List(values.into_iter().map(Data::from).collect()),
            Value::Object(entries) => {
                Data::Table(entries.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
        }
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Data::Nothing => serializer.serialize_none(),
            Data::Truth(value) => serializer.serialize_bool(*value),
            Data::Number(written) if written.contains(['.', 'e']) => {
                serializer.serialize_f64(written.parse().map_err(S::Error::custom)?)
            }
            Data::Number(written) => {
                let whole = written.parse().map_err(|error| S::Error::custom(format!("{written}: {error}")))?;
                serializer.serialize_i64(whole)
            }
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

/// A table as TOML, keys in their order; those whose value is nothing are left out.
///
/// Errors: it is no table; values that TOML cannot hold.
pub fn toml_of(data: &Data) -> Result<String, LabError> {
    data.entries()?;
    toml::to_string(data).map_err(|error| LabError::Input(format!("data: {error}")))
}

/// A profile as people write it in TOML: `read_us = { value = 185.065, source = "..." }` for each constant, those of
/// no table first.
///
/// Errors: as those of [`toml_of`].
pub fn profile_toml_of(data: &Data) -> Result<String, LabError> {
    let is_constant = |value: &Data| matches!(value, Data::Table(inner) if inner.iter().any(|(key, _)| key == "value"));
    let (constants, others): (Vec<_>, Vec<_>) =
        data.entries()?.iter().cloned().partition(|(_, value)| is_constant(value));
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
#[derive(Clone, Debug)]
pub struct Change {
    /// Of the same shape. A key of the stack that is nothing is taken away.
    pub(crate) new: Data,
    /// The combinations of values to run, instead of all.
    pub(crate) points: Option<Vec<Point>>,
}

impl Change {
    /// From a table. `points` is no key of an experiment: it is a list of the combinations to run: for each axis the position of its
    /// value, or nothing to leave it out.
    ///
    /// Errors: it is no table; points that cannot be.
    pub fn of(data: Data) -> Result<Change, LabError> {
        let mut entries = data.entries()?.to_vec();
        let points = entries.iter().position(|(name, _)| name == POINTS).map(|at| entries.remove(at).1);
        let points = points.map(|points| points_of(&points)).transpose()?;
        Ok(Change { new: Data::Table(entries), points })
    }

    /// Keys of the stack that do not hold any more.
    pub(crate) fn removed(&self) -> Vec<&str> {
        let entries = self.new.entries().unwrap_or_default();
        match entries.iter().find(|(name, _)| name == "stack") {
            Some((_, Data::Table(keys))) => {
                keys.iter().filter(|(_, value)| *value == Data::Nothing).map(|(key, _)| key.as_str()).collect()
            }
            _ => Vec::new(),
        }
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
        Data::Number(position) => position.parse().map(Some).map_err(|_| wrong()),
        _ => Err(wrong()),
    };
    list(points)?.iter().map(|point| list(point)?.iter().map(position).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    fn data(json: &str) -> Data {
        serde_json::from_str::<Value>(json).unwrap().into()
    }

    /// One whose keys have an order of their own.
    fn table<const N: usize>(entries: [(&str, Data); N]) -> Data {
        Data::Table(entries.map(|(key, value)| (key.to_string(), value)).to_vec())
    }

    fn read(text: &str, change: Data) -> Result<Experiment, LabError> {
        Experiment::read(&text.into(), "x", Some(&Change::of(change).unwrap()))
    }

    /// The text of a file with a change in JSON.
    fn changed(text: &str, json: &str) -> Result<Experiment, LabError> {
        read(text, data(json))
    }

    #[test]
    fn a_table_keeps_the_order_of_its_keys() {
        let json = r#"{"title": "x\u007f\n", "seed": 3, "none": null, "setup": [{"step": "mount", "hot": true}]}"#;
        let mut entries = data(json).entries().unwrap().to_vec();
        entries.push(("axes".to_string(), table([("b", data("[1, 2]")), ("a", data(r#"["x", 0.5]"#))])));
        let expected = "title = \"x\\u007F\\n\"\nseed = 3\n\n[axes]\nb = [1, 2]\na = [\"x\", 0.5]\n\n[[setup]]\n\
                        step = \"mount\"\nhot = true\n";
        let read = |text: &str| text.parse::<toml::Table>().unwrap();
        let made = toml_of(&Data::Table(entries)).unwrap();
        assert_eq!(read(&made), read(expected));
        assert!(made.find("b = ") < made.find("a = "), "{made}");
    }

    #[test]
    fn constants_of_a_profile_are_a_line_each() {
        let ecc = table([("value", data(r#""hw""#)), ("source", data(r#""x\ty""#))]);
        let read_us = [("value", data("1.5")), ("source", data(r#""s""#)), ("ci95", data("[1.0, 2.5]"))];
        let profile = table([
            ("title", data(r#""a \"b\"""#)),
            ("none", Data::Nothing),
            ("ecc", ecc),
            ("driver", table([("read_us", table(read_us))])),
            ("a b", data(r#"{"c": 1}"#)),
        ]);
        let expected =
            "title = 'a \"b\"'\n\necc = { value = \"hw\", source = \"x\\ty\" }\n\n[driver]\nread_us = { value = 1.5, \
                        source = \"s\", ci95 = [1.0, 2.5] }\n\n[\"a b\"]\nc = 1\n";
        assert_eq!(profile_toml_of(&profile).unwrap(), expected);
        expected.parse::<toml::Table>().unwrap();
        assert!(profile_toml_of(&data("[]")).is_err());
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for json in ["1", "[]", r#"{"a": 18446744073709551615}"#, r#"{"a": [null]}"#] {
            assert!(matches!(toml_of(&data(json)), Err(LabError::Input(_))), "{json}");
            assert!(
                matches!(Experiment::read(&Written::Data(data(json)), "x", None), Err(LabError::Input(_))),
                "{json}"
            );
        }
    }

    #[test]
    fn data_have_no_lines_and_an_error_names_table_and_key() {
        let with = |stack: &str, step: &str| {
            let data = format!(r#"{{"title": "x", "stack": {stack}, "measure": [{step}]}}"#);
            Experiment::read(&Written::Data(self::data(&data)), "<x>", None).unwrap_err().to_string()
        };
        let wrong = |stack: &str| with(stack, r#"{"step": "sync"}"#);
        let stack = |last: &str| format!(r#"{{"board": "omap3evm", "fs": "ubifs", {last}}}"#);
        let said = wrong(&stack(r#""partition_block": 160"#));
        assert!(said.starts_with("<x>: unknown key `partition_block`: did you mean `partition_blocks`?"), "{said}");
        let said = wrong(&stack(r#""partition_blocks": "many""#));
        assert!(said.starts_with("<x>: [stack] partition_blocks: invalid type: string \"many\""), "{said}");
        let said = wrong(&stack(r#""partition_blocks": 9, "policy": {"victim": 3}"#));
        assert!(said.starts_with("<x>: [stack.policy] victim: "), "{said}");
        let said = with(&stack(r#""partition_blocks": 9"#), r#"{"step": "create", "file": 3}"#);
        assert!(said.starts_with("<x>: measure step 1 (create): file: invalid type: integer `3`"), "{said}");
    }

    #[test]
    fn a_change_takes_the_place_of_what_the_file_says() {
        let text =
            "title = \"x\"\nstack = { board = \"omap3evm\", fs = \"ubifs\", partition_blocks = 9, image = \"a\" }\n\
                    measure = [{ step = \"mount\" }]\n";
        let json = r#"{"stack": {"partition_blocks": 160, "image": null, "endian": "big"}}"#;
        let stack = &changed(text, json).unwrap().variants[0].stack;
        let keys = stack.linux().unwrap();
        assert_eq!((keys.partition_blocks, keys.image.as_deref()), (160, None));
        assert_eq!(keys.fs, "ubifs");
        let said = changed(text, r#"{"stack": {"partition_block": 160}}"#).unwrap_err().to_string();
        assert!(said.starts_with("x:2: ") && said.contains("partition_block"), "{said}");
    }

    #[test]
    fn a_change_adds_axes_in_its_order_and_replaces_what_stands_at_the_top() {
        let text = "title = \"x\"\nseed = 2\nstack = { board = \"omap3evm\", fs = \"ubifs\", partition_blocks = 90 }\n\
                    measure = [{ step = \"mount\" }]\naxes = { read_ahead_KiB = [0, 128] }\n";
        let axes = [("uptime_us", "[1, 2]"), ("fs", r#"["jffs2", "yaffs2"]"#), ("read_ahead_KiB", "[4]")];
        let axes = table(axes.map(|(name, values)| (name, data(values))));
        let varied = read(text, table([("seed", data("7")), ("axes", axes)])).unwrap();
        let names: Vec<&str> = varied.axes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, varied.variants.len()), (vec!["uptime_us", "fs", "read_ahead_KiB"], 4));
        assert_eq!(varied.variants[3].name, "uptime_us=2, fs=yaffs2, read_ahead_KiB=4");
        assert_eq!(varied.variants[0].seed, 7);
        let fixed = changed(text, r#"{"stack": {"read_ahead_KiB": 8}}"#).unwrap();
        assert_eq!((fixed.axes.len(), fixed.variants[0].stack.linux().unwrap().read_ahead_kib), (0, Some(8)));
        let chosen = changed(text, r#"{"points": [[1], [0], [1]], "axes": {"read_ahead_KiB": [4, 8]}}"#).unwrap();
        let names: Vec<&str> = chosen.variants.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(names, ["read_ahead_KiB=8", "read_ahead_KiB=4", "read_ahead_KiB=8"]);
        // YAFFS2 knows no compression: the axis is left out there, and so is the key that the file has for the others.
        let json = r#"{"stack": {"compression": "lzo"}, "axes": {"fs": ["ubifs", "yaffs2"], "compression": ["zlib"]},
                       "points": [[0, 0, 0], [0, null, 1]]}"#;
        let left_out = changed(text, json).unwrap();
        let names: Vec<&str> = left_out.variants.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(names, ["read_ahead_KiB=0, compression=zlib, fs=ubifs", "read_ahead_KiB=0, fs=yaffs2"]);
        for none in [r#"{"points": [[2]]}"#, r#"{"points": [[0, 0]]}"#, r#"{"points": []}"#] {
            assert!(changed(text, none).is_err(), "{none}");
        }
        for none in [r#"{"points": [0]}"#, r#"{"points": [[-1]]}"#, "[]"] {
            assert!(Change::of(data(none)).is_err(), "{none}");
        }
        let said = changed(text, r#"{"axes": {"partition_block": [1]}}"#).unwrap_err().to_string();
        assert!(said.starts_with("x: ") && said.contains("partition_block"), "{said}");
    }
}
