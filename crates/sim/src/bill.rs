//! Bills: what a single call of a program waited for.
//!
//! Several programs may share the CPU. Then each has a bill of its own: a program that gives way sets its bill aside and
//! takes it up again when its turn comes, so that what the others did meanwhile does not stand on it. What does is how long
//! it waited, and for which program.

use crate::kept::Waits;
use crate::{Bill, CauseCounts, Sim};

impl Sim {
    /// A call of the measured program begins. What is counted until the next one begins can be asked for
    /// ([`Sim::bill`]); this takes no time and changes nothing.
    #[inline]
    pub fn call_begins(&self) {
        self.0.causes.borrow_mut().open_bill();
        let mut waits = self.0.waits.borrow_mut();
        let Waits { of_call, before_call, late_ns, begun, is_open, is_void } = &mut *waits;
        *begun += 1;
        (*is_open, *is_void) = (true, false);
        of_call.clear();
        of_call.append(before_call);
        *late_ns = of_call.iter().map(|(_, waited_ns)| waited_ns).sum();
        self.show(|observer, sim| observer.call_begins(sim.now_ns()));
    }

    /// Passes what was counted since the last call began, cause by cause in the order in which they came up. Together
    /// with the time in which no task could run, this is what the call has waited for.
    pub fn bill(&self, each: impl FnMut(CauseCounts)) {
        self.0.causes.borrow().bill().for_each(each);
    }

    /// Passes for which programs the call waited, and how long for each in nanoseconds.
    pub fn bill_waits(&self, mut each: impl FnMut(usize, u64)) {
        self.0.waits.borrow().of_call.iter().for_each(|&(program, waited_ns)| each(program, waited_ns));
    }

    /// The part of these waits before the call began: so much earlier the program was ready to make it.
    pub fn bill_late_ns(&self) -> u64 {
        self.0.waits.borrow().late_ns
    }

    /// The program has waited for calls of another one, in the middle of a call of its own.
    pub fn waited(&self, program: usize, waited_ns: u64) {
        add(&mut self.0.waits.borrow_mut().of_call, program, waited_ns);
    }

    /// The program has waited for calls of another one before its next call.
    pub fn came_late(&self, program: usize, waited_ns: u64) {
        add(&mut self.0.waits.borrow_mut().before_call, program, waited_ns);
    }

    /// The program has made a call for which no bill was opened. It is this call that came late, and no later one.
    pub fn is_late_no_more(&self) {
        self.0.waits.borrow_mut().before_call.clear();
    }

    /// Somebody has kept the bill: the call has ended.
    pub fn close_bill(&self) {
        self.0.waits.borrow_mut().is_open = false;
    }

    /// The number of the program's call that has begun and not ended yet. It may consist of several system calls.
    pub fn open_bill(&self) -> Option<u64> {
        let waits = self.0.waits.borrow();
        waits.is_open.then_some(waits.begun)
    }

    /// The call that has begun is not made: the program is to end.
    pub fn void_bill(&self) {
        self.0.waits.borrow_mut().is_void = true;
    }

    /// Whether the last call was not made, or not all of it.
    pub fn bill_is_void(&self) -> bool {
        self.0.waits.borrow().is_void
    }

    /// The running program gives way to another one.
    pub fn set_bill_aside(&self) -> Bill {
        let counted = self.0.causes.borrow_mut().take_bill();
        Bill { counted, waits: self.0.waits.take() }
    }

    /// Its turn has come again.
    pub fn take_up_bill(&self, bill: Bill) {
        self.0.causes.borrow_mut().put_bill(bill.counted);
        self.0.waits.replace(bill.waits);
    }
}

fn add(waits: &mut Vec<(usize, u64)>, program: usize, waited_ns: u64) {
    match waits.iter_mut().find(|(known, _)| *known == program) {
        Some((_, sum_ns)) => *sum_ns += waited_ns,
        None => waits.push((program, waited_ns)),
    }
}
