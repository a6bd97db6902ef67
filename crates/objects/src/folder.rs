//! A folder of a bucket as a disk, for the archive of the log: few files, written from the beginning to the end.
//!
//! | file | what it is in the bucket |
//! |---|---|
//! | `*.log` | grows: an object for each `sync` that had something to write, which are joined now and then (`parts`) |
//! | `*.new` | nothing: it is in memory until it is renamed, and then an object under its new name |
//! | any other | one object, which is replaced as a whole |
//!
//! Invariants: a `sync` and a `rename` return when the store has answered; what is written of a file and not yet sent, and the part of a
//! file that is read, are in memory, a few times 16 MB. No call waits on the thread that makes it. An error has the store's words in the
//! place of a path: `Os(ECOMM)` if it does not answer, which may pass, and `Os(EREMOTEIO)` if it refuses. Called by the program's
//! `log_archive`.
use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;

use env::{
    BoxFuture, Completion, Disk, File, IoBuf, IoError, IoErrorKind, IoOp, OpenOptions, SyncCompletion,
    completion, sync_completion,
};
use parking_lot::Mutex;

use crate::parts::{Part, Written, beginning, chain, file_of};
use crate::store::{Failure, Store};
use crate::turns::Turns;
use crate::{Location, Result, Settings};

/// Linux's numbers.
const ECOMM: i32 = 70;
const EREMOTEIO: i32 = 121;
const EOPNOTSUPP: i32 = 95;

/// How long a request is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// For a command: about a quarter of a minute.
    Command,
    /// For who tries again later anyway: three seconds. Parts of files are read as for a command, since statements wait for these.
    Server,
}

/// See the head of this file.
pub struct Folder {
    at: Location,
    turns: Arc<Turns>,
    /// Files that are not renamed yet.
    unnamed: Mutex<BTreeMap<String, Content>>,
}

type Content = Arc<Mutex<Vec<u8>>>;

fn grows(name: &str) -> bool {
    name.ends_with(".log")
}

fn is_unnamed(name: &str) -> bool {
    name.ends_with(".new")
}

fn told(op: IoOp, path: &str, failure: Failure) -> IoError {
    match failure {
        Failure::Absent => IoError::new(op, path, IoErrorKind::NotFound),
        Failure::Away(text) => IoError::new(op, text, IoErrorKind::Os(ECOMM)),
        Failure::Refused(text) => IoError::new(op, text, IoErrorKind::Os(EREMOTEIO)),
    }
}

fn unsupported(op: IoOp, path: &str) -> IoError {
    IoError::new(op, path, IoErrorKind::Os(EOPNOTSUPP))
}

impl Folder {
    /// Of what people write, with the settings of the environment. Nothing is asked yet.
    pub fn named(text: &str, patience: Patience) -> Result<Arc<Folder>> {
        Folder::of(&Settings::of_environment()?, &Location::parse(text)?, patience)
    }

    /// A folder of a bucket.
    pub fn of(settings: &Settings, at: &Location, patience: Patience) -> Result<Arc<Folder>> {
        let attempts = match patience {
            Patience::Command => crate::bucket::ATTEMPTS,
            Patience::Server => 5,
        };
        let store = Store::of(settings, at.clone(), attempts)?;
        let at = store.at().clone();
        let turns = Turns::start(store).map_err(|error| format!("{at}: cannot start a thread: {error}"))?;
        Ok(Arc::new(Folder { at, turns: Arc::new(turns), unnamed: Mutex::default() }))
    }

