//! Sorts words, and points in space by their distance from the origin.
//!
//! The sort is our own, not the standard library's: that one is another
//! program with each release of it, and its fast paths for small or presorted
//! slices hide the plain walk over memory for which the program is known.

use crate::page_aligned::PageAlignedSlice;
use crate::random::Random;

/// Slices up to this long are sorted by insertion.
const INSERTION_LENGTH: usize = 8;

/// Letters of a word; what is behind its end is 0.
pub const WORD_BYTES: usize = 32;

/// A word of one or more letters.
pub type Word = [u8; WORD_BYTES];

/// So few letters that words share their beginnings, as those of a text do.
const LETTERS: &[u8] = b"aeinrst";

/// Coordinates are less than this from the origin.
const SPACE: u32 = 1 << 20;

/// A point and how far it is from the origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Coordinates.
    pub place: [i32; 3],
    /// From the origin, in the unit of the coordinates.
    pub distance: f64,
}

/// Words and points, drawn and sorted again and again.
#[derive(Debug)]
pub struct Sorter {
    seed: u64,
    words: PageAlignedSlice<Word>,
    points: PageAlignedSlice<Point>,
}

impl Sorter {
    /// For `size` words and as many points, which depend on the seed alone.
    pub fn new(size: u32, seed: u64) -> Self {
        let length = size as usize;
        let origin = Point {
            place: [0; 3],
            distance: 0.0,
        };
        Self {
            seed,
            words: PageAlignedSlice::new([0; WORD_BYTES], length),
            points: PageAlignedSlice::new(origin, length),
        }
    }

    /// Draws all words and points, and sorts them.
    pub fn sort(&mut self) {
        self.draw();
        quicksort(&mut self.words, &precedes);
        quicksort(&mut self.points, &|a, b| a.distance < b.distance);
    }

    /// Draws all words and points.
    pub fn draw(&mut self) {
        let mut random = Random::new(self.seed);
        for word in self.words.iter_mut() {
            let length = 1 + random.below(WORD_BYTES as u32) as usize;
            for (index, letter) in word.iter_mut().enumerate() {
                *letter = match index < length {
                    true => LETTERS[random.below(LETTERS.len() as u32) as usize],
                    false => 0,
                };
            }
        }
        for point in self.points.iter_mut() {
            point.place = [(); 3].map(|()| random.below(2 * SPACE) as i32 - SPACE as i32);
            let squares = point.place.map(|along| i64::from(along).pow(2));
            point.distance = (squares.iter().sum::<i64>() as f64).sqrt();
        }
    }

    /// The words.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// The points.
    pub fn points(&self) -> &[Point] {
        &self.points
    }
}

/// Whether `a` comes before `b` in the alphabet: letter by letter, as the
/// library's comparison of memory differs between C libraries and processors.
pub fn precedes(a: &Word, b: &Word) -> bool {
    for (a, b) in a.iter().zip(b) {
        if a != b {
            return a < b;
        }
    }
    false
}

/// Sorts `items` so that none is `less` than one before it. Equal ones change places.
///
/// Quicksort (C. A. R. Hoare, The Computer Journal 5(1), 1962) with R. C.
/// Singleton's median of three (Communications of the ACM 12(3), 1969). The
/// order of `items` can make it take quadratic time; ours are drawn at random.
///
/// # Panics
/// Perhaps, if `less` is not a strict weak order.
pub fn quicksort<T: Copy>(mut items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    while items.len() > INSERTION_LENGTH {
        let middle = partition(items, less);
        let (left, right) = items.split_at_mut(middle);
        // The shorter part first: the stack stays as deep as the logarithm of the length.
        let (shorter, longer) = match left.len() < right.len() {
            true => (left, right),
            false => (right, left),
        };
        quicksort(shorter, less);
        items = longer;
    }
    insertion_sort(items, less);
}

/// Exchanges items so that none before the returned index, which leaves items
/// on both sides, is greater than any from there on. There are at least three.
fn partition<T: Copy>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) -> usize {
    let pivot = median_of_three(items, less);
    let (mut low, mut high) = (0, items.len() - 1);
    // The pivot's equals on both sides end these loops before the slice does.
    loop {
        while less(&items[low], &pivot) {
            low += 1;
        }
        while less(&pivot, &items[high]) {
            high -= 1;
        }
        if low >= high {
            return high + 1;
        }
        items.swap(low, high);
        low += 1;
        high -= 1;
    }
}

/// The middle one of the first, the middle and the last item.
fn median_of_three<T: Copy>(items: &[T], less: &impl Fn(&T, &T) -> bool) -> T {
    let (mut low, middle, mut high) = (items[0], items[items.len() / 2], items[items.len() - 1]);
    if less(&high, &low) {
        (low, high) = (high, low);
    }
    if less(&middle, &low) {
        low
    } else if less(&high, &middle) {
        high
    } else {
        middle
    }
}

fn insertion_sort<T: Copy>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    for end in 1..items.len() {
        let item = items[end];
        let mut place = end;
        while place > 0 && less(&item, &items[place - 1]) {
            items[place] = items[place - 1];
            place -= 1;
        }
        items[place] = item;
    }
}
