//! The next request of a process: its file, direction, offset and size.

use super::{Action, Process};
use crate::fio::file::Next;
use crate::fio::job::{AdviceHint, FileOrder, Sequencer, READ, WRITE};
use crate::steps::Advice;

impl Process {
    /// Chooses a file and a request on it (`set_io_u_file`). Returns `false` when all files are done.
    pub(super) fn queue_request(&mut self) -> bool {
        while let Some(i) = self.pick_file() {
            if self.queue_request_on(i) {
                return true;
            }
            self.close(i);
            self.files[i].done = true;
            self.files_done += 1;
        }
        false
    }

    fn queue_request_on(&mut self, i: usize) -> bool {
        let direction = match self.pick_direction() {
            Next::Sync { data_only } => {
                self.queue.push_back(Action::Sync { file: i, data_only });
                return true;
            }
            Next::Request(direction) => direction,
        };
        let Some((at, random)) = self.pick_offset(i, direction) else { return false };
        let Some(bytes) = self.pick_size(i, direction, at, random) else { return false };
        let job = &self.job;
        let file = &mut self.files[i];
        if at + bytes > file.real_bytes {
            return false;
        }
        let least = job.sizes[direction].least_bytes;
        let bytes = match &mut file.map {
            Some(map) if random => {
                let taken = map.take_run((at - file.offset) / least, bytes.div_ceil(least));
                bytes.min(taken * least)
            }
            _ => bytes,
        };
        if bytes == 0 {
            return false;
        }
        (file.last_offset[direction], file.next_offset[direction]) = (Some(at), at + bytes);
        self.issues[direction] += 1;
        self.issued_bytes[direction] += bytes;
        self.queue.push_back(Action::Transfer { file: i, write: direction == WRITE, offset: at, bytes });
        true
    }

    /// `get_next_file`.
    fn pick_file(&mut self) -> Option<usize> {
        if self.files_done >= self.files.len() {
            return None;
        }
        if let Some(i) = self.service_file.filter(|&i| self.files[i].open) {
            if self.job.file_order == FileOrder::Sequential {
                return Some(i);
            }
            if self.service_left > 0 {
                self.service_left -= 1;
                return Some(i);
            }
        }
        let picked = loop {
            let i = match self.job.file_order {
                FileOrder::Random => self.file_random.below(self.files.len() as u64) as usize,
                _ => {
                    let i = self.next_file;
                    self.next_file = (i + 1) % self.files.len();
                    i
                }
            };
            if !self.files[i].done {
                break i;
            }
        };
        if !self.files[picked].open {
            self.open(picked);
        }
        self.service_file = Some(picked);
        self.service_left = self.job.file_requests - 1;
        Some(picked)
    }

    pub(super) fn open(&mut self, i: usize) {
        let file = &mut self.files[i];
        file.open = true;
        file.restart();
        let (offset, bytes) = (file.offset, file.io_bytes);
        self.queue.push_back(Action::Open { file: i });
        if self.job.invalidate {
            self.queue.push_back(Action::Advise { file: i, advice: Advice::DontNeed, offset, bytes });
        }
        let advice = match self.job.advice {
            AdviceHint::No => return,
            AdviceHint::ByAccess if self.job.access.random => Advice::Random,
            AdviceHint::Random => Advice::Random,
            AdviceHint::ByAccess | AdviceHint::Sequential => Advice::Sequential,
        };
        self.queue.push_back(Action::Advise { file: i, advice, offset, bytes });
    }

    pub(super) fn close(&mut self, i: usize) {
        if std::mem::replace(&mut self.files[i].open, false) {
            self.queue.push_back(Action::Close { file: i });
        }
    }

    /// `get_rw_ddir`.
    fn pick_direction(&mut self) -> Next {
        let job = &self.job;
        let writes = self.issues[WRITE];
        if job.access.write && !self.last_was_sync && writes > 0 {
            if job.fsync_requests > 0 && writes.is_multiple_of(job.fsync_requests) {
                return Next::Sync { data_only: false };
            }
            if job.fdatasync_requests > 0 && writes.is_multiple_of(job.fdatasync_requests) {
                return Next::Sync { data_only: true };
            }
        }
        let direction = match (job.access.read, job.access.write) {
            (true, true) => {
                if self.issues[self.mix_direction] >= self.mix_until_issues {
                    let direction = if self.mix_random.percent() <= job.read_percent { READ } else { WRITE };
                    if direction != self.mix_direction {
                        let other_percent = match self.mix_direction {
                            READ => 100 - job.read_percent,
                            _ => job.read_percent,
                        };
                        self.mix_until_issues = self.issues[self.mix_direction] * u64::from(other_percent) / 100;
                    }
                    self.mix_direction = direction;
                }
                self.mix_direction
            }
            (_, true) => WRITE,
            _ => READ,
        };
        self.mix_direction = direction;
        Next::Request(direction)
    }

