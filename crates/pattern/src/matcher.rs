//! Runs a program over a text with all threads in step (Pike's algorithm).
//!
//! Invariant: a list holds each instruction at most once, in order of preference, so a step costs at most the
//! program's length and the first thread to match at the lowest start wins.
use super::compile::{Instruction, Program};
use super::parse::Assertion;
use super::{Flags, Groups};

#[derive(Clone)]
struct Thread {
    instruction: usize,
    saved: Vec<Option<usize>>,
}

struct Threads {
    list: Vec<Thread>,
    /// The step at which each instruction was last added.
    seen: Vec<usize>,
}

/// What a place of the text costs, and each thread there.
const TICKS_PER_PLACE: usize = 32;
const TICKS_PER_THREAD: usize = 64;

pub fn find(program: &Program, flags: Flags, text: &[char], start: usize) -> Option<Groups> {
    let length = program.instructions.len();
    let machine = Machine { program, flags, text };
    let new_threads = || Threads { list: Vec::new(), seen: vec![usize::MAX; length] };
    let (mut current, mut next) = (new_threads(), new_threads());
    let mut best: Option<Vec<Option<usize>>> = None;
    let unsaved = vec![None; program.group_count * 2];
    for position in start..=text.len() {
        if best.is_none() {
            machine.add(&mut current, position, Thread { instruction: 0, saved: unsaved.clone() });
        }
        if current.list.is_empty() && best.is_some() {
            break;
        }
        next.list.clear();
        env::tick(TICKS_PER_PLACE + current.list.len() * TICKS_PER_THREAD);
        for thread in std::mem::take(&mut current.list) {
            match &program.instructions[thread.instruction] {
                Instruction::Match => {
                    // Threads after this one are less preferred, so they end here.
                    best = Some(thread.saved);
                    break;
                }
                instruction if machine.consumes(instruction, position) => {
                    let instruction = thread.instruction + 1;
                    machine.add(&mut next, position + 1, Thread { instruction, ..thread });
                }
                _ => {}
            }
        }
        std::mem::swap(&mut current, &mut next);
    }
    let saved = best?;
    Some(saved.chunks(2).map(|pair| pair[0].zip(pair[1])).collect())
}

struct Machine<'a> {
    program: &'a Program,
    flags: Flags,
    text: &'a [char],
}

impl Machine<'_> {
    /// Adds a thread and everything it reaches without taking a character, preferred ones first. Iterative, because
    /// chains of splits can be as long as the program.
    fn add(&self, threads: &mut Threads, position: usize, thread: Thread) {
        let mut stack = vec![thread];
        while let Some(mut thread) = stack.pop() {
            let at = thread.instruction;
            if threads.seen[at] == position {
                continue;
            }
            threads.seen[at] = position;
            match &self.program.instructions[at] {
                Instruction::Jump(target) => {
                    thread.instruction = *target;
                    stack.push(thread);
                }
                Instruction::Split(first, second) => {
                    stack.push(Thread { instruction: *second, saved: thread.saved.clone() });
                    stack.push(Thread { instruction: *first, saved: thread.saved });
                }
                Instruction::Save(slot) => {
                    thread.saved[*slot] = Some(position);
                    thread.instruction += 1;
                    stack.push(thread);
                }
                Instruction::Assertion(assertion) => {
                    if self.holds(*assertion, position) {
                        thread.instruction += 1;
                        stack.push(thread);
                    }
                }
                _ => threads.list.push(thread),
            }
        }
    }

    fn consumes(&self, instruction: &Instruction, position: usize) -> bool {
        let Some(character) = self.text.get(position) else { return false };
        match instruction {
            Instruction::Set(set) => set.contains(*character),
            Instruction::Any { includes_newline } => *includes_newline || !self.is_newline(*character),
            _ => false,
        }
    }

    fn is_newline(&self, character: char) -> bool {
        character == '\n'
            || (!self.flags.unix_lines
                && matches!(character, '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}'))
    }

    fn holds(&self, assertion: Assertion, position: usize) -> bool {
        let length = self.text.len();
        let newline_at = |at: usize| self.text.get(at).is_some_and(|character| self.is_newline(*character));
        match assertion {
            Assertion::TextStart => position == 0,
            Assertion::TextEnd => position == length,
            Assertion::TextEndOrLastNewline => {
                position == length || (position + 1 == length && newline_at(position))
            }
            Assertion::LineStart => position == 0 || newline_at(position - 1),
            Assertion::LineEnd => position == length || newline_at(position),
            Assertion::WordBoundary => self.is_boundary(position),
            Assertion::NotWordBoundary => !self.is_boundary(position),
        }
    }

    fn is_boundary(&self, position: usize) -> bool {
        let is_word = |at: Option<usize>| {
            at.and_then(|at| self.text.get(at))
                .is_some_and(|character| character.is_alphanumeric() || *character == '_')
        };
        is_word(position.checked_sub(1)) != is_word(Some(position))
    }
}
