//! The key `initial`: an initial state in one line, such as `"filled 60 %, saturated"`.

use ffslab_text::{Bytes, Micros};
use ffslab_workload::steps::{Age, Create, CreateFragmented, Mount, Occupy, Saturate, Sleep, Sync, Unlink};
use ffslab_workload::Step;
use serde::de::value::{Error, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::Deserialize;

/// Name of the file that `filled` and `df` write and `aged` overwrites.
const FILLED: &str = "filled";
/// Name of the file that `fragmented` writes.
const FRAGMENTED: &str = "fragmented";
/// Name of the file that `dirty` writes and deletes.
const DIRTY: &str = "dirty";
const FORMS: &str =
    "\"saturated\", \"filled 60 %\", \"df 90 %\", \"dirty 20 MiB\", \"aged 3\", \"fragmented 5 MiB\", or several with \
                     commas between them; \"settled\" (a new partition whose blocks are made usable before the \
                     measurement; what holds without the key) or \"fresh\" (they are not) alone";
/// What the key says where nothing is made: a new partition is made usable before anything is measured.
pub(super) const SETTLED: &str = "settled";
/// The same, but the blocks of a new partition are made usable while the measurement runs already.
const FRESH: &str = "fresh";

/// Whether a new partition is to be made usable before the measurement. `None`: the key is not there.
pub(super) fn settles(text: Option<&str>) -> bool {
    text.map(str::trim) != Some(FRESH)
}

/// The same for a machine whose calls are made from outside, which has no steps that could make a state.
///
/// Errors: the text is neither.
pub fn session_settles(text: &str) -> Result<bool, String> {
    if [SETTLED, FRESH].contains(&text.trim()) {
        Ok(settles(Some(text)))
    } else {
        Err(format!(
            "initial = \"{text}\": must be \"settled\" (the blocks of a new partition are made usable before its first \
             use) or \"fresh\" (they are not); other states are made by the steps of an experiment or of a setup"
        ))
    }
}

/// Time in which JFFS2 erases the blocks of a new partition and writes their clean markers, at 14 blocks a second on
/// the OMAP3 board. Until then these blocks are not free but wait to be erased.
const SETTLES_US: Micros = Micros(300_000_000);

/// The setup steps that `text` stands for: a mount, time to settle, the steps of each part, and a sync, so that no data
/// of these steps wait in memory to be written. The caches stay as warm as these steps leave them.
///
/// Errors: what is wrong with the text, and what would be right.
pub fn steps(text: &str) -> Result<Vec<Step>, String> {
    if [SETTLED, FRESH].contains(&text.trim()) {
        return Ok(Vec::new());
    }
    let mut steps = vec![Step::Mount(Mount { options: Vec::new() }), Step::Sleep(Sleep { time_us: SETTLES_US })];
    let mut filled = false;
    for part in text.split(',').map(str::trim) {
        let (word, amount) = part.split_once(' ').map_or((part, ""), |(word, amount)| (word, amount.trim()));
        let wrong = || format!("initial = \"{text}\": \"{part}\" is not understood: write {FORMS}");
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(wrong);
        let size = || {
            let amount: StrDeserializer<Error> = amount.into_deserializer();
            Bytes::deserialize(amount).map(|bytes| bytes.0).map_err(|error| format!("initial: {error}"))
        };
        let step = match word {
            "saturated" if amount.is_empty() => Step::Saturate(defaults::<Saturate>("")?),
            "filled" | "df" => {
                filled = true;
                let percent = number(amount.strip_suffix('%').ok_or_else(wrong)?)?;
                let of = if word == "df" { r#", "of": "df""# } else { "" };
                Step::Occupy(defaults::<Occupy>(&format!(r#""file": "{FILLED}", "percent": {percent}{of}"#))?)
            }
            "aged" if !filled => {
                let text = "\"aged\" overwrites what \"filled\" or \"df\" wrote, write \"filled 60 %, aged 3\"";
                return Err(format!("initial: {text}"));
            }
            "aged" => {
                let overwrites = number(amount)?;
                Step::Age(defaults::<Age>(&format!(r#""file": "{FILLED}", "overwrites": {overwrites}"#))?)
            }
            "fragmented" => {
                let keys = format!(r#""file": "{FRAGMENTED}", "bytes": {}"#, size()?);
                Step::CreateFragmented(defaults::<CreateFragmented>(&keys)?)
            }
            "dirty" => {
                let keys = format!(r#""file": "{DIRTY}", "bytes": {}"#, size()?);
                // Without the sync the data would still be in memory when the file is deleted, and would never be
                // written.
                steps.extend([Step::Create(defaults::<Create>(&keys)?), Step::Sync(Sync {})]);
                Step::Unlink(Unlink { file: DIRTY.to_string() })
            }
            _ => return Err(wrong()),
        };
        step.check().map_err(|error| format!("initial = \"{text}\": {error}"))?;
        steps.push(step);
    }
    // Without the sync, data that are still in memory would be written during the measured steps.
    steps.push(Step::Sync(Sync {}));
    Ok(steps)
}

/// A step with the given keys, in JSON, and the defaults of all other keys.
fn defaults<T: DeserializeOwned>(keys: &str) -> Result<T, String> {
    serde_json::from_str(&format!("{{{keys}}}")).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_workload::steps::ShareOf;

    #[test]
    fn one_line_stands_for_several_steps() {
        let names = |text| steps(text).unwrap().iter().map(Step::title).collect::<Vec<_>>();
        assert_eq!(names("saturated"), ["mount", "sleep", "saturate \"saturating\"", "sync"]);
        let several = "filled 60 %, aged 2.5, saturated, fragmented 5 MiB";
        let titles = [
            "mount",
            "sleep",
            "occupy \"filled\"",
            "age \"filled\"",
            "saturate \"saturating\"",
            "create_fragmented \"fragmented\"",
            "sync",
        ];
        assert_eq!(names(several), titles);
        let made = steps(several).unwrap();
        assert!(matches!(&made[2], Step::Occupy(step) if step.percent == 60.0));
        assert!(matches!(&made[3], Step::Age(step) if step.overwrites == 2.5));
        assert!(
            matches!(&steps("df 90 %").unwrap()[2], Step::Occupy(step) if step.of == ShareOf::Df && step.percent == 90.0)
        );
        assert!(matches!(&made[5], Step::CreateFragmented(step) if step.bytes.0 == 5 << 20));
        let beside = ["mount", "sleep", "occupy \"filled\"", "create \"dirty\"", "sync", "unlink \"dirty\"", "sync"];
        assert_eq!(names("filled 60 %, dirty 20 MiB"), beside);
    }

    #[test]
    fn a_new_partition_is_settled_unless_it_is_said_to_be_fresh() {
        assert!(settles(None) && settles(Some("settled")) && settles(Some("filled 60 %")) && !settles(Some("fresh")));
        assert!(steps("settled").unwrap().is_empty() && steps("fresh").unwrap().is_empty());
        assert!(session_settles("settled").unwrap() && !session_settles("fresh").unwrap());
        assert!(session_settles("filled 60 %").unwrap_err().contains("must be \"settled\""));
        assert!(steps("fresh, saturated").unwrap_err().contains("\"fresh\" (they are not) alone"));
    }

    #[test]
    fn what_is_not_understood_is_answered_with_the_forms() {
        for text in [
            "",
            "full",
            "filled 60",
            "filled %",
            "filled 60 %, aged",
            "saturated twice",
            "filled nan%",
            "dirty 20",
            "df 90",
        ] {
            let error = steps(text).unwrap_err();
            assert!(error.starts_with("initial"), "{error}");
        }
        assert!(steps("full").unwrap_err().contains("write \"saturated\", \"filled 60 %\""));
        assert!(steps("aged 3").unwrap_err().contains("write \"filled 60 %, aged 3\""));
        assert!(steps("filled 120 %").unwrap_err().contains("percent is 120"));
    }
}
