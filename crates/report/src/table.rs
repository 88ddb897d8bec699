//! A table and its three forms: HTML, Markdown, LaTeX.

use crate::plot::escape;

/// A table of texts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub caption: String,
    /// Headings; the first column holds names, the others numbers.
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
    /// Printed below it.
    pub notes: Vec<String>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// One per column.
    pub cells: Vec<String>,
    pub kind: RowKind,
}

/// Whether a row belongs to the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    Body,
    /// Summarises the rows above it.
    Summary,
}

/// More columns do not fit beside each other.
const WIDEST: usize = 9;

/// The text of a cell whose number is missing.
pub const MISSING: &str = "missing";

impl Table {
    /// Adds a row of the body.
    pub fn push(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len(), "push: a row of {}, expected {}", cells.len(), self.columns.len());
        self.rows.push(Row { cells, kind: RowKind::Body });
    }

    /// Adds a summary row.
    pub fn push_summary(&mut self, cells: Vec<String>) {
        self.push(cells);
        self.rows.last_mut().expect("a row was pushed").kind = RowKind::Summary;
    }

    /// Rows and columns exchanged; the first column stays a column of names.
    pub fn transposed(&self) -> Self {
        let names = self.rows.iter().map(|row| row.cells.first().cloned().unwrap_or_default());
        let columns: Vec<String> = self.columns.iter().take(1).cloned().chain(names).collect();
        let cells = |i: usize| self.rows.iter().map(move |row| row.cells[i].clone());
        let row = |i: usize| Row {
            cells: std::iter::once(self.columns[i].clone()).chain(cells(i)).collect(),
            kind: RowKind::Body,
        };
        let rows = (1..self.columns.len()).map(row).collect();
        Self { caption: self.caption.clone(), columns, rows, notes: self.notes.clone() }
    }

    /// Without the columns in which every cell is a dash.
    pub fn without_empty_columns(self) -> Self {
        let is_known = |i: &usize| self.rows.is_empty() || self.rows.iter().any(|row| row.cells[*i] != "–");
        let kept: Vec<usize> = (0..self.columns.len()).filter(is_known).collect();
        let only = |cells: &[String]| kept.iter().map(|&i| cells[i].clone()).collect();
        let rows = self.rows.iter().map(|row| Row { cells: only(&row.cells), kind: row.kind }).collect();
        Self { columns: only(&self.columns), rows, caption: self.caption, notes: self.notes }
    }

    /// Transposed if it has more columns than a page is wide.
    pub fn narrow(self) -> Self {
        if WIDEST < self.columns.len() && self.rows.len() < self.columns.len() { self.transposed() } else { self }
    }

    /// As part of a page; wide tables scroll on their own.
    pub fn html(&self) -> String {
        let cell = |tag: &str, text: &str| {
            let class = if text == MISSING { " class=\"missing\"" } else { "" };
            // Text in brackets is set below its number, so that columns stay narrow.
            let text = match text.split_once(" (") {
                Some((number, added))
                    if tag == "td" && class.is_empty() && number.ends_with(|c: char| c.is_ascii_digit()) =>
                {
                    format!("{} <small>({}</small>", escape(number), escape(added))
                }
                _ => escape(text),
            };
            format!("<{tag}{class}>{text}</{tag}>")
        };
        let head: String = self.columns.iter().map(|text| cell("th", text)).collect();
        let rows: String = self
            .rows
            .iter()
            .map(|row| {
                let class = if row.kind == RowKind::Summary { " class=\"summary\"" } else { "" };
                let cells: String = row.cells.iter().map(|text| cell("td", text)).collect();
                format!("<tr{class}>{cells}</tr>\n")
            })
            .collect();
        // A list of names and values wraps instead of scrolling.
        let list = if self.columns.len() == 2 { " class=\"list\"" } else { "" };
        let notes: String = self.notes.iter().map(|note| format!("<p class=\"note\">{}</p>\n", escape(note))).collect();
        format!(
            "<figure class=\"table\"><figcaption>{}</figcaption>\n<div class=\"scroll\"><table{list}>\n\
             <thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n{notes}</figure>\n",
            escape(&self.caption)
        )
    }

    /// As a pipe table.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|text| text.replace('|', "\\|").replace('\n', " ")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let alignment: Vec<&str> = (0..self.columns.len()).map(|i| if i == 0 { "---" } else { "---:" }).collect();
        let rows: String = self.rows.iter().map(|row| line(&row.cells)).collect();
        let notes: String = self.notes.iter().map(|note| format!("\n{note}\n")).collect();
        format!("**{}**\n\n{}| {} |\n{rows}{notes}\n", self.caption, line(&self.columns), alignment.join(" | "))
    }

    /// As a `table` environment with `booktabs` rules, scaled down if it is wider than the text.
    pub fn latex(&self) -> String {
        let line = |cells: &[String]| {
            format!("  {} \\\\\n", cells.iter().map(|text| tex(text)).collect::<Vec<_>>().join(" & "))
        };
        let mut rows = String::new();
        for (i, row) in self.rows.iter().enumerate() {
            if row.kind == RowKind::Summary && 0 < i && self.rows[i - 1].kind == RowKind::Body {
                rows.push_str("  \\midrule\n");
            }
            rows.push_str(&line(&row.cells));
        }
        let notes: String = self.notes.iter().map(|note| format!("\\par\\footnotesize {}\n", tex(note))).collect();
        format!(
            "\\begin{{table}}\n\\caption{{{}}}\n\\centering\n\\resizebox{{\\ifdim\\width>\\linewidth\\linewidth\\else\
             \\width\\fi}}{{!}}{{%\n\\begin{{tabular}}{{l{}}}\n  \\toprule\n{}  \
             \\midrule\n{rows}  \\bottomrule\n\\end{{tabular}}}}\n{notes}\\end{{table}}\n\n",
            tex(&self.caption),
            "r".repeat(self.columns.len().saturating_sub(1)),
            line(&self.columns)
        )
    }
}

