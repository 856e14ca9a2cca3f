//! What is known of a step before it runs: its title, its weight in a progress bar, and values that no system could
//! run.

use super::checks::{check_order, request_size};
use super::*;
use ffslab_text::words::nearest;

/// The longest sleep of a step, as of a job file: what runs in the background wakes again and again in it.
const SLEEP_US_MAX: u64 = 366 * 86_400_000_000;

/// What people call steps that are called otherwise here.
const MEANT: &[(&[&str], &str)] = &[
    (&["write", "overwrite"], "`create`, `append`, or `requests` with op = \"write\""),
    (&["read"], "`requests` with op = \"read\", or `read_many`"),
    (&["remove", "rm"], "`unlink` for a file, `delete` for a key"),
    (&["put", "store"], "`set` for a key"),
    (&["copy", "cp"], "`copy_in`"),
    (&["mv", "move"], "`rename`"),
    (&["wait", "pause", "idle"], "`sleep`"),
    (&["power_cut", "powercut", "cut"], "`crash`"),
    (&["reboot", "power_on", "restart"], "`boot`"),
    (&["sql"], "`sqlite`"),
    (&["map", "msync", "munmap"], "`mmap`"),
    (&["loop", "for", "while"], "`repeat`"),
    (&["attach"], "`ubi_attach`"),
    (&["detach"], "`ubi_detach`"),
    (&["ubifsload", "load_files"], "`read_files`"),
    (&["nand_read", "spl"], "`read_raw`"),
];

impl Replay {
    fn check(&self) -> Result<(), StepError> {
        match self.speed {
            Some(speed) if !(speed > 0.0 && speed.is_finite()) => Err(StepError::Speed { speed }),
            Some(_) if self.think == Think::None => Err(StepError::SpeedUnused),
            _ if self.only.is_some() && self.onto.is_none() => Err(StepError::OnlyWithoutOnto),
            _ => self.check_content(),
        }
    }

    fn check_content(&self) -> Result<(), StepError> {
        match self.random_percent {
            Some(percent) if percent > 100 => Err(StepError::RandomPercent { percent }),
            Some(_) if self.content != Some(ContentName::Mix) => Err(StepError::RandomPercentWithoutMix),
            _ => Ok(()),
        }
    }
}

impl Step {
    /// What is said of a step that there is not: what was probably meant, or where all are.
    pub fn unknown(name: &str) -> String {
        let meant = MEANT.iter().find(|(words, _)| words.contains(&name)).map(|(_, meant)| (*meant).to_string());
        let meant = meant.or_else(|| nearest(name, Step::NAMES.iter().copied()).map(|near| format!("`{near}`")));
        match meant {
            Some(meant) => format!("unknown step `{name}`: did you mean {meant}?"),
            None => format!("unknown step `{name}`: `ffslab steps` lists all"),
        }
    }

    /// The name of the step and of what it works on, for messages: `create "target"`. For a path outside the simulation
    /// only its last part is shown.
    pub fn title(&self) -> String {
        let last_part = |path: &str| {
            let path = path.trim_end_matches('/');
            path.rsplit('/').next().unwrap_or(path).to_string()
        };
        let object = match self {
            Step::SaveImage(SaveImage { file, .. }) => Some(file.clone()),
            Step::Replay(Replay { file: path, .. })
            | Step::Fio(Fio { file: path, .. })
            | Step::Postmark(Postmark { file: path, .. })
            | Step::Load(Load { image: path, .. })
            | Step::CopyIn(CopyIn { from: path, .. }) => Some(last_part(path)),
            Step::MtdLoop(MtdLoop { op, .. }) => Some(op.name().to_string()),
            Step::Set(Set { name, .. }) | Step::Get(Get { name, .. }) | Step::Delete(Delete { name, .. }) => {
                Some(name.clone())
            }
            Step::Repeat(repeat) => return repeat.title(),
            Step::ReadFiles(read) => return read.title(),
            Step::Stage(Stage { name, .. }) => Some(name.clone()),
            Step::UbiRead(UbiRead { volume, .. }) => Some(volume.clone()),
            Step::ReadRaw(ReadRaw { first_block, .. }) => Some(format!("block {first_block}")),
            _ => self.paths().into_iter().next(),
        };
        object.map_or_else(|| self.name().to_string(), |object| format!("{} \"{object}\"", self.name()))
    }

