//! Finite fields of 2^m elements, by tables of logarithms (Lin and Costello, *Error Control Coding*, chapter 2).

/// A field. An element is the number whose bits are its coefficients.
pub struct Field {
    m: u32,
    /// The powers of the primitive element, twice, so that a sum of two logarithms needs no remainder.
    powers: Vec<u16>,
    logs: Vec<u16>,
}

impl Field {
    /// The field that a primitive polynomial makes; its bit i is the coefficient of x^i. `None`: the polynomial is not primitive.
    pub fn new(polynomial: u32) -> Option<Field> {
        let m = polynomial.checked_ilog2().filter(|m| (3..=15).contains(m))?;
        let step = |element: u32| {
            let next = element << 1;
            if next >> m == 0 {
                next
            } else {
                next ^ polynomial
            }
        };
        Field::by_steps(m, &step)
    }

    /// The field of 2^m elements in which `step` multiplies by a primitive element. `None`: the element is not primitive.
    pub fn by_steps(m: u32, step: &dyn Fn(u32) -> u32) -> Option<Field> {
        let order = (1usize << m) - 1;
        let (mut powers, mut logs) = (Vec::with_capacity(2 * order), vec![u16::MAX; order + 1]);
        let mut element = 1;
        for log in 0..order {
            if element == 0 || logs[element as usize] != u16::MAX {
                return None;
            }
            logs[element as usize] = log as u16;
            powers.push(element as u16);
            element = step(element);
        }
        powers.extend_from_within(..);
        Some(Field { m, powers, logs })
    }

    /// Bits of an element.
    pub fn m(&self) -> u32 {
        self.m
    }

    /// How many elements are not zero; the powers of the primitive element repeat after so many.
    pub fn order(&self) -> usize {
        self.logs.len() - 1
    }

    /// A power of the primitive element.
    pub fn power(&self, exponent: usize) -> u16 {
        self.powers[exponent % self.order()]
    }

    /// The logarithm of an element that is not zero.
    pub fn log(&self, element: u16) -> usize {
        usize::from(self.logs[usize::from(element)])
    }

    pub fn times(&self, a: u16, b: u16) -> u16 {
        if a == 0 || b == 0 {
            return 0;
        }
        self.powers[self.log(a) + self.log(b)]
    }

    /// `b` is not zero.
    pub fn over(&self, a: u16, b: u16) -> u16 {
        if a == 0 {
            return 0;
        }
        self.powers[self.log(a) + self.order() - self.log(b)]
    }
}

/// A polynomial that finds errors (Berlekamp's and Massey's algorithm; Lin and Costello, section 7.4), lowest coefficient first:
/// its roots are the inverses of the errors' places. `syndromes` begin with that of the first root of the code.
pub(crate) fn locator(field: &Field, syndromes: &[u16]) -> Vec<u16> {
    let (mut locator, mut before) = (vec![1u16], vec![1u16]);
    let (mut length, mut shift, mut last_discrepancy) = (0, 1, 1u16);
    for at in 0..syndromes.len() {
        let terms = locator.iter().take(at + 1).enumerate();
        let discrepancy = terms.fold(0, |sum, (index, &factor)| sum ^ field.times(factor, syndromes[at - index]));
        if discrepancy == 0 {
            shift += 1;
            continue;
        }
        let factor = field.over(discrepancy, last_discrepancy);
        let old = locator.clone();
        locator.resize(locator.len().max(before.len() + shift), 0);
        for (index, &term) in before.iter().enumerate() {
            locator[index + shift] ^= field.times(factor, term);
        }
        if 2 * length <= at {
            (length, before, last_discrepancy, shift) = (at + 1 - length, old, discrepancy, 1);
        } else {
            shift += 1;
        }
    }
    while locator.len() > 1 && locator.last() == Some(&0) {
        locator.pop();
    }
    locator
}

/// The powers of x at which errors stand, of a word with so many coefficients (Chien's search). `None`: the polynomial has not as many
/// roots there as its degree, so there are more errors than it can find.
pub(crate) fn roots(field: &Field, locator: &[u16], word: usize) -> Option<Vec<usize>> {
    let degree = locator.len() - 1;
    let mut found = Vec::with_capacity(degree);
    // Logarithms of the terms of the sum, which fall by the term's index from one place to the next.
    let mut terms: Vec<(usize, usize)> = Vec::with_capacity(degree);
    for (index, &factor) in locator.iter().enumerate().skip(1) {
        if factor != 0 {
            terms.push((field.log(factor), index));
        }
    }
    for at in 0..word {
        let mut sum = locator[0];
        for (log, index) in &mut terms {
            sum ^= field.powers[*log];
            *log = if *log >= *index { *log - *index } else { *log + field.order() - *index };
        }
        if sum == 0 {
            found.push(at);
            if found.len() == degree {
                break;
            }
        }
    }
    (found.len() == degree).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primitive_polynomials_make_fields_and_others_do_not() {
        for polynomial in [0x201b, 0x402b, 0x4443, 0x5803, 0x8003, 0x409] {
            let field = Field::new(polynomial).expect("primitive");
            let (a, b) = (field.power(1234), field.power(77));
            assert_eq!(field.times(a, b), field.power(1311));
            assert_eq!(field.over(field.times(a, b), b), a);
        }
        // x^4 + x^3 + x^2 + x + 1 divides x^5 - 1.
        assert!(Field::new(0b11111).is_none());
        assert!(Field::new(0).is_none());
    }
}