/// Escapes text for LaTeX.
fn tex(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '±' => out.push_str("$\\pm$"),
            '−' => out.push_str("$-$"),
            'σ' => out.push_str("$\\sigma$"),
            'ε' => out.push_str("$\\varepsilon$"),
            'τ' => out.push_str("$\\tau$"),
            '·' => out.push_str("$\\cdot$"),
            '<' => out.push_str("$<$"),
            '>' => out.push_str("$>$"),
            '|' => out.push_str("$|$"),
            '…' => out.push_str("\\dots{}"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table {
            caption: "Scores & such".into(),
            columns: vec!["game".into(), "q_sane".into()],
            notes: vec!["50 % of <all>".into()],
            ..Table::default()
        };
        table.push(vec!["a|b".into(), "−1 ± 2".into()]);
        table.push_summary(vec!["mean".into(), MISSING.into()]);
        table
    }

    #[test]
    fn a_table_with_too_many_columns_is_turned() {
        let mut wide = Table { columns: (0..20).map(|i| format!("c{i}")).collect(), ..Table::default() };
        wide.push((0..20).map(|i| format!("v{i}")).collect());
        let turned = wide.narrow();
        assert_eq!((turned.columns, turned.rows.len()), (vec!["c0".to_owned(), "v0".to_owned()], 19));
        assert_eq!(turned.rows[0].cells, ["c1", "v1"]);
        assert_eq!(table().narrow(), table());
    }

    #[test]
    fn markdown_escapes_column_separators() {
        let expected = "**Scores & such**\n\n| game | q_sane |\n| --- | ---: |\n| a\\|b | −1 ± 2 |\n| mean | missing \
             |\n\n50 % of <all>\n\n";
        assert_eq!(table().markdown(), expected);
    }

    #[test]
    fn latex_escapes_its_special_characters() {
        let latex = table().latex();
        for part in [
            "\\caption{Scores \\& such}",
            "q\\_sane",
            "$-$1 $\\pm$ 2",
            "  \\midrule\n  mean & missing",
            "50 \\% of $<$all$>$",
        ] {
            assert!(latex.contains(part), "{part} in {latex}");
        }
    }

    #[test]
    fn html_is_escaped_and_missing_cells_are_marked() {
        let html = table().html();
        for part in
            ["Scores &amp; such", "<td class=\"missing\">missing</td>", "<tr class=\"summary\">", "50 % of &lt;all&gt;"]
        {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
