//! Drawing of the screen: a headline, a lane for each member, the board beside the lanes, a footline.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Block, Borders, Paragraph},
};

use super::{
    super::{describe, describe::Tone, team_event::StreamKind},
    lane::{LaneEntry, MemberLane, ToolState, ToolUse},
    state::{OpenApproval, ScreenState, ScreenTask},
    wrap::wrap,
};
use crate::output::clean;

/// Minimum height of a lane: a title and two lines.
const LANE_LEAST: u16 = 3;
/// Width of the board, and the minimum width of the screen for a board beside the lanes.
const BOARD: u16 = 30;
const BOARD_FROM: u16 = 76;

const KEYS: &str = "q quit  tab select  enter alone  t tools  a approve  d deny";

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// Draws the [`ScreenState`]. Corrects a scroll position beyond the end.
pub(super) fn draw(frame: &mut Frame<'_>, state: &mut ScreenState) {
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ]);
    let [top, middle, bottom] = rows.areas(frame.area());
    frame.render_widget(headline(state), top);
    frame.render_widget(footline(state), bottom);
    if state.is_alone {
        state.scroll = draw_lane(frame, middle, state, state.selected, state.scroll);
        return;
    }
    let has_board = !state.tasks.is_empty() && middle.width >= BOARD_FROM;
    let board = if has_board { BOARD } else { 0 };
    let columns = Layout::horizontal([Constraint::Min(0), Constraint::Length(board)]);
    let [left, right] = columns.areas(middle);
    draw_lanes(frame, left, state);
    if has_board {
        draw_board(frame, right, &state.tasks);
    }
}

fn headline(state: &ScreenState) -> Line<'_> {
    let mut line = vec![Span::styled(clean(&state.team), BOLD)];
    if !state.name.is_empty() && state.name != state.team {
        line.push(Span::raw(format!(" {}", state.name)));
    }
    let status = Span::styled(state.status.as_str(), status_style(&state.status));
    line.extend([Span::raw("  "), status]);
    let online = state.lanes.iter().filter(|lane| lane.is_online).count();
    let mut rest = format!("  {online} of {} online", state.lanes.len());
    if let Some((run, last)) = &state.run {
        rest += &format!("  {}, {last} events", clean(run));
    }
    line.push(Span::styled(rest, DIM));
    Line::from(line)
}

fn footline(state: &ScreenState) -> Line<'_> {
    if state.notice.is_empty() {
        return Line::styled(KEYS, DIM);
    }
    let style = if state.is_lost {
        Color::Red
    } else {
        Color::Yellow
    };
    let notice = Span::styled(state.notice.as_str(), style);
    Line::from(vec![notice, Span::styled(format!("  {KEYS}"), DIM)])
}

/// Draws as many lanes as fit, including the selected lane.
fn draw_lanes(frame: &mut Frame<'_>, area: Rect, state: &ScreenState) {
    let room = usize::from(area.height / LANE_LEAST).max(1);
    let first = state.selected.saturating_sub(room.saturating_sub(1));
    let shown: Vec<_> = (first..state.lanes.len()).take(room).collect();
    if shown.is_empty() {
        let waiting = Line::styled("no activity yet", DIM);
        frame.render_widget(waiting, area);
        return;
    }
    let heights = shown.iter().map(|_| Constraint::Fill(1));
    let places = Layout::vertical(heights).split(area);
    for (at, place) in shown.into_iter().zip(places.iter()) {
        draw_lane(frame, *place, state, at, 0);
    }
}

