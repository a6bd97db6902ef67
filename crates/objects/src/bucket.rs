//! A bucket of a store: signed requests, which are tried again when the store or the way to it fails, and errors that say what to do.
//!
//! Called by `upload` and `download`, and by whoever has to know whether an object is there.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::http::{ANSWER_BYTES_MAX, Connection, Connector, Head};
use crate::location::{Location, escaped};
use crate::settings::{Endpoint, Settings};
use crate::signature::{Moment, Unsigned, authorization, sha256};
use crate::{Result, xml};

/// The first one included; with the rests between them about a quarter of a minute.
pub(crate) const ATTEMPTS: u32 = 7;
const FIRST_REST: Duration = Duration::from_millis(200);

/// The bucket of one object.
pub struct Bucket {
    settings: Arc<Settings>,
    connector: Arc<Connector>,
    connection: Option<Connection>,
    /// At each request.
    attempts: u32,
}

/// A request for the object of a location.
pub(crate) struct Request<'a> {
    pub method: &'static str,
    pub at: &'a Location,
    /// In the order of their names.
    pub parameters: &'a [(&'a str, &'a str)],
    pub headers: &'a [(&'static str, String)],
    pub payload: &'a [u8],
}

impl<'a> Request<'a> {
    pub fn new(method: &'static str, at: &'a Location) -> Request<'a> {
        Request { method, at, parameters: &[], headers: &[], payload: &[] }
    }
}

/// A whole answer.
pub(crate) struct Answer {
    pub head: Head,
    pub text: String,
}

impl Bucket {
    /// Nothing is asked yet.
    pub fn new(settings: &Settings, at: &Location) -> Result<Bucket> {
        let endpoint = Endpoint::of(settings, &at.bucket)?;
        let connector = Arc::new(Connector::new(settings, endpoint)?);
        Ok(Bucket { settings: Arc::new(settings.clone()), connector, connection: None, attempts: ATTEMPTS })
    }

    /// For who waits a while by himself and tries again.
    pub(crate) fn with_attempts(self, attempts: u32) -> Bucket {
        Bucket { attempts, ..self }
    }

    /// Gives how many there were.
    pub(crate) fn set_attempts(&mut self, attempts: u32) -> u32 {
        std::mem::replace(&mut self.attempts, attempts)
    }

    /// With a connection of its own.
    pub(crate) fn another(&self) -> Bucket {
        let (settings, connector) = (self.settings.clone(), self.connector.clone());
        Bucket { settings, connector, connection: None, attempts: self.attempts }
    }

    /// How long an object is, if it is there.
    pub fn length(&mut self, at: &Location) -> Result<Option<u64>> {
        let answer = self.answer(&Request::new("HEAD", at))?;
        match answer.head.status {
            404 => Ok(None),
            _ if answer.head.is_good() => {
                let length = answer.head.header("content-length").and_then(|length| length.parse().ok());
                length.map(Some).ok_or_else(|| format!("{at}: the store does not say how long it is"))
            }
            // Answers to HEAD have no text that says why.
            _ => {
                let headers = [("range", "bytes=0-0".to_owned())];
                let request = Request { headers: &headers, ..Request::new("GET", at) };
                let told = self.answer(&request)?;
                Err(self.refused(at, if told.head.is_good() { &answer } else { &told }))
            }
        }
    }

    /// A whole answer that is good.
    pub(crate) fn good_answer(&mut self, request: &Request<'_>) -> Result<Answer> {
        let answer = self.answer(request)?;
        match answer.head.is_good() {
            true => Ok(answer),
            false => Err(self.refused(request.at, &answer)),
        }
    }

    /// A whole answer, whatever it says.
    pub(crate) fn answer(&mut self, request: &Request<'_>) -> Result<Answer> {
        let (head, bytes) = self.content(request, ANSWER_BYTES_MAX)?;
        Ok(Answer { head, text: String::from_utf8_lossy(&bytes).into_owned() })
    }

    /// The head of an answer and its bytes, which may be so many.
    pub(crate) fn content(&mut self, request: &Request<'_>, most: u64) -> Result<(Head, Vec<u8>)> {
        self.repeated(request.at, |bucket| {
            let (head, mut connection) = bucket.ask(request)?;
            let bytes = connection.read_bytes(most)?;
            if connection.stays_open(&head) {
                bucket.connection = Some(connection);
            }
            Ok((head, bytes))
        })
    }

    /// Until it is no failure of the store or of the way to it.
    fn repeated(
        &mut self,
        at: &Location,
        mut once: impl FnMut(&mut Bucket) -> io::Result<(Head, Vec<u8>)>,
    ) -> Result<(Head, Vec<u8>)> {
        let mut attempts = Attempts::new(self.attempts);
        loop {
            let tried = once(self);
            let is_passing = match &tried {
                Ok((head, _)) => passes(head.status),
                Err(_) => true,
            };
            if is_passing && attempts.rest() {
                continue;
            }
            return tried.map_err(|error| self.unreachable(at, &error));
        }
    }

