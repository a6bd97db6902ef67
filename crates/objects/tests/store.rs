//! Uploads and downloads against a small store that fails now and then.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use env::local::block_on;
use env::{Disk, IoBuf, IoErrorKind, OpenOptions};
use objects::{Bucket, Download, Folder, Location, Patience, Settings, Upload};

/// What the store has. Requests are counted, and those in `faults` fail: by an answer or by none.
#[derive(Default)]
struct Store {
    objects: BTreeMap<String, Vec<u8>>,
    parts: BTreeMap<usize, Vec<u8>>,
    is_open: bool,
    requests: usize,
    faults: Vec<(usize, Fault)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Busy,
    Silent,
    /// The body ends in its middle.
    Cut,
}

fn start(store: Store) -> (Settings, Arc<Mutex<Store>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let store = Arc::new(Mutex::new(store));
    let shared = store.clone();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let shared = shared.clone();
            std::thread::spawn(move || serve(socket, &shared));
        }
    });
    let settings = Settings {
        access_key: "key".into(),
        secret_key: "secret".into(),
        session_token: None,
        region: "us-east-1".into(),
        endpoint: Some(format!("http://127.0.0.1:{port}")),
        authorities: None,
    };
    (settings, store)
}

fn serve(socket: TcpStream, store: &Mutex<Store>) -> Option<()> {
    let mut input = BufReader::new(socket.try_clone().ok()?);
    let mut output = socket;
    loop {
        let mut first = String::new();
        input.read_line(&mut first).ok().filter(|read| *read > 0)?;
        let (mut length, mut from) = (0, None);
        loop {
            let mut line = String::new();
            input.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            match name {
                "content-length" => length = value.parse().ok()?,
                "range" => from = value.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        input.read_exact(&mut body).ok()?;
        let mut words = first.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut store = store.lock().ok()?;
        store.requests += 1;
        let number = store.requests;
        let fault = store.faults.iter().find(|(at, _)| *at == number).map(|(_, fault)| *fault);
        let (status, tag, answer) = match fault {
            Some(Fault::Silent) => return None,
            Some(Fault::Busy) => (503, "", b"<Error><Code>SlowDown</Code></Error>".to_vec()),
            _ => store.answer(method, path, query, body, from),
        };
        let head =
            format!("HTTP/1.1 {status} x\r\nETag: \"{tag}\"\r\nContent-Length: {}\r\n\r\n", answer.len());
        output.write_all(head.as_bytes()).ok()?;
        if method == "HEAD" {
            continue;
        }
        if fault == Some(Fault::Cut) {
            output.write_all(&answer[..answer.len() / 2]).ok()?;
            return None;
        }
        output.write_all(&answer).ok()?;
    }
}

impl Store {
    fn answer(
        &mut self,
        method: &str,
        path: &str,
        query: &str,
        body: Vec<u8>,
        from: Option<usize>,
    ) -> (u16, &'static str, Vec<u8>) {
        let missing = || (404, "", b"<Error><Code>NoSuchKey</Code><Message>no</Message></Error>".to_vec());
        match (method, query) {
            ("GET", list) if list.contains("list-type=2") => (200, "", self.listed(path, list)),
            ("DELETE", "") => {
                self.objects.remove(path);
                (204, "", Vec::new())
            }
            ("GET" | "HEAD", _) => match (self.objects.get(path), from) {
                (Some(object), Some(from)) => (206, "whole", object[from..].to_vec()),
                (Some(object), None) => (200, "whole", object.clone()),
                (None, _) => missing(),
            },
            ("POST", "uploads=") => {
                self.is_open = true;
                (200, "", b"<R><UploadId>one/two</UploadId></R>".to_vec())
            }
            ("PUT", "") => {
                self.objects.insert(path.into(), body);
                (200, "whole", Vec::new())
            }
            ("PUT", _) => {
                let number = query
                    .strip_prefix("partNumber=")
                    .and_then(|rest| rest.strip_suffix("&uploadId=one%2Ftwo"));
                let number = number.and_then(|number| number.parse().ok()).expect("a part's number");
                self.parts.insert(number, body);
                (200, "part", Vec::new())
            }
            ("POST", "uploadId=one%2Ftwo") if self.is_open => {
                let list = String::from_utf8(body).expect("text");
                assert_eq!(list.matches("<ETag>&quot;part&quot;</ETag>").count(), self.parts.len());
                let whole = std::mem::take(&mut self.parts).into_values().flatten().collect();
                self.objects.insert(path.into(), whole);
                self.is_open = false;
                (200, "", b"<R/>".to_vec())
            }
            ("POST", _) => (404, "", b"<Error><Code>NoSuchUpload</Code></Error>".to_vec()),
            _ => {
                self.is_open = false;
                self.parts.clear();
                (204, "", Vec::new())
            }
        }
    }
}

impl Store {
    /// Three names at a time.
    fn listed(&self, bucket: &str, query: &str) -> Vec<u8> {
        let value = |name: &str| {
            let found = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            found.unwrap_or_default().replace("%2F", "/").replace("%20", " ")
        };
        let (prefix, behind) = (value("prefix"), value("continuation-token"));
        let keys =
            self.objects.iter().map(|(name, object)| (name[bucket.len()..].replace("%20", " "), object));
        let mut keys: Vec<_> = keys.filter(|(key, _)| key.starts_with(&prefix) && *key > behind).collect();
        let goes_on = keys.len() > 3;
        keys.truncate(3);
        let mut text = format!("<R><IsTruncated>{goes_on}</IsTruncated>");
        for (key, object) in &keys {
            let size = object.len();
            text.push_str(&format!("<Contents><Key>{key}</Key><Size>{size}</Size></Contents>"));
        }
        if let Some((last, _)) = keys.last().filter(|_| goes_on) {
            text.push_str(&format!("<NextContinuationToken>{last}</NextContinuationToken>"));
        }
        text.push_str("</R>");
        text.into_bytes()
    }
}

fn location() -> Location {
    Location::parse("s3://backups/a b/full.ekb").expect("valid")
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 7 % 251) as u8).collect()
}

