package bound

// Budget is a number of available bytes. It cannot go below zero and does not grow. The zero
// Budget is exhausted.
type Budget struct{ left int }

// NewBudget returns a budget of n bytes; n below zero counts as zero.
func NewBudget(n int) Budget { return Budget{max(n, 0)} }

// Left returns the number of available bytes.
func (b *Budget) Left() int { return b.left }

// Take takes n bytes, or all available ones if there are fewer, and returns their number.
func (b *Budget) Take(n int) int {
	n = min(max(n, 0), b.left)
	b.left -= n
	return n
}

// Fits takes n bytes if they are available, and reports whether they are.
func (b *Budget) Fits(n int) bool {
	if n < 0 || n > b.left {
		return false
	}
	b.left -= n
	return true
}

// Exhaust takes all available bytes.
func (b *Budget) Exhaust() { b.left = 0 }

// Text takes the bytes of the text and returns it. If the text is longer than the budget, Text
// returns its beginning, cut between characters, and exhausts the budget: text after a gap is
// not joined to the text before it.
func (b *Budget) Text(text string) string {
	if len(text) > b.left {
		text = Head(text, b.left)
		b.Exhaust()
		return text
	}
	b.left -= len(text)
	return text
}

// Bytes takes the bytes of the data and returns as many of them as are available.
func (b *Budget) Bytes(data []byte) []byte { return data[:b.Take(len(data))] }
