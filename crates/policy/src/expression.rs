//! Score expressions, compiled once to a program for a small stack machine.
//!
//! Numbers, `+ - * / ^`, a minus sign, brackets, the columns of the decision ([`Column`]) and the functions `min`, `max` (two
//! arguments), `abs`, `sqrt`, `log` (natural), `exp`. All values are `f64` by the rules of IEEE 754: `x / 0` is infinite with
//! the sign of `x`, and `0 / 0` as well as the root or logarithm of a negative number is no number (NaN).

use thiserror::Error;

/// What a decision shows of each thing among which it chooses.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// As scores and policies in Python write it.
    pub name: &'static str,
    /// What it is, with its unit.
    pub about: &'static str,
}

/// An expression of the columns of a decision.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    program: Vec<Op>,
}

/// What is wrong with an expression, and where: a position counts characters from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExpressionError {
    #[error("`{text}`, character {at}: unknown name `{name}`; there are {known}")]
    UnknownName { text: String, at: usize, name: String, known: String },
    #[error("`{text}`, character {at}: {wanted}")]
    Syntax { text: String, at: usize, wanted: &'static str },
    #[error("`{text}`: more than {DEPTH_MAX} values would have to be kept at once")]
    TooDeep { text: String },
}

const FUNCTIONS: [&str; 6] = ["min", "max", "abs", "sqrt", "log", "exp"];

/// Values on the stack at once.
const DEPTH_MAX: usize = 32;

#[derive(Clone, Copy, Debug)]
enum Op {
    Number(f64),
    /// By its position.
    Column(usize),
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
}

/// Whether a word stands for a function.
pub(crate) fn is_function(word: &str) -> bool {
    FUNCTIONS.contains(&word)
}

fn function(name: &str) -> Option<Op> {
    Some(match name {
        "min" => Op::Two(f64::min),
        "max" => Op::Two(f64::max),
        "abs" => Op::One(f64::abs),
        "sqrt" => Op::One(f64::sqrt),
        "log" => Op::One(f64::ln),
        "exp" => Op::One(f64::exp),
        _ => return None,
    })
}

impl Expression {
    /// Errors: what is wrong, with its position.
    pub fn compile(text: &str, columns: &'static [Column]) -> Result<Expression, ExpressionError> {
        let mut parser = Parser { text, columns, at: 0, depth: 0, program: Vec::new() };
        parser.sum()?;
        parser.skip_spaces();
        if parser.at < text.len() {
            return Err(parser.wants("an operator or the end is expected"));
        }
        let program = parser.program;
        let mut kept = 0usize;
        for op in &program {
            match op {
                Op::Number(_) | Op::Column(_) => kept += 1,
                Op::One(_) => {}
                Op::Two(_) => kept -= 1,
            }
            if kept > DEPTH_MAX {
                return Err(ExpressionError::TooDeep { text: text.to_string() });
            }
        }
        Ok(Expression { text: text.to_string(), program })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value where the columns have these values, by their positions.
    #[inline]
    pub fn score(&self, value: impl Fn(usize) -> f64) -> f64 {
        let mut stack = [0.0; DEPTH_MAX];
        let mut kept = 0;
        for op in &self.program {
            match op {
                Op::Number(value) => {
                    stack[kept] = *value;
                    kept += 1;
                }
                Op::Column(column) => {
                    stack[kept] = value(*column);
                    kept += 1;
                }
                Op::One(function) => stack[kept - 1] = function(stack[kept - 1]),
                Op::Two(function) => {
                    stack[kept - 2] = function(stack[kept - 2], stack[kept - 1]);
                    kept -= 1;
                }
            }
        }
        stack[0]
    }
}

/// Descends through the operators by their strength and writes the program behind their operands.
struct Parser<'a> {
    text: &'a str,
    columns: &'static [Column],
    at: usize,
    depth: usize,
    program: Vec<Op>,
}