    /// Raises the seed of a step that draws random numbers, so that it draws others.
    pub fn shift_seed(&mut self, by: u64) {
        if let Step::Repeat(repeat) = self {
            repeat.shift_seeds(by);
        }
        if let Step::Requests(Requests { seed, .. })
        | Step::CreateFragmented(CreateFragmented { seed, .. })
        | Step::Mmap(Mmap { seed, .. })
        | Step::Age(Age { seed, .. })
        | Step::Sqlite(Sqlite { seed, .. })
        | Step::Set(Set { seed, .. })
        | Step::Get(Get { seed, .. })
        | Step::Delete(Delete { seed, .. })
        | Step::Uflip(Uflip { seed, .. }) = self
        {
            *seed = seed.wrapping_add(by);
        }
    }

    /// Whether the step does something to the machine under all programs that run on it: no program can do it while
    /// others run.
    pub fn concerns_the_machine(&self) -> bool {
        matches!(
            self,
            Step::Mount(_)
                | Step::Umount(_)
                | Step::UbiAttach(_)
                | Step::UbiDetach(_)
                | Step::UbiMakeVolume(_)
                | Step::Crash(_)
                | Step::Boot(_)
                | Step::Format(_)
                | Step::MtdLoop(_)
                | Step::Load(_)
                | Step::Shelf(_)
                | Step::Scrub(_)
                | Step::Stage(_)
                | Step::ReadRaw(_)
                | Step::UbiRead(_)
        ) || self.inner().iter().any(Step::concerns_the_machine)
    }

    /// How many calls the step makes, as far as this follows from its keys. It is the weight of the step in a progress
    /// bar.
    pub fn calls(&self) -> u64 {
        match self {
            Step::Requests(Requests { count, .. })
            | Step::Append(Append { count, .. })
            | Step::Mmap(Mmap { count, .. })
            | Step::MtdLoop(MtdLoop { count, .. })
            | Step::Sqlite(Sqlite { count, .. })
            | Step::StatMany(StatMany { count, .. })
            | Step::ReadMany(ReadMany { count, .. })
            | Step::UnlinkMany(UnlinkMany { count, .. })
            | Step::CreateMany(CreateMany { count: Some(count), .. }) => (*count).max(1),
            Step::UnlinkOldest(UnlinkOldest { count, .. }) => (*count).max(1),
            Step::ReadFiles(ReadFiles { files, .. }) => files.len() as u64,
            Step::Repeat(repeat) => repeat.calls(),
            Step::Uflip(uflip) => uflip.count().max(1),
            Step::Set(set) => set.key_order().count.max(1),
            Step::Get(get) => get.key_order().count.max(1),
            Step::Delete(delete) => delete.key_order().count.max(1),
            Step::Create(Create { bytes, request_bytes, .. }) => bytes.0.div_ceil(request_bytes.0.max(1)).max(1),
            _ => 1,
        }
    }

    /// Whether what it writes are random bytes, which no compressor shrinks.
    pub fn writes_random(&self) -> bool {
        matches!(self.content(), Some((None, ContentName::Random)))
    }

    /// The file of this computer whose bytes the step writes, and what else it says of content, of a step that can say so.
    fn content(&self) -> Option<(Option<&String>, ContentName)> {
        let (Step::Create(Create { content_file, content, .. })
        | Step::Fill(Fill { content_file, content, .. })
        | Step::Requests(Requests { content_file, content, .. })
        | Step::Append(Append { content_file, content, .. })
        | Step::Mmap(Mmap { content_file, content, .. })
        | Step::Set(Set { content_file, content, .. })
        | Step::CreateMany(CreateMany { content_file, content, .. })) = self
        else {
            return None;
        };
        Some((content_file.as_ref(), *content))
    }

    /// The file of this computer whose bytes the step writes.
    pub fn content_file(&self) -> Option<&str> {
        self.content()?.0.map(String::as_str)
    }

    /// The same, to be replaced.
    pub fn content_file_mut(&mut self) -> Option<&mut String> {
        match self {
            Step::Create(Create { content_file, .. })
            | Step::Fill(Fill { content_file, .. })
            | Step::Requests(Requests { content_file, .. })
            | Step::Append(Append { content_file, .. })
            | Step::Mmap(Mmap { content_file, .. })
            | Step::Set(Set { content_file, .. })
            | Step::CreateMany(CreateMany { content_file, .. }) => content_file.as_mut(),
            _ => None,
        }
    }

