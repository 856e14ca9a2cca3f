//! The step that does other steps again and again, the condition at which it ends, and names that count in it.

use super::checks::nonzero;
use super::error::StepError;
use super::*;
use ffslab_text::quantity::Micros;
use schemars::{json_schema, Schema, SchemaGenerator};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Rounds after which a loop with `until` alone is given up.
const ROUNDS_MAX: u64 = 1_000_000;
/// What the seeds of a loop's steps are raised by for one repetition of the loop as a whole: more than a loop has rounds.
const SEEDS_OF_A_LOOP: u64 = 1 << 32;
/// The steps that cannot be in a loop, and why.
const ALONE: &[(&str, &str)] = &[
    ("fio", "its files are laid out before the measurement: put it behind the loop, or let the job file repeat it"),
    ("stage", "a boot has each of its stages once: write them out"),
    ("save_image", "each round would write the same file: put it behind the loop"),
];

step_keys! {
    /// Does its steps in order, again and again: `times`, or until a condition holds, or whichever comes first. A run of
    /// `#` in `file`, `to` or `dir` of its steps counts: each round has the next number, from 0, the same in all of its
    /// steps, and later loops with the same name go on. Steps that draw random numbers draw others in each round.
    Repeat {
        /// How many rounds; absent only together with `until`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        times: Option<u64>,
        /// The condition at which it ends, looked at before each round: of the free space, "free <= 10 %" or "free >= 4 MiB",
        /// of what df(1) shows under Use%, "df >= 90 %", or of the virtual time since the loop began, "time >= 10 min".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<EndsWhen>,
        /// Where the free space is looked at, if several file systems are mounted: a path in one of them; "" is the root.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        at: String,
        /// A loop without `times` that has gone on for so many rounds is an error; absent: 1,000,000.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rounds_max: Option<u64>,
        /// What it does in each round: tables with a key `step`.
        #[serde(default)]
        steps: Vec<Step>,
    }
    /// Deletes the files of a directory that were changed longest ago, as a program does that needs room: it reads the directory
    /// and asks when each file was changed. Of files of the same second the first by name goes.
    UnlinkOldest {
        dir: String,
        /// Names of the files that may go, with a `*` for any letters; absent: all.
        #[serde(default = "any_name", skip_serializing_if = "is_any_name")]
        name: String,
        /// How many go.
        #[serde(default = "super::default_repetitions")]
        count: u64,
    }
}

fn any_name() -> String {
    "*".to_string()
}

fn is_any_name(name: &str) -> bool {
    name == "*"
}

/// What a condition looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Watched {
    /// Free bytes.
    FreeBytes,
    /// Free space in per cent of all.
    FreePercent,
    /// Used space in per cent of all, as df(1) rounds it.
    DfPercent,
    /// Virtual time since the loop began, in microseconds.
    TimeUs,
}

/// A condition at which a loop ends, such as "free <= 10 %".
#[derive(Clone, Debug, PartialEq)]
pub struct EndsWhen {
    text: String,
    pub watched: Watched,
    sign: &'static str,
    value: f64,
}

const SIGNS: [&str; 4] = ["<=", ">=", "<", ">"];
const FORMS: &str = "\"free <= 10 %\", \"free >= 4 MiB\", \"df >= 90 %\" or \"time >= 10 min\"";

impl EndsWhen {
    /// Whether a value of what is watched fulfils it.
    pub fn holds(&self, value: f64) -> bool {
        match self.sign {
            "<=" => value <= self.value,
            ">=" => value >= self.value,
            "<" => value < self.value,
            _ => value > self.value,
        }
    }
}

impl fmt::Display for EndsWhen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for EndsWhen {
    type Err = String;

    fn from_str(text: &str) -> Result<EndsWhen, String> {
        let wrong = || format!("until = \"{text}\" is not understood: write {FORMS}");
        let sign = SIGNS.into_iter().find(|sign| text.contains(sign)).ok_or_else(wrong)?;
        let (name, amount) = text.split_once(sign).ok_or_else(wrong)?;
        let (name, amount) = (name.trim(), amount.trim());
        let percent = amount.strip_suffix('%').map(|number| number.trim().parse::<f64>());
        let (watched, value) = match (name, percent) {
            ("free", Some(Ok(value))) => (Watched::FreePercent, value),
            ("df", Some(Ok(value))) => (Watched::DfPercent, value),
            ("free", None) => (Watched::FreeBytes, Bytes::from_text(amount)?.0 as f64),
            ("time", None) => (Watched::TimeUs, Micros::from_text(amount)?.0 as f64),
            _ => return Err(wrong()),
        };
        if matches!(watched, Watched::FreePercent | Watched::DfPercent) && !(0.0..=100.0).contains(&value) {
            return Err(format!("until = \"{text}\": it must be 0 to 100 %"));
        }
        Ok(EndsWhen { text: text.to_string(), watched, sign, value })
    }
}

impl Serialize for EndsWhen {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for EndsWhen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for EndsWhen {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "EndsWhen".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

impl Repeat {
    /// How many rounds it goes at most.
    pub fn rounds_max(&self) -> u64 {
        self.times.or(self.rounds_max).unwrap_or(ROUNDS_MAX)
    }

