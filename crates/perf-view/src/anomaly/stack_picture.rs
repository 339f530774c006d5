//! Drawing of a recorded call with its call stack, neighbouring calls and messages.

use super::anomalies::rank_name;
use super::label_name;
use super::picture::Picture;
use super::stack_layout::{Bar, Layout};
use crate::chart::{legend, paragraph};
use crate::{Anchor, Axis, Colour, Mark, Palette, Scene, Unit, glyphs, number, shortened};
use perf_anomaly::provenance::Record;

/// Height of a call level in pixels.
const BAR: f64 = 22.0;
/// Maximum number of peer ranks that are drawn as a line.
const PEERS: usize = 12;
/// Maximum number of functions in the legend.
const NAMES: usize = 24;

impl Picture<'_> {
    pub(super) fn draw_stack(
        &self,
        record: &Record,
        [left, top]: [f64; 2],
        width: f64,
        scene: &mut Scene,
    ) -> f64 {
        let theme = &self.theme;
        let layout = Layout::of(record);
        let own = &record.call;
        let name = shortened(&own.function, 40);
        self.heading(
            [left, top],
            &format!("{name} on {}", rank_name(record.program, record.rank)),
            scene,
        );
        let expected = record.expected.map_or(String::new(), |one| {
            format!(", expected {}", number::time(one.0 as f64))
        });
        let words = format!(
            "step {}, {}: took {}{expected}, {} lost",
            record.step,
            label_name(record.label),
            number::time(record.runtime.0 as f64),
            number::time(record.severity.0 as f64)
        );
        let mut y = top + 22.0;
        y += paragraph(&words, [left, y], width, theme.quiet, scene) + 6.0;
        let names = 11.0 * glyphs::ADVANCE;
        let (from, span) = (left + names, width - names);
        let x = |at: i64| {
            let [low, high] = layout.window;
            let share = (at.saturating_sub(low)) as f64 / high.saturating_sub(low).max(1) as f64;
            from + span * share.clamp(0.0, 1.0)
        };
        let palette = self.found.palette();
        let rank = shortened(&rank_name(record.program, record.rank), 10);
        scene.text([left, y + BAR / 2.0], Anchor::Start, theme.ink, &rank);
        for bar in &layout.bars {
            self.bar(bar, &palette, (&x, y), scene);
        }
        let foot = y + layout.depth as f64 * BAR;
        let mut below = foot + 12.0;
        let lines = layout.peers.iter().take(PEERS).enumerate();
        let lines: Vec<(u32, f64)> = lines
            .map(|(at, rank)| (*rank, below + 12.0 + at as f64 * 24.0))
            .collect();
        for (rank, line) in &lines {
            scene.text(
                [left, *line],
                Anchor::Start,
                theme.ink,
                &shortened(&format!("rank {rank}"), 10),
            );
            scene.line([from, *line, from + span, *line], theme.quiet);
        }
        let depth = layout
            .bars
            .iter()
            .find(|bar| bar.is_own)
            .map_or(0, |bar| bar.depth);
        let call = y + (depth as f64 + 1.0) * BAR - 3.0;
        for message in &record.messages {
            let Some((_, line)) = lines.iter().find(|(rank, _)| *rank == message.rank) else {
                continue;
            };
            let at = x(message.at.0);
            let (start, end) = if message.is_sent {
                (call, *line)
            } else {
                (*line, call)
            };
            arrow([at, start], [at, end], theme.ink, scene);
        }
        below += lines.len() as f64 * 24.0;
        let more = layout.peers.len().saturating_sub(lines.len());
        if more > 0 {
            scene.text(
                [from, below],
                Anchor::Start,
                theme.quiet,
                &format!("and {more} more ranks"),
            );
            below += BAR;
        }
        let [low, high] = layout.window;
        let axis = Axis::over([low as f64, high as f64], Unit::Nanos);
        scene.line([from, below, from + span, below], theme.quiet);
        for (value, label) in axis.ticks((span / 120.0) as usize + 1) {
            let at = x(value as i64);
            scene.line([at, below, at, below + 5.0], theme.quiet);
            // Labels are moved inwards so that they are not cut off at the edges.
            let half = glyphs::width(&label) / 2.0;
            let at = at.clamp(from + half, (from + span - half).max(from + half));
            scene.text([at, below + 14.0], Anchor::Middle, theme.quiet, &label);
        }
        below += 28.0;
        let mut seen: Vec<(Colour, String)> = Vec::new();
        for bar in &layout.bars {
            let entry = (palette.of(&bar.call.function), bar.call.function.clone());
            if !seen.contains(&entry) && seen.len() < NAMES {
                seen.push(entry);
            }
        }
        below += legend(&seen, [left, below], width, theme, scene);
        below - top
    }

    fn bar(
        &self,
        bar: &Bar<'_>,
        palette: &Palette,
        (x, top): (&dyn Fn(i64) -> f64, f64),
        scene: &mut Scene,
    ) {
        let end = bar.call.exit.map_or(i64::MAX, |exit| exit.0);
        let (left, right) = (x(bar.call.entry.0), x(end));
        let y = top + bar.depth as f64 * BAR;
        let wide = (right - left).max(2.0);
        let colour = palette.of(&bar.call.function);
        let abnormal = bar.is_own || bar.call.is_anomaly;
        if abnormal {
            let frame = [left - 2.0, y, wide + 4.0, BAR - 2.0];
            scene.push(Mark::Rect(frame, self.theme.alarm));
        }
        scene.push(Mark::Rect([left, y + 2.0, wide, BAR - 6.0], colour));
        let room = (wide / glyphs::ADVANCE) as usize;
        if room < 4 {
            return;
        }
        // Names have a background in the colour of the paper, because red text on a coloured bar
        // has too little contrast.
        let name = shortened(&bar.call.function, room.saturating_sub(1));
        let (paper, ink) = if abnormal {
            (self.theme.paper, self.theme.alarm)
        } else {
            (self.theme.paper, self.theme.ink)
        };
        let box_ = [left + 2.0, y + 3.0, glyphs::width(&name) + 4.0, BAR - 8.0];
        scene.push(Mark::Rect(box_, paper.opacity(0.88)));
        let at = [left + 4.0, y + BAR / 2.0 - 1.0];
        let mark = if abnormal {
            Mark::Title(at, Anchor::Start, ink, name)
        } else {
            Mark::Text(at, Anchor::Start, ink, name)
        };
        scene.push(mark);
    }
}

/// Draws a vertical arrow.
fn arrow([x, from]: [f64; 2], [_, to]: [f64; 2], colour: Colour, scene: &mut Scene) {
    scene.push(Mark::Path(vec![[x, from], [x, to]], 1.2, colour));
    let back = if to > from { -7.0 } else { 7.0 };
    let head = vec![[x, to], [x - 4.0, to + back], [x + 4.0, to + back]];
    scene.push(Mark::Polygon(head, colour));
}
