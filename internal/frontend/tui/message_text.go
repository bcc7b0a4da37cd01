package tui

import (
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/terminal/markdown"
)

const (
	// maxEntries is the maximum number of message blocks that a frame makes. Further text waits for
	// the next frame, because an entry takes ten times the memory of its text.
	maxEntries = 1000
	// maxFill is the number of bytes of a text that are taken at once.
	maxFill = 4 << 10
)

// fill makes entries of the messages' texts, as far as the budget goes.
func (p *printout) fill() {
	for _, one := range p.pieces {
		for len(one.rest) > 0 && (p.budget > 0 || one.repeats) {
			p.blocks(one, one.text.Write(one.take()))
		}
		if len(one.rest) == 0 && one.ends && !one.done {
			p.blocks(one, one.text.Close())
			one.done, one.repeats = true, false
			if one.cut {
				one.entries = append(one.entries, notice(faint(), "the message was cut here"))
			}
		}
	}
}

// take returns the next part of the text.
func (one *piece) take() string {
	next := one.rest[0]
	if at := maxFill; len(next) > at {
		for at > maxFill-utf8.UTFMax && !utf8.RuneStart(next[at]) {
			at--
		}
		one.rest[0] = next[at:]
		return next[:at]
	}
	one.rest[0] = ""
	one.rest = one.rest[1:]
	return next
}

func (p *printout) blocks(one *piece, blocks []markdown.Block) {
	for _, b := range blocks {
		one.entries = append(one.entries, blockEntry(p.renderer, b))
	}
	p.budget -= len(blocks)
	if one.repeats {
		p.compare(one)
	}
}

// filled reports whether all texts have become entries.
func (p *printout) filled() bool {
	for _, one := range p.pieces {
		if len(one.rest) > 0 {
			return false
		}
	}
	return true
}

// waiting returns how many entries wait for earlier items, or for the end of their attempt.
func (p *printout) waiting() (n int) {
	for _, one := range p.pieces {
		n += len(one.entries)
	}
	return n
}

// refill makes more entries for a frame, even if many entries wait: the text after them may
// release them.
func (u *UI) refill() {
	u.view.printout.budget = maxEntries
	if !u.view.printout.filled() {
		u.view.printout.fill()
		u.commitFinished()
	}
}

// drain makes entries of all that has come.
func (u *UI) drain() {
	for !u.view.printout.filled() {
		u.view.printout.budget = maxEntries
		u.view.printout.fill()
		u.commitFinished()
	}
	u.closePrintout()
}
