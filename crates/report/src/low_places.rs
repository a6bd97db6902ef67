//! Where a run was much slower than usual. Asked by `dips` and by what looks for their causes.
use crate::grid::usual;
use crate::subject::Subject;

/// A change counts from this multiple of how much the value varies usually.
pub const SCORE_MIN: f64 = 4.0;

/// The low places with the median that they are below: that of their part, where the measurement has several.
pub(crate) fn low_places(subject: &Subject) -> Vec<(usize, f64)> {
    let throughput = subject.throughput();
    let starts = subject.marks().into_iter().map(|(place, _)| place as usize);
    let mut bounds: Vec<usize> =
        starts.chain([throughput.len()]).filter(|place| *place <= throughput.len()).collect();
    bounds.insert(0, subject.warmup());
    let mut low = Vec::new();
    for part in bounds.windows(2).filter(|part| part[0] < part[1]) {
        let values = || throughput[part[0]..part[1]].iter().flatten().copied();
        let Some(usual) = usual(values()) else { continue };
        let is_low = |place: &usize| throughput[*place].is_some_and(|value| value < usual / 2.0);
        low.extend((part[0]..part[1]).filter(is_low).map(|place| (place, usual)));
    }
    low
}