fn upload(settings: &Settings, content: &[u8]) -> Result<(), String> {
    let mut upload = Upload::begin(settings, &location())?;
    content
        .chunks(100_001)
        .try_for_each(|chunk| upload.write_all(chunk))
        .map_err(|error| error.to_string())?;
    upload.finish()
}

#[test]
fn what_is_written_is_read_in_spite_of_failures() {
    let faults =
        [(2, Fault::Silent), (4, Fault::Busy), (6, Fault::Silent), (8, Fault::Cut), (11, Fault::Cut)];
    for count in [0, 1, 20 << 20] {
        for faults in [Vec::new(), faults.to_vec()] {
            let (settings, store) = start(Store { faults, ..Store::default() });
            let content = bytes(count);
            upload(&settings, &content).expect("it is written");
            let mut read = Vec::new();
            let mut download = Download::begin(&settings, &location()).expect("it is there");
            assert_eq!(download.length(), count as u64);
            download.read_to_end(&mut read).expect("it is read");
            assert!(read == content, "{count} bytes");
            assert!(store.lock().expect("sound").objects.contains_key("/backups/a%20b/full.ekb"));
        }
    }
}

/// The store makes the object of its parts, and its answer is lost.
#[test]
fn a_lost_answer_to_the_last_request_is_no_failure() {
    // HEAD, begin, two parts, the last part, the end.
    let (settings, store) = start(Store { faults: vec![(6, Fault::Cut)], ..Store::default() });
    upload(&settings, &bytes(20 << 20)).expect("it is written");
    assert_eq!(store.lock().expect("sound").objects.len(), 1);
}

#[test]
fn an_upload_that_is_given_up_leaves_nothing() {
    let (settings, store) = start(Store::default());
    let mut upload = Upload::begin(&settings, &location()).expect("it begins");
    upload.write_all(&bytes(9 << 20)).expect("a part");
    drop(upload);
    let store = store.lock().expect("sound");
    assert!(store.objects.is_empty() && store.parts.is_empty() && !store.is_open);
    assert_eq!(store.requests, 4, "HEAD, begin, a part, away with it");
}

