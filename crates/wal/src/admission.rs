//! Appending: into the open chunk without a lock, and with it where a chunk is to be opened, as far as there is room.
//!
//! 1. Whoever opens a chunk has all of its memory admitted at once: segments, the log's capacity, what others have reserved.
//!    Who appends to it afterwards takes a place in the ring and copies his group there; he looks at nothing else.
//! 2. What a chunk was admitted for and does not hold when it is sealed is free again.
//! 3. Reservations are taken from a *credit* that was admitted in advance under the lock, and go back to it. The credit
//!    counts as reserved, and is withdrawn when anybody is short of room.
//!
//! Invariants: with the open chunk counted in full, `room` holds at least what is reserved, so a reservation never fails
//! later. A chunk gets no more than `Priority::Normal` may take, beyond what its first group needs: everybody may append to it,
//! so it must not reach into the reserve. After a failure the ring stays closed.
//!
//! A group is appended when its place is taken: from then on `end` is behind it and its LSNs are known to the
//! appender alone, while its bytes are still being copied. Nobody reads them before the flusher, who waits for them. So
//! nothing follows from `end` but that those before it had begun: pages are marked dirty, and transactions are registered,
//! before their groups are appended (`btree::mtr`, `engine::writers`); what follows an append in one step with it, such as
//! a commit's stamp, is under a mutex of its own (`engine::commit`).

use crate::log::{Shared, State};
use crate::space::{Room, cost};
use crate::{AppendError, GroupLsns, Lsn, Priority, Wal, WalError, WalGroup};
use std::sync::atomic::Ordering;

/// After the disk was full, appends try again to prepare a segment at most this often.
const NO_SPACE_RETRY_US: u64 = 100_000;

/// Room for one group that is certain to be taken, unless the log fails. Given back when dropped.
pub struct Reservation<'w> {
    shared: &'w Shared,
    cost: u64,
    /// Whether it may become credit: not what was reserved at the expense of the reserve.
    is_normal: bool,
}

/// What there is too little of.
enum Shortage {
    /// Prepared segments.
    Room,
    /// The log's capacity.
    Capacity,
}

impl Wal {
    /// Appends a group without waiting. After `Full`, wait with no latch held and try again.
    pub fn append(&self, group: &WalGroup) -> Result<GroupLsns, AppendError> {
        self.append_with(group, Priority::Normal)
    }

    /// Appends a group of a rollback or a checkpoint, which may use the reserve.
    pub fn append_reserve(&self, group: &WalGroup) -> Result<GroupLsns, AppendError> {
        self.append_with(group, Priority::Reserve)
    }

    fn append_with(&self, group: &WalGroup, priority: Priority) -> Result<GroupLsns, AppendError> {
        let shared = &self.shared;
        let checksum = crc_fast::crc32_iscsi(group.record_bytes());
        if let Some(lsns) = shared.append_to_open(group, checksum) {
            return Ok(lsns);
        }
        let mut state = shared.state.lock();
        // Another may have opened a chunk meanwhile.
        if let Some(lsns) = shared.append_to_open(group, checksum) {
            return Ok(lsns);
        }
        shared.admit(&mut state, group.encoded_len(), priority)?;
        Ok(shared.append_to_new(&mut state, group, checksum))
    }

