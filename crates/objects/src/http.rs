//! One HTTP/1.1 connection to a store, plain or encrypted: a request out, the head of the answer in, then its body as it comes.
//!
//! Invariant: the body of an answer is read to its end before the next request leaves; a connection on which anything went wrong is not used
//! again. Called by `bucket` and `download`.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::settings::{Endpoint, Settings};

const CONNECT: Duration = Duration::from_secs(10);
/// Without a byte either way.
const SILENCE: Duration = Duration::from_secs(60);
const HEAD_BYTES_MAX: u64 = 64 << 10;
/// Of an answer that is read as a whole: lists of parts have no more.
pub(crate) const ANSWER_BYTES_MAX: u64 = 4 << 20;

/// Who connects.
pub(crate) struct Connector {
    endpoint: Endpoint,
    tls: Option<Arc<ClientConfig>>,
}

impl Connector {
    pub fn new(settings: &Settings, endpoint: Endpoint) -> Result<Connector, String> {
        let tls = if endpoint.is_encrypted { Some(Arc::new(tls(settings)?)) } else { None };
        Ok(Connector { endpoint, tls })
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub fn connect(&self) -> io::Result<Connection> {
        let Endpoint { host, port, .. } = &self.endpoint;
        let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
        for address in (host.as_str(), *port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(socket) => return self.begin(socket),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn begin(&self, socket: TcpStream) -> io::Result<Connection> {
        socket.set_read_timeout(Some(SILENCE))?;
        socket.set_write_timeout(Some(SILENCE))?;
        socket.set_nodelay(true)?;
        let stream = match &self.tls {
            None => Stream::Plain(socket),
            Some(config) => {
                let name = ServerName::try_from(self.endpoint.host.clone()).map_err(io::Error::other)?;
                let client = ClientConnection::new(config.clone(), name).map_err(io::Error::other)?;
                Stream::Encrypted(Box::new(StreamOwned::new(client, socket)))
            }
        };
        Ok(Connection { stream: BufReader::with_capacity(64 << 10, stream), body: Body::Length(0) })
    }
}

fn tls(settings: &Settings) -> Result<ClientConfig, String> {
    let bundle = settings.bundle()?;
    let unreadable =
        |error| format!("cannot read the certificates of authorities in {}: {error}", bundle.display());
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(&bundle).map_err(unreadable)?;
    // A bundle of a system may have one that is of no use.
    roots.add_parsable_certificates(certificates.filter_map(Result::ok));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| format!("TLS: {error}"))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

enum Stream {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(stream) => stream.read(buffer),
            Stream::Encrypted(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(stream) => stream.write(bytes),
            Stream::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(stream) => stream.flush(),
            Stream::Encrypted(stream) => stream.flush(),
        }
    }
}

/// What is left of a body.
enum Body {
    Length(u64),
    /// So many bytes of this chunk.
    Chunked(u64),
    /// The other side closes behind it.
    UntilEnd,
}

/// What an answer begins with.
pub(crate) struct Head {
    pub status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    /// By its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

pub(crate) struct Connection {
    stream: BufReader<Stream>,
    body: Body,
}

impl Connection {
    /// Sends a request and reads the head of the answer.
    pub fn ask(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&'static str, String)],
        payload: &[u8],
    ) -> io::Result<Head> {
        let mut text = format!("{method} {target} HTTP/1.1\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("content-length: {}\r\n\r\n", payload.len()));
        let output = self.stream.get_mut();
        output.write_all(text.as_bytes())?;
        output.write_all(payload)?;
        output.flush()?;
        let head = self.read_head()?;
        self.body = match () {
            () if method == "HEAD" || head.status == 204 || head.status == 304 => Body::Length(0),
            () if head
                .header("transfer-encoding")
                .is_some_and(|value| value.eq_ignore_ascii_case("chunked")) =>
            {
                Body::Chunked(self.chunk()?)
            }
            () => match head.header("content-length").map(str::parse) {
                Some(Ok(length)) => Body::Length(length),
                Some(Err(_)) => return Err(strange("a length that is no number")),
                None => Body::UntilEnd,
            },
        };
        Ok(head)
    }

    fn line(&mut self, left: &mut u64) -> io::Result<String> {
        let mut line = Vec::new();
        let read = (&mut self.stream).take(*left).read_until(b'\n', &mut line)?;
        *left -= read as u64;
        match line.strip_suffix(b"\n") {
            Some(line) => Ok(String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()),
            None if *left == 0 => Err(strange("a head that has no end")),
            None => Err(closed()),
        }
    }

    fn read_head(&mut self) -> io::Result<Head> {
        let mut left = HEAD_BYTES_MAX;
        loop {
            let first = self.line(&mut left)?;
            let status =
                first.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)).map(str::parse);
            let Some(Ok(status)) = status else { return Err(strange("something that is not HTTP")) };
            let mut headers = Vec::new();
            loop {
                let line = self.line(&mut left)?;
                if line.is_empty() {
                    break;
                }
                let Some((name, value)) = line.split_once(':') else {
                    return Err(strange("a header without a colon"));
                };
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            // Those before the answer say nothing of it.
            if status >= 200 {
                return Ok(Head { status, headers });
            }
        }
    }

    /// How long the next chunk is; the lines behind the last one are read as well.
    fn chunk(&mut self) -> io::Result<u64> {
        let mut left = HEAD_BYTES_MAX;
        let line = self.line(&mut left)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = u64::from_str_radix(digits, 16).map_err(|_| strange("a chunk without a length"))?;
        if length == 0 {
            while !self.line(&mut left)?.is_empty() {}
        }
        Ok(length)
    }

    /// The next bytes of the body; 0 behind its end.
    pub fn read_body(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = match self.body {
            Body::Length(left) | Body::Chunked(left) => {
                usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len())
            }
            Body::UntilEnd => buffer.len(),
        };
        if length == 0 {
            return Ok(0);
        }
        let read = self.stream.read(&mut buffer[..length])?;
        match &mut self.body {
            Body::UntilEnd => {}
            _ if read == 0 => return Err(closed()),
            Body::Length(left) => *left -= read as u64,
            Body::Chunked(left) => {
                *left -= read as u64;
                if *left == 0 {
                    let mut end = 2;
                    self.line(&mut end)?;
                    self.body = Body::Chunked(self.chunk()?);
                }
            }
        }
        Ok(read)
    }

    /// The rest of the body.
    pub fn read_text(&mut self) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&self.read_bytes(ANSWER_BYTES_MAX)?).into_owned())
    }

    /// The same as bytes, if it is not longer than this.
    pub fn read_bytes(&mut self, most: u64) -> io::Result<Vec<u8>> {
        let (mut bytes, mut buffer) = (Vec::new(), [0; 16 << 10]);
        loop {
            let read = self.read_body(&mut buffer)?;
            if read == 0 {
                return Ok(bytes);
            }
            bytes.extend_from_slice(&buffer[..read]);
            if bytes.len() as u64 > most {
                return Err(strange("an answer that is too long"));
            }
        }
    }

    /// Whether another request may be sent behind this answer.
    pub fn stays_open(&self, head: &Head) -> bool {
        let is_over = matches!(self.body, Body::Length(0) | Body::Chunked(0));
        is_over && !head.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

fn closed() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the store closed the connection before the end of its answer")
}

fn strange(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("the store sent {what}"))
}
