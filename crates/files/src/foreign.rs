//! Calls code of other packages, which may panic on unexpected input.
//!
//! A decoder should return an error for a damaged file, but some panic instead. The message of a panic goes to standard
//! error and may quote the decoded data, which is private. So this module calls every decoder of another package that reads
//! a user's file: `tests/documents/architecture.rs` names them all.

use std::cell::Cell;
use std::io::{self, Read};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread prints no message.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Returns the result of `call`, or `None` if it panics; the panic prints nothing.
///
/// Drop everything that `call` changed before a panic: its state is unknown. Only panics of this thread are caught, so code
/// with several threads must call this in each of them.
pub fn quietly<T>(call: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
    let outer = QUIET.replace(true);
    let given = panic::catch_unwind(AssertUnwindSafe(call));
    QUIET.set(outer);
    given.ok()
}

/// A decoder of a stream whose panics become errors of the kind [`io::ErrorKind::InvalidData`].
#[derive(Debug)]
pub struct Decoder<R>(pub R);

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = quietly(|| self.0.read(bytes));
        read.unwrap_or_else(|| Err(io::Error::new(io::ErrorKind::InvalidData, DAMAGED)))
    }
}

/// The description of a file on which a decoder panicked.
pub const DAMAGED: &str = "its content is damaged or cut off";

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// What reached the hook of the program.
    static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            match bytes.len() {
                1 => Ok(0),
                more => panic!("a private value of {more}"),
            }
        }
    }

    /// One test: there is one hook.
    #[test]
    fn a_panic_is_none_without_a_word_and_others_keep_theirs() {
        panic::set_hook(Box::new(|panic| {
            let words = panic.payload_as_str().unwrap_or_default().to_string();
            SEEN.lock().unwrap().push(words);
        }));
        // Not locked where an assertion fails, whose words go there too.
        let seen = || SEEN.lock().unwrap().clone();
        assert_eq!(quietly(|| 1), Some(1));
        assert_eq!(quietly(|| -> u8 { panic!("private") }), None);
        // One within another does not end the silence of the outer one.
        let nested = quietly(|| {
            assert_eq!(quietly(|| -> u8 { panic!("private") }), None);
            panic!("private")
        });
        assert_eq!(nested, None::<()>);
        let mut decoder = Decoder(Broken);
        let error = decoder.read(&mut [0; 2]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(error.to_string(), DAMAGED);
        assert_eq!(decoder.read(&mut [0]).unwrap(), 0);
        assert_eq!(seen(), [""; 0]);
        // What comes after, on this thread and beside a quiet one, is heard.
        let heard = panic::catch_unwind(|| panic!("own"));
        assert!(heard.is_err());
        quietly(|| assert!(std::thread::spawn(|| panic!("beside")).join().is_err()));
        assert_eq!(seen(), ["own", "beside"]);
        let _ = panic::take_hook();
    }
}
