//! The fuzzer: mutates, checks, keeps what is new, and stops at the first fault.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use fastrand::Rng;

use crate::{minimise::minimise, mutate::Mutator, panics::caught};

/// The most inputs that are kept to be mutated.
const POOL: usize = 1024;
/// How long one input may take. Each is small, so that none takes a thousandth of it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Something that takes any bytes, and what has to hold of it.
#[derive(Debug)]
pub struct Target {
    /// Its name, and that of the directory of its seeds.
    pub name: &'static str,
    /// Words that mean something to it.
    pub words: &'static [&'static str],
    /// Panics where something does not hold. Returns a number for what came of the input.
    pub check: fn(&[u8]) -> u64,
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// After so many inputs.
    Inputs(u64),
    /// After so much time.
    Time(Duration),
}

/// A run that found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// How many inputs were checked.
    pub inputs: u64,
    /// How many different things came of them.
    pub kinds: usize,
}

/// An input that something does not hold for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The input, as small as it was easily made.
    pub input: Vec<u8>,
    /// What does not hold.
    pub fault: String,
}

/// Checks one input.
pub fn once(target: &'static Target, input: &[u8]) -> Result<Run, Finding> {
    let beat = Beat { inputs: 0, input: input.to_vec() };
    watched(beat, PATIENCE, |beat| {
        let input = lock(beat).input.clone();
        let end = caught(|| (target.check)(&input));
        end.map(|_| Run { inputs: 1, kinds: 1 }).map_err(|fault| Finding { input, fault })
    })?
}

/// Checks seeds and what mutations make of them. The same chance makes the same inputs.
pub fn fuzz(
    target: &'static Target,
    seeds: Vec<Vec<u8>>,
    chance: u64,
    limit: Limit,
) -> Result<Run, Finding> {
    let check = move |beat: &Mutex<Beat>| Fuzzer::new(target, chance, beat).run(seeds, limit);
    let run = watched(Beat::default(), PATIENCE, check);
    run?.map_err(|finding| minimise(target.check, finding))
}

/// What is being checked.
#[derive(Default)]
struct Beat {
    inputs: u64,
    input: Vec<u8>,
}

fn lock(beat: &Mutex<Beat>) -> MutexGuard<'_, Beat> {
    beat.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `check` on a thread of its own and gives up on it when one input takes too long.
fn watched<T: Send + 'static>(
    beat: Beat,
    patience: Duration,
    check: impl FnOnce(&Mutex<Beat>) -> T + Send + 'static,
) -> Result<T, Finding> {
    let (beat, (sender, receiver)) = (Arc::new(Mutex::new(beat)), mpsc::channel());
    let shared = Arc::clone(&beat);
    thread::spawn(move || sender.send(check(&shared)));
    let mut last = None;
    loop {
        let end = receiver.recv_timeout(patience);
        let Beat { inputs, input } = &*lock(&beat);
        let fault = match end {
            Ok(end) => return Ok(end),
            Err(RecvTimeoutError::Disconnected) => "the fuzzer itself broke".to_owned(),
            Err(_) if last.replace(*inputs) != Some(*inputs) => continue,
            Err(_) => format!("it takes more than {patience:?}"),
        };
        return Err(Finding { input: input.clone(), fault });
    }
}

struct Fuzzer<'a> {
    target: &'static Target,
    beat: &'a Mutex<Beat>,
    mutator: Mutator,
    pool: Vec<Vec<u8>>,
    kinds: HashSet<u64>,
}

impl<'a> Fuzzer<'a> {
    fn new(target: &'static Target, chance: u64, beat: &'a Mutex<Beat>) -> Self {
        let mutator = Mutator::new(Rng::with_seed(chance), target.words);
        Self { target, beat, mutator, pool: Vec::new(), kinds: HashSet::new() }
    }

    fn run(mut self, seeds: Vec<Vec<u8>>, limit: Limit) -> Result<Run, Finding> {
        for seed in seeds {
            let kind = self.check(&seed)?;
            self.kinds.insert(kind);
            self.pool.push(seed);
        }
        let (start, mut inputs) = (Instant::now(), 0);
        while match limit {
            Limit::Inputs(most) => inputs < most,
            Limit::Time(most) => start.elapsed() < most,
        } {
            let input = self.mutator.mutate(&self.pool);
            let kind = self.check(&input)?;
            if self.kinds.insert(kind) {
                self.keep(input);
            }
            inputs += 1;
        }
        Ok(Run { inputs, kinds: self.kinds.len() })
    }

    fn check(&self, input: &[u8]) -> Result<u64, Finding> {
        {
            let mut beat = lock(self.beat);
            beat.inputs += 1;
            beat.input.clear();
            beat.input.extend_from_slice(input);
        }
        let end = caught(|| (self.target.check)(input));
        end.map_err(|fault| Finding { input: input.to_vec(), fault })
    }

    fn keep(&mut self, input: Vec<u8>) {
        if self.pool.len() < POOL {
            self.pool.push(input);
        } else {
            let place = self.mutator.below(POOL);
            self.pool[place] = input;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static FRAGILE: Target = Target {
        name: "fragile",
        words: &["deep"],
        check: |input| {
            let has = |word: &[u8]| input.windows(word.len()).any(|it| it == word);
            assert!(!(has(b"deep") && has(b"}{")), "it is in deep");
            u64::from(has(b"deep")) + 2 * u64::from(has(b"}{"))
        },
    };

    #[test]
    fn a_fault_is_found_the_same_way_by_the_same_chance() {
        let find = || fuzz(&FRAGILE, vec![b"{a}\n{b}\n".to_vec()], 3, Limit::Inputs(100_000));
        let finding = find().unwrap_err();
        assert_eq!(find(), Err(finding.clone()));
        assert!(finding.fault.ends_with("it is in deep"), "{}", finding.fault);
        assert_eq!(finding.input.len(), 6, "{:?}", finding.input);
        assert_eq!(once(&FRAGILE, &finding.input).unwrap_err(), finding);
    }

    #[test]
    fn an_input_that_is_never_done_with_is_found() {
        let beat = Beat { inputs: 3, input: b"endless".to_vec() };
        let finding = watched(beat, Duration::from_millis(1), |_| thread::park()).unwrap_err();
        assert_eq!(finding.input, b"endless");
    }
}
