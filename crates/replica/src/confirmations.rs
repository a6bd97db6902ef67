//! What a source of semi-synchronous replication is to be told: the ends of transactions that it has asked for and that are not applied yet.
//!
//! Invariant: a place is confirmed when everything before it is applied and durable here, in the order of the source. Events that have only been
//! received are in memory, so they are not confirmed. Called by the receiver's stream.
use binlog::Gtid;
use instance::replication::Channel;
use std::collections::VecDeque;

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Confirmations {
    asked: VecDeque<Asked>,
}

struct Asked {
    gtid: Option<Gtid>,
    file: String,
    position: u64,
    /// The applier gets it.
    is_relayed: bool,
}

impl Confirmations {
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// The source wants to hear of the transaction that ends there.
    pub fn ask(&mut self, gtid: Option<Gtid>, (file, position): (&str, u64), is_relayed: bool) {
        self.asked.push_back(Asked { gtid, file: file.to_owned(), position, is_relayed });
    }

    /// Takes what the applier has committed: the last place of it.
    pub fn take_applied(&mut self, channel: &Channel) -> Option<(String, u64)> {
        let mut place = None;
        while let Some(first) = self.asked.front() {
            if first.is_relayed && !channel.has_applied(first.gtid, (&first.file, first.position)) {
                break;
            }
            place = self.asked.pop_front().map(|asked| (asked.file, asked.position));
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use binlog::GtidSet;
    use instance::replication::Applied;

    #[test]
    fn places_are_confirmed_when_all_before_them_is_applied() {
        let channel = Channel::default();
        let mut asked = Confirmations::default();
        let applied = |position, executed: &str| {
            let executed = GtidSet::parse(executed).unwrap();
            channel.set_applied(
                Applied { file: "b.000001".to_owned(), position, executed, ..Applied::default() },
                None,
            );
        };
        let gtid = Gtid::parse("494816f8-eab3-11f1-b506-02fc00000001:7");
        asked.ask(None, ("b.000001", 100), true);
        asked.ask(None, ("b.000001", 200), false);
        asked.ask(gtid, ("b.000002", 50), true);
        applied(99, "");
        assert_eq!(asked.take_applied(&channel), None);
        applied(100, "");
        assert_eq!(asked.take_applied(&channel), Some(("b.000001".to_owned(), 200)));
        assert_eq!(asked.take_applied(&channel), None);
        applied(100, "494816f8-eab3-11f1-b506-02fc00000001:1-7");
        assert_eq!(asked.take_applied(&channel), Some(("b.000002".to_owned(), 50)));
        assert!(asked.is_empty());
    }
}