/// Draws one lane, and returns the corrected scroll position.
fn draw_lane(
    frame: &mut Frame<'_>,
    area: Rect,
    state: &ScreenState,
    at: usize,
    scroll: usize,
) -> usize {
    let Some(lane) = state.lanes.get(at) else {
        return 0;
    };
    let is_selected = at == state.selected;
    let block = Block::new()
        .borders(Borders::TOP)
        .border_style(if is_selected { Style::new() } else { DIM })
        .title(title(lane, is_selected));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let width = usize::from(inner.width);
    let mut asked: Vec<_> = state
        .asked(&lane.key)
        .flat_map(|approval| approval_lines(approval, state, is_selected, width))
        .collect();
    // Open questions are always shown; the last text too, if there is room.
    asked.truncate(usize::from(inner.height));
    let height = usize::from(inner.height) - asked.len();
    let (mut lines, scroll) = tail(lane, width, height, scroll, state.is_unfolded);
    lines.append(&mut asked);
    frame.render_widget(Paragraph::new(lines), inner);
    scroll
}

fn title(lane: &MemberLane, is_selected: bool) -> Line<'static> {
    let mark = if is_selected { "▶ " } else { "─ " };
    let name = if is_selected {
        BOLD.add_modifier(Modifier::REVERSED)
    } else {
        BOLD
    };
    let mut title = vec![
        Span::raw(mark),
        Span::styled(format!(" {} ", clean(&lane.key)), name),
    ];
    if lane.is_online || lane.agent.is_empty() {
        let status = format!(" {} ", lane.status);
        title.push(Span::styled(status, status_style(&lane.status)));
    } else {
        title.push(Span::styled(" offline ", DIM));
    }
    Line::from(title)
}

fn approval_lines(
    approval: &OpenApproval,
    state: &ScreenState,
    is_selected: bool,
    width: usize,
) -> Vec<Line<'static>> {
    let style = Style::new()
        .fg(Color::Yellow)
        .add_modifier(Modifier::REVERSED);
    let how = if approval.is_answered {
        "  sent to the hub".to_owned()
    } else if is_selected && !describe::is_question(&approval.tool) {
        "  a approves, d denies".to_owned()
    } else {
        let (key, tool, invocation) = (&approval.key, &approval.tool, &approval.invocation);
        let how = describe::how_to_answer(&state.team, key, tool, invocation, &state.flags);
        format!("  {how}")
    };
    let mut lines: Vec<_> = wrap(&approval.what, width)
        .into_iter()
        .map(|line| Line::styled(line, style))
        .collect();
    lines.extend(
        wrap(&how, width)
            .into_iter()
            .map(|line| Line::styled(line, Color::Yellow)),
    );
    lines
}

/// Returns the last lines of a [`MemberLane`], shifted by `scroll`, and the corrected scroll position.
fn tail(
    lane: &MemberLane,
    width: usize,
    height: usize,
    scroll: usize,
    is_unfolded: bool,
) -> (Vec<Line<'static>>, usize) {
    let wanted = height.saturating_add(scroll);
    let mut groups = Vec::new();
    let mut count = 0;
    for entry in lane.entries.iter().rev() {
        if count >= wanted {
            break;
        }
        let lines = entry_lines(entry, width, is_unfolded);
        count += lines.len();
        groups.push(lines);
    }
    let lines: Vec<_> = groups.into_iter().rev().flatten().collect();
    let scroll = scroll.min(lines.len().saturating_sub(height));
    let end = lines.len() - scroll;
    let begin = end.saturating_sub(height);
    let shown = lines.into_iter().take(end).skip(begin).collect();
    (shown, scroll)
}

fn entry_lines(entry: &LaneEntry, width: usize, is_unfolded: bool) -> Vec<Line<'static>> {
    let styled = |text: &str, style: Style| {
        let lines = wrap(text, width).into_iter();
        lines.map(|line| Line::styled(line, style)).collect()
    };
    match entry {
        LaneEntry::Said { text, kind, .. } => {
            let style = match kind {
                StreamKind::Text => Style::new(),
                StreamKind::Thinking | StreamKind::Tool => DIM,
            };
            let text = text.trim_end_matches('\n');
            if text.is_empty() {
                return Vec::new();
            }
            styled(text, style)
        }
        LaneEntry::Line(tone, text) => styled(text, tone_style(*tone)),
        LaneEntry::Used(tool) => tool_lines(tool, width, is_unfolded),
    }
}

