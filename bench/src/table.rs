//! Tables as they stand in `docs/`.

/// Rows under a head. The first column is text; the others are numbers, or text too.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
    words: bool,
}

impl Table {
    /// With these columns, of numbers.
    pub fn of(columns: &[&str]) -> Self {
        Self { rows: vec![columns.iter().map(ToString::to_string).collect()], words: false }
    }

    /// With these columns, of text.
    pub fn of_words(columns: &[&str]) -> Self {
        Self { words: true, ..Self::of(columns) }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Prints it.
    pub fn print(&self, title: &str) {
        println!("\n{title}\n");
        let columns = self.rows[0].len();
        let wide =
            |at: usize| self.rows.iter().filter_map(|row| row.get(at)).map(String::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(wide).collect();
        for (number, row) in self.rows.iter().enumerate() {
            println!("{}", self.line(row, &widths));
            if number == 0 {
                let rules = widths.iter().enumerate().map(|(at, width)| match self.is_left(at) {
                    true => "-".repeat(*width),
                    false => "-".repeat(width.saturating_sub(1)) + ":",
                });
                println!("{}", self.line(&rules.collect::<Vec<_>>(), &widths));
            }
        }
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let cells = row.iter().zip(widths).enumerate().map(|(at, (cell, width))| match self.is_left(at) {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        });
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    }

    fn is_left(&self, column: usize) -> bool {
        self.words || column == 0
    }
}

/// A number with about three digits that mean something.
pub fn short(number: f64) -> String {
    match number.abs() {
        0.0 => "0".into(),
        size if size < 0.095 => format!("{number:.3}"),
        size if size < 9.95 => format!("{number:.2}"),
        size if size < 99.5 => format!("{number:.1}"),
        _ => thousands(number),
    }
}

/// Whole, with commas.
pub fn thousands(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0.0 { format!("-{text}") } else { text }
}
