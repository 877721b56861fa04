//! Delta debugging: from a list that fails to one of which nothing can be dropped.

/// Whether a list fails: what mattered of it, or nothing; or why it cannot be said.
pub(super) type Ask<'a, T, S> = dyn FnMut(&[T]) -> Result<Option<Vec<T>>, S> + 'a;

/// Makes `current`, which fails, smaller until every list that lacks one item of it holds.
///
/// `fails` is asked about shorter lists; its answer for one that fails is what mattered of that list, a part of it in the
/// same order. Halves are dropped first, then ever smaller pieces, the last first: what is late in a schedule has most
/// often no part in its failure. When `fails` stops, `current` is the smallest list so far.
///
/// # Errors
/// When `fails` stops.
pub(super) fn ddmin<T: Clone, S>(current: &mut Vec<T>, fails: &mut Ask<'_, T, S>) -> Result<(), S> {
    if current.is_empty() {
        return Ok(());
    }
    if let Some(nothing) = fails(&[])? {
        *current = nothing;
        return Ok(());
    }
    let mut piece = current.len().div_ceil(2);
    loop {
        let dropped = drop_pieces(current, piece, fails)?;
        piece = piece.min(current.len());
        match piece {
            0 => return Ok(()),
            1 if !dropped => return Ok(()),
            1 => {}
            _ => piece = piece.div_ceil(2),
        }
    }
}

/// Drops whatever pieces of this length can be dropped, from the last to the first; whether there was one.
fn drop_pieces<T: Clone, S>(current: &mut Vec<T>, piece: usize, fails: &mut Ask<'_, T, S>) -> Result<bool, S> {
    let mut dropped = false;
    let mut end = current.len();
    while end > 0 {
        let start = end.saturating_sub(piece);
        // To drop all was tried at the beginning.
        if end - start < current.len() {
            let rest = [&current[..start], &current[end..]].concat();
            if let Some(smaller) = fails(&rest)? {
                *current = smaller;
                dropped = true;
            }
        }
        end = start.min(current.len());
    }
    Ok(dropped)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Fails while one of `cores` is all there; asks are counted.
    fn minimum(length: u8, cores: &[Vec<u8>]) -> (Vec<u8>, usize) {
        let mut current: Vec<u8> = (0..length).collect();
        let mut asked = 0;
        let fails = |list: &[u8]| cores.iter().any(|core| core.iter().all(|item| list.contains(item)));
        let mut ask = |list: &[u8]| {
            asked += 1;
            Ok::<_, ()>(fails(list).then(|| list.to_vec()))
        };
        ddmin(&mut current, &mut ask).expect("it never stops");
        (current, asked)
    }

    fn cores() -> impl Strategy<Value = (u8, Vec<Vec<u8>>)> {
        let core = |length| proptest::collection::vec(0..length, 0..5);
        (1_u8..40).prop_flat_map(move |length| (Just(length), proptest::collection::vec(core(length), 1..4)))
    }

    proptest! {
        #[test]
        fn what_is_left_fails_in_order_and_nothing_of_it_can_be_dropped((length, cores) in cores()) {
            let fails = |list: &[u8]| cores.iter().any(|core| core.iter().all(|item| list.contains(item)));
            let (left, _) = minimum(length, &cores);
            prop_assert!(fails(&left));
            prop_assert!(left.is_sorted());
            for place in 0..left.len() {
                let mut without = left.clone();
                without.remove(place);
                prop_assert!(!fails(&without), "{left:?} without {}", left[place]);
            }
        }

        #[test]
        fn a_stop_leaves_a_list_that_fails((length, cores) in cores(), most in 0_usize..30) {
            let fails = |list: &[u8]| cores.iter().any(|core| core.iter().all(|item| list.contains(item)));
            let mut current: Vec<u8> = (0..length).collect();
            let mut asked = 0;
            let mut ask = |list: &[u8]| {
                asked += 1;
                if asked > most { Err(()) } else { Ok(fails(list).then(|| list.to_vec())) }
            };
            let _ = ddmin(&mut current, &mut ask);
            prop_assert!(fails(&current));
        }
    }

    #[test]
    fn few_questions_are_asked() {
        let cases: [(&[u8], usize); 4] = [(&[], 1), (&[0], 10), (&[3, 17], 40), (&[1, 15, 29], 60)];
        for (core, most) in cases {
            let (left, asked) = minimum(30, &[core.to_vec()]);
            assert_eq!(left, core);
            assert!(asked <= most, "{core:?}: {asked}");
        }
    }

    #[test]
    fn what_did_not_come_about_is_dropped_unasked() {
        let mut current: Vec<u8> = (0..30).collect();
        let mut asked = 0;
        let mut ask = |list: &[u8]| {
            asked += 1;
            Ok::<_, ()>(list.contains(&4).then(|| vec![4]))
        };
        ddmin(&mut current, &mut ask).expect("it never stops");
        assert_eq!((current, asked), (vec![4], 2));
    }
}