    /// Finds values that no system could run.
    ///
    /// Errors: the key, what is wrong with it and what would be right.
    pub fn check(&self) -> Result<(), StepError> {
        match self {
            Step::Create(Create { request_bytes, .. })
            | Step::Fill(Fill { request_bytes, .. })
            | Step::Saturate(Saturate { request_bytes, .. })
            | Step::Append(Append { request_bytes, .. })
            | Step::CopyIn(CopyIn { request_bytes, .. })
            | Step::ReadMany(ReadMany { request_bytes: Some(request_bytes), .. })
            | Step::CreateMany(CreateMany { request_bytes: Some(request_bytes), .. }) => {
                request_size("request_B", *request_bytes)?;
            }
            Step::Requests(Requests { request_bytes, range_bytes, pattern, order, .. }) => {
                request_size("request_B", *request_bytes)?;
                check_order(*pattern, order)?;
                if let Some(range) = range_bytes.filter(|range| range.0 < request_bytes.0) {
                    return Err(StepError::SmallRange { range_bytes: range.0, request_bytes: request_bytes.0 });
                }
            }
            Step::Sleep(Sleep { time_us }) if time_us.0 > SLEEP_US_MAX => {
                return Err(StepError::LongSleep { time_us: time_us.0, most_us: SLEEP_US_MAX });
            }
            Step::Shelf(shelf) => shelf.check()?,
            Step::Occupy(occupy) => occupy.check()?,
            Step::Age(age) => age.check()?,
            Step::Mmap(mmap) => mmap.check()?,
            Step::Uflip(uflip) => uflip.check()?,
            Step::Replay(replay) => replay.check()?,
            Step::MtdLoop(raw) => raw.check()?,
            Step::Stage(stage) => stage.check()?,
            Step::ReadRaw(read) => read.check()?,
            Step::UbiRead(read) => read.check()?,
            Step::ReadFiles(read) => read.check()?,
            Step::Repeat(repeat) => repeat.check()?,
            Step::UnlinkOldest(oldest) => oldest.check()?,
            Step::Open(Open { flags, .. }) => {
                let access = [OpenFlag::Rdonly, OpenFlag::Wronly, OpenFlag::Rdwr];
                if flags.iter().filter(|flag| access.contains(flag)).count() != 1 {
                    return Err(StepError::Access);
                }
                let has = |flag| flags.contains(&flag);
                if has(OpenFlag::Tmpfile) && (has(OpenFlag::Create) || has(OpenFlag::Rdonly)) {
                    return Err(StepError::Tmpfile);
                }
            }
            Step::SetXattr(SetXattr { value, bytes, .. }) if value.is_some() == bytes.is_some() => {
                return Err(StepError::AttributeValue);
            }
            Step::Sqlite(Sqlite { sql, script, .. }) if sql.is_some() == script.is_some() => {
                return Err(StepError::Sql);
            }
            Step::Chmod(chmod) => chmod.check()?,
            Step::Set(set) => {
                request_size("bytes", Bytes(set.bytes.0.max(1)))?;
                set.check()?;
            }
            Step::Get(get) => get.check()?,
            Step::Delete(delete) => delete.check()?,
            Step::Load(load) => load.check()?,
            Step::SaveImage(SaveImage { file, .. })
                if file.is_empty() || file.starts_with('.') || file.contains(['/', '\\', '\0']) =>
            {
                return Err(StepError::PlainName);
            }
            _ => {}
        }
        if let Step::CreateMany(CreateMany { name, .. })
        | Step::StatMany(StatMany { name, .. })
        | Step::ReadMany(ReadMany { name, .. })
        | Step::UnlinkMany(UnlinkMany { name, .. }) = self
        {
            many::check_name(name)?;
        }
        if self.content().is_some_and(|(file, content)| file.is_some() && content != ContentName::default()) {
            return Err(StepError::Content);
        }
        if let Step::CreateMany(CreateMany { count: None, until: None, .. }) = self {
            return Err(StepError::NoCount);
        }
        Ok(())
    }
}
