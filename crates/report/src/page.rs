//! The report as text: one self-contained page, Markdown, LaTeX.

use crate::checklist;
use crate::figures::Figure;
use crate::plot::{escape, to_svg};
use crate::report::{ComparisonReport, Report, SectionReport};
use crate::sensitivity::Sensitivity;
use crate::table::Table;
use crate::tables::common_settings;
use sane_stats::number_format::counted;

/// One self-contained page: style and figures are inline, nothing is fetched.
pub fn html(report: &Report) -> String {
    let contents: String = report
        .sections
        .iter()
        .enumerate()
        .map(|(i, section)| format!("<li><a href=\"#section-{}\">{}</a></li>\n", i + 1, escape(&section.title)))
        .collect();
    let sections: String = report.sections.iter().enumerate().map(|(i, section)| section_html(section, i)).collect();
    let contents = if 1 < report.sections.len() {
        format!(
            "<p>Runs of one world differ in budget or in settings that all agents share. They are never averaged across such \
             a difference: each set has its own section.</p>\n<ul>\n{contents}</ul>\n"
        )
    } else {
        String::new()
    };
    let checklist = checklist::html(&report.checklist);
    let method = include_str!("../assets/method.html");
    let body = format!("{contents}{sections}{}{checklist}{method}", set_aside_html(report));
    html_page("sane report", &title(report), "", &body)
}

/// A page around `body`, made by the command `generator`; `style` is appended to the common style sheet.
pub fn html_page(generator: &str, title: &str, style: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"generator\" content=\"{generator}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>SANE: \
         {title}</title>\n<style>\n{palette}{common}{style}</style>\n</head>\n\
         <body>\n<main>\n<h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n",
        title = escape(title),
        palette = crate::PALETTE_CSS,
        common = include_str!("../assets/page.css"),
    )
}

/// All tables and remarks as Markdown.
pub fn markdown(report: &Report) -> String {
    let mut text = format!("# {}\n\n", title(report));
    for section in &report.sections {
        text += &format!("## {}\n\n", section.title);
        text += &listed(&section.remarks);
        text.extend(shown_scores(section).map(Table::markdown));
        for part in &section.compared {
            text += &format!("### Compared by {}\n\n", part.comparison.measure.name());
            text += &listed(&part.remarks);
            text.extend(part.tables.iter().map(Table::markdown));
        }
        text.extend(section.sweeps.iter().map(|sweep| sweep.best.markdown()));
        text.extend(section.settings.iter().map(Table::markdown));
        text += &section.runs.markdown();
    }
    if !report.set_aside.is_empty() {
        text += "## Set aside\n\n";
        let aside: Vec<String> =
            report.set_aside.iter().map(|run| format!("`{}`: {}", run.folder, run.reason)).collect();
        text += &listed(&aside);
    }
    text
}

/// The tables of scores and comparisons as LaTeX.
pub fn latex(report: &Report) -> String {
    let mut text = "% Needs \\usepackage{booktabs,graphicx} and a UTF-8 engine.\n\n".to_owned();
    for section in &report.sections {
        text += &format!("% {}\n\n", section.title.replace('\n', " "));
        text.extend(section.scores.iter().map(Table::latex));
        text.extend(section.compared.iter().flat_map(|part| &part.tables).map(Table::latex));
        text.extend(section.settings.iter().map(Table::latex));
    }
    text
}

fn title(report: &Report) -> String {
    let runs: usize = report.sections.iter().map(|section| section.section.all_runs().count()).sum();
    format!("Report on {}", counted(runs, "run"))
}

