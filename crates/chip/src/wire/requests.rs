//! A connection: requests that come as a stream of bytes, and their answers.

use super::core::Cut;
use super::frames::{self, Kind, Request, DONE, POWERED, READY, REFUSED, REQUEST_BYTES, SENT_MAX, TAKEN_MAX, WRONG};
use super::raw_nand::Cycle;
use super::spi::Transfer;
use super::{Part, Wire};
use crate::Torn;

/// A client. Its clock begins when it comes.
pub struct Client {
    began_ns: u64,
    /// What of a request has come so far.
    ahead: Vec<u8>,
}

impl Wire {
    /// A client comes, and is greeted by `into`.
    pub fn connect(&self, into: &mut Vec<u8>) -> Client {
        into.extend_from_slice(frames::GREETING);
        into.extend_from_slice(&frames::VERSION.to_le_bytes());
        into.extend_from_slice(&self.bus().to_le_bytes());
        into.extend_from_slice(&(SENT_MAX as u32).to_le_bytes());
        Client { began_ns: self.core.now_ns, ahead: Vec::new() }
    }

    /// Takes bytes of a client, and puts the answers to all whole requests behind `into`. `false`: it cannot be understood any more, and
    /// its connection is to be closed.
    pub fn feed(&mut self, client: &mut Client, bytes: &[u8], into: &mut Vec<u8>) -> bool {
        let ahead = std::mem::take(&mut client.ahead);
        let joined;
        let mut rest = if ahead.is_empty() {
            bytes
        } else {
            joined = [&ahead[..], bytes].concat();
            &joined[..]
        };
        while let Some(request) = Request::read(rest) {
            if request.sent_bytes > SENT_MAX || request.taken_bytes > TAKEN_MAX {
                let text = format!("a request has at most {SENT_MAX} bytes, and an answer {TAKEN_MAX}");
                self.says_wrong(client, &request, &text, into);
                return false;
            }
            let Some(sent) = rest.get(REQUEST_BYTES..REQUEST_BYTES + request.sent_bytes) else { break };
            self.answers(client, &request, sent, into);
            rest = &rest[REQUEST_BYTES + request.sent_bytes..];
        }
        client.ahead = rest.to_vec();
        true
    }

    fn answers(&mut self, client: &Client, request: &Request, sent: &[u8], into: &mut Vec<u8>) {
        self.core.arrives(client.began_ns.saturating_add(request.at_ns));
        let head_at = into.len();
        frames::answer(into, DONE, 0, request.tag, 0, 0);
        let bytes_at = into.len();
        match self.does(request, sent, into) {
            Ok(()) => {
                let count = (into.len() - bytes_at) as u32;
                let ready_at_ns = self.core.ready_at_ns().saturating_sub(client.began_ns);
                into[head_at + 1] = self.flags();
                into[head_at + 4..head_at + 8].copy_from_slice(&count.to_le_bytes());
                into[head_at + 8..head_at + 16].copy_from_slice(&ready_at_ns.to_le_bytes());
            }
            Err(text) => {
                into.truncate(head_at);
                self.says_wrong(client, request, &text, into);
            }
        }
    }

    fn says_wrong(&self, client: &Client, request: &Request, text: &str, into: &mut Vec<u8>) {
        let ready_at_ns = self.core.ready_at_ns().saturating_sub(client.began_ns);
        frames::answer(into, WRONG, self.flags(), request.tag, text.len(), ready_at_ns);
        into.extend_from_slice(text.as_bytes());
    }

    fn flags(&self) -> u8 {
        let ready = if self.core.is_busy() { 0 } else { READY };
        let refused = if self.core.has_refused { REFUSED } else { 0 };
        let powered = if self.core.is_on { POWERED } else { 0 };
        ready | refused | powered
    }

    /// Errors: a request that this part, or nobody, understands.
    fn does(&mut self, request: &Request, sent: &[u8], into: &mut Vec<u8>) -> Result<(), String> {
        match request.kind {
            None => return Err("there is no such kind of request: 1 to 3, and 16 to 22, are known".to_string()),
            Some(Kind::Spi) => self.transfer(sent, request.taken_bytes, into)?,
            Some(Kind::Nand) => self.cycles(sent, request.taken_bytes, into)?,
            Some(Kind::Idle) => {}
            Some(Kind::Label) => self.label(sent)?,
            Some(Kind::Cut) => self.cut(request.option, sent)?,
            Some(Kind::PowerOn) => self.power_on(),
            Some(Kind::Counts) => {
                let of_flash = self.core.chip.counts();
                let reads = of_flash.page_reads + of_flash.partial_page_reads + of_flash.oob_reads;
                let [transactions, operations, refusals] = self.counts();
                let counts = [transactions, refusals, operations, reads, of_flash.erases, self.core.now_ns];
                counts.iter().for_each(|count| into.extend_from_slice(&count.to_le_bytes()));
            }
            Some(Kind::Why) => into.extend_from_slice(self.core.why.as_bytes()),
            Some(Kind::Keep) => self.keep(),
            Some(Kind::PutBack) => {
                if !self.put_back() {
                    return Err("nothing was kept that could be put back".to_string());
                }
            }
        }
        Ok(())
    }

