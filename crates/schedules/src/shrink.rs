//! Makes a schedule that shows a difference smaller while it still shows one.

use crate::schedule::Schedule;

/// Takes away steps, whole sessions' ends first, as long as `differs` holds for what is left.
pub fn shrink(schedule: &Schedule, mut differs: impl FnMut(&Schedule) -> bool) -> Schedule {
    let mut smallest = schedule.clone();
    let mut progress = true;
    while progress {
        progress = false;
        let mut index = smallest.steps.len();
        while index > 0 {
            index -= 1;
            let mut candidate = smallest.clone();
            candidate.steps.remove(index);
            if !candidate.steps.is_empty() && differs(&candidate) {
                smallest = candidate;
                progress = true;
            }
        }
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::parse;

    #[test]
    fn only_what_matters_stays() {
        let all = parse("== a\ns1: A\ns2: B\ns1: C\ns2: D\ns3: E").expect("parsed");
        let wanted = parse("== a\ns2: B\ns2: D").expect("parsed");
        let differs = |schedule: &Schedule| wanted[0].steps.iter().all(|step| schedule.steps.contains(step));
        assert_eq!(shrink(&all[0], differs).steps, wanted[0].steps);
    }
}