fn listed(sentences: &[String]) -> String {
    let lines: String = sentences.iter().map(|sentence| format!("- {sentence}\n")).collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

/// The tables of scores; a single run has its numbers in the list of runs.
fn shown_scores(report: &SectionReport) -> impl Iterator<Item = &Table> {
    let is_one_run = report.section.all_runs().count() == 1 && !report.section.beside_paper;
    report.scores.iter().filter(move |_| !is_one_run)
}

fn section_html(report: &SectionReport, index: usize) -> String {
    let scores: String = shown_scores(report).map(Table::html).collect();
    let compared: String = report.compared.iter().map(comparison_html).collect();
    let sweeps: String = report.sweeps.iter().map(sensitivity_html).collect();
    let remarks = remarks_html(&report.remarks);
    let mut curves: Vec<String> = report.curves.iter().map(|(grid, worlds)| curves_html(grid, worlds)).collect();
    // One agent in one world: its curve, then its numbers. Many: the scores, how they compare, the curves.
    let content = if report.section.is_single() {
        let first = if curves.is_empty() { String::new() } else { curves.remove(0) };
        let is_evaluation = |(grid, _): &(Figure, Vec<Figure>)| is_of(grid, "evaluated-while-training");
        let second = if report.curves.get(1).is_some_and(is_evaluation) { curves.remove(0) } else { String::new() };
        let runs = report.runs.html();
        format!(
            "<div class=\"beside\">{first}{second}</div>\n{scores}{runs}{remarks}{compared}{sweeps}{}",
            curves.concat()
        )
    } else {
        format!("{remarks}{sweeps}{scores}{compared}{}", curves.concat())
    };
    let settings: String = report.settings.iter().map(Table::html).collect();
    let common: String = common_settings(&report.section)
        .iter()
        .map(|(key, value)| format!("<tr><td>{}</td><td>{}</td></tr>\n", escape(key), escape(value)))
        .collect();
    let runs = if report.section.is_single() { String::new() } else { report.runs.html() };
    format!(
        "<section id=\"section-{}\">\n<h2>{}</h2>\n{content}<h3>What the runs were</h3>\n{settings}<details><summary>Settings \
         that all runs of this section share</summary>\n<div class=\"scroll\"><table>\n<tbody>\n{common}</tbody></table></div>\
         </details>\n{runs}</section>\n",
        index + 1,
        escape(&report.title)
    )
}

/// The curves of one quantity: a figure per world.
fn curves_html(grid: &Figure, worlds: &[Figure]) -> String {
    let heading = [
        ("learning-curve", "Learning curves"),
        ("evaluated-while-training", "Evaluated while training"),
        ("sigma", "σ over time"),
    ];
    let heading = heading.into_iter().find(|(name, _)| is_of(grid, name));
    let heading = heading.map_or("Effective exploration over time", |(_, heading)| heading);
    let (list, class) = if worlds.len() == 1 { ("alone", "wide") } else { ("panels", "panel") };
    let figures: String = worlds.iter().map(|figure| figure_html(figure, class)).collect();
    let caption = escape(&grid.caption);
    format!("<div>\n<h3>{heading}</h3>\n<p>{caption}</p>\n<div class=\"{list}\">\n{figures}</div>\n</div>\n")
}

fn is_of(grid: &Figure, quantity: &str) -> bool {
    grid.name.contains(quantity)
}

fn sensitivity_html(sweep: &Sensitivity) -> String {
    let heading = escape(&format!("Sensitivity of {} in {}", sweep.agent, sweep.world));
    format!("<h3>{heading}</h3>\n{}{}", figure_html(&sweep.figure, "wide"), sweep.best.html())
}

fn comparison_html(part: &ComparisonReport) -> String {
    let mut html = format!("<h3>Compared by {}</h3>\n", escape(part.comparison.measure.name()));
    html += &remarks_html(&part.remarks);
    html.extend(part.figures.iter().map(|figure| figure_html(figure, "wide")));
    let tables: String = part.tables.iter().map(Table::html).collect();
    if !tables.is_empty() {
        html += &format!("<details><summary>The same as numbers</summary>\n{tables}</details>\n");
    }
    html
}

/// Sentences as a list; nothing if there are none.
pub fn remarks_html(remarks: &[String]) -> String {
    let lines: String = remarks.iter().map(|remark| format!("<li>{}</li>\n", escape(remark))).collect();
    if lines.is_empty() { lines } else { format!("<ul class=\"remarks\">\n{lines}</ul>\n") }
}

fn figure_html(figure: &Figure, class: &str) -> String {
    let caption = if figure.caption.is_empty() {
        String::new()
    } else {
        format!("<figcaption>{}</figcaption>\n", escape(&figure.caption))
    };
    format!("<figure class=\"{class}\">\n{}{caption}</figure>\n", to_svg(&figure.scene))
}

fn set_aside_html(report: &Report) -> String {
    if report.set_aside.is_empty() {
        return String::new();
    }
    let lines: String = report
        .set_aside
        .iter()
        .map(|run| format!("<li><code>{}</code>: {}</li>\n", escape(&run.folder), escape(&run.reason)))
        .collect();
    format!(
        "<section id=\"set-aside\">\n<h2>Set aside</h2>\n<p>These runs stand in no \
         table.</p>\n<ul>\n{lines}</ul>\n</section>\n"
    )
}
