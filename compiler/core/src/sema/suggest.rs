//! "Did you mean": the nearest of some names.

/// The candidate that is nearest to `name`, when it is near enough to be a slip of the fingers.
pub(crate) fn nearest<'n>(name: &str, candidates: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    // among names of one or two letters everything is near everything
    let limit = if name.len() < 3 { 0 } else { (name.len() / 3).max(1) };
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= limit && *candidate != name)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edits between two names, where swapping neighbours counts as one (optimal string alignment); case counts for nothing.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<u8> = a.bytes().map(|c| c.to_ascii_lowercase()).collect();
    let b: Vec<u8> = b.bytes().map(|c| c.to_ascii_lowercase()).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at = |list: &[usize], k: usize| list.get(k).copied().unwrap_or(usize::MAX - 1);
            let mut best = (at(&row, j) + usize::from(x != y)).min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found() {
        assert_eq!(nearest("thredIdx", ["threadIdx", "blockIdx"]), Some("threadIdx"));
        assert_eq!(nearest("recieve", ["receive", "relieve"]), Some("receive"));
        assert_eq!(nearest("x", ["yy", "zebra"]), None);
    }
}
