//! COM_BINLOG_DUMP: events of the binary log as packets, until the reader has gone or has all.
//!
//! Invariant: each packet is one whole event behind a zero byte. While there is nothing new the connection waits for the writer of
//! the log; only heartbeats that the reader has asked for need a timer. A kill ends it when all is sent. A replica of semi-synchronous replication also says how far
//! it is; nobody else may say anything.
use std::future::poll_fn;
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant};

use binlog::GtidSet;
use datum::{SqlError, error_code};
use instance::ProcessEntry;
use source::{EventStream, SemiSyncReplica, SourceError, StreamOptions, StreamedEvent};
use wire::{BinlogDump, Confirmation, PacketReader, StatusFlags};

use super::client::flush;
use crate::connection::context::Context;
use crate::connection::context::StreamEnd;

/// So much is gathered before it is sent.
const FLUSH_BYTES: usize = 64 * 1024;
/// As MySQL calls what a stream does.
const SENDING: &str = "Sending binlog event to replica";
const ALL_SENT: &str = "Source has sent all binlog to replica; waiting for more updates";

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

/// A reader that confirms, and what it has sent.
struct Confirming {
    replica: SemiSyncReplica,
    reader: PacketReader,
}

impl Confirming {
    /// Takes the confirmations that have arrived.
    fn take(&mut self) -> Result<(), wire::ProtocolError> {
        while let Some((packet, _)) = self.reader.next_packet(0, Confirmation::BYTES_MAX)? {
            let confirmation = Confirmation::decode(self.reader.payload(packet))?;
            let file = String::from_utf8_lossy(confirmation.file);
            self.replica.confirm(&file, confirmation.position);
        }
        Ok(())
    }
}

/// What a stream that has sent everything has waited for.
enum Awaited {
    Events,
    /// Nothing came for so long that the reader wants to hear of the server.
    Heartbeat,
    ReaderGone,
    /// A shutdown or KILL, which ends the connection.
    Killed,
}

impl Context<'_> {
    pub(super) async fn send_events(&mut self, dump: BinlogDump<'_>) -> StreamEnd {
        let end = self.send_stream(dump).await;
        self.show("Sleep", "");
        end
    }

    /// In the process list.
    fn show(&self, command: &'static str, state: &'static str) {
        let since = Instant::now();
        self.process.update(|activity| {
            (activity.command, activity.state, activity.since) = (command, state, since);
        });
    }

    async fn send_stream(&mut self, dump: BinlogDump<'_>) -> StreamEnd {
        let command = match dump.executed {
            Some(_) => ProcessEntry::DUMP_OF_IDENTIFIERS,
            None => ProcessEntry::DUMP,
        };
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
        self.show(command, SENDING);
        let heartbeat = self.session.heartbeat_period();
        let replica = self.session.semi_sync_replica(dump.server_id);
        let mut confirming = replica.map(|replica| Confirming { replica, reader: PacketReader::default() });
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
                    self.show(command, ALL_SENT);
                    confirming.iter().for_each(|confirming| confirming.replica.has_caught_up());
                    match self.wait_for_events(&stream, heartbeat, confirming.as_mut()).await {
                        Ok(Awaited::Events) => {}
                        Ok(Awaited::Heartbeat) => {
                            let bytes = stream.heartbeat();
                            self.put_event(&StreamedEvent { bytes, ends_at: 0 }, 0, confirming.as_ref());
                        }
                        Ok(Awaited::ReaderGone) => return StreamEnd::ReaderGone,
                        Ok(Awaited::Killed) => {
                            self.writer.eof(StatusFlags::default(), 0);
                            return StreamEnd::Over;
                        }
                        Err(error) => return self.end_events(&error),
                    }
                }
                Ok(events) => {
                    for event in &events {
                        self.put_event(event, stream.file_number(), confirming.as_ref());
                        if self.writer.pending().len() >= FLUSH_BYTES && self.flush_events().await.is_err() {
                            return StreamEnd::ReaderGone;
                        }
                    }
                    if let Some(confirming) = &mut confirming
                        && poll_fn(|context| Poll::Ready(self.read_confirmations(context, confirming)))
                            .await
                            .is_ready()
                    {
                        return StreamEnd::ReaderGone;
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

    fn put_event(&mut self, event: &StreamedEvent, file: u64, confirming: Option<&Confirming>) {
        match confirming {
            None => self.writer.event(&event.bytes),
            Some(confirming) => {
                let asks = event.ends_at > 0 && confirming.replica.asks_at(file, event.ends_at);
                self.writer.event_to_confirm(&event.bytes, asks);
            }
        }
    }

    async fn flush_events(&mut self) -> std::io::Result<()> {
        flush(self.stream, self.writer, self.write_timeout, Some(&self.process.kill)).await
    }

    /// Takes what the reader has confirmed; ready when it has gone, or has sent something else.
    fn read_confirmations(&self, context: &mut TaskContext<'_>, confirming: &mut Confirming) -> Poll<()> {
        loop {
            let read =
                self.stream.borrow_mut().poll_read_with(context, |bytes| confirming.reader.feed(bytes));
            match read {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(count)) if count > 0 && confirming.take().is_ok() => {}
                Poll::Ready(_) => return Poll::Ready(()),
            }
        }
    }

    async fn wait_for_events(
        &self,
        stream: &EventStream,
        heartbeat: Option<Duration>,
        mut confirming: Option<&mut Confirming>,
    ) -> Result<Awaited, SourceError> {
        let gone = poll_fn(|context| match &mut confirming {
            Some(confirming) => self.read_confirmations(context, confirming),
            None => Poll::Pending,
        });
        let news = async {
            tokio::select! {
                biased;
                () = gone => Ok(Awaited::ReaderGone),
                news = stream.wait() => news.map(|()| Awaited::Events),
                () = self.process.kill.connection_killed() => Ok(Awaited::Killed),
            }
        };
        match heartbeat {
            None => news.await,
            Some(period) => tokio::time::timeout(period, news).await.unwrap_or(Ok(Awaited::Heartbeat)),
        }
    }
}
