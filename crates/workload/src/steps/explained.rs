//! What people read of steps beside their keys: an example of each, and what the keys mean that many steps share.

use schemars::transform::Transform;
use schemars::Schema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// One example of each step, in the order of the steps, as people write them.
const EXAMPLES: &str = include_str!("examples.toml");

/// The keys that mean the same in every step that has them.
const SHARED_KEYS: &[(&str, &str)] = &[
    ("file", "Path of the file, relative to the mount point."),
    ("dir", "Path of the directory, relative to the mount point; \"\" is the root."),
    ("to", "The new path, relative to the mount point."),
    ("bytes", "Size of the file."),
    ("request_B", "Bytes of one write."),
    ("content", "The bytes that are written; absent: random."),
    (
        "content_file",
        "Instead of `content`: a file of this computer, relative to the experiment, whose bytes are written, over and over; \
         each write goes on where the last one with this file ended.",
    ),
    ("count", "Number of files."),
    ("name", "The full name of the attribute, as \"user.comment\"."),
    ("seed", "Seed of the random numbers."),
];

/// Puts the examples and the meaning of shared keys into the JSON Schema of the steps.
#[derive(Clone, Copy, Debug)]
pub struct Explained;

impl Transform for Explained {
    fn transform(&mut self, schema: &mut Schema) {
        let steps = schema.pointer_mut("/$defs/Step/oneOf").and_then(Value::as_array_mut);
        for (step, example) in steps.into_iter().flatten().zip(examples()) {
            let Some(step) = step.as_object_mut() else { continue };
            step.insert("examples".to_string(), Value::from(vec![Value::Object(example)]));
            if let Some(Value::Object(keys)) = step.get_mut("properties") {
                keys.iter_mut().for_each(|(key, property)| explain(key, property));
            }
        }
    }
}

/// Says what a shared key means, unless the step says so itself. What the schema of sizes says of how they are written
/// is said of all keys of that kind and is no meaning.
fn explain(key: &str, property: &mut Value) {
    let Some(property) = property.as_object_mut() else { return };
    let of_kind = property.get("description").is_some_and(|text| text == ffslab_text::quantity::HOW_SIZES_ARE_WRITTEN);
    if property.contains_key("description") && !of_kind {
        return;
    }
    if let Some((_, meaning)) = SHARED_KEYS.iter().find(|(name, _)| *name == key) {
        property.insert("description".to_string(), Value::from(*meaning));
    }
}

/// The keys of each example, in the order of the steps.
fn examples() -> Vec<Map<String, Value>> {
    #[derive(Deserialize)]
    struct Examples {
        step: Vec<Map<String, Value>>,
    }
    let read: Examples = toml::from_str(EXAMPLES).expect("the examples are a list of tables");
    read.step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::Step;

    #[test]
    fn each_step_has_an_example_that_is_valid() {
        let examples = examples();
        let names: Vec<&str> = examples.iter().filter_map(|keys| keys["step"].as_str()).collect();
        assert_eq!(names, Step::NAMES);
        for keys in examples {
            let step: Step = serde_json::from_value(Value::Object(keys.clone())).expect("it is a step");
            assert_eq!(step.check(), Ok(()), "{keys:?}");
        }
    }

    #[test]
    fn every_step_and_every_key_says_what_it_means() {
        let mut schema = schemars::schema_for!(Step).to_value();
        let mut root = Schema::try_from(serde_json::json!({ "$defs": { "Step": schema.take() } })).unwrap();
        Explained.transform(&mut root);
        for step in root.pointer("/$defs/Step/oneOf").unwrap().as_array().unwrap() {
            assert!(step["description"].is_string(), "{step}");
            for (key, property) in step["properties"].as_object().unwrap() {
                let text = property["description"].as_str().unwrap_or_default();
                assert!(key == "step" || !text.is_empty() && !text.starts_with("an integer"), "{key} of {step}");
            }
        }
    }
}