    /// Sets room aside for one group of up to `bytes` (`WalGroup::encoded_len`).
    pub fn try_reserve(&self, bytes: usize, priority: Priority) -> Result<Reservation<'_>, AppendError> {
        let (shared, cost) = (&*self.shared, cost(bytes));
        if bytes <= shared.options.group_bytes_max && shared.take_credit(cost) {
            return Ok(Reservation { shared, cost, is_normal: true });
        }
        let mut state = shared.state.lock();
        shared.admit(&mut state, bytes, priority)?;
        state.reserved += cost;
        let is_normal = priority == Priority::Normal;
        if is_normal {
            shared.give_credit(&mut state);
        }
        debug_assert!(shared.is_covered(&state), "a reservation is taken from room that is there");
        drop(state);
        Ok(Reservation { shared, cost, is_normal })
    }

    /// The same, waiting while the log is `Full`. Hold no latch.
    pub async fn reserve(&self, bytes: usize, priority: Priority) -> Result<Reservation<'_>, AppendError> {
        loop {
            let waiter = self.shared.space_waiters.register();
            match self.try_reserve(bytes, priority) {
                Err(AppendError::Full) => {
                    let since_us = self.shared.env.clock.now_us();
                    env::begin_wait(env::WaitCause::LogSpace, || None);
                    waiter.await;
                    let time_us = self.shared.space_waits.end(&*self.shared.env.clock, since_us);
                    env::note_wait(env::WaitCause::LogSpace, time_us);
                }
                other => return other,
            }
        }
    }

    /// Waits until a group of `bytes` would be taken. Another task may be faster: try again in a loop.
    pub async fn wait_for_space(&self, bytes: usize, priority: Priority) -> Result<(), AppendError> {
        self.reserve(bytes, priority).await.map(drop)
    }

    /// Appends into reserved room. Fails only when the log has failed.
    ///
    /// # Panics
    /// If the group is larger than the reservation.
    pub fn append_reserved(
        &self,
        mut room: Reservation<'_>,
        group: &WalGroup,
    ) -> Result<GroupLsns, WalError> {
        assert!(cost(group.encoded_len()) <= room.cost, "the group outgrew its reservation");
        debug_assert!(!group.is_empty() && room.cost > 0, "a reservation is used once, for something");
        let shared = &self.shared;
        let checksum = crc_fast::crc32_iscsi(group.record_bytes());
        if let Some(lsns) = shared.append_to_open(group, checksum) {
            // The chunk's room was enough; what was reserved goes back.
            return Ok(lsns);
        }
        let mut state = shared.state.lock();
        if let Some(failure) = &state.failure {
            let failure = failure.clone();
            drop(state);
            return Err(failure);
        }
        if let Some(lsns) = shared.append_to_open(group, checksum) {
            drop(state);
            return Ok(lsns);
        }
        state.reserved -= std::mem::take(&mut room.cost);
        let lsns = shared.append_to_new(&mut state, group, checksum);
        drop(state);
        // A small group in a large reservation leaves room for others.
        shared.space_waiters.wake_all();
        Ok(lsns)
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if self.cost == 0 {
            return; // It was used.
        }
        if self.is_normal {
            self.shared.appending.credit.fetch_add(self.cost, Ordering::AcqRel);
        } else {
            self.shared.state.lock().reserved -= self.cost;
        }
        self.shared.space_waiters.wake_all();
    }
}

impl Shared {
    /// The common case: no lock. `None` when there is no open chunk in which the group has room.
    fn append_to_open(&self, group: &WalGroup, checksum: u32) -> Option<GroupLsns> {
        assert!(!group.is_empty(), "an empty group says nothing");
        let length = group.encoded_len();
        if length > self.options.group_bytes_max {
            return None;
        }
        let write = |start, place: &mut [u8]| group.write_at(Lsn(start), checksum, place);
        let start = Lsn(self.ring.append(length, write)?);
        self.appending.groups.fetch_add(1, Ordering::Relaxed);
        Some(GroupLsns { start, end: start.advance(length as u64) })
    }

    /// Opens a chunk for a group for which there is room.
    fn append_to_new(&self, state: &mut State, group: &WalGroup, checksum: u32) -> GroupLsns {
        state.staging.seal();
        let wanted = state.staging.chunk_bytes();
        let mut free = self.free(state, state.staging.border_max(), Priority::Normal);
        if free < wanted {
            self.withdraw_credit(state);
            free = self.free(state, state.staging.border_max(), Priority::Normal);
        }
        let segment = state.staging.segment();
        let lsns = state.staging.open(group, checksum, free.min(wanted));
        assert!(state.staging.segment() <= state.ready_through, "a group was admitted without room");
        let room = self.room(state, state.staging.border_max());
        assert!(state.reserved <= room, "{} bytes are reserved in a room of {room}", state.reserved);
        self.appending.groups.fetch_add(1, Ordering::Relaxed);
        if state.staging.segment() != segment && state.staging.segment() == state.ready_through {
            self.prepare_requested.notify();
        }
        if state.staging.memory_bytes() > self.options.buffer_bytes / 4 {
            self.flush_at_once(lsns.end);
        }
        if state.staging.memory_bytes() > self.options.buffer_bytes / 2 {
            // So that those who reserve see how much memory is taken.
            self.withdraw_credit(state);
        }
        lsns
    }

