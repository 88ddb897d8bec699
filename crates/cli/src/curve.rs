//! A curve as text: points in, lines of braille characters out, each of them a grid of two by four dots.

/// Rows of characters.
const ROWS: usize = 5;

/// Dots of a character: bit of the column's four rows, top to bottom.
const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// A curve through the means of points that fall on the same column, `columns` characters wide with its labels; none for
/// fewer than two columns with points.
pub fn curve(points: &[(f64, f64)], columns: usize) -> Option<Vec<String>> {
    let finite: Vec<(f64, f64)> = points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    let range = |pick: fn(&(f64, f64)) -> f64| {
        let values = finite.iter().map(pick);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (first, last) = range(|point| point.0);
    // Infinite ends, those of no points, are in the wrong order.
    if last <= first {
        return None;
    }
    // The labels are as wide as the values of the means, which lie within those of the points.
    let (least, most) = range(|point| point.1);
    let width = columns.saturating_sub(2 + label(least).len().max(label(most).len()).max(6));
    let means = means(&finite, first, last, 2 * width);
    let seen: Vec<f64> = means.iter().flatten().copied().collect();
    if seen.len() < 2 {
        return None;
    }
    let (low, high) = seen.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &y| (a.min(y), b.max(y)));
    let steps = 4 * ROWS - 1;
    let height =
        |y: f64| if low < high { ((y - low) / (high - low) * steps as f64).round() as usize } else { steps / 2 };
    let mut cells = vec![vec![0_u8; width]; ROWS];
    let mut before = None;
    for (x, y) in connected(&means).into_iter().enumerate().filter_map(|(x, y)| Some((x, height(y?)))) {
        // A dot, and the dots between it and the one before.
        let from =
            before.map_or(y, |before: usize| if before < y { before + 1 } else { before.saturating_sub(1).max(y) });
        for dot in from.min(y)..=from.max(y) {
            let row = steps - dot;
            cells[row / 4][x / 2] |= DOTS[x % 2][row % 4];
        }
        before = Some(y);
    }
    let labels = [label(high), if low < high { label(low) } else { String::new() }];
    let wide = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let line = |(row, cells): (usize, &Vec<u8>)| {
        let label = match row {
            0 => &labels[0][..],
            row if row + 1 == ROWS => &labels[1],
            _ => "",
        };
        let dots: String = cells.iter().filter_map(|&dots| char::from_u32(0x2800 + u32::from(dots))).collect();
        format!("{label:>wide$} ┤{dots}")
    };
    Some(cells.iter().enumerate().map(line).collect())
}

/// The mean of the points of each of `count` columns.
fn means(points: &[(f64, f64)], first: f64, last: f64, count: usize) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0_u32); count];
    for (x, y) in points {
        let at = ((x - first) / (last - first) * count as f64) as usize;
        if let Some(sum) = sums.get_mut(at.min(count.saturating_sub(1))) {
            *sum = (sum.0 + y, sum.1 + 1);
        }
    }
    sums.into_iter().map(|(sum, count)| (0 < count).then(|| sum / f64::from(count))).collect()
}

/// Straight lines between the columns that have points.
fn connected(means: &[Option<f64>]) -> Vec<Option<f64>> {
    let known: Vec<(usize, f64)> = means.iter().enumerate().filter_map(|(x, y)| Some((x, (*y)?))).collect();
    let mut line = means.to_vec();
    for pair in known.windows(2) {
        let [(from, low), (to, high)] = [pair[0], pair[1]];
        for (i, y) in line[from..to].iter_mut().enumerate().skip(1) {
            *y = Some(low + (high - low) * i as f64 / (to - from) as f64);
        }
    }
    line
}

fn label(value: f64) -> String {
    if value.abs() < 1e5 { format!("{value:.1}") } else { format!("{value:.1e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_line_begins_at_the_lower_left_and_ends_at_the_upper_right_of_eighty_columns() {
        let points: Vec<(f64, f64)> = (0..400).map(|i| (f64::from(i), f64::from(i))).collect();
        let lines = curve(&points, 80).unwrap();
        assert!(lines.len() == ROWS && lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
        let is_blank = |line: &str, at: usize| line.chars().filter(|c| *c != ' ').collect::<Vec<_>>()[at] == '\u{2800}';
        let last = lines[0].chars().last().unwrap();
        assert!(last != '\u{2800}' && lines[ROWS - 1].ends_with('\u{2800}'), "{lines:#?}");
        assert!(!is_blank(lines[ROWS - 1].split('┤').nth(1).unwrap(), 0));
        assert!(lines[0].starts_with("398") || lines[0].starts_with(" 398"), "{lines:#?}");
    }

    #[test]
    fn neighbouring_columns_are_connected() {
        let points: Vec<(f64, f64)> = (0..60).map(|i| (f64::from(i), f64::from(i % 2))).collect();
        let lines = curve(&points, 40).unwrap();
        let filled = lines.iter().map(|line| line.chars().filter(|c| *c == '\u{28ff}').count()).sum::<usize>();
        assert!(0 < filled, "{lines:#?}");
    }

    #[test]
    fn no_points_one_point_and_equal_points_do_no_harm() {
        assert_eq!(curve(&[], 80), None);
        assert_eq!(curve(&[(1.0, 2.0)], 80), None);
        assert_eq!(curve(&[(1.0, f64::NAN), (2.0, 1.0), (3.0, f64::INFINITY)], 80), None);
        assert_eq!(curve(&[(0.0, 1.0), (1.0, 1.0)], 80).map(|lines| lines.len()), Some(ROWS));
        assert_eq!(curve(&[(0.0, 1.0), (1.0, 1.0)], 3), None, "no room");
    }
}
