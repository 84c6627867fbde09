//! What one agent remembers: a file of records, one a line, and the lock beside it.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::fs::OFlags;
use serde::de::IgnoredAny;
use uuid::Uuid;

use super::record::Record;

/// The longest file that is read.
const LONGEST: u64 = 64 * 1024 * 1024;

/// What every record begins with.
const BEGINNING: &[u8] = br#"{"time":""#;

/// How long others may have the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait before it is tried again.
const PAUSE: Duration = Duration::from_millis(2);

/// What one agent remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Book {
    /// The file, in which one line is one record.
    pub(crate) path: PathBuf,
}

/// What is in a book, the oldest first.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Pages(Vec<Line>);

#[derive(Debug, PartialEq, Eq)]
struct Line {
    bytes: Vec<u8>,
    /// Nothing if it was written by half, or by somebody else.
    record: Option<Record>,
}

/// Whether something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// It is.
    Done,
    /// It is only told what would be.
    Tried,
}

impl Line {
    /// Reports whether it is the beginning of a record.
    fn is_half(&self) -> bool {
        let bytes = self.bytes.trim_ascii_end();
        let is_begun = bytes.starts_with(BEGINNING) || BEGINNING.starts_with(bytes);
        is_begun && serde_json::from_slice::<IgnoredAny>(bytes).is_err()
    }
}

impl Pages {
    /// Returns the records, the oldest first.
    pub(crate) fn records(&self) -> impl DoubleEndedIterator<Item = &Record> + Clone {
        self.0.iter().filter_map(|line| line.record.as_ref())
    }

    /// Returns how many records there are.
    pub(crate) fn count(&self) -> usize {
        self.records().count()
    }

    /// Returns the numbers of the lines that are no records; the first is 1.
    pub(crate) fn unreadable(&self) -> Vec<usize> {
        let lines = self.0.iter().zip(1..).filter(|(line, _)| line.record.is_none());
        lines.map(|(_, number)| number).collect()
    }
}

impl Book {
    /// Reads it. One that was never written is empty.
    pub(crate) fn read(&self) -> io::Result<Pages> {
        match plain(OpenOptions::new().read(true), &self.beside(".lock")) {
            Ok(lock) => {
                wait(|| lock.try_lock_shared())?;
                self.pages()
            }
            // Nobody has written it, or it cannot be locked here and is only read.
            Err(_) => self.pages(),
        }
    }

    /// Adds a record, and returns how many there are then.
    pub(crate) fn add(&self, record: &Record) -> io::Result<usize> {
        let _lock = self.lock()?;
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).read(true);
        let mut file = plain(file, &self.path)?;
        let pages = parse(&mut file)?;
        if pages.count() == 0 && !pages.0.iter().all(Line::is_half) {
            return Err(io::Error::other("it is somebody else's: nothing in it is a record"));
        }
        let mut line = record.line().into_bytes();
        line.push(b'\n');
        // What was left by half stays what it is, and a line of its own.
        if pages.0.last().is_some_and(|last| !last.bytes.ends_with(b"\n")) {
            line.insert(0, b'\n');
        }
        file.write_all(&line)?;
        file.sync_data()?;
        Ok(pages.count() + 1)
    }

    /// Keeps the newest records, and returns how many went and how many are left. What is no
    /// record stays: nobody can tell what it was.
    pub(crate) fn keep(&self, newest: usize, act: Act) -> io::Result<(usize, usize)> {
        let _lock = match act {
            Act::Done => Some(self.lock()?),
            Act::Tried => None,
        };
        let Pages(mut lines) = self.pages()?;
        let count = lines.iter().filter(|line| line.record.is_some()).count();
        let surplus = count.saturating_sub(newest);
        let mut left = surplus;
        lines.retain(|line| {
            let goes = left > 0 && line.record.is_some();
            left -= usize::from(goes);
            !goes
        });
        if surplus > 0 && act == Act::Done {
            self.replace(&lines.into_iter().flat_map(|line| line.bytes).collect::<Vec<_>>())?;
        }
        Ok((surplus, count - surplus))
    }

    fn replace(&self, content: &[u8]) -> io::Result<()> {
        let new = self.beside(&format!(".{}", Uuid::now_v7()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        let written = file.write_all(content).and_then(|()| file.sync_data());
        let put = written.and_then(|()| fs::rename(&new, &self.path));
        if put.is_err() {
            let _ = fs::remove_file(&new);
        }
        put
    }

    fn pages(&self) -> io::Result<Pages> {
        match plain(OpenOptions::new().read(true), &self.path) {
            Ok(mut file) => parse(&mut file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Pages::default()),
            Err(error) => Err(error),
        }
    }

    /// Keeps others from the file for as long as what is returned is held. Not the file itself is
    /// locked: it is replaced.
    fn lock(&self) -> io::Result<File> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let mut options = OpenOptions::new();
        let options = options.append(true).create(true).mode(0o600);
        let lock = plain(options, &self.beside(".lock"))?;
        wait(|| lock.try_lock())?;
        Ok(lock)
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut path = self.path.as_os_str().to_owned();
        path.push(ending);
        path.into()
    }
}

/// Opens a file. Through a link nothing is read or written, and a pipe is waited for by nobody.
fn plain(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("not a regular file")),
    }
}

