//! The civil calendar in UTC, for the dates that file systems keep and lists show.

const DAY_S: i64 = 86_400;

/// Year, month and day (both from 1), and hour, minute and second.
pub type CivilTime = ((i64, u8, u8), (u8, u8, u8));

/// The date and time of seconds since 1970, which may be negative.
pub fn civil_time(unix_s: i64) -> CivilTime {
    let (days, second) = (unix_s.div_euclid(DAY_S), unix_s.rem_euclid(DAY_S));
    // Years are counted in eras of 400, in which the leap years repeat, and begin in March, so that the day which only
    // leap years have is the last one.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let time = (second / 3_600, second / 60 % 60, second % 60);
    ((year, month as u8, day as u8), (time.0 as u8, time.1 as u8, time.2 as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_their_dates() {
        for (unix_s, expected) in [
            (0, ((1970, 1, 1), (0, 0, 0))),
            (-1, ((1969, 12, 31), (23, 59, 59))),
            (951_782_400, ((2000, 2, 29), (0, 0, 0))),
            (1_293_840_000 + 3_723, ((2011, 1, 1), (1, 2, 3))),
            (4_107_542_400, ((2100, 3, 1), (0, 0, 0))),
        ] {
            assert_eq!(civil_time(unix_s), expected, "{unix_s}");
        }
    }
}