#[test]
fn refusals_say_what_to_do() {
    let (settings, _store) = start(Store::default());
    upload(&settings, b"x").expect("it is written");
    let said = upload(&settings, b"x").expect_err("it is there");
    assert_eq!(said, "s3://backups/a b/full.ekb is there already: name a new object");
    let other = Location::parse("s3://backups/other").expect("valid");
    assert_eq!(Bucket::new(&settings, &other).and_then(|mut bucket| bucket.length(&other)), Ok(None));
    let said = Download::begin(&settings, &other).err().expect("it is not there");
    assert_eq!(said, "s3://backups/other: there is no such object (HTTP status 404, NoSuchKey: no)");
}

async fn content(disk: &dyn Disk, name: &str) -> Vec<u8> {
    let file = disk.open(name, OpenOptions::existing()).await.expect("it is there");
    let length = file.len().await.expect("it has one") as usize;
    let (buffer, result) = file.read_at(0, IoBuf::for_overwriting(length)).await;
    result.expect("it is read");
    buffer.as_slice().to_vec()
}

#[test]
fn a_folder_has_files_that_grow_and_files_that_are_replaced() {
    let faults = vec![(7, Fault::Busy), (30, Fault::Cut), (31, Fault::Silent), (60, Fault::Busy)];
    let (settings, store) = start(Store { faults, ..Store::default() });
    let at = Location::parse("s3://backups/a b").expect("valid");
    let folder = Folder::of(&settings, &at, Patience::Server).expect("a folder");
    let all = bytes(50_000);
    block_on(async {
        for text in ["one", "other"] {
            env::replace_file(&*folder, "", "manifest", "manifest.new", text.as_bytes())
                .await
                .expect("replaced");
            assert_eq!(content(&*folder, "manifest").await, text.as_bytes());
        }
        let missing = folder.open("x.log", OpenOptions::existing()).await.err().expect("it is not there");
        assert!(missing.is_not_found());
        let file = folder.open("x.log", OpenOptions::create()).await.expect("made");
        file.set_len(0).await.expect("it is empty");
        for (number, piece) in all.chunks(1000).enumerate() {
            file.write_at(number as u64 * 1000, IoBuf::copy_of(piece)).await.1.expect("taken");
            file.sync_all().await.expect("sent");
            file.sync_all().await.expect("nothing is left");
        }
        assert_eq!(content(&*folder, "x.log").await, all);
        let file = folder.open("x.log", OpenOptions::existing()).await.expect("it is there");
        let now = store.lock().expect("sound").requests;
        store.lock().expect("sound").faults.extend((now + 1..now + 7).map(|at| (at, Fault::Busy)));
        file.read_at(0, IoBuf::for_overwriting(10)).await.1.expect("it is read in the end");
        assert_eq!(folder.list("").await.expect("a list"), ["manifest", "x.log"]);
        let count = store.lock().expect("sound").objects.len();
        assert!(count < 10, "{count} objects");
        let file = folder.open("x.log", OpenOptions::existing()).await.expect("it is there");
        file.set_len(33_333).await.expect("cut");
        assert_eq!(content(&*folder, "x.log").await, all[..33_333]);
        let (_, result) = file.read_at(33_000, IoBuf::for_overwriting(400)).await;
        assert!(result.expect_err("too far").is_end_of_file());
        folder.remove("x.log").await.expect("removed");
        assert_eq!(folder.list("").await.expect("a list"), ["manifest"]);
        assert_eq!(store.lock().expect("sound").objects.len(), 1);
    });
}

#[test]
fn a_folder_tells_a_store_that_is_away_from_one_that_refuses() {
    let at = Location::parse("s3://backups/log").expect("valid");
    let (settings, _) =
        start(Store { faults: (1..=5).map(|at| (at, Fault::Busy)).collect(), ..Store::default() });
    let folder = Folder::of(&settings, &at, Patience::Server).expect("a folder");
    let away = block_on(folder.list("")).expect_err("five times busy");
    assert_eq!(away.kind, IoErrorKind::Os(70), "{away}");
    assert_eq!(block_on(folder.list("")), Ok(Vec::new()));
    // Nobody listens there any more.
    let free = TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr()).expect("a port");
    let settings = Settings { endpoint: Some(format!("http://{free}")), ..settings };
    let folder = Folder::of(&settings, &at, Patience::Server).expect("a folder");
    let away = block_on(folder.list("")).expect_err("no answer");
    assert_eq!(away.kind, IoErrorKind::Os(70));
    assert!(away.path.contains("no answer from"), "{}", away.path);
}