    /// One transfer on an SPI bus.
    fn transfer(&mut self, sent: &[u8], taken_bytes: usize, into: &mut Vec<u8>) -> Result<(), String> {
        let at = into.len();
        into.resize(at + taken_bytes, 0xFF);
        if !self.core.is_on {
            return Ok(());
        }
        let bus = Transfer { sent, taken: &mut into[at..] };
        match &mut self.part {
            Part::Nor(part) => part.transfer(&mut self.core, bus),
            Part::SpiNand(part) => part.transfer(&mut self.core, bus),
            Part::Nand(_) => {
                return Err("the part is on a bus of eight bits: send cycles (2), no SPI transfers".to_string())
            }
        }
        // What was still under way when the power went is not on the bus any more.
        if !self.core.is_on {
            into[at..].fill(0xFF);
        }
        Ok(())
    }

    /// Cycles of a raw NAND's bus.
    fn cycles(&mut self, mut sent: &[u8], taken_bytes: usize, into: &mut Vec<u8>) -> Result<(), String> {
        let Part::Nand(part) = &mut self.part else {
            return Err("the part is on an SPI bus: send transfers (1), no cycles".to_string());
        };
        // Looked at before anything is done: a request is done as a whole or not at all.
        let mut cycles = Vec::new();
        let mut read_bytes = 0;
        while !sent.is_empty() {
            let (cycle, rest) = cycle_of(sent).ok_or("cycles: C and a byte, A, a count and bytes, W, a count of two bytes and bytes, R and such a count, are known")?;
            if let Cycle::Read(count) = cycle {
                read_bytes += count;
            }
            cycles.push(cycle);
            sent = rest;
        }
        if read_bytes != taken_bytes {
            return Err(format!("the cycles read {read_bytes} bytes, and the request says {taken_bytes}"));
        }
        let at = into.len();
        for cycle in &cycles {
            if self.core.is_on {
                part.takes(&mut self.core, cycle, into);
            }
        }
        into.resize(at + taken_bytes, 0xFF);
        Ok(())
    }

    fn label(&mut self, sent: &[u8]) -> Result<(), String> {
        // What was begun before was begun for another reason.
        let chip = &mut self.core.chip;
        chip.close_labels();
        if sent.is_empty() {
            return Ok(());
        }
        let name = std::str::from_utf8(sent).map_err(|_| "a label is a line of UTF-8".to_string())?;
        chip.label(name).map_err(|error| error.to_string())
    }

    /// How it tears, after how many operations (four bytes), and a seed (eight); what is left out is 0.
    fn cut(&mut self, option: u8, sent: &[u8]) -> Result<(), String> {
        let number = |from: usize, count: usize| {
            let bytes = sent.iter().skip(from).take(count).enumerate();
            bytes.fold(0u64, |all, (at, &byte)| all | u64::from(byte) << (8 * at))
        };
        let (operations, seed) = (number(0, 4), number(4, 8));
        let torn = match option {
            0 => Torn::Partial { seed },
            1 => Torn::Nothing,
            2 => Torn::Complete,
            3 => Torn::Unstable { seed },
            _ => {
                return Err("a cut tears in one of four ways: 0 partial, 1 nothing, 2 complete, 3 unstable".to_string())
            }
        };
        self.core.cut_after(Cut { operations, torn });
        Ok(())
    }
}

/// The next cycles, and what is behind them.
fn cycle_of(sent: &[u8]) -> Option<(Cycle<'_>, &[u8])> {
    let count = |bytes: &[u8]| Some(usize::from(u16::from_le_bytes(*bytes.first_chunk()?)));
    Some(match sent {
        [b'C', command, rest @ ..] => (Cycle::Command(*command), rest),
        [b'A', count, rest @ ..] => {
            let (bytes, rest) = rest.split_at_checked(usize::from(*count)).filter(|(bytes, _)| !bytes.is_empty())?;
            (Cycle::Addresses(bytes), rest)
        }
        [b'W', rest @ ..] => {
            let (bytes, rest) = rest.get(2..)?.split_at_checked(count(rest)?)?;
            (Cycle::Write(bytes), rest)
        }
        [b'R', rest @ ..] => (Cycle::Read(count(rest)?), rest.get(2..)?),
        _ => return None,
    })
}
