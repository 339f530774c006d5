//! Output of a [`Scene`] as an SVG file, with animated marks, without a library because there are
//! few kinds of marks.

use crate::{Anchor, Colour, Mark, Scene, escaped};
use std::fmt::Write as _;

pub(crate) fn write(scene: &Scene) -> String {
    let Scene { width, height, .. } = scene;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"'DejaVu Sans Mono', \
         'Noto Sans Mono', ui-monospace, monospace\" font-size=\"11.6\">\n"
    );
    // Writing to a string cannot fail, so the results are ignored.
    if !scene.title.is_empty() {
        let _ = writeln!(out, "<title>{}</title>", escaped(&scene.title));
    }
    let paper = Mark::Rect(
        [0.0, 0.0, f64::from(*width), f64::from(*height)],
        scene.paper,
    );
    mark(&paper, &mut out);
    for found in &scene.marks {
        mark(found, &mut out);
    }
    out.push_str("</svg>\n");
    out
}

fn mark(mark: &Mark, out: &mut String) {
    match mark {
        Mark::Rect(place, colour) => rect(*place, *colour, out),
        Mark::Cells([x, y, width, height], colours) => {
            let mut from = 0;
            for run in colours.chunk_by(|a, b| a == b) {
                let (left, length) = (x + from as f64 * width, run.len() as f64 * width);
                let colour = run.first().copied().unwrap_or_default();
                rect([left, *y, length, *height], colour, out);
                from += run.len();
            }
        }
        Mark::Circle(place, colour) if place.iter().all(|number| number.is_finite()) => {
            let [x, y, radius] = place.map(number);
            let _ = writeln!(
                out,
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"{}/>",
                paint("fill", *colour)
            );
        }
        Mark::Circle(..) => {}
        Mark::Polygon(corners, colour) => {
            let _ = writeln!(
                out,
                "<polygon points=\"{}\"{}/>",
                points(corners),
                paint("fill", *colour)
            );
        }
        Mark::Path(corners, width, colour) => {
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke-width=\"{}\"{}/>",
                points(corners),
                number(*width),
                paint("stroke", *colour)
            );
        }
        Mark::Text(at, to, colour, line) => text(*at, *to, *colour, line, "", out),
        Mark::Title(at, to, colour, line) => {
            text(*at, *to, *colour, line, " font-weight=\"bold\"", out);
        }
        Mark::During(step, steps, marks) => during(*step, *steps, marks, out),
        Mark::Moving(places, colour) => moving(places, *colour, out),
    }
}

/// Duration of a step in seconds.
const STEP: f64 = 2.0;

fn during(step: usize, steps: usize, marks: &[Mark], out: &mut String) {
    out.push_str("<g opacity=\"0\">\n");
    for one in marks {
        mark(one, out);
    }
    let shown = (0..steps).map(|at| if at == step { "1" } else { "0" });
    let shown: Vec<&str> = shown.collect();
    let _ = writeln!(
        out,
        "<animate attributeName=\"opacity\" dur=\"{}s\" repeatCount=\"indefinite\" \
         calcMode=\"discrete\" values=\"{}\"/>\n</g>",
        STEP * steps as f64,
        shown.join(";")
    );
}

/// Writes a circle that rests for half of each step and moves to its next position during the other
/// half.
fn moving(places: &[([f64; 3], bool)], colour: Colour, out: &mut String) {
    let finite = places.iter().flat_map(|place| place.0).all(f64::is_finite);
    if places.is_empty() || !finite {
        return;
    }
    let _ = writeln!(out, "<circle{}>", paint("fill", colour));
    for (name, axis) in [("cx", 0), ("cy", 1), ("r", 2)] {
        let values = places.iter().map(|place| number(place.0[axis]));
        moved(name, &values.collect::<Vec<_>>(), out);
    }
    let seen = places.iter().map(|place| u8::from(place.1).to_string());
    moved("opacity", &seen.collect::<Vec<_>>(), out);
    out.push_str("</circle>\n");
}

fn moved(name: &str, values: &[String], out: &mut String) {
    let count = values.len() as f64;
    let (mut stops, mut times) = (Vec::new(), Vec::new());
    for (at, value) in values.iter().enumerate() {
        stops.extend([value.as_str(), value]);
        times.extend([at as f64, at as f64 + 0.5].map(|at| format!("{:.4}", at / count)));
    }
    // The last position is kept until the animation restarts.
    stops.extend(values.last().map(String::as_str));
    times.push("1".into());
    let _ = writeln!(
        out,
        "<animate attributeName=\"{name}\" dur=\"{}s\" repeatCount=\"indefinite\" values=\"{}\" \
         keyTimes=\"{}\"/>",
        STEP * count,
        stops.join(";"),
        times.join(";")
    );
}

fn rect(place: [f64; 4], colour: Colour, out: &mut String) {
    if !place.iter().all(|number| number.is_finite()) {
        return;
    }
    let [x, y, width, height] = place.map(number);
    let _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{}/>",
        paint("fill", colour)
    );
}

fn text([x, y]: [f64; 2], to: Anchor, colour: Colour, line: &str, more: &str, out: &mut String) {
    let anchor = match to {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" dy=\"0.35em\"{anchor}{more}{}>{}</text>",
        number(x),
        number(y),
        paint("fill", colour),
        escaped(line)
    );
}

/// Returns an attribute such as ` fill="#rrggbb"`. Opacity is a separate attribute, as SVG 1.1
/// requires.
fn paint(what: &str, colour: Colour) -> String {
    let opaque = Colour { a: 255, ..colour };
    match colour.a {
        255 => format!(" {what}=\"{opaque}\""),
        a => format!(
            " {what}=\"{opaque}\" {what}-opacity=\"{}\"",
            number(f64::from(a) / 255.0)
        ),
    }
}

fn points(corners: &[[f64; 2]]) -> String {
    let mut out = String::new();
    for [x, y] in corners.iter().filter(|at| at.iter().all(|v| v.is_finite())) {
        if !out.is_empty() {
            out.push(' ');
        }
        let _ = write!(out, "{},{}", number(*x), number(*y));
    }
    out
}

/// Formats a number with at most two decimal places and without trailing zeros.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" => "0".into(),
        text => text.into(),
    }
}
