//! The key `initial`: an initial state in one line, such as `"filled 60 %, saturated"`.

use ffslab_workload::steps::{Age, CreateFragmented, Mount, Occupy, Saturate};
use ffslab_workload::{Bytes, Step};
use serde::de::value::{Error, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::Deserialize;

/// File of `filled`, which `aged` overwrites.
const FILLED: &str = "filled";
/// File of `fragmented`.
const FRAGMENTED: &str = "fragmented";
const FORMS: &str =
    "\"saturated\", \"filled 60 %\", \"aged 3\", \"fragmented 5 MiB\", or several with commas between them";

/// The setup steps that `text` stands for: a mount, and one step for each part.
///
/// Errors: what is wrong, and what would be right.
pub fn steps(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = vec![Step::Mount(Mount { options: Vec::new() })];
    let mut filled = false;
    for part in text.split(',').map(str::trim) {
        let (word, amount) = part.split_once(' ').map_or((part, ""), |(word, amount)| (word, amount.trim()));
        let wrong = || format!("initial = \"{text}\": \"{part}\" is not understood: write {FORMS}");
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
        let step = match word {
            "saturated" if amount.is_empty() => Step::Saturate(defaults::<Saturate>("")?),
            "filled" => {
                filled = true;
                let percent = number(amount.strip_suffix('%').ok_or_else(wrong)?)?;
                Step::Occupy(defaults::<Occupy>(&format!(r#""file": "{FILLED}", "percent": {percent}"#))?)
            }
            "aged" if !filled => {
                let text = "\"aged\" overwrites what \"filled\" wrote, write \"filled 60 %, aged 3\"";
                return Err(format!("initial: {text}"));
            }
            "aged" => {
                let overwrites = number(amount)?;
                Step::Age(defaults::<Age>(&format!(r#""file": "{FILLED}", "overwrites": {overwrites}"#))?)
            }
            "fragmented" => {
                let amount: StrDeserializer<Error> = amount.into_deserializer();
                let bytes = Bytes::deserialize(amount).map_err(|error| format!("initial: {error}"))?.0;
                let keys = format!(r#""file": "{FRAGMENTED}", "bytes": {bytes}"#);
                Step::CreateFragmented(defaults::<CreateFragmented>(&keys)?)
            }
            _ => return Err(wrong()),
        };
        step.check().map_err(|error| format!("initial = \"{text}\": {error}"))?;
        steps.push(step);
    }
    Ok(steps)
}

/// A step with these keys (JSON) and the defaults of all others.
fn defaults<T: DeserializeOwned>(keys: &str) -> Result<T, String> {
    serde_json::from_str(&format!("{{{keys}}}")).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_stands_for_several_steps() {
        let names = |text| steps(text).unwrap().iter().map(Step::title).collect::<Vec<_>>();
        assert_eq!(names("saturated"), ["mount", "saturate \"saturating\""]);
        let several = "filled 60 %, aged 2.5, saturated, fragmented 5 MiB";
        let titles = [
            "mount",
            "occupy \"filled\"",
            "age \"filled\"",
            "saturate \"saturating\"",
            "create_fragmented \"fragmented\"",
        ];
        assert_eq!(names(several), titles);
        let made = steps(several).unwrap();
        assert!(matches!(&made[1], Step::Occupy(step) if step.percent == 60.0));
        assert!(matches!(&made[2], Step::Age(step) if step.overwrites == 2.5));
        assert!(matches!(&made[4], Step::CreateFragmented(step) if step.bytes.0 == 5 << 20));
    }

    #[test]
    fn what_is_not_understood_is_answered_with_the_forms() {
        for text in ["", "full", "filled 60", "filled %", "filled 60 %, aged", "saturated twice", "filled nan%"] {
            let error = steps(text).unwrap_err();
            assert!(error.starts_with("initial"), "{error}");
        }
        assert!(steps("full").unwrap_err().contains("write \"saturated\", \"filled 60 %\""));
        assert!(steps("aged 3").unwrap_err().contains("write \"filled 60 %, aged 3\""));
        assert!(steps("filled 120 %").unwrap_err().contains("percent is 120"));
    }
}