    /// What a loop says that would go on for ever. `now`: how what it watches stands.
    pub fn endless(&self, now: &str) -> String {
        let until = self.until.as_ref().map(ToString::to_string).unwrap_or_default();
        format!(
            "it has gone {} rounds, and until = \"{until}\" does not hold ({now}): its steps do not bring that about, or \
             rounds_max must be more",
            self.rounds_max()
        )
    }

    /// For messages: what it is told to do.
    pub fn title(&self) -> String {
        match (self.times, &self.until) {
            (Some(times), None) => format!("repeat {times} times"),
            (None, Some(until)) => format!("repeat until {until}"),
            (Some(times), Some(until)) => format!("repeat {times} times or until {until}"),
            (None, None) => "repeat".to_string(),
        }
    }

    /// Calls of all rounds, where their number is said.
    pub(super) fn calls(&self) -> u64 {
        let round = self.steps.iter().map(Step::calls).fold(0, u64::saturating_add);
        round.saturating_mul(self.times.unwrap_or(1)).max(1)
    }

    pub(super) fn shift_seeds(&mut self, by: u64) {
        self.steps.iter_mut().for_each(|step| step.shift_seed(by.wrapping_mul(SEEDS_OF_A_LOOP)));
    }

    pub(super) fn check(&self) -> Result<(), StepError> {
        match (self.times, &self.until) {
            (None, None) => return Err(StepError::NoEnd),
            (Some(_), _) if self.rounds_max.is_some() => return Err(StepError::TwoLimits),
            (Some(times), _) => nonzero("times", times)?,
            (None, Some(_)) => nonzero("rounds_max", self.rounds_max())?,
        }
        if self.steps.is_empty() {
            return Err(StepError::NothingRepeated);
        }
        for (i, step) in self.steps.iter().enumerate() {
            let number = i + 1;
            if let Some((name, why)) = ALONE.iter().find(|(name, _)| *name == step.name()) {
                return Err(StepError::NotInLoop { number, name, why });
            }
            let wrong = |why| StepError::InLoop { number, title: step.title(), why: Box::new(why) };
            step.check().map_err(wrong)?;
            let counts_twice =
                |path: &String| path.split(|letter| letter != '#').filter(|run| !run.is_empty()).count() > 1;
            if let Some(name) = step.paths().into_iter().find(counts_twice) {
                return Err(wrong(StepError::TwoNumbers { name }));
            }
        }
        Ok(())
    }
}

impl UnlinkOldest {
    /// Whether a file with this name may go.
    pub fn means(&self, name: &str) -> bool {
        let (before, after) = self.name.split_once('*').unwrap_or((&self.name, ""));
        name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
    }

    pub(super) fn check(&self) -> Result<(), StepError> {
        nonzero("count", self.count)?;
        if self.name.matches('*').count() != 1 || self.name.contains('/') {
            return Err(StepError::Starred { name: self.name.clone() });
        }
        Ok(())
    }
}

impl Step {
    /// The steps of a loop, which is one step.
    pub fn inner(&self) -> &[Step] {
        match self {
            Step::Repeat(repeat) => &repeat.steps,
            _ => &[],
        }
    }

    /// The step, and all steps that it has in loops.
    pub fn each(&self) -> Vec<&Step> {
        let inner = self.inner().iter().flat_map(Step::each);
        std::iter::once(self).chain(inner).collect()
    }

    /// Whether a name in a loop of it counts.
    pub fn counts(&self) -> bool {
        let counting = |step: &Step| step.paths().iter().any(|path| path.contains('#'));
        self.inner().iter().any(|step| counting(step) || step.counts())
    }

    /// The paths in the file system that the step itself names.
    pub fn paths(&self) -> Vec<String> {
        self.clone().paths_mut().into_iter().map(std::mem::take).collect()
    }

