//! COM_BINLOG_DUMP: events of the binary log as packets, until the reader has gone or has all.
//!
//! Invariant: each packet is one whole event behind a zero byte. While there is nothing new the connection waits for the writer of
//! the log; only heartbeats that the reader has asked for need a timer.
use std::time::Duration;

use binlog::GtidSet;
use datum::{SqlError, error_code};
use source::{EventStream, SourceError, StreamOptions};
use wire::{BinlogDump, StatusFlags};

use super::client::flush;
use super::commands::Context;

/// So much is gathered before it is sent.
const FLUSH_BYTES: usize = 64 * 1024;

/// How a stream ended.
pub(super) enum StreamEnd {
    ReaderGone,
    /// It has been told.
    Over,
}

fn options_of(dump: &BinlogDump<'_>) -> Result<StreamOptions, SqlError> {
    let executed = match dump.executed {
        Some(bytes) => {
            let wrong = |_| error_code::ER_WRONG_ARGUMENTS.with(&[&"COM_BINLOG_DUMP_GTID"]);
            Some(GtidSet::decode(bytes).map_err(wrong)?)
        }
        None => None,
    };
    let file = String::from_utf8_lossy(dump.file).trim_end_matches('\0').to_owned();
    Ok(StreamOptions { executed, file, position: dump.position, without_checksums: false })
}

impl Context<'_> {
    pub(super) async fn send_events(&mut self, dump: BinlogDump<'_>) -> StreamEnd {
        let opened = match options_of(&dump) {
            Ok(options) => self.session.open_event_stream(options).await,
            Err(error) => Err(error),
        };
        let mut stream = match opened {
            Ok(stream) => stream,
            Err(error) => {
                self.refuse(&error);
                return StreamEnd::Over;
            }
        };
        let heartbeat = self.session.heartbeat_period();
        loop {
            match stream.next().await {
                Ok(events) if events.is_empty() => {
                    if dump.without_waiting {
                        self.writer.eof(StatusFlags::default(), 0);
                        return StreamEnd::Over;
                    }
                    if self.flush_events().await.is_err() {
                        return StreamEnd::ReaderGone;
                    }
                    if let Err(error) = self.wait_for_events(&stream, heartbeat).await {
                        return self.end_events(&error);
                    }
                }
                Ok(events) => {
                    for event in &events {
                        self.put_event(event);
                        if self.writer.pending().len() >= FLUSH_BYTES && self.flush_events().await.is_err() {
                            return StreamEnd::ReaderGone;
                        }
                    }
                }
                Err(error) => return self.end_events(&error),
            }
        }
    }

    /// Error 1236 tells a replica not to come back; where this server only ends, the stream ends without one.
    fn end_events(&mut self, error: &SourceError) -> StreamEnd {
        match error.is_closed() {
            true => self.writer.eof(StatusFlags::default(), 0),
            false => self.refuse(&session::stream_error(error)),
        }
        StreamEnd::Over
    }

    fn put_event(&mut self, event: &[u8]) {
        self.writer.event(event);
    }

    async fn flush_events(&mut self) -> std::io::Result<()> {
        flush(self.stream, self.writer, self.write_timeout, Some(&self.process.kill)).await
    }

    async fn wait_for_events(
        &mut self,
        stream: &EventStream,
        heartbeat: Option<Duration>,
    ) -> Result<(), SourceError> {
        let news = stream.wait();
        match heartbeat {
            None => news.await,
            Some(period) => match tokio::time::timeout(period, news).await {
                Ok(waited) => waited,
                Err(_) => {
                    let event = stream.heartbeat();
                    self.put_event(&event);
                    Ok(())
                }
            },
        }
    }
}
