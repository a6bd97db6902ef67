//! All cells, and how a server's answers to them differ from what is recorded.

use crate::cell::{Cell, cells_of};
use crate::difference::Difference;
use crate::recording::Recording;
use crate::server::{Target, ask_all};
use crate::templates::TEMPLATES;

/// Cells with their templates and their positions in these.
pub struct Grid {
    places: Vec<(&'static str, usize)>,
    cells: Vec<Cell>,
}

impl Grid {
    pub fn all() -> Grid {
        Grid::of("")
    }

    /// The templates that hold `part`.
    pub fn of(part: &str) -> Grid {
        let mut grid = Grid { places: Vec::new(), cells: Vec::new() };
        for template in TEMPLATES.iter().filter(|template| template.contains(part)) {
            for (index, cell) in cells_of(template).into_iter().enumerate() {
                grid.places.push((template, index));
                grid.cells.push(cell);
            }
        }
        grid
    }

    pub fn len(&self) -> usize {
        self.cells.len()
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    pub fn record(&self, target: &Target, threads: usize) -> Result<Recording, mysql::Error> {
        let mut recording = Recording::default();
        for ((template, _), answer) in self.places.iter().zip(ask_all(target, &self.cells, None, threads)?) {
            recording.answers.entry((*template).to_owned()).or_default().push(answer);
        }
        Ok(recording)
    }

    /// Each cell as reports show it, with its recorded answer.
    pub fn recorded<'g>(&'g self, recording: &'g Recording) -> impl Iterator<Item = (String, &'g str)> {
        self.places
            .iter()
            .zip(&self.cells)
            .map(|((template, index), cell)| (cell.shown(), recording.answers[*template][*index].as_str()))
    }

    pub fn differences(
        &self,
        target: &Target,
        recording: &Recording,
        threads: usize,
    ) -> Result<Vec<Difference>, mysql::Error> {
        let recorded = |(template, index): &(&str, usize)| recording.answers[*template][*index].clone();
        let expected: Vec<String> = self.places.iter().map(recorded).collect();
        let answers = ask_all(target, &self.cells, Some(&expected), threads)?;
        let all = self.places.iter().zip(&self.cells).zip(expected.into_iter().zip(answers));
        let different = all.filter(|(_, (expected, answer))| expected != answer);
        let different = different.map(|(((template, index), cell), (expected, answer))| Difference {
            template,
            index: *index,
            cell: cell.shown(),
            expected,
            answer,
        });
        Ok(different.collect())
    }
}
