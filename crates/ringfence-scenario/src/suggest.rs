//! The known word nearest to a misspelt one.

/// The word of `known` most like `word`, when it is like enough to be meant.
///
/// Likeness is the Damerau-Levenshtein distance: at most a third of the
/// word's characters, rounded up, may differ.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let limit = word.chars().count().min(64).div_ceil(3);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}
