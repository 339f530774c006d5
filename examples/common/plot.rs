//! Plots as SVG and PNG: rectangles, circles, lines and text, drawn either way from one list.

use crate::picture::{Canvas, TooLarge};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::*;
use std::fmt::Write as _;

/// The colour of text and of axes.
pub const INK: Rgb888 = Rgb888::new(0x22, 0x22, 0x2a);
/// The colour of grids and of what is in no cluster.
pub const FAINT: Rgb888 = Rgb888::new(0xc4, 0xc4, 0xcc);

/// Where text begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins at its place.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// Something that is drawn.
#[derive(Clone, Debug)]
pub enum Mark {
    /// A filled rectangle: left, top, width, height.
    Rect([f64; 4], Rgb888),
    /// A filled circle: centre and radius.
    Circle([f64; 3], Rgb888),
    /// A line between two points.
    Line([f64; 4], Rgb888),
    /// Text on a line: the middle of its height.
    Text([f64; 2], Anchor, Rgb888, String),
    /// A circle that moves, in SVG alone: centres, radii and whether it is seen, one a step.
    Moving(Vec<([f64; 3], bool)>, Rgb888),
    /// Marks that are seen during one of some steps, in SVG alone.
    During(usize, usize, Vec<Mark>),
    /// Marks that go with what moves, in SVG alone.
    Still(Vec<Mark>),
}

/// A plot: marks on white paper, in pixels.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// Width of the paper.
    pub width: u32,
    /// Its height.
    pub height: u32,
    /// What is on it, the first ones below.
    pub marks: Vec<Mark>,
}

/// Seconds that a step of an animation takes.
const STEP: f64 = 2.0;

impl Plot {
    /// The plot as an SVG file, with animations in SMIL.
    pub fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
        );
        for mark in &self.marks {
            svg(mark, &mut out);
        }
        out.push_str("</svg>\n");
        out
    }

    /// The plot as a picture; what moves is left out.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn canvas(&self) -> Result<Canvas, TooLarge> {
        let mut canvas = Canvas::new(self.width, self.height)?;
        for mark in &self.marks {
            match mark {
                Mark::Rect([x, y, width, height], colour) => {
                    canvas.rect([*x, *y, *width, *height], *colour);
                }
                Mark::Circle([x, y, radius], colour) => canvas.disc([*x, *y], *radius, *colour),
                Mark::Line([x1, y1, x2, y2], colour) => {
                    canvas.line([*x1, *y1], [*x2, *y2], *colour);
                }
                Mark::Text([x, y], anchor, colour, text) => {
                    canvas.label([*x, *y], *anchor, *colour, text);
                }
                Mark::Moving(..) | Mark::During(..) | Mark::Still(_) => {}
            }
        }
        Ok(canvas)
    }
}

/// `#rrggbb`.
fn hex(colour: Rgb888) -> String {
    format!("#{:02x}{:02x}{:02x}", colour.r(), colour.g(), colour.b())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn svg(mark: &Mark, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = match mark {
        Mark::Rect([x, y, width, height], colour) => {
            let fill = hex(*colour);
            writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>"
            )
        }
        Mark::Circle([x, y, radius], colour) => {
            let fill = hex(*colour);
            writeln!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{fill}\"/>"
            )
        }
        Mark::Line([x1, y1, x2, y2], colour) => {
            let stroke = hex(*colour);
            writeln!(
                out,
                "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{stroke}\"/>"
            )
        }
        Mark::Text([x, y], anchor, colour, text) => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let (fill, text) = (hex(*colour), escaped(text));
            writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" dy=\"0.35em\" text-anchor=\"{anchor}\" \
                 fill=\"{fill}\">{text}</text>"
            )
        }
        Mark::Moving(steps, colour) => {
            let fill = hex(*colour);
            let mut result = write!(out, "<circle fill=\"{fill}\" fill-opacity=\"0.55\">");
            for (name, axis) in [("cx", 0), ("cy", 1), ("r", 2)] {
                let values: Vec<String> = steps
                    .iter()
                    .map(|step| format!("{:.1}", step.0[axis]))
                    .collect();
                result = result.and(animated(out, name, &values, true));
            }
            let seen: Vec<String> = steps
                .iter()
                .map(|step| String::from(if step.1 { "1" } else { "0" }))
                .collect();
            result
                .and(animated(out, "opacity", &seen, true))
                .and(writeln!(out, "</circle>"))
        }
        Mark::Still(marks) => {
            marks.iter().for_each(|mark| svg(mark, out));
            Ok(())
        }
        Mark::During(step, steps, marks) => {
            let result = writeln!(out, "<g opacity=\"0\">");
            for mark in marks {
                svg(mark, out);
            }
            let shown = |at| if at == *step { "1" } else { "0" };
            let values: Vec<String> = (0..*steps).map(|at| shown(at).to_owned()).collect();
            result
                .and(animated(out, "opacity", &values, false))
                .and(writeln!(out, "</g>"))
        }
    };
}

/// An attribute that has one value after the other, again and again: for the length of a step, or
/// (`moves`) resting for half of it and going to the next for the other half.
fn animated(out: &mut String, name: &str, values: &[String], moves: bool) -> std::fmt::Result {
    let count = values.len() as f64;
    write!(
        out,
        "<animate attributeName=\"{name}\" dur=\"{}s\" repeatCount=\"indefinite\" ",
        STEP * count
    )?;
    if !moves {
        return writeln!(
            out,
            "calcMode=\"discrete\" values=\"{}\"/>",
            values.join(";")
        );
    }
    let (mut stops, mut times) = (Vec::new(), Vec::new());
    for (at, value) in values.iter().enumerate() {
        stops.extend([value.as_str(), value]);
        times.extend([at as f64, at as f64 + 0.5].map(|at| format!("{:.4}", at / count)));
    }
    // The last one stays until it begins anew.
    stops.extend(values.last().map(String::as_str));
    times.push("1".into());
    writeln!(
        out,
        "values=\"{}\" keyTimes=\"{}\"/>",
        stops.join(";"),
        times.join(";")
    )
}
