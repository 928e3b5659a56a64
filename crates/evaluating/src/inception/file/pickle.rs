//! The part of Python's pickle language that a saved `state_dict` is written in.
//!
//! A pickle is a program for a stack machine. This one builds numbers, strings, tuples, lists and
//! dictionaries, and knows the three functions that rebuild tensors; whatever else a file asks to
//! be called becomes an opaque value, so no code of the file ever runs. Containers live in one
//! table and refer to each other by index: no depth of nesting can exhaust the stack.

use std::rc::Rc;

/// A value on the stack.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// Where a run of arguments begins.
    Mark,
    /// `None`, a float, or what some unknown function would have returned.
    Opaque,
    Bool(bool),
    Int(i64),
    Text(Rc<str>),
    /// A function or class, `module name`.
    Global(Rc<str>),
    /// A tuple, a list, or keys and values of a dictionary in turn, by index in the table.
    Tuple(usize),
    List(usize),
    Dict(usize),
    /// A persistent identifier: for PyTorch a storage; the index of its tuple.
    Persistent(usize),
    /// A view into a storage; the index of the tuple of storage, offset, shape, strides.
    Tensor(usize),
}

/// What a pickle built.
#[derive(Debug)]
pub(super) struct Unpickled {
    pub(super) root: Value,
    table: Vec<Vec<Value>>,
}

impl Unpickled {
    /// The items of a tuple, list or tensor; keys and values in turn of a dictionary.
    pub(super) fn items(&self, value: &Value) -> &[Value] {
        match *value {
            Value::Tuple(i)
            | Value::List(i)
            | Value::Dict(i)
            | Value::Persistent(i)
            | Value::Tensor(i) => &self.table[i],
            _ => &[],
        }
    }
}

/// Runs one pickle at the front of `bytes`; what it built, and the bytes after it.
///
/// # Errors
///
/// A sentence for a program that is cut off, uses an instruction that no `state_dict` needs, or
/// finds the stack in another state than it should be.
pub(super) fn unpickle(bytes: &[u8]) -> Result<(Unpickled, &[u8]), String> {
    let mut machine = Machine {
        rest: bytes,
        stack: Vec::new(),
        memo: Vec::new(),
        table: Vec::new(),
    };
    loop {
        let instruction = machine.take(1)?[0];
        if instruction == b'.' {
            let root = machine.pop()?;
            let built = Unpickled {
                root,
                table: machine.table,
            };
            return Ok((built, machine.rest));
        }
        machine.run(instruction)?;
    }
}

/// Entries of the memo; far more than any checkpoint has.
const MEMO: usize = 1 << 22;

struct Machine<'a> {
    rest: &'a [u8],
    stack: Vec<Value>,
    memo: Vec<Value>,
    table: Vec<Vec<Value>>,
}

