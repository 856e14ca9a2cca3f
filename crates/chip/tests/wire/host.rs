//! A host with a driver that was written from data sheets: it knows commands, and of ffslab the protocol.

use ffslab_chip::wire::{Client, Wanted, Wire};

pub struct Host {
    pub wire: Wire,
    client: Client,
    pub now_ns: u64,
    /// Of the last answer.
    pub ready_at_ns: u64,
    pub is_ready: bool,
    pub is_refused: bool,
    pub is_powered: bool,
}

pub fn wanted(part: &str) -> Wanted {
    Wanted { part: part.to_string(), ..Wanted::default() }
}

/// One with so many erase blocks, which is quicker.
pub fn small(part: &str, blocks: i64) -> Wanted {
    let mut wanted = wanted(part);
    wanted.settings.insert("chip_blocks".to_string(), blocks.into());
    wanted
}

impl Host {
    pub fn new(part: &str) -> Host {
        Host::with(&wanted(part), None)
    }

    pub fn with(wanted: &Wanted, held: Option<&[u8]>) -> Host {
        let wire = Wire::open(wanted, held).unwrap();
        let mut greeting = Vec::new();
        let client = wire.connect(&mut greeting);
        assert_eq!((&greeting[..8], greeting.len()), (&b"ffslchip"[..], 16));
        Host { wire, client, now_ns: 0, ready_at_ns: 0, is_ready: true, is_refused: false, is_powered: true }
    }

    pub fn request(kind: u8, option: u8, sent: &[u8], taken: usize, at_ns: u64) -> Vec<u8> {
        let mut request = vec![kind, option, 7, 0];
        request.extend_from_slice(&(sent.len() as u32).to_le_bytes());
        request.extend_from_slice(&(taken as u32).to_le_bytes());
        request.extend_from_slice(&at_ns.to_le_bytes());
        request.extend_from_slice(sent);
        request
    }

    /// Sends a request, and gives the bytes of its answer. Errors: what the server says is wrong with it.
    pub fn ask(&mut self, kind: u8, option: u8, sent: &[u8], taken: usize) -> Result<Vec<u8>, String> {
        let mut answer = Vec::new();
        let request = Host::request(kind, option, sent, taken, self.now_ns);
        assert!(self.wire.feed(&mut self.client, &request, &mut answer));
        let bytes = answer.split_off(16);
        assert_eq!(u32::from_le_bytes(answer[4..8].try_into().unwrap()) as usize, bytes.len());
        assert_eq!(answer[2], 7);
        self.ready_at_ns = u64::from_le_bytes(answer[8..16].try_into().unwrap());
        (self.is_ready, self.is_refused, self.is_powered) =
            (answer[1] & 1 != 0, answer[1] & 2 != 0, answer[1] & 4 != 0);
        match answer[0] {
            0 => Ok(bytes),
            _ => Err(String::from_utf8(bytes).unwrap()),
        }
    }

    /// What the server is fed as it is.
    pub fn feed(&mut self, bytes: &[u8], answer: &mut Vec<u8>) -> bool {
        self.wire.feed(&mut self.client, bytes, answer)
    }

    /// One transfer on an SPI bus.
    pub fn spi(&mut self, sent: &[u8], taken: usize) -> Vec<u8> {
        self.ask(1, 0, sent, taken).unwrap()
    }

    /// The same, which the part takes.
    pub fn does(&mut self, sent: &[u8], taken: usize) -> Vec<u8> {
        let bytes = self.spi(sent, taken);
        assert!(!self.is_refused, "{sent:02X?}: {}", self.wire.why());
        bytes
    }

    /// The part does not do this, for a reason with these words.
    pub fn is_refused(&mut self, sent: &[u8], words: &str) {
        self.spi(sent, 0);
        assert!(self.is_refused, "{sent:02X?} was done");
        assert!(self.wire.why().contains(words), "{sent:02X?}: {}", self.wire.why());
    }

    /// Time passes until the part is ready. How much.
    pub fn waits(&mut self) -> u64 {
        let began_ns = self.now_ns;
        self.ask(3, 0, &[], 0).unwrap();
        self.now_ns = self.now_ns.max(self.ready_at_ns);
        self.ask(3, 0, &[], 0).unwrap();
        assert!(self.is_ready);
        self.now_ns - began_ns
    }

    pub fn passes_us(&mut self, us: u64) {
        self.now_ns += us * 1_000;
    }
}

/// A command with an address of so many bytes, high byte first, and data.
pub fn at(command: u8, address: u32, bytes: usize, data: &[u8]) -> Vec<u8> {
    [&[command], &address.to_be_bytes()[4 - bytes..], data].concat()
}
