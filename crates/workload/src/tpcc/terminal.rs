//! A terminal: deals the five transactions by the deck of clause 5.2.4.2 and keeps their statements.
//!
//! Invariant: of each 23 transactions ten are new orders, ten payments, and one each of the others.

use client::{Answer, Result, Statement};

use super::{Sizes, transactions};
use crate::random::Random;
use crate::script::Borders;
use crate::session::Link;

const DECK: [usize; 23] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4];

/// One connection of TPC-C.
pub struct Terminal {
    pub(super) sizes: Sizes,
    pub(super) random: Random,
    pub(super) borders: Borders,
    pub(super) sql: Vec<Statement>,
    /// Rows of the last question, used again and again.
    pub(super) answer: Answer,
    deck: [usize; 23],
    dealt: usize,
}

impl Terminal {
    pub fn new(sizes: Sizes, seed: u64, number: u64) -> Self {
        let sql = transactions::TEXTS.iter().map(|text| Statement::new(*text)).collect();
        let random = Random::new(seed, number + 1);
        let (borders, answer) = (Borders::new(), Answer::keeping());
        Self { sizes, random, borders, sql, answer, deck: DECK, dealt: DECK.len() }
    }

    pub fn statements(&mut self) -> Vec<&mut Statement> {
        self.sql.iter_mut().collect()
    }

    pub async fn transaction(&mut self, link: &mut Link<'_>) -> Result<()> {
        if self.dealt == self.deck.len() {
            self.random.shuffle(&mut self.deck);
            self.dealt = 0;
        }
        let kind = self.deck[self.dealt];
        link.kind(kind);
        link.begin(&mut self.borders.begin).await?;
        match kind {
            0 => self.new_order(link).await,
            1 => self.payment(link).await,
            2 => self.order_status(link).await,
            3 => self.delivery(link).await,
            _ => self.stock_level(link).await,
        }?;
        // One that failed is dealt again: conflicts must not change the mix.
        self.dealt += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deck_is_the_specified_mix() {
        let count = |kind| DECK.iter().filter(|&&card| card == kind).count();
        assert_eq!([0, 1, 2, 3, 4].map(count), [10, 10, 1, 1, 1]);
    }
}
