//! The names that a `[stack]` table may hold, for editors: its JSON Schema lists them as they are registered.
//!
//! The types of the keys lie below the tables of file systems and media, so they only mark such a key (`x-names`), and the
//! marks are filled in here.

use crate::stack_keys::NO_FS;
use crate::{file_systems, media};
use schemars::transform::{transform_subschemas, Transform};
use schemars::Schema;
use serde_json::{json, Value};

/// The mark of a key that holds a name.
const MARK: &str = "x-names";

/// Fills in the names.
#[derive(Clone, Debug)]
pub enum NamesFilledIn {
    /// For who writes: those that can stand there.
    AllThatThereAre,
    /// For who reads: any may stand there, and the reader needs not know.
    Any,
}

impl Transform for NamesFilledIn {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(mark) = schema.remove(MARK) else { return };
        if let NamesFilledIn::AllThatThereAre = self {
            schema.insert("enum".to_string(), names_of(mark.as_str().unwrap_or_default()));
        }
    }
}

/// The names that a mark stands for.
fn names_of(mark: &str) -> Value {
    match mark {
        "file systems of linux" => {
            let mountable = file_systems::all().into_iter().filter(|fs| fs.mountable.is_some()).map(|fs| fs.name);
            json!(mountable.chain([NO_FS]).collect::<Vec<_>>())
        }
        "media of linux" => {
            let media = media::all().into_iter().filter(|medium| medium.on_linux.is_some());
            json!(media.map(|medium| Some(medium.name)).chain([None]).collect::<Vec<_>>())
        }
        "file systems of rtems" => json!(file_systems::on_rtems()),
        other => unreachable!("no key has the mark {other}"),
    }
}
