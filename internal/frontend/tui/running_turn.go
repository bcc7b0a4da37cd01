package tui

import (
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/markdown"
)

// resume shows a running turn in its current state; later events continue it.
func (p *printout) resume(t *event.Turn, log *transcript.Transcript) {
	s := log.State()
	dir := s.Host.Dir
	p.plan, _ = latestPlan([]*event.Turn{t}, dir)
	for e := range transcript.Entries(t) {
		if e.Input != nil {
			if !e.Input.Command {
				p.add(shortInput(e.Input, p.all))
			}
			continue
		}
		i, content := e.Item, e.Item.Content()
		one := &piece{
			item: i.ID, kind: i.Type(), began: i.BegunAt, title: content.Name, tool: content.Name, runs: i.Started,
			held: log.MayBeDiscarded(i),
		}
		p.pieces = append(p.pieces, one)
		if i.Status != event.ItemOpen {
			one.entries, one.done = itemEntries(p.renderer, s, t, i, p.all), true
			continue
		}
		switch one.kind {
		case event.Message:
			one.rest = []string{content.Text}
		case event.Reasoning:
			one.size, one.tail = len(content.Text), terminal.Tail(content.Text)
		case event.ToolCall:
			one.tail = terminal.Tail(content.Output)
			if i.Ready {
				one.title = titleOf(t, i, dir)
			}
			if i.Started {
				one.began = i.StartedAt
			}
		}
	}
	p.shorten()
	p.fill()
}

// shorten leaves out the beginning of a long turn.
func (p *printout) shorten() {
	done := slices.IndexFunc(p.pieces, func(one *piece) bool { return !one.done })
	if done < 0 {
		done = len(p.pieces)
	}
	cut := min(len(p.pieces)-recentEntries, done)
	if cut <= 0 {
		return
	}
	p.pieces = p.pieces[cut-1:]
	p.pieces[0] = &piece{
		entries: []entry{notice(faint(), "the beginning of this turn is left out (%s shows it)", p.all)},
		done:    true,
	}
}

// titleOf is the title of a call that is ready.
func titleOf(t *event.Turn, i *event.Item, dir string) string {
	call := transcript.CallOf(i, dir)
	if isEntered(t, i) {
		return enteredTitle(call)
	}
	return title(call)
}

// itemEntries is an item as it is when it has ended.
func itemEntries(r *markdown.Renderer, s event.State, t *event.Turn, i *event.Item, all string) (out []entry) {
	switch i.Type() {
	case event.Message:
		for _, b := range blocksOf(i.Content().Text) {
			out = append(out, blockEntry(r, b))
		}
	case event.Reasoning:
		if i.Content().Text != "" {
			out = append(out, thoughtEntry(i))
		}
	case event.ToolCall:
		out = append(out, callEntry(s, t, i, nil, all))
	case event.Note:
		out = append(out, notice(faint(), "message to the model: %s", i.Content().Text))
	}
	return slices.Clip(out)
}
