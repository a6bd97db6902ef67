//! Uploads and downloads against a small store that fails now and then.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use objects::{Bucket, Download, Location, Settings, Upload};

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