    /// The same, to be changed.
    pub fn paths_mut(&mut self) -> Vec<&mut String> {
        match self {
            Step::Create(Create { file, .. })
            | Step::Fill(Fill { file, .. })
            | Step::CreateFragmented(CreateFragmented { file, .. })
            | Step::Unlink(Unlink { file })
            | Step::Truncate(Truncate { file, .. })
            | Step::Open(Open { file, .. })
            | Step::Close(Close { file })
            | Step::Fsync(Fsync { file, .. })
            | Step::Stat(Stat { file, .. })
            | Step::Fadvise(Fadvise { file, .. })
            | Step::Trim(Trim { file, .. })
            | Step::Saturate(Saturate { file, .. })
            | Step::Occupy(Occupy { file, .. })
            | Step::Age(Age { file, .. })
            | Step::Uflip(Uflip { file, .. })
            | Step::Requests(Requests { file, .. })
            | Step::Append(Append { file, .. })
            | Step::Mmap(Mmap { file, .. })
            | Step::Sqlite(Sqlite { file, .. })
            | Step::SetXattr(SetXattr { file, .. })
            | Step::GetXattr(GetXattr { file, .. })
            | Step::ListXattr(ListXattr { file })
            | Step::RemoveXattr(RemoveXattr { file, .. })
            | Step::Symlink(Symlink { file, .. })
            | Step::Readlink(Readlink { file, .. })
            | Step::Chmod(Chmod { file, .. })
            | Step::Chown(Chown { file, .. })
            | Step::Utimens(Utimens { file, .. })
            | Step::Ftruncate(Ftruncate { file, .. })
            | Step::Fallocate(Fallocate { file, .. }) => vec![file],
            Step::Rename(Rename { file, to, .. }) | Step::Link(Link { file, to, .. }) => vec![file, to],
            Step::Mkdir(Mkdir { dir })
            | Step::Rmdir(Rmdir { dir, .. })
            | Step::Readdir(Readdir { dir })
            | Step::CopyIn(CopyIn { dir, .. })
            | Step::CreateMany(CreateMany { dir, .. })
            | Step::StatMany(StatMany { dir, .. })
            | Step::ReadMany(ReadMany { dir, .. })
            | Step::UnlinkMany(UnlinkMany { dir, .. })
            | Step::UnlinkOldest(UnlinkOldest { dir, .. }) => vec![dir],
            Step::ReadFiles(ReadFiles { files, .. }) => files.iter_mut().collect(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(text: &str) -> Result<EndsWhen, String> {
        text.parse()
    }

    #[test]
    fn a_condition_watches_space_or_time() {
        let free = condition("free <= 10 %").unwrap();
        assert_eq!((free.watched, free.holds(10.0), free.holds(10.1)), (Watched::FreePercent, true, false));
        let df = condition("df>90%").unwrap();
        assert_eq!((df.watched, df.holds(90.0), df.holds(91.0)), (Watched::DfPercent, false, true));
        let bytes = condition("free >= 4 MiB").unwrap();
        assert_eq!((bytes.watched, bytes.holds(4194304.0), bytes.holds(4194303.0)), (Watched::FreeBytes, true, false));
        let time = condition("time >= 10 min").unwrap();
        assert_eq!((time.watched, time.holds(6e8)), (Watched::TimeUs, true));
        for wrong in ["free", "free = 10 %", "fre <= 10 %", "df >= 4 MiB", "time >= 10 %", "free <= x %"] {
            assert!(condition(wrong).unwrap_err().contains("\"free <= 10 %\""), "{wrong}");
        }
        assert!(condition("df >= 101 %").unwrap_err().contains("0 to 100 %"));
        assert!(condition("free >= 4 MB").unwrap_err().contains("KiB"));
    }

    #[test]
    fn a_loop_that_could_not_run_is_refused() {
        let check = |keys: &str| {
            let step: Step = serde_json::from_str(&format!(r#"{{"step":"repeat",{keys}}}"#)).unwrap();
            step.check().map_err(|error| error.to_string())
        };
        let sync = r#""steps":[{"step":"sync"}]"#;
        assert_eq!(check(&format!(r#""times":2,{sync}"#)), Ok(()));
        assert!(check(sync).unwrap_err().contains("times"));
        assert!(check(r#""times":2"#).unwrap_err().contains("no steps"));
        assert!(check(&format!(r#""times":0,{sync}"#)).unwrap_err().contains("times is 0"));
        assert!(check(&format!(r#""times":2,"rounds_max":3,{sync}"#)).unwrap_err().contains("rounds_max"));
        assert!(check(r#""times":2,"steps":[{"step":"save_image","file":"x"}]"#)
            .unwrap_err()
            .contains("behind the loop"));
        let nested = r#""times":2,"steps":[{"step":"repeat","times":1,"steps":[{"step":"create","file":"x","bytes":1,"request_B":0}]}]"#;
        assert_eq!(
            check(nested).unwrap_err(),
            "its step 1 (repeat 1 times): its step 1 (create \"x\"): request_B is 0: it must be at least 1"
        );
        let two = r##""times":2,"steps":[{"step":"unlink","file":"#a#"}]"##;
        assert!(check(two).unwrap_err().contains("one run of #"));
    }

    #[test]
    fn the_oldest_of_some_names_can_be_meant() {
        let step: UnlinkOldest = serde_json::from_str(r#"{"dir":"DCIM","name":"p*.jpg"}"#).unwrap();
        assert!(step.means("p1.jpg") && step.means("p.jpg") && !step.means("q1.jpg") && !step.means("p.jp"));
        let wrong: UnlinkOldest = serde_json::from_str(r#"{"dir":"DCIM","name":"p"}"#).unwrap();
        assert!(wrong.check().unwrap_err().to_string().contains("one *"));
    }

    #[test]
    fn each_round_and_each_repetition_draw_their_own() {
        let mut step: Step = serde_json::from_str(
            r#"{"step":"repeat","times":2,"steps":[{"step":"age","file":"f","overwrites":1.0,"seed":5}]}"#,
        )
        .unwrap();
        step.shift_seed(1);
        assert!(matches!(&step.inner()[0], Step::Age(age) if age.seed == 5 + SEEDS_OF_A_LOOP));
    }
}
