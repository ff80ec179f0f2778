//! Rows of bits: which queues, ports or waiters have something to do.

/// A table of rows, each of the same number of 64-bit words.
#[derive(Debug, Clone)]
pub struct BitRows {
    words: Vec<u64>,
    stride: usize,
}

impl BitRows {
    /// `rows` rows of at least `bits` bits, all clear.
    pub fn new(rows: usize, bits: usize) -> Self {
        let stride = bits.div_ceil(64).max(1);
        Self { words: vec![0; rows * stride], stride }
    }

    /// Words per row.
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Word `word` of `row`.
    #[inline]
    pub fn word(&self, row: u32, word: usize) -> u64 {
        self.words[row as usize * self.stride + word]
    }

    /// Sets a bit.
    #[inline]
    pub fn set(&mut self, row: u32, bit: u32) {
        self.words[row as usize * self.stride + (bit / 64) as usize] |= 1 << (bit % 64);
    }

    /// Clears a bit.
    #[inline]
    pub fn clear(&mut self, row: u32, bit: u32) {
        self.words[row as usize * self.stride + (bit / 64) as usize] &= !(1 << (bit % 64));
    }

    /// True if any bit of the row is set.
    #[inline]
    pub fn any(&self, row: u32) -> bool {
        let start = row as usize * self.stride;
        self.words[start..start + self.stride].iter().any(|&w| w != 0)
    }

    /// Takes the bits of `from`'s row (clearing them there) and sets them here.
    #[inline]
    pub fn absorb(&mut self, from: &mut Self, row: u32) {
        let start = row as usize * self.stride;
        for word in start..start + self.stride {
            self.words[word] |= std::mem::take(&mut from.words[word]);
        }
    }

    /// Takes a word of a row, leaving it clear.
    #[inline]
    pub fn take_word(&mut self, row: u32, word: usize) -> u64 {
        std::mem::take(&mut self.words[row as usize * self.stride + word])
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.words.capacity() * 8
    }
}

/// Calls `body` with the index of each set bit of `word`, offset by `base`.
#[inline]
pub fn for_each_bit(mut word: u64, base: u32, mut body: impl FnMut(u32)) {
    while word != 0 {
        body(base + word.trailing_zeros());
        word &= word - 1;
    }
}
