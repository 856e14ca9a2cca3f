//! Which decisions there are of the kind that takes a score.

use crate::decision::Decision;
use crate::eviction::MAP_EVICTION;
use crate::free::FREE;
use crate::levelling::LEVELLING;
use crate::read_ahead::READ_AHEAD;
use crate::stream::STREAM;
use crate::write_back::WRITE_BACK;

/// All of them.
pub static DECISIONS: [&Decision; 6] = [&FREE, &LEVELLING, &STREAM, &MAP_EVICTION, &READ_AHEAD, &WRITE_BACK];
