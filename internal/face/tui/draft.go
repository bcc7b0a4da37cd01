package tui

import "slices"

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
type draft struct {
	spilled   []spilled // it may yet be discarded
	discarded []spilled // and what is above says so
}

// spilled is a block of a message, or all of something else, in the scrollback.
type spilled struct{ item, text string }

// keep: the item will not be said anew.
func (d *draft) keep(item string) {
	d.spilled = slices.DeleteFunc(d.spilled, func(s spilled) bool { return s.item == item })
}

// discard: the item was said in vain.
func (d *draft) discard(item string) {
	for _, s := range d.spilled {
		if s.item == item {
			d.discarded = append(d.discarded, s)
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
			if first.entries = first.entries[1:]; first.held {
				p.draft.spilled = append(p.draft.spilled, spilled{first.item, e.text})
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
	for n, e := range one.entries {
		if n == len(p.draft.discarded) {
			break
		}
		if e.text != p.draft.discarded[n].text {
			one.repeats, p.draft.discarded = false, nil
			return
		}
	}
	n := len(p.draft.discarded)
	if len(one.entries) < n {
		return
	}
	for _, d := range p.draft.discarded {
		p.draft.spilled = append(p.draft.spilled, spilled{one.item, d.text})
	}
	one.repeats, p.draft.discarded = false, nil
	one.entries = append([]entry{notice(faint(), "what is above was said again, and stays")}, one.entries[n:]...)
}