    async fn open_file(
        &self,
        path: &str,
        options: OpenOptions,
    ) -> std::result::Result<Arc<dyn File>, IoError> {
        let (turns, name) = (self.turns.clone(), path.to_owned());
        let failed = |failure| told(IoOp::Open, path, failure);
        if is_unnamed(path) {
            let content = self.unnamed.lock().entry(name.clone()).or_default().clone();
            return Ok(Arc::new(ObjectFile { name, turns, body: Body::Memory(content) }));
        }
        if !grows(path) {
            let asked = name.clone();
            let content = turns.ask(move |store| store.read(&asked)).await.map_err(failed)?;
            return Ok(Arc::new(ObjectFile {
                name,
                turns,
                body: Body::Memory(Arc::new(Mutex::new(content))),
            }));
        }
        let asked = name.clone();
        let found = turns.ask(move |store| store.list(&beginning(&asked))).await.map_err(failed)?;
        let parts = chain(path, found.iter().map(|(object, _)| object.as_str()));
        let body = match parts.is_empty() {
            true if !options.create => return Err(failed(Failure::Absent)),
            true => Body::Growing(Arc::default()),
            false if options.exclusive => {
                return Err(IoError::new(IoOp::Open, path, IoErrorKind::AlreadyExists));
            }
            false => Body::Stored(Arc::new(Mutex::new(Stored { parts, last: None }))),
        };
        Ok(Arc::new(ObjectFile { name, turns, body }))
    }

    async fn remove_file(&self, path: &str) -> std::result::Result<(), IoError> {
        if is_unnamed(path) {
            self.unnamed.lock().remove(path);
            return Ok(());
        }
        let name = path.to_owned();
        let removed = self.turns.ask(move |store| match grows(&name) {
            false => store.remove(&name),
            true => remove_parts(store, &name, |_| true),
        });
        removed.await.map_err(|failure| told(IoOp::Remove, path, failure))
    }

    async fn rename_file(&self, from: &str, to: &str) -> std::result::Result<(), IoError> {
        let content = self.unnamed.lock().get(from).cloned();
        let Some(content) = content.filter(|_| !grows(to)) else {
            return Err(unsupported(IoOp::Rename, from));
        };
        let name = to.to_owned();
        let written = self.turns.ask(move |store| {
            let bytes = content.lock().clone();
            store.write(&name, &bytes)
        });
        written.await.map_err(|failure| told(IoOp::Rename, to, failure))?;
        self.unnamed.lock().remove(from);
        Ok(())
    }

    async fn files(&self) -> std::result::Result<Vec<String>, IoError> {
        let found = self.turns.ask(|store| store.list("")).await;
        let found = found.map_err(|failure| told(IoOp::List, &self.at.to_string(), failure))?;
        let mut names: Vec<String> = found.iter().map(|(object, _)| file_of(object).to_owned()).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }
}

/// Those of a file that are not wanted.
fn remove_parts(
    store: &mut Store,
    file: &str,
    is_unwanted: impl Fn(&str) -> bool,
) -> std::result::Result<(), Failure> {
    for (object, _) in store.list(&beginning(file))? {
        if is_unwanted(&object) {
            store.remove(&object)?;
        }
    }
    Ok(())
}

impl Disk for Folder {
    fn open<'a>(
        &'a self,
        path: &'a str,
        options: OpenOptions,
    ) -> BoxFuture<'a, std::result::Result<Arc<dyn File>, IoError>> {
        Box::pin(self.open_file(path, options))
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, std::result::Result<(), IoError>> {
        Box::pin(self.remove_file(path))
    }

    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> BoxFuture<'a, std::result::Result<(), IoError>> {
        Box::pin(self.rename_file(from, to))
    }

    fn list<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::result::Result<Vec<String>, IoError>> {
        Box::pin(self.files())
    }

    fn create_dir<'a>(&'a self, path: &'a str) -> BoxFuture<'a, std::result::Result<(), IoError>> {
        Box::pin(ready(Err(unsupported(IoOp::CreateDir, path))))
    }

    fn sync_dir<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::result::Result<(), IoError>> {
        Box::pin(ready(Ok(())))
    }
}

/// What an open file has.
enum Body {
    /// All of it, for reading, or until it is renamed.
    Memory(Content),
    /// One that this process makes.
    Growing(Arc<Growing>),
    /// One that was there.
    Stored(Arc<Mutex<Stored>>),
}