    /// Whether a group of `bytes` may be taken now. Sets in motion what makes room when it may not.
    fn admit(&self, state: &mut State, bytes: usize, priority: Priority) -> Result<(), AppendError> {
        if let Some(failure) = &state.failure {
            return Err(failure.clone().into());
        }
        if bytes > self.options.group_bytes_max {
            return Err(AppendError::TooLarge { bytes });
        }
        let shortage = |state: &State, border| self.shortage(state, border, cost(bytes), priority);
        let mut short = shortage(state, state.staging.border_max());
        if short.is_some() {
            self.withdraw_credit(state);
            short = shortage(state, state.staging.border());
            // Sealing the open chunk leaves less than it seems where somebody appends to it just now.
            if short.is_none() && shortage(state, state.staging.border_max()).is_some() {
                state.staging.seal();
                short = shortage(state, state.staging.border_max());
            }
        }
        match short {
            Some(Shortage::Room) => return Err(self.no_room(state)),
            Some(Shortage::Capacity) => return Err(AppendError::Full),
            None => {}
        }
        if state.staging.memory_bytes() + bytes > self.options.buffer_bytes
            && state.staging.memory_bytes() > 0
        {
            self.flush_at_once(state.staging.end());
            return Err(AppendError::Full);
        }
        Ok(())
    }

    fn shortage(&self, state: &State, border: u64, cost: u64, priority: Priority) -> Option<Shortage> {
        let needed = cost + state.reserved + self.spared(priority);
        if needed > self.room(state, border) {
            return Some(Shortage::Room);
        }
        let needed = self.used_before(state, border) + needed;
        (needed > self.capacity_bytes.load(Ordering::Relaxed)).then_some(Shortage::Capacity)
    }

    /// What may be taken when the log goes to `border`; the counterpart of `shortage`.
    fn free(&self, state: &State, border: u64, priority: Priority) -> u64 {
        let capacity = self.capacity_bytes.load(Ordering::Relaxed);
        let capacity = capacity.saturating_sub(self.used_before(state, border));
        self.room(state, border).min(capacity).saturating_sub(state.reserved + self.spared(priority))
    }

    /// All that is reserved has room behind the open chunk.
    fn is_covered(&self, state: &State) -> bool {
        state.reserved <= self.room(state, state.staging.border_max())
    }

    fn spared(&self, priority: Priority) -> u64 {
        if priority == Priority::Normal { self.options.reserve_bytes } else { 0 }
    }

    fn room(&self, state: &State, border: u64) -> u64 {
        debug_assert!(
            state.ready_through >= state.staging.segment(),
            "the segment that is being filled is prepared"
        );
        let room = Room {
            segment_bytes: self.options.segment_bytes,
            group_cost_max: cost(self.options.group_bytes_max),
            rest: state.staging.rest_behind(border),
            spares: state.ready_through - state.staging.segment(),
        };
        room.bytes()
    }

    fn no_room(&self, state: &mut State) -> AppendError {
        let Some(since_us) = state.no_space_since_us else {
            self.prepare_requested.notify();
            return AppendError::Full;
        };
        let now_us = self.env.clock.now_us();
        if now_us.saturating_sub(since_us) >= NO_SPACE_RETRY_US {
            state.no_space_since_us = Some(now_us);
            state.retry_prepare = true;
            self.prepare_requested.notify();
        }
        AppendError::NoSpace
    }

    /// Bytes from the oldest segment that is kept to the end.
    pub(crate) fn used_bytes(&self, state: &State) -> u64 {
        self.used_before(state, state.staging.border())
    }

    fn used_before(&self, state: &State, border: u64) -> u64 {
        border.saturating_sub(state.kept_from * self.options.segment_bytes)
    }

    fn take_credit(&self, cost: u64) -> bool {
        if self.failed.load(Ordering::Acquire) {
            return false;
        }
        let left = |credit: u64| credit.checked_sub(cost);
        self.appending.credit.fetch_update(Ordering::AcqRel, Ordering::Relaxed, left).is_ok()
    }

    /// Fills the credit up to as much as a chunk has.
    fn give_credit(&self, state: &mut State) {
        if state.staging.memory_bytes() > self.options.buffer_bytes / 2 {
            return;
        }
        let free = self.free(state, state.staging.border_max(), Priority::Normal);
        let missing =
            state.staging.chunk_bytes().saturating_sub(self.appending.credit.load(Ordering::Relaxed));
        let credit = free.min(missing);
        state.reserved += credit;
        self.appending.credit.fetch_add(credit, Ordering::AcqRel);
        debug_assert!(self.is_covered(state), "credit is given from room that is there");
    }

    pub(crate) fn withdraw_credit(&self, state: &mut State) {
        state.reserved -= self.appending.credit.swap(0, Ordering::AcqRel);
    }
}
