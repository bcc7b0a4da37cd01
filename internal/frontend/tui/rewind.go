package tui

import (
	"context"
	"fmt"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/rewind"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// Rewinder goes back to before an input. [Sessions] that can implement it.
type Rewinder interface {
	// Plan returns the changes to files.
	Plan(ctx context.Context, id, turn string) (*rewind.Plan, error)
	// GoBack copies the session up to the turn, and restores files as chosen.
	GoBack(ctx context.Context, p *rewind.Plan, files rewind.Files) (rewind.Report, error)
}

// pickInput opens a list of earlier inputs, to continue before one of them in a copy of the
// session.
func (u *UI) pickInput() {
	source, ok := u.Sessions.(Rewinder)
	if !ok {
		u.showHint("not available here")
		return
	}
	m := &menu{
		title: "Go back to before", pick: func(one choice) { u.rewind(source, one.id) },
		note: "the session stays as it is",
	}
	for _, t := range u.state().Turns {
		if len(t.Inputs) > 0 {
			m.all = append(m.all, choice{id: t.ID, label: textOf(t), detail: t.StartedAt.Local().Format("15:04")})
		}
	}
	if len(m.all) == 0 {
		u.showHint("this session has no input yet")
		return
	}
	u.openMenu(m.selectID(m.all[len(m.all)-1].id))
}

// textOf returns the inputs of a turn, as a person typed them.
func textOf(t *event.Turn) string {
	var texts []string
	for _, in := range t.Inputs {
		texts = append(texts, transcript.Typed(&in))
	}
	return strings.Join(texts, "\n\n")
}

// rewind continues before a turn in a copy of the session, with the turn's input in the
// editor, after the person has chosen how to treat the files. It refuses during a turn,
// which would end with its session.
func (u *UI) rewind(source Rewinder, turn string) {
	t := u.state().Turn(turn)
	if t == nil || u.isBusy() {
		return
	}
	id, text := u.view.conversation.ID(), textOf(t)
	u.runInBackground("looking at the files", func(ctx context.Context) (func(), error) {
		p, err := source.Plan(ctx, id, turn)
		return func() { u.pickFiles(source, p, text) }, err
	})
}

// isBusy reports whether a turn runs, and then shows a hint.
func (u *UI) isBusy() bool {
	if u.state().Running() == nil {
		return false
	}
	u.showHint("a turn runs; %s interrupts it", u.Keys.Label(keymap.Interrupt, "Ctrl-C"))
	return true
}

// pickFiles shows the changes to files that a rewind would make, and opens a menu to choose
// them or not.
func (u *UI) pickFiles(source Rewinder, p *rewind.Plan, draft string) {
	if len(p.Files)+len(p.Uncovered) > 0 {
		for _, line := range append([]string{"files since then:"}, p.Lines()...) {
			u.commit(notice(faint(), "%s", line))
		}
	}
	count := len(p.Changes())
	if count == 0 {
		u.goBack(source, p, rewind.LeaveFiles, draft)
		return
	}
	m := &menu{
		title: "Go back", note: "the files as they are now are copied first",
		pick: func(one choice) { u.goBack(source, p, rewind.Files(one.id), draft) },
	}
	m.all = []choice{
		{
			id:     string(rewind.RestoreFiles),
			label:  "and restore " + terminal.Count(count, "file"),
			detail: "as listed above, in " + terminal.OneLine(p.Dir),
		},
		{id: string(rewind.LeaveFiles), label: "and leave the files as they are"},
	}
	u.openMenu(m)
}

// copyNotice returns a function for [UI.replace] that says below the turns of a copy of this session how to
// return to the session.
func (u *UI) copyNotice() func() {
	original := u.view.conversation.ID()
	command := "settle resume " + original
	if u.Resume != nil {
		command = u.Resume(original, false)
	}
	return func() { u.commit(notice(accent(), "a copy of %s; `%s` returns to the original", original, command)) }
}

func (u *UI) goBack(source Rewinder, p *rewind.Plan, files rewind.Files, draft string) {
	if u.isBusy() {
		return
	}
	u.runInBackground("copying the session", func(ctx context.Context) (func(), error) {
		r, err := source.GoBack(ctx, p, files)
		if r.Session == "" {
			return nil, err
		}
		return func() {
			if r.Snapshot != "" {
				u.commit(
					notice(accent(), "%s; what was there before is in %s", r.Line(), terminal.OneLine(r.Snapshot)),
				)
				u.commit(commandEntry("To undo that, in a shell:", r.UndoCommand(u.FindsDataDir)))
			}
			if err != nil {
				u.commit(notice(failure(), "%v", fmt.Errorf("not all files are as they were: %w", err)))
			}
			u.exit.rewound = r.Session
			u.replace(r.Session, draft, u.copyNotice())
		}, nil
	})
}
