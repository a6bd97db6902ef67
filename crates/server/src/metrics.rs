//! `/metrics`: the server's figures for whoever collects them over HTTP, in the OpenMetrics text format.
//!
//! Off unless `metrics-port` is given. One thread answers one request after the other; it reads what `SHOW GLOBAL STATUS`
//! reads, waits for no session, and gives up on a client that is slow. Invariant: it answers GET of one path and nothing
//! else, and reads a bounded request.
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Weak};
use std::time::Duration;

use instance::Instance;

const REQUEST_BYTES_MAX: usize = 8192;
const CLIENT_PATIENCE: Duration = Duration::from_secs(5);
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Listens and answers from a thread of its own, for as long as the program runs.
pub(crate) fn serve(address: &str, port: u16, instance: &Arc<Instance>) -> Result<u16, String> {
    let failed = |error: std::io::Error| format!("cannot serve metrics on {address}:{port}: {error}");
    let listener = TcpListener::bind((address, port)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let instance = Arc::downgrade(instance);
    std::thread::Builder::new()
        .name("metrics".to_owned())
        .spawn(move || {
            for client in listener.incoming().flatten() {
                // A client that leaves early needs no answer.
                let _ = answer(client, &instance);
            }
        })
        .map_err(failed)?;
    Ok(port)
}

fn answer(mut client: TcpStream, instance: &Weak<Instance>) -> std::io::Result<()> {
    client.set_read_timeout(Some(CLIENT_PATIENCE))?;
    client.set_write_timeout(Some(CLIENT_PATIENCE))?;
    let request = read_request(&mut client)?;
    let (status, body) = match (request_target(&request), instance.upgrade()) {
        (Some("/metrics"), Some(instance)) => ("200 OK", instance.open_metrics()),
        (Some(_), Some(_)) => ("404 Not Found", "only /metrics is here\n".to_owned()),
        (None, _) => ("405 Method Not Allowed", "only GET is answered\n".to_owned()),
        (_, None) => ("503 Service Unavailable", "the server stops\n".to_owned()),
    };
    let kind = if status.starts_with("200") { CONTENT_TYPE } else { "text/plain; charset=utf-8" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())
}

/// Up to the empty line after the headers.
fn read_request(client: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while request.len() < REQUEST_BYTES_MAX && !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match client.read(&mut piece)? {
            0 => break,
            count => request.extend_from_slice(&piece[..count]),
        }
    }
    Ok(request)
}

/// The path of a GET, without its query.
fn request_target(request: &[u8]) -> Option<&str> {
    let line = request.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let target = line.strip_prefix("GET ")?.split(' ').next()?;
    target.split('?').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_path_of_a_get_counts() {
        assert_eq!(request_target(b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n"), Some("/metrics"));
        assert_eq!(request_target(b"POST /metrics HTTP/1.1\r\n\r\n"), None);
        assert_eq!(request_target(b"\xff\xfe"), None);
    }
}
