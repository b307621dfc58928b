//! What a run showed, for people.
use std::fmt;

use crate::scenario::Verdict;
use crate::scenario::judge::Missed;

impl Verdict {
    /// Whether everything came that was expected, and nothing else is wrong.
    pub fn passed(&self) -> bool {
        self.missed.is_empty()
    }
}

impl fmt::Display for Verdict {
    /// What was missed; then the trace.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for missed in &self.missed {
            write!(f, "{missed}")?;
        }
        writeln!(f, "  trace:")?;
        self.trace.iter().try_for_each(|line| writeln!(f, "    {line}"))
    }
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, line, expected, came } = self;
        match line {
            0 => writeln!(f, "  {what}")?,
            line => writeln!(f, "  line {line}: {what}")?,
        }
        side(f, "expected", expected)?;
        side(f, "came", came)
    }
}

fn side(f: &mut fmt::Formatter<'_>, name: &str, lines: &[String]) -> fmt::Result {
    match lines {
        [] => Ok(()),
        [line] => writeln!(f, "    {name:<8} {line}"),
        lines => {
            writeln!(f, "    {name}")?;
            lines.iter().try_for_each(|line| writeln!(f, "      {line}"))
        }
    }
}