impl<'a> Machine<'a> {
    fn run(&mut self, instruction: u8) -> Result<(), String> {
        match instruction {
            // The protocol's number and the length of a frame say nothing new.
            0x80 => drop(self.take(1)?),
            0x95 => drop(self.take(8)?),
            b'(' => self.stack.push(Value::Mark),
            b'N' => self.stack.push(Value::Opaque),
            0x88 | 0x89 => self.stack.push(Value::Bool(instruction == 0x88)),
            b'G' => {
                self.take(8)?;
                self.stack.push(Value::Opaque);
            }
            b'K' | b'M' | b'J' | 0x8a => self.integer(instruction)?,
            b'X' | b'T' | b'U' | 0x8c | b'B' | b'C' => self.text(instruction)?,
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                let name = format!("{module} {name}");
                self.stack.push(Value::Global(name.into()));
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let (Value::Text(name), Value::Text(module)) = (name, module) else {
                    return Err("the pickle names a function by something else than text".into());
                };
                self.stack
                    .push(Value::Global(format!("{module} {name}").into()));
            }
            b'q' | b'r' | 0x94 => self.remember(instruction)?,
            b'h' | b'j' => {
                let index = self.number(if instruction == b'h' { 1 } else { 4 })?;
                let value = self.memo.get(index).cloned();
                self.stack
                    .push(value.ok_or("the pickle recalls a value that it never kept")?);
            }
            b'0' => drop(self.pop()?),
            b')' | b']' | b'}' => {
                let index = self.keep(Vec::new());
                self.stack.push(match instruction {
                    b')' => Value::Tuple(index),
                    b']' => Value::List(index),
                    _ => Value::Dict(index),
                });
            }
            b't' => {
                let items = self.since_mark()?;
                self.push_tuple(items);
            }
            0x85..=0x87 => {
                let count = usize::from(instruction - 0x84);
                let first = self.stack.len().checked_sub(count).ok_or(EMPTY)?;
                let items = self.stack.split_off(first);
                self.push_tuple(items);
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.extend(vec![key, value])?;
            }
            b'a' => {
                let value = self.pop()?;
                self.extend(vec![value])?;
            }
            b'u' | b'e' => {
                let items = self.since_mark()?;
                self.extend(items)?;
            }
            b'Q' => {
                let value = match self.pop()? {
                    Value::Tuple(index) => Value::Persistent(index),
                    _ => Value::Opaque,
                };
                self.stack.push(value);
            }
            b'R' | 0x81 => {
                let (arguments, function) = (self.pop()?, self.pop()?);
                let value = self.call(&function, arguments);
                self.stack.push(value);
            }
            // The attributes of an object: a state_dict's own are not weights.
            b'b' => drop(self.pop()?),
            other => {
                return Err(format!(
                    "the pickle uses instruction {other:#04x}, which no state_dict needs; save \
                     model.state_dict() alone"
                ));
            }
        }
        Ok(())
    }

    /// What a function of PyTorch returns, as far as weights need it.
    fn call(&mut self, function: &Value, arguments: Value) -> Value {
        let Value::Global(name) = function else {
            return Value::Opaque;
        };
        let Value::Tuple(index) = arguments else {
            return Value::Opaque;
        };
        match &**name {
            "collections OrderedDict" => {
                let index = self.keep(Vec::new());
                Value::Dict(index)
            }
            "torch._utils _rebuild_tensor_v2" | "torch._utils _rebuild_tensor" => {
                Value::Tensor(index)
            }
            "torch._utils _rebuild_parameter" => {
                self.table[index].first().cloned().unwrap_or(Value::Opaque)
            }
            "torch Size" => self.table[index].first().cloned().unwrap_or(Value::Opaque),
            _ => Value::Opaque,
        }
    }

    fn integer(&mut self, instruction: u8) -> Result<(), String> {
        let value = match instruction {
            b'K' => self.number(1)? as i64,
            b'M' => self.number(2)? as i64,
            b'J' => {
                let b = self.take(4)?;
                i64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            }
            _ => {
                let length = self.number(1)?;
                let bytes = self.take(length)?;
                if length > 8 {
                    // Only the magic number of the old format is that long.
                    self.stack.push(Value::Opaque);
                    return Ok(());
                }
                let negative = bytes.last().is_some_and(|b| b & 0x80 != 0);
                let mut word = [if negative { 0xff } else { 0 }; 8];
                word[..length].copy_from_slice(bytes);
                i64::from_le_bytes(word)
            }
        };
        self.stack.push(Value::Int(value));
        Ok(())
    }

    fn text(&mut self, instruction: u8) -> Result<(), String> {
        let short = matches!(instruction, b'U' | 0x8c | b'C');
        let length = self.number(if short { 1 } else { 4 })?;
        let bytes = self.take(length)?;
        self.stack.push(match std::str::from_utf8(bytes) {
            Ok(text) => Value::Text(text.into()),
            Err(_) => Value::Opaque,
        });
        Ok(())
    }

    fn remember(&mut self, instruction: u8) -> Result<(), String> {
        let index = match instruction {
            b'q' => self.number(1)?,
            b'r' => self.number(4)?,
            _ => self.memo.len(),
        };
        if index >= MEMO {
            return Err(format!("the pickle keeps value {index}, more than {MEMO}"));
        }
        let value = self.stack.last().cloned().ok_or(EMPTY)?;
        if self.memo.len() <= index {
            self.memo.resize(index + 1, Value::Opaque);
        }
        self.memo[index] = value;
        Ok(())
    }

    /// Appends to the list or dictionary on top of the stack; what is opaque stays so.
    fn extend(&mut self, items: Vec<Value>) -> Result<(), String> {
        match self.stack.last() {
            Some(&Value::List(index) | &Value::Dict(index)) => {
                self.table[index].extend(items);
                Ok(())
            }
            Some(Value::Opaque) => Ok(()),
            _ => Err("the pickle appends to something that is no list or dictionary".into()),
        }
    }

    fn since_mark(&mut self) -> Result<Vec<Value>, String> {
        let mark = self.stack.iter().rposition(|v| *v == Value::Mark);
        let mark = mark.ok_or("the pickle closes what it never opened")?;
        let items = self.stack.split_off(mark + 1);
        self.stack.pop();
        Ok(items)
    }

    fn push_tuple(&mut self, items: Vec<Value>) {
        let index = self.keep(items);
        self.stack.push(Value::Tuple(index));
    }

    fn keep(&mut self, items: Vec<Value>) -> usize {
        self.table.push(items);
        self.table.len() - 1
    }

    fn pop(&mut self) -> Result<Value, String> {
        self.stack.pop().ok_or_else(|| EMPTY.into())
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or("the pickle is cut off")?;
        self.rest = rest;
        Ok(taken)
    }

    /// An unsigned little-endian number of 1, 2 or 4 bytes.
    fn number(&mut self, bytes: usize) -> Result<usize, String> {
        let taken = self.take(bytes)?;
        Ok(taken.iter().rev().fold(0, |n, &b| n << 8 | usize::from(b)))
    }

    fn line(&mut self) -> Result<&'a str, String> {
        let end = self.rest.iter().position(|&b| b == b'\n');
        let line = self.take(end.ok_or("the pickle is cut off")?)?;
        self.take(1)?;
        std::str::from_utf8(line).map_err(|_| "a name in the pickle is not UTF-8".into())
    }
}

const EMPTY: &str = "the pickle takes from an empty stack";