fn tool_lines(tool: &ToolUse, width: usize, is_unfolded: bool) -> Vec<Line<'static>> {
    let (mark, style) = match tool.state {
        ToolState::Begun | ToolState::Runs => ("…", Style::new().fg(Color::Yellow)),
        ToolState::Waits => ("?", Style::new().fg(Color::Yellow)),
        ToolState::Succeeded => ("✓", Style::new().fg(Color::Green)),
        ToolState::Failed | ToolState::Denied => ("✗", Style::new().fg(Color::Red)),
    };
    let arrow = if is_unfolded { "▾" } else { "▸" };
    let mut lines = vec![Line::from(vec![
        Span::styled(format!("{arrow} {} ", tool.name), DIM),
        Span::styled(mark, style),
    ])];
    if is_unfolded {
        for (mark, text) in [("<- ", &tool.input), ("-> ", &tool.output)] {
            if !text.is_empty() {
                let lines_of = wrap(&format!("{mark}{text}"), width.saturating_sub(2));
                lines.extend(
                    lines_of
                        .into_iter()
                        .map(|line| Line::styled(format!("  {line}"), DIM)),
                );
            }
        }
    }
    lines
}

/// Draws the [`ScreenTask`]s beside the lanes. If there are too many, finished tasks are left out first.
fn draw_board(frame: &mut Frame<'_>, area: Rect, tasks: &[ScreenTask]) {
    let done = tasks.iter().filter(|task| task.status == "completed");
    let title = format!(" board {} of {} done ", done.count(), tasks.len());
    let block = Block::new()
        .borders(Borders::LEFT | Borders::TOP)
        .border_style(DIM)
        .title(title);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let height = usize::from(inner.height);
    let mut extra = tasks.len().saturating_sub(height);
    let mut lines = Vec::new();
    for task in tasks {
        let is_over = matches!(task.status.as_str(), "completed" | "failed");
        if extra > 0 && is_over {
            extra -= 1;
            continue;
        }
        lines.push(task_line(task));
    }
    if lines.len() > height {
        let more = lines.len() - height.saturating_sub(1);
        lines.truncate(height.saturating_sub(1));
        lines.push(Line::styled(format!("and {more} more"), DIM));
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

fn task_line(task: &ScreenTask) -> Line<'static> {
    let (mark, style) = match task.status.as_str() {
        "completed" => ("✓", Style::new().fg(Color::Green)),
        "in_progress" => ("▸", Style::new().fg(Color::Yellow)),
        "failed" => ("✗", Style::new().fg(Color::Red)),
        "blocked" => ("!", Style::new().fg(Color::Red)),
        "queued" => ("○", DIM),
        _ => ("·", DIM),
    };
    let mut line = vec![Span::styled(format!("{mark} "), style)];
    if !task.team.is_empty() {
        line.push(Span::styled(format!("{}: ", clean(&task.team)), DIM));
    }
    line.push(Span::raw(task.name.clone()));
    line.push(Span::styled(format!(" {}", task.assignee), DIM));
    Line::from(line)
}

fn tone_style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Quiet => DIM,
        Tone::Loud => Style::new().fg(Color::Yellow),
        Tone::Bad => Style::new().fg(Color::Red),
    }
}

/// Returns the [`Style`] for a status of a team or a member, in either spelling.
fn status_style(status: &str) -> Style {
    match status.to_ascii_lowercase().as_str() {
        "idle" | "" | "uninitialized" => DIM,
        "error" => Style::new().fg(Color::Red),
        "awaiting_tool_approval" | "tool_denied" => Style::new().fg(Color::Yellow),
        _ => Style::new().fg(Color::Green),
    }
}

#[cfg(test)]
mod tests;
