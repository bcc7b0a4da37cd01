package tui

import (
	"hash/maphash"
	"slices"
)

// draft is what an attempt has said so far that had to be committed, though the
// attempt may yet fail and another one say it anew (C13). Rows cannot be taken
// back:
//
//	said ─► held, in the live region ─► committed, when the attempt has ended well
//	              │                 └► gone, when it has failed
//	              └► spilled: the first of it, when there is no room for all
//
// Of a message that was spilled and discarded, the next attempt need not repeat
// what it says in the same words.
//
// Of a block, a hash is kept: an answer may be long, and each of its blocks small.
type draft struct {
	seed      maphash.Seed
	spilled   []spilled // it may yet be discarded
	discarded []uint64  // and what is above says so
}

// spilled is what is in the scrollback of an item: the hashes of a message's blocks, or
// one for each entry of something else.
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

// keep: the item will not be said anew.
func (d *draft) keep(item string) {
	d.spilled = slices.DeleteFunc(d.spilled, func(s spilled) bool { return s.item == item })
}

// discard: the item was said in vain.
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

// compare looks whether a message says again what was spilled of one that was
// discarded. If it says all of that, it goes on from there; if it differs, all of it
// is shown.
func (p *printout) compare(one *piece) {
	said := p.draft.discarded
	for ; one.compared < min(len(one.entries), len(said)); one.compared++ {
		if p.draft.hash(one.entries[one.compared].text) != said[one.compared] {
			one.repeats, p.draft.discarded = false, nil
			return
		}
	}
	if one.compared < len(said) {
		return
	}
	for _, hash := range said {
		p.draft.spill(one.item, hash)
	}
	one.repeats, p.draft.discarded = false, nil
	one.entries = append([]entry{notice(faint(), "what is above was said again, and stays")}, one.entries[len(said):]...)
}
