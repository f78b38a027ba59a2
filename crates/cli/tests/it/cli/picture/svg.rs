//! Draws a dark window with real text. Each piece of text is hidden until its time and then stays; without animation,
//! all text is visible from the beginning.

use std::{collections::BTreeSet, fmt::Write as _, time::Duration};

use super::recording::{COLUMNS, Row, Span, tenths};

/// In hundredths of a pixel, so that sums are exact.
const LETTER: usize = 840;
const LINE: usize = 20;
const MARGIN: usize = 24;
const BAR: usize = 40;
/// The maximum length of the animation; a slower recording is sped up.
const LONGEST: Duration = Duration::from_secs(14);

/// Colours of a dark window, with readable and calm contrast.
const COLOURS: &str = "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace;\
fill:#d5dae3;white-space:pre}.b{font-weight:600;fill:#f4f6fa}.d{fill:#8b93a3}.p{fill:#7ee0a2}.r{fill:#ff8f84}.g{fill:#7ee0a2}\
.y{fill:#f0c674}.l{fill:#7db8ff}.m{fill:#d3a6ff}.c{fill:#6fdfe0}.n{fill:#8b93a3;font-size:13px}";

/// Draws the picture.
pub(super) fn draw(rows: &[Row]) -> String {
    let width = usize::from(COLUMNS) * LETTER / 100 + 2 * MARGIN;
    let height = BAR + (rows.len() + 1) * LINE + MARGIN / 2;
    let mut svg = String::new();
    let mut line = |text: &str| {
        svg += text;
        svg.push('\n');
    };
    line(&format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">"
    ));
    line("<title>Jackfield in a terminal: a demo, who is there, and a team that answers</title>");
    line(&format!("<style>{COLOURS}{}</style>", moments(rows)));
    line(&format!(
        "<rect width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"#15181f\"/>"
    ));
    line(&format!(
        "<path d=\"M0 {BAR}H{width}\" stroke=\"#262b36\"/>"
    ));
    for (at, colour) in [(24, "#ff6159"), (44, "#ffbd2e"), (64, "#28c941")] {
        line(&format!(
            "<circle cx=\"{at}\" cy=\"20\" r=\"6\" fill=\"{colour}\"/>"
        ));
    }
    line(&format!(
        "<text class=\"n\" x=\"{}\" y=\"25\" text-anchor=\"middle\">jackfield</text>",
        width / 2
    ));
    for (number, row) in rows.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
        let y = BAR + (number + 1) * LINE + 4;
        line(&format!(
            "<text y=\"{y}\">{}</text>",
            spans(row, length(rows))
        ));
    }
    line("</svg>");
    svg
}

/// The length of the recording, or the maximum if larger.
fn length(rows: &[Row]) -> Duration {
    let last = rows.iter().flatten().map(|span| span.at).max();
    last.unwrap_or_default().max(LONGEST)
}

/// The time of a piece, in tenths of a second.
fn moment(span: &Span, length: Duration) -> u128 {
    tenths(span.at) * LONGEST.as_millis() / length.as_millis()
}

/// One rule for each time. The animation hides text, so that without animation everything is
/// visible.
fn moments(rows: &[Row]) -> String {
    let length = length(rows);
    let moments = rows.iter().flatten().map(|span| moment(span, length));
    let moments: BTreeSet<_> = moments.filter(|moment| *moment > 0).collect();
    let mut rules =
        String::from("@keyframes h{0%,to{opacity:0}}@media(prefers-reduced-motion:no-preference){");
    for moment in moments {
        let (seconds, tenths) = (moment / 10, moment % 10);
        write!(rules, ".t{moment}{{animation:h {seconds}.{tenths}s}}").expect("memory");
    }
    rules + "}"
}

fn spans(row: &Row, length: Duration) -> String {
    let mut column = 0;
    let mut out = String::new();
    for span in row {
        let letters = span.text.chars().count();
        let drawn = span.text.trim_start();
        let indent = letters - drawn.chars().count();
        let shown = drawn.trim_end().chars().count();
        let x = MARGIN * 100 + (column + indent) * LETTER;
        let class = match (span.look.as_str(), moment(span, length)) {
            ("", moment) => format!("t{moment}"),
            (look, moment) => format!("{look} t{moment}"),
        };
        if shown > 0 {
            write!(
                out,
                "<tspan class=\"{class}\" x=\"{}\" textLength=\"{}\">{}</tspan>",
                pixels(x),
                pixels(shown * LETTER),
                escaped(drawn.trim_end()),
            )
            .expect("memory");
        }
        column += letters;
    }
    out
}

fn pixels(hundredths: usize) -> String {
    let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

/// The content of a drawn picture, line by line: each letter in its column with its style, regardless of
/// its time.
pub(super) fn letters(svg: &str) -> Vec<String> {
    let rows = svg.lines().filter(|line| line.starts_with("<text y="));
    let letters = |row: &str| {
        let (mut letters, mut looks) = (String::new(), String::new());
        for span in row.split("<tspan class=\"").skip(1) {
            let (class, rest) = span.split_once("\" x=\"").unwrap_or_default();
            let (x, rest) = rest.split_once('"').unwrap_or_default();
            let (_, text) = rest.split_once('>').unwrap_or_default();
            let text = unescaped(text.split('<').next().unwrap_or_default());
            let x: f64 = x.parse().unwrap_or_default();
            let column = ((x - MARGIN as f64) * 100.0 / LETTER as f64).round() as usize;
            let look = class.split(' ').find(|name| !name.starts_with('t'));
            let look = look.unwrap_or(".");
            let look: String = text
                .chars()
                .map(|c| if c == ' ' { " " } else { look })
                .collect();
            letters += &format!(
                "{}{text}",
                " ".repeat(column.saturating_sub(letters.chars().count()))
            );
            looks += &format!(
                "{}{look}",
                " ".repeat(column.saturating_sub(looks.chars().count()))
            );
        }
        format!("{letters}\n{looks}")
    };
    rows.map(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(look: &str, text: &str, tenths: u64) -> Span {
        Span {
            look: look.to_owned(),
            text: text.to_owned(),
            at: Duration::from_millis(tenths * 100),
        }
    }

    #[test]
    fn the_letters_are_the_same_whenever_they_come() {
        let slow = [
            vec![span("p", "$ ", 0), span("b", "a <b> & c", 3)],
            vec![],
            vec![span("", "d e", 9)],
        ];
        let fast = [
            vec![span("p", "$ ", 0), span("b", "a <b> & c", 1)],
            vec![],
            vec![span("", "d ", 2), span("", "e", 3)],
        ];
        assert_eq!(letters(&draw(&slow)), letters(&draw(&fast)));
        let other = [
            vec![span("p", "$ ", 0), span("d", "a <b> & c", 3)],
            vec![],
            vec![span("", "d e", 9)],
        ];
        assert_ne!(letters(&draw(&slow)), letters(&draw(&other)));
    }

    #[test]
    fn a_long_recording_is_sped_up_and_nothing_is_hidden_without_animation() {
        let drawn = draw(&[vec![span("", "a", 10)], vec![span("", "b", 600)]]);
        assert!(drawn.contains(".t140{animation:h 14.0s}"), "{drawn}");
        let (before, _) = drawn.split_once("@keyframes").unwrap();
        assert!(!before.contains("opacity"), "{drawn}");
    }
}