impl Parser<'_> {
    fn wants(&self, wanted: &'static str) -> ExpressionError {
        let at = self.text[..self.at].chars().count() + 1;
        ExpressionError::Syntax { text: self.text.to_string(), at, wanted }
    }

    fn skip_spaces(&mut self) {
        self.at += self.text[self.at..].len() - self.text[self.at..].trim_start().len();
    }

    /// Takes the character if it is the next one.
    fn take(&mut self, wanted: char) -> bool {
        self.skip_spaces();
        let is_next = self.text[self.at..].starts_with(wanted);
        self.at += if is_next { wanted.len_utf8() } else { 0 };
        is_next
    }

    fn need(&mut self, wanted: char, message: &'static str) -> Result<(), ExpressionError> {
        if self.take(wanted) {
            Ok(())
        } else {
            Err(self.wants(message))
        }
    }

    fn sum(&mut self) -> Result<(), ExpressionError> {
        self.product()?;
        loop {
            let op: fn(f64, f64) -> f64 = match () {
                () if self.take('+') => |a, b| a + b,
                () if self.take('-') => |a, b| a - b,
                () => return Ok(()),
            };
            self.product()?;
            self.program.push(Op::Two(op));
        }
    }

    fn product(&mut self) -> Result<(), ExpressionError> {
        self.signed()?;
        loop {
            let op: fn(f64, f64) -> f64 = match () {
                () if self.take('*') => |a, b| a * b,
                () if self.take('/') => |a, b| a / b,
                () => return Ok(()),
            };
            self.signed()?;
            self.program.push(Op::Two(op));
        }
    }

    /// A minus sign is weaker than a power: `-2 ^ 2` is -4.
    fn signed(&mut self) -> Result<(), ExpressionError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(ExpressionError::TooDeep { text: self.text.to_string() });
        }
        if self.take('-') {
            self.signed()?;
            self.program.push(Op::One(|a| -a));
        } else {
            self.value()?;
            if self.take('^') {
                self.signed()?;
                self.program.push(Op::Two(f64::powf));
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn value(&mut self) -> Result<(), ExpressionError> {
        if self.take('(') {
            self.sum()?;
            return self.need(')', "`)` is expected");
        }
        let rest = &self.text[self.at..];
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = rest.find(|c| !(is_word(c) || c == '.')).unwrap_or(rest.len());
        let word = rest[..length].to_string();
        if word.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return self.number();
        }
        if word.is_empty() {
            return Err(self.wants("a number, a column, a function or `(` is expected"));
        }
        if let Some(column) = self.columns.iter().position(|column| column.name == word) {
            self.at += length;
            self.program.push(Op::Column(column));
            return Ok(());
        }
        let Some(function) = function(&word) else {
            let at = self.text[..self.at].chars().count() + 1;
            let known = self.columns.iter().map(|column| column.name).chain(FUNCTIONS).collect::<Vec<_>>().join(", ");
            return Err(ExpressionError::UnknownName { text: self.text.to_string(), at, name: word, known });
        };
        self.at += length;
        self.need('(', "`(` is expected behind a function")?;
        self.sum()?;
        if matches!(function, Op::Two(_)) {
            self.need(',', "`,` and a second argument are expected")?;
            self.sum()?;
        }
        self.program.push(function);
        self.need(')', "`)` is expected")
    }

    fn number(&mut self) -> Result<(), ExpressionError> {
        let rest = &self.text[self.at..];
        let digits = |c: char| c.is_ascii_digit() || c == '.';
        let mut length = rest.find(|c| !digits(c)).unwrap_or(rest.len());
        let exponent = rest[length..].strip_prefix(['e', 'E']);
        if let Some(exponent) = exponent {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let behind = &exponent[sign..];
            let count = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
            length += if count == 0 { 0 } else { 1 + sign + count };
        }
        let value = rest[..length].parse().map_err(|_| self.wants("a number is expected"))?;
        self.at += length;
        self.program.push(Op::Number(value));
        Ok(())
    }
}
