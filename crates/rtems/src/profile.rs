//! Constants of block devices, from `profiles/block-devices`, where each number stands with its source and status.

use serde::Deserialize;
use thiserror::Error;

/// What a request costs. The cost is the sum of parts per request, per command (one buffer) and per byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceProfile {
    pub title: String,
    /// Once per request: the driver's own work.
    pub request_ns: u64,
    /// Per buffer: sending the command, receiving the answer.
    pub command_ns: u64,
    /// Per read command, until the first byte comes.
    pub read_access_ns: u64,
    /// Per write command, until the device is ready again.
    pub write_busy_ns: u64,
    /// Picoseconds.
    pub read_ps_per_byte: u64,
    /// Picoseconds.
    pub write_ps_per_byte: u64,
    /// The CPU copies the bytes itself; otherwise the calling task sleeps until the device is done.
    pub occupies_cpu: bool,
    /// One request holds consecutive blocks only.
    pub consecutive_blocks: bool,
}

#[derive(Debug, Error)]
pub enum ProfileError {
    #[error("there is no {what} '{name}'; there are {known}")]
    Unknown { what: &'static str, name: String, known: String },
    #[error("{file}: {message}")]
    Bad { file: String, message: String },
}

/// Name and text of each profile.
const PROFILES: [(&str, &str); 3] = [
    ("ram-disk-beaglebone", include_str!("../../../profiles/block-devices/ram-disk-beaglebone.toml")),
    ("sd-card", include_str!("../../../profiles/block-devices/sd-card.toml")),
    ("usb-stick", include_str!("../../../profiles/block-devices/usb-stick.toml")),
];

#[derive(Deserialize)]
struct Constant<T> {
    value: T,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    request_us: Constant<f64>,
    command_us: Constant<f64>,
    read_access_us: Constant<f64>,
    write_busy_us: Constant<f64>,
    #[serde(rename = "read_ns_per_B")]
    read_ns_per_byte: Constant<f64>,
    #[serde(rename = "write_ns_per_B")]
    write_ns_per_byte: Constant<f64>,
    occupies_cpu: Constant<bool>,
    consecutive_blocks: Constant<bool>,
}

impl DeviceProfile {
    /// A RAM disk that takes no time: counts only.
    pub fn instant() -> DeviceProfile {
        DeviceProfile { title: "RAM disk without delays".into(), occupies_cpu: true, ..DeviceProfile::default() }
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        PROFILES.iter().map(|&(name, _)| name)
    }

    /// The profile of that name.
    pub fn named(name: &str) -> Result<DeviceProfile, ProfileError> {
        let Some(&(name, text)) = PROFILES.iter().find(|&&(known, _)| known == name) else {
            let known = DeviceProfile::names().collect::<Vec<_>>().join(", ");
            return Err(ProfileError::Unknown { what: "block device", name: name.into(), known });
        };
        DeviceProfile::parse(&format!("profiles/block-devices/{name}.toml"), text)
    }

    /// A profile's text; `file` names it in messages.
    pub fn parse(file: &str, text: &str) -> Result<DeviceProfile, ProfileError> {
        let file: File = toml::from_str(text)
            .map_err(|error| ProfileError::Bad { file: file.into(), message: error.message().to_string() })?;
        let ns = |us: &Constant<f64>| ffslab_sim::units::us_to_ns(us.value);
        // The function multiplies by 1000: nanoseconds become picoseconds as microseconds become nanoseconds.
        Ok(DeviceProfile {
            request_ns: ns(&file.request_us),
            command_ns: ns(&file.command_us),
            read_access_ns: ns(&file.read_access_us),
            write_busy_ns: ns(&file.write_busy_us),
            read_ps_per_byte: ns(&file.read_ns_per_byte),
            write_ps_per_byte: ns(&file.write_ns_per_byte),
            occupies_cpu: file.occupies_cpu.value,
            consecutive_blocks: file.consecutive_blocks.value,
            title: file.title,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_can_be_read() {
        for name in DeviceProfile::names() {
            let profile = DeviceProfile::named(name).unwrap();
            assert!(!profile.title.is_empty(), "{name}");
        }
        let sd = DeviceProfile::named("sd-card").unwrap();
        assert_eq!((sd.command_ns, sd.write_busy_ns, sd.read_ps_per_byte), (30_000, 1_093_000, 46_500));
        assert!(sd.consecutive_blocks && !sd.occupies_cpu);
    }

    #[test]
    fn an_unknown_device_is_told_the_known_ones() {
        let error = DeviceProfile::named("floppy").unwrap_err().to_string();
        assert_eq!(error, "there is no block device 'floppy'; there are ram-disk-beaglebone, sd-card, usb-stick");
    }
}
