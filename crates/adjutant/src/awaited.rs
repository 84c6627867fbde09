//! Input for which nobody waits without a word.

use std::{
    io::{self, Read},
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// How long nothing may come before it is said that it is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Input of which it is said, once, that it is waited for, if nothing comes.
pub(crate) struct Awaited<R> {
    from: R,
    patience: Duration,
    say: Option<Box<dyn FnOnce() + Send>>,
}

impl<R> Awaited<R> {
    /// Reads from somewhere, and has it said if nothing comes.
    pub(crate) fn new(from: R, say: impl FnOnce() + Send + 'static) -> Self {
        Self { from, patience: PATIENCE, say: Some(Box::new(say)) }
    }
}

impl<R: Read> Read for Awaited<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (came, waits) = channel::<()>();
        if let Some(say) = self.say.take() {
            let patience = self.patience;
            thread::spawn(move || {
                if waits.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                    say();
                }
            });
        }
        let read = self.from.read(into);
        drop(came);
        read
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, RecvError};

    use super::*;

    /// Input that comes when somebody has said that it is waited for.
    struct Late(Receiver<&'static str>);

    impl Read for Late {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let words = self.0.recv().unwrap_or_default();
            words.as_bytes().read(into)
        }
    }

    #[test]
    fn it_is_said_once_that_input_is_waited_for() {
        let (said, heard) = channel();
        let say = move || said.send("waiting").unwrap();
        let mut awaited = Awaited { patience: Duration::ZERO, ..Awaited::new(Late(heard), say) };
        assert_eq!(io::read_to_string(&mut awaited).unwrap(), "waiting");
    }

    #[test]
    fn nothing_is_said_of_input_that_comes() {
        let (said, heard) = channel();
        let say = move || said.send(()).unwrap();
        let mut awaited = Awaited { patience: Duration::MAX, ..Awaited::new(&b"here"[..], say) };
        assert_eq!(io::read_to_string(&mut awaited).unwrap(), "here");
        assert_eq!(heard.recv(), Err(RecvError));
    }
}
