//! Whose sessions are watched: `setup_actors`.
//!
//! Invariant: a session follows the best match of its account at its login, as in MySQL; later changes are for later logins.
use parking_lot::Mutex;

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    pub host: String,
    pub user: String,
    pub role: String,
    pub is_on: bool,
    pub has_history: bool,
}

impl Default for Actor {
    fn default() -> Actor {
        let any = || "%".to_owned();
        Actor { host: any(), user: any(), role: any(), is_on: true, has_history: true }
    }
}

impl Actor {
    pub fn key(&self) -> (&str, &str, &str) {
        (&self.host, &self.user, &self.role)
    }
}

#[derive(Debug)]
pub struct Actors(Mutex<Vec<Actor>>);

impl Default for Actors {
    fn default() -> Actors {
        Actors(Mutex::new(vec![Actor::default()]))
    }
}

impl Actors {
    pub fn all(&self) -> Vec<Actor> {
        self.0.lock().clone()
    }

    /// False if its key is there.
    pub fn add(&self, actor: Actor) -> bool {
        let mut actors = self.0.lock();
        let is_new = actors.iter().all(|other| other.key() != actor.key());
        if is_new {
            actors.push(actor);
        }
        is_new
    }

    /// Changes the rows that are told; how many were.
    pub fn change(&self, mut change: impl FnMut(&mut Actor) -> bool) -> u64 {
        self.0.lock().iter_mut().map(|actor| u64::from(change(actor))).sum()
    }

    /// Keeps only those; how many went.
    pub fn retain(&self, keeps: impl Fn(&Actor) -> bool) -> u64 {
        let mut actors = self.0.lock();
        let before = actors.len();
        actors.retain(keeps);
        (before - actors.len()) as u64
    }

    /// Whether a new session of this account is watched, and has a history.
    pub fn of(&self, user: &str, host: &str) -> (bool, bool) {
        let actors = self.0.lock();
        let find = |user: &str, host: &str| {
            actors.iter().find(|actor| actor.user == user && actor.host == host && actor.role == "%")
        };
        let found = find(user, host).or_else(|| find(user, "%")).or_else(|| find("%", host));
        found.or_else(|| find("%", "%")).map_or((false, false), |actor| (actor.is_on, actor.has_history))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_match_counts() {
        let actors = Actors::default();
        assert_eq!(actors.of("u", "h"), (true, true));
        let quiet = Actor { user: "u".to_owned(), is_on: false, has_history: false, ..Actor::default() };
        assert!(actors.add(quiet.clone()) && !actors.add(quiet));
        assert_eq!((actors.of("u", "h"), actors.of("v", "h")), ((false, false), (true, true)));
        assert!(actors.add(Actor { user: "u".to_owned(), host: "h".to_owned(), ..Actor::default() }));
        assert_eq!((actors.of("u", "h"), actors.of("u", "i")), ((true, true), (false, false)));
        assert_eq!(actors.retain(|_| false), 3);
        assert_eq!(actors.of("u", "h"), (false, false));
    }
}
