//! Numbers and texts from a seed, as both oracles take them.

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    pub fn of<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.below(choices.len() as u64) as usize]
    }

    pub fn one<'t, T>(&mut self, choices: &'t [T]) -> &'t T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    pub fn number(&mut self) -> String {
        match self.below(12) {
            0 => "NULL".to_owned(),
            1 => "'7'".to_owned(),
            2 => "4.5".to_owned(),
            3 => "-1".to_owned(),
            _ => self.below(25).to_string(),
        }
    }

    pub fn text(&mut self) -> String {
        let letters = ["a", "B", "ab", "Ba ", "b", "", "abc"];
        format!("'{}'", self.of(&letters))
    }

    pub fn list(&mut self, length_max: u64, member: impl Fn(&mut Random) -> String) -> String {
        let length = 1 + self.below(length_max);
        let members: Vec<String> = (0..length).map(|_| member(self)).collect();
        members.join(", ")
    }
}