#[derive(Default)]
struct Growing {
    content: Mutex<Vec<u8>>,
    /// Held by the thread that asks the store only.
    written: Mutex<Written>,
}

struct Stored {
    parts: Vec<Part>,
    /// The part that was read last.
    last: Option<(Part, Vec<u8>)>,
}

struct ObjectFile {
    name: String,
    turns: Arc<Turns>,
    body: Body,
}

impl Growing {
    /// What has come to it since the last time.
    fn send(&self, store: &mut Store, name: &str) -> std::result::Result<(), Failure> {
        let mut written = self.written.lock();
        let bytes = |part: Part| self.content.lock()[part.start as usize..part.end as usize].to_vec();
        let end = self.content.lock().len() as u64;
        let Some(part) = written.next(end) else { return Ok(()) };
        store.write(&part.name(name), &bytes(part))?;
        written.add(part);
        while let Some((joined, whole)) = written.joint() {
            // It is all there already: another time will do, and parts that stay do no harm.
            if store.write(&whole.name(name), &bytes(whole)).is_err() {
                break;
            }
            written.join(whole);
            for part in joined {
                let _ = store.remove(&part.name(name));
            }
        }
        Ok(())
    }
}

impl Stored {
    fn length(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.end)
    }

    /// Fills all of it from there.
    fn read(
        &mut self,
        store: &mut Store,
        name: &str,
        mut at: u64,
        mut into: &mut [u8],
    ) -> std::result::Result<(), Failure> {
        while !into.is_empty() {
            let Some(part) = self.parts.iter().copied().find(|part| part.start <= at && at < part.end) else {
                return Err(Failure::Absent);
            };
            let bytes = match &mut self.last {
                Some((last, bytes)) if *last == part => bytes,
                last => {
                    *last = None;
                    let bytes = store.patiently(|store| store.read(&part.name(name)))?;
                    if bytes.len() as u64 != part.end - part.start {
                        let what = format!("{}: it has another length than its name says", part.name(name));
                        return Err(Failure::Refused(what));
                    }
                    &mut last.insert((part, bytes)).1
                }
            };
            let from = (at - part.start) as usize;
            let count = into.len().min(bytes.len() - from);
            let (filled, rest) = into.split_at_mut(count);
            filled.copy_from_slice(&bytes[from..from + count]);
            (into, at) = (rest, at + count as u64);
        }
        Ok(())
    }

    /// Leaves only the first so many bytes.
    fn cut(&mut self, store: &mut Store, name: &str, length: u64) -> std::result::Result<(), Failure> {
        let kept: Vec<Part> = self.parts.iter().copied().filter(|part| part.end <= length).collect();
        let start = kept.last().map_or(0, |part| part.end);
        let mut bytes = vec![0; (length - start) as usize];
        self.read(store, name, start, &mut bytes)?;
        let mut parts = kept;
        if length > start {
            let part = Part { start, end: length };
            store.write(&part.name(name), &bytes)?;
            parts.push(part);
        }
        let names: Vec<String> = parts.iter().map(|part| part.name(name)).collect();
        remove_parts(store, name, |object| !names.iter().any(|name| name == object))?;
        *self = Stored { parts, last: None };
        Ok(())
    }
}

fn read_memory(content: &[u8], offset: u64, mut buffer: IoBuf, path: &str) -> Completion {
    let (completer, done) = completion();
    let range = offset as usize..offset as usize + buffer.len();
    let result = match content.get(range) {
        Some(bytes) => {
            buffer.as_mut_slice().copy_from_slice(bytes);
            Ok(())
        }
        None => Err(IoError::new(IoOp::Read, path, IoErrorKind::EndOfFile)),
    };
    completer.complete(buffer, result);
    done
}

impl ObjectFile {
    fn refused_write(&self, buffer: IoBuf) -> Completion {
        let (completer, done) = completion();
        completer.complete(buffer, Err(unsupported(IoOp::Write, &self.name)));
        done
    }