fn parse(file: &mut File) -> io::Result<Pages> {
    let mut content = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut content)?;
    if content.len() as u64 > LONGEST {
        let why = format!("it is longer than {} MiB", LONGEST / 1024 / 1024);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    let lines = content
        .split_inclusive(|byte| *byte == b'\n')
        .map(|bytes| Line { bytes: bytes.to_owned(), record: serde_json::from_slice(bytes).ok() });
    Ok(Pages(lines.filter(|line| !line.bytes.trim_ascii().is_empty()).collect()))
}

/// Waits for a lock, but not for ever: whoever has it may have been stopped.
fn wait(try_lock: impl Fn() -> Result<(), TryLockError>) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if begun.elapsed() > PATIENCE => {
                let why = format!("another process has had it for {} s", PATIENCE.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        ops::Range,
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    use super::*;

    fn book() -> (tempfile::TempDir, Book) {
        let keep = tempfile::tempdir().unwrap();
        let path = keep.path().join("new/a.jsonl");
        (keep, Book { path })
    }

    fn record(number: usize) -> Record {
        Record::new(0, &number.to_string(), "done")
    }

    fn add(book: &Book, numbers: Range<usize>) {
        for number in numbers {
            book.add(&record(number)).unwrap();
        }
    }

    fn tasks(book: &Book) -> Vec<String> {
        book.read().unwrap().records().map(|record| record.task.clone()).collect()
    }

    #[test]
    fn what_is_added_is_there_in_its_order() {
        let (_keep, book) = book();
        assert_eq!(book.read().unwrap(), Pages::default());
        assert_eq!(book.add(&record(1)).unwrap(), 1);
        assert_eq!(book.add(&record(2)).unwrap(), 2);
        assert_eq!(tasks(&book), ["1", "2"]);
        let mode = fs::metadata(&book.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "others have no business here");
    }

    #[test]
    fn agents_side_by_side_lose_nothing_while_somebody_cleans_up() {
        let (_keep, book) = book();
        let new = 8 * 20;
        add(&book, 1000..1000 + new);
        thread::scope(|scope| {
            let writers: Vec<_> = (0..8)
                .map(|writer| {
                    let book = &book;
                    scope.spawn(move || {
                        add(book, writer * 20..writer * 20 + 20);
                    })
                })
                .collect();
            // The old ones go one by one, while the new ones come.
            while !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
                book.keep(new, Act::Done).unwrap();
            }
        });
        book.keep(new, Act::Done).unwrap();
        let mut tasks: Vec<usize> = tasks(&book).iter().map(|task| task.parse().unwrap()).collect();
        tasks.sort_unstable();
        assert_eq!(tasks, (0..new).collect::<Vec<_>>());
        assert_eq!(book.read().unwrap().unreadable(), [0; 0]);
    }

    #[test]
    fn half_a_line_swallows_no_other() {
        let (_keep, book) = book();
        book.add(&record(1)).unwrap();
        let half = &record(2).line()[..20];
        File::options().append(true).open(&book.path).unwrap().write_all(half.as_bytes()).unwrap();
        assert_eq!((tasks(&book), book.read().unwrap().unreadable()), (vec!["1".into()], vec![2]));
        assert_eq!(book.add(&record(3)).unwrap(), 2);
        assert_eq!(tasks(&book), ["1", "3"]);
        assert_eq!(book.keep(1, Act::Done).unwrap(), (1, 1));
        assert_eq!((tasks(&book), book.read().unwrap().unreadable()), (vec!["3".into()], vec![1]));
        assert!(fs::read_to_string(&book.path).unwrap().starts_with(half), "nobody took it away");
    }

    #[test]
    fn a_file_in_which_nothing_is_a_record_is_left_alone() {
        let (_keep, book) = book();
        fs::create_dir(book.path.parent().unwrap()).unwrap();
        let whole = record(1).line();
        for text in ["", "\n \n", &whole[..3], &whole[..30], &format!("{}\n", &whole[..9])] {
            fs::write(&book.path, text).unwrap();
            assert_eq!(book.add(&record(1)).unwrap(), 1, "{text:?}");
        }
        for text in ["{\"id\": 1}\n", "{\"time\":\"now\",\"level\":1}\n", "words"] {
            fs::write(&book.path, text).unwrap();
            let why = book.add(&record(1)).unwrap_err().to_string();
            assert!(why.contains("somebody else's"), "{text:?}: {why}");
            assert_eq!(fs::read_to_string(&book.path).unwrap(), text);
        }
    }

    #[test]
    fn the_newest_are_kept_and_nothing_goes_that_was_only_tried() {
        let (keep, book) = book();
        add(&book, 1..6);
        assert_eq!(book.keep(2, Act::Tried).unwrap(), (3, 2));
        assert_eq!(tasks(&book).len(), 5);
        assert_eq!(book.keep(2, Act::Done).unwrap(), (3, 2));
        assert_eq!(tasks(&book), ["4", "5"]);
        assert_eq!(book.keep(0, Act::Done).unwrap(), (2, 0));
        assert_eq!(tasks(&book), [""; 0]);
        let left = fs::read_dir(keep.path().join("new")).unwrap().count();
        assert_eq!(left, 2, "the file and its lock");
    }

    #[test]
    fn nothing_is_written_or_read_through_a_link() {
        let (keep, book) = book();
        let other = keep.path().join("other");
        fs::write(&other, record(1).line()).unwrap();
        fs::create_dir(book.path.parent().unwrap()).unwrap();
        symlink(&other, &book.path).unwrap();
        assert!(book.add(&record(2)).is_err() && book.read().is_err());
        assert_eq!(fs::read_to_string(&other).unwrap(), record(1).line());
    }
}