    /// Sends a request. The connection is kept by who reads the answer to its end.
    pub(crate) fn ask(&mut self, request: &Request<'_>) -> io::Result<(Head, Connection)> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let moment = Moment::of(now);
        let endpoint = self.connector.endpoint();
        let path = format!("{}/{}", endpoint.prefix, escaped(&request.at.key, true));
        let query: Vec<String> = request
            .parameters
            .iter()
            .map(|(name, value)| format!("{}={}", escaped(name, false), escaped(value, false)))
            .collect();
        let query = query.join("&");
        let payload_digest = sha256(request.payload);
        let mut headers = vec![
            ("host", endpoint.authority.clone()),
            ("x-amz-content-sha256", payload_digest.clone()),
            ("x-amz-date", moment.stamp()),
        ];
        headers.extend(self.settings.session_token.clone().map(|token| ("x-amz-security-token", token)));
        headers.extend(request.headers.iter().cloned());
        let unsigned = Unsigned {
            method: request.method,
            path: &path,
            query: &query,
            payload_digest: &payload_digest,
            headers: &headers,
        };
        let authorization = authorization(&self.settings, &moment, &unsigned);
        headers.push(("authorization", authorization));
        let target = if query.is_empty() { path } else { format!("{path}?{query}") };
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connector.connect()?,
        };
        let head = connection.ask(request.method, &target, &headers, request.payload)?;
        Ok((head, connection))
    }

    pub(crate) fn unreachable(&self, at: &Location, error: &io::Error) -> String {
        let Endpoint { host, port, .. } = self.connector.endpoint();
        format!(
            "{at}: no answer from {host}:{port}: {error} (AWS_ENDPOINT_URL and AWS_REGION say where the store is)"
        )
    }

    /// What a refusal means, and what to do.
    pub(crate) fn refused(&self, at: &Location, answer: &Answer) -> String {
        let code = xml::element(&answer.text, "Code").unwrap_or_default();
        let message = xml::element(&answer.text, "Message").unwrap_or_default();
        let region =
            answer.head.header("x-amz-bucket-region").filter(|region| *region != self.settings.region);
        let advice = match (code.as_str(), answer.head.status) {
            _ if region.is_some() => {
                format!("the bucket is in the region {}: set AWS_REGION", region.unwrap_or_default())
            }
            ("NoSuchBucket", _) => "there is no such bucket: make it, or name another one".to_owned(),
            ("NoSuchKey", _) | ("", 404) => "there is no such object".to_owned(),
            ("InvalidAccessKeyId", _) => "the store does not know the key in AWS_ACCESS_KEY_ID".to_owned(),
            ("SignatureDoesNotMatch", _) => {
                "AWS_SECRET_ACCESS_KEY is not the secret of AWS_ACCESS_KEY_ID".to_owned()
            }
            ("ExpiredToken" | "InvalidToken", _) => {
                "the credentials have expired: AWS_SESSION_TOKEN".to_owned()
            }
            ("RequestTimeTooSkewed", _) => "the clock of this machine is wrong".to_owned(),
            (
                "PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException",
                _,
            )
            | (_, 301 | 307) => {
                format!("the bucket is not in the region {}: set AWS_REGION", self.settings.region)
            }
            ("AccessDenied", _) | ("", 403) => {
                "the account may not do this: backups need s3:PutObject, s3:GetObject, s3:ListBucket and \
                 s3:AbortMultipartUpload; the log's archive and prune need s3:DeleteObject too"
                    .to_owned()
            }
            _ => "the store refuses".to_owned(),
        };
        let said = [code, message].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
        match said.is_empty() {
            true => format!("{at}: {advice} (HTTP status {})", answer.head.status),
            false => format!("{at}: {advice} (HTTP status {}, {said})", answer.head.status),
        }
    }
}

/// Whether a refusal may be another answer soon.
pub(crate) fn passes(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502 | 503 | 504)
}

/// Attempts at the same thing, with rests that double.
pub(crate) struct Attempts {
    left: u32,
    rest: Duration,
}

impl Default for Attempts {
    fn default() -> Attempts {
        Attempts::new(ATTEMPTS)
    }
}

impl Attempts {
    fn new(attempts: u32) -> Attempts {
        Attempts { left: attempts.saturating_sub(1), rest: FIRST_REST }
    }

    /// Waits before the next one; false if there is none.
    pub fn rest(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        std::thread::sleep(self.rest);
        self.rest *= 2;
        true
    }
}