    async fn cut(&self, length: u64) -> std::result::Result<(), IoError> {
        let failed = |failure| told(IoOp::SetLength, &self.name, failure);
        match &self.body {
            Body::Memory(content) => content.lock().resize(length as usize, 0),
            Body::Growing(growing) if growing.content.lock().len() as u64 == length => {}
            Body::Growing(_) => return Err(unsupported(IoOp::SetLength, &self.name)),
            Body::Stored(stored) => {
                let (stored, name) = (stored.clone(), self.name.clone());
                let cut = self.turns.ask(move |store| {
                    let mut stored = stored.lock();
                    match stored.length() {
                        known if known == length => Ok(()),
                        known if known < length => {
                            Err(Failure::Refused(format!("{name}: objects do not become longer")))
                        }
                        _ => stored.cut(store, &name, length),
                    }
                });
                return cut.await.map_err(failed);
            }
        }
        Ok(())
    }
}

impl File for ObjectFile {
    fn path(&self) -> &str {
        &self.name
    }

    fn read_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        match &self.body {
            Body::Memory(content) => read_memory(&content.lock(), offset, buffer, &self.name),
            Body::Growing(growing) => read_memory(&growing.content.lock(), offset, buffer, &self.name),
            Body::Stored(stored) => {
                let (completer, done) = completion();
                let (stored, name) = (stored.clone(), self.name.clone());
                self.turns.send(move |store| {
                    let mut buffer = buffer;
                    let read = stored.lock().read(store, &name, offset, buffer.as_mut_slice());
                    let result = read.map_err(|failure| match failure {
                        Failure::Absent => IoError::new(IoOp::Read, &*name, IoErrorKind::EndOfFile),
                        failure => told(IoOp::Read, &name, failure),
                    });
                    completer.complete(buffer, result);
                });
                done
            }
        }
    }

    fn write_at(&self, offset: u64, buffer: IoBuf) -> Completion {
        let content = match &self.body {
            Body::Memory(content) => &**content,
            Body::Growing(growing) => &growing.content,
            Body::Stored(_) => return self.refused_write(buffer),
        };
        let mut content = content.lock();
        if content.len() as u64 != offset {
            return self.refused_write(buffer);
        }
        content.extend_from_slice(buffer.as_slice());
        let (completer, done) = completion();
        completer.complete(buffer, Ok(()));
        done
    }

    fn write_through_at(&self, _: u64, buffer: IoBuf) -> Completion {
        self.refused_write(buffer)
    }

    fn sync(&self) -> SyncCompletion {
        self.sync_all()
    }

    fn sync_all(&self) -> SyncCompletion {
        let Body::Growing(growing) = &self.body else { return SyncCompletion::done() };
        let (completer, done) = sync_completion();
        let (growing, name) = (Arc::downgrade(growing), self.name.clone());
        self.turns.send(move |store| {
            // Who has given the file up makes another one behind what is there.
            let Some(growing) = growing.upgrade() else { return };
            let sent = growing.send(store, &name);
            completer.complete(IoBuf::empty(), sent.map_err(|failure| told(IoOp::Sync, &name, failure)));
        });
        done
    }

    fn len(&self) -> BoxFuture<'_, std::result::Result<u64, IoError>> {
        let length = match &self.body {
            Body::Memory(content) => content.lock().len() as u64,
            Body::Growing(growing) => growing.content.lock().len() as u64,
            Body::Stored(stored) => stored.lock().length(),
        };
        Box::pin(ready(Ok(length)))
    }

    fn set_len(&self, length: u64) -> BoxFuture<'_, std::result::Result<(), IoError>> {
        Box::pin(self.cut(length))
    }

    fn allocate(&self, _: u64) -> BoxFuture<'_, std::result::Result<(), IoError>> {
        Box::pin(ready(Ok(())))
    }
}
