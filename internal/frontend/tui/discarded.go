package tui

import (
	"hash/maphash"
	"slices"
)

// draft is the text of an attempt that had to be committed although the attempt can still
// fail and a later attempt replace it (C13). Committed rows cannot be removed:
//
//	received ─► held, in the live region ─► committed, if the attempt succeeds
//	                  │                 └► discarded, if it fails
//	                  └► spilled: the first rows, if not all of them fit
//
// If a later attempt begins with the spilled text of a discarded message, that text is not
// shown twice. draft keeps a hash of each block, because an answer can be long and have
// many small blocks.
type draft struct {
	seed      maphash.Seed
	spilled   []spilled // it may yet be discarded
	discarded []uint64  // hashes of text in the scrollback that a failed attempt wrote
}

// spilled is the part of an item in the scrollback: a hash of each block of a message, or
// of each entry of another item.
type spilled struct {
	item   string
	blocks []uint64
}

func newDraft() draft { return draft{seed: maphash.MakeSeed()} }

func (d *draft) hash(text string) uint64 { return maphash.String(d.seed, text) }

// spill notes that an entry of an item is in the scrollback.
func (d *draft) spill(item string, hash uint64) {
	if n := len(d.spilled); n == 0 || d.spilled[n-1].item != item {
		d.spilled = append(d.spilled, spilled{item: item})
	}
	last := &d.spilled[len(d.spilled)-1]
	last.blocks = append(last.blocks, hash)
}

// keep records that no later attempt replaces the item.
func (d *draft) keep(item string) {
	d.spilled = slices.DeleteFunc(d.spilled, func(s spilled) bool { return s.item == item })
}

// discard records that the attempt of the item failed.
func (d *draft) discard(item string) {
	for _, s := range d.spilled {
		if s.item == item {
			d.discarded = append(d.discarded, s.blocks...)
		}
	}
	d.keep(item)
}

// spill takes the first entry that is held, for there is no room to hold it.
func (p *printout) spill() (entry, bool) {
	for len(p.pieces) > 0 {
		first := p.pieces[0]
		if first.looked() {
			return p.takeRun(true)
		}
		if len(first.entries) > 0 && !first.repeats {
			e := first.entries[0]
			first.entries[0] = entry{} // its memory goes when it is on the screen
			if first.entries = first.entries[1:]; first.held {
				p.draft.spill(first.item, p.draft.hash(e.text))
			}
			return e, true
		}
		if !first.done || len(first.entries) > 0 {
			break
		}
		p.pieces = p.pieces[1:]
	}
	return entry{}, false
}

// compare checks whether a message begins with the spilled text of a discarded message. If
// so, only the rest is shown; if it differs, the whole message is shown.
func (p *printout) compare(one *piece) {
	discarded := p.draft.discarded
	for ; one.compared < min(len(one.entries), len(discarded)); one.compared++ {
		if p.draft.hash(one.entries[one.compared].text) != discarded[one.compared] {
			one.repeats, p.draft.discarded = false, nil
			return
		}
	}
	if one.compared < len(discarded) {
		return
	}
	for _, hash := range discarded {
		p.draft.spill(one.item, hash)
	}
	one.repeats, p.draft.discarded = false, nil
	one.entries = append(
		[]entry{notice(faint(), "the next attempt repeats the text above, which stays")},
		one.entries[len(discarded):]...,
	)
}
