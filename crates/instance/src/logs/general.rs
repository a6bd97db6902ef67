//! One record of the general log: a command of a client, as it arrived.
use super::moment::timestamp_text;
use super::rows::GeneralRow;

pub struct GeneralRecord<'a> {
    pub unix_us: i64,
    pub thread: u64,
    /// `user[user] @ host [address]`
    pub user_host: &'a str,
    /// `Query`, `Connect`, `Quit` ..
    pub command: &'static str,
    pub argument: &'a [u8],
}

impl GeneralRecord<'_> {
    pub fn text(&self) -> Vec<u8> {
        let mut text =
            format!("{}\t{:5} {}\t", timestamp_text(self.unix_us), self.thread, self.command).into_bytes();
        text.extend_from_slice(self.argument);
        text.push(b'\n');
        text
    }

    pub fn row(&self) -> GeneralRow {
        GeneralRow {
            unix_us: self.unix_us,
            user_host: self.user_host.to_owned(),
            thread: self.thread,
            command: self.command,
            argument: self.argument.to_vec(),
        }
    }
}
