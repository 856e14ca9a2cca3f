//! Engines of error correction by name, as keys, profiles and measured cases write them. The names are those of
//! [`ffslab_mtd::ecc::ENGINES`] and stand nowhere else.

use ffslab_mtd::ecc::{Engine, ENGINES};
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;

/// Who corrects bit errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EccName(&'static Engine);

impl EccName {
    pub fn of(engine: &'static Engine) -> EccName {
        EccName(engine)
    }

    pub fn engine(self) -> &'static Engine {
        self.0
    }
}

impl Serialize for EccName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name)
    }
}

impl<'de> Deserialize<'de> for EccName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EccName, D::Error> {
        let name = String::deserialize(deserializer)?;
        let engine = ENGINES.into_iter().find(|engine| engine.name == name);
        engine.map(EccName).ok_or_else(|| {
            let known: Vec<String> = ENGINES.iter().map(|engine| format!("`{}`", engine.name)).collect();
            D::Error::custom(format!("unknown variant `{name}`, expected {}", known.join(" or ")))
        })
    }
}

impl JsonSchema for EccName {
    fn schema_name() -> Cow<'static, str> {
        "EccName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let entry = |engine: &&Engine| {
            let (name, about) = (engine.name, engine.about);
            serde_json::json!({ "description": about, "type": "string", "const": name })
        };
        let entries: Vec<Value> = ENGINES.iter().map(entry).collect();
        json_schema!({ "description": "Who corrects bit errors.", "oneOf": entries })
    }
}