    /// `get_next_offset`: the offset in the file, and whether it was drawn at random. `None`: the file is done.
    fn pick_offset(&mut self, i: usize, direction: usize) -> Option<(u64, bool)> {
        let job = &self.job;
        self.requests_to_offset -= 1;
        let new_offset = self.requests_to_offset == 0;
        if new_offset {
            self.requests_to_offset = job.requests_per_offset;
        }
        let unit = job.offset_unit_bytes(direction);
        let draw = |process: &mut Process| process.draw_block(i, direction).map(|block| block * unit);
        let (at, random) = if new_offset && job.access.random {
            let percent = job.random_percent[direction];
            if percent == 100 || self.order_random[direction].percent() <= percent {
                (draw(self)?, true)
            } else {
                match self.sequential_offset(i, direction) {
                    Some(at) => (at, false),
                    None => (draw(self)?, false),
                }
            }
        } else if new_offset {
            (self.sequential_offset(i, direction)?, false)
        } else if job.sequencer == Sequencer::Identical {
            let file = &self.files[i];
            (file.last_offset[direction].map_or(0, |start| start - file.offset), false)
        } else {
            match self.sequential_offset(i, direction) {
                Some(at) => (at, false),
                None => (draw(self)?, false),
            }
        };
        let file = &self.files[i];
        let in_file = at + file.offset;
        (at < file.io_bytes && in_file < file.real_bytes).then_some((in_file, random))
    }

    /// `get_next_seq_offset`, relative to the job's part of the file.
    fn sequential_offset(&mut self, i: usize, direction: usize) -> Option<u64> {
        let (time_based, one_file) = (self.job.time_based, self.files.len() == 1);
        let file = &mut self.files[i];
        if file.next_offset[direction] >= file.offset + file.io_bytes && time_based && one_file {
            file.next_offset[direction] = file.offset;
            self.forget_cached(i);
        }
        self.files[i].sequential(direction, self.job.skip_offset)
    }

    fn forget_cached(&mut self, i: usize) {
        if self.job.invalidate {
            let (offset, bytes) = (self.files[i].offset, self.files[i].io_bytes);
            self.queue.push_back(Action::Advise { file: i, advice: Advice::DontNeed, offset, bytes });
        }
    }

    /// `get_next_rand_block`: the next block at random.
    fn draw_block(&mut self, i: usize, direction: usize) -> Option<u64> {
        let drawn = self.draw_block_once(i, direction);
        if drawn.is_none() && self.job.time_based {
            self.files[i].restart();
            self.forget_cached(i);
            return self.draw_block_once(i, direction);
        }
        drawn
    }

    fn draw_block_once(&mut self, i: usize, direction: usize) -> Option<u64> {
        let file = &mut self.files[i];
        if let Some(skewed) = &mut file.skewed {
            return Some(skewed.next_block());
        }
        let unit = self.job.offset_unit_bytes(direction);
        let range = file.io_bytes.min(file.real_bytes);
        // A request that is larger than the alignment must also fit behind the last block.
        let blocks = range.saturating_sub(self.job.sizes[direction].least_bytes.saturating_sub(unit)) / unit;
        if blocks == 0 {
            return None;
        }
        let block = self.block_random.below(blocks);
        match &file.map {
            Some(map) => map.free_from(block),
            None => Some(block),
        }
    }

    /// `get_next_buflen`. `None`: not even the smallest request fits.
    fn pick_size(&mut self, i: usize, direction: usize, at: u64, random: bool) -> Option<u64> {
        let class = match (self.job.sizes_by_order, random) {
            (true, true) => WRITE,
            (true, false) => READ,
            _ => direction,
        };
        let file = &self.files[i];
        let fits = |bytes: u64| at + bytes <= file.io_bytes + file.offset;
        let sizes = &self.job.sizes[class];
        let (least, most) = (sizes.least_bytes, sizes.most_bytes);
        if least == most {
            return Some(least);
        }
        if !fits(least) {
            return None;
        }
        let source = &mut self.size_random[class];
        loop {
            let drawn = source.next();
            let mut bytes = 0;
            if sizes.split.is_empty() {
                let share = drawn as f64 / (source.largest() as f64 + 1.0);
                bytes = least + (most as f64 * share) as u64;
            } else {
                let mut percent = 0;
                for entry in sizes.split.iter().filter(|entry| entry.percent > 0) {
                    bytes = entry.request_bytes;
                    percent += u64::from(entry.percent);
                    if drawn / percent <= source.largest() / 100 && fits(bytes) {
                        break;
                    }
                }
            }
            if !self.job.unaligned {
                bytes -= bytes % least;
            }
            bytes = bytes.min(most);
            if fits(bytes) {
                return Some(bytes);
            }
        }
    }
}
