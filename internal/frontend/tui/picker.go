package tui

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal"
)

// What some conversations and sessions can do beside, and others cannot.
type (
	// Catalog lists the models that a conversation could use.
	Catalog interface {
		Models(ctx context.Context) ([]Offered, error)
	}
	// Ruled says which rules are in force.
	Ruled interface {
		Rules() []Rule
		// Forget takes back a rule that has an ID.
		Forget(id string)
	}
	// Previewer says in a few lines what was said in a session.
	Previewer interface {
		Preview(ctx context.Context, id string) ([]string, error)
	}
)

// Offered is a model, and what is known of it.
type Offered struct{ Name, About string }

// Rule is one in force; those that a person may take back have an ID.
type Rule struct{ ID, Decision, Text, Where string }

// beside does something that may take a while, and shows what comes of it.
func (f *Face) beside(words string, what func(context.Context) (show func(), err error)) {
	f.say("%s", words)
	go f.guarded(func() { // ends within the timeout
		ctx, cancel := context.WithTimeout(f.ctx, actTimeout)
		defer cancel()
		show, err := what(ctx)
		f.send(func() {
			if f.hint, f.dirty = "", true; err != nil {
				f.say("%v", err)
				return
			}
			show()
		})
	})
}

// pickModel has a person choose a model of those that the providers offer.
func (f *Face) pickModel() {
	c := f.conversation
	catalog, ok := c.(Catalog)
	if !ok {
		f.say("the model is %s; /model NAME changes it", c.Model())
		return
	}
	f.beside("asking the providers for their models", func(ctx context.Context) (func(), error) {
		models, err := catalog.Models(ctx)
		return func() {
			m := &menu{title: "Model", pick: func(one choice) { f.model(one.id) }}
			for _, o := range models {
				m.all = append(m.all, choice{id: o.Name, label: o.Name, detail: o.About})
			}
			f.openMenu(m.selectID(c.Model()))
		}, err
	})
}

func (f *Face) pickEffort() {
	m := &menu{title: "Effort", pick: func(one choice) { f.effort(one.id) }}
	for _, level := range []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"} {
		m.all = append(m.all, choice{id: level, label: level})
	}
	f.openMenu(m.selectID(f.conversation.Effort()))
}

// pickPermission shows the modes, the rules in force and what was approved for the
// session, which can be taken back.
func (f *Face) pickPermission() {
	ruled, _ := f.conversation.(Ruled)
	m := &menu{title: "Permissions"}
	m.refresh = func() []choice {
		var all []choice
		for _, name := range []string{"ask", "accept-edits", "read-only", "allow"} {
			all = append(all, choice{id: name, label: name, detail: modes()[name], group: "Mode (Enter changes it)"})
		}
		if ruled == nil {
			return all
		}
		for n, r := range ruled.Rules() {
			one := choice{id: "\x00" + string(rune(n)), label: r.Decision + " " + r.Text, detail: r.Where, group: "Rules (of the configuration: change them there)"}
			if r.ID != "" {
				one.id, one.label, one.detail, one.group = "\x01"+r.ID, r.Text, "", "Approved for this session (Ctrl-D takes it back)"
				m.note = "Ctrl-D takes an approval back"
			}
			all = append(all, one)
		}
		return all
	}
	m.all = m.refresh()
	m.pick = func(one choice) {
		if _, isMode := modes()[one.id]; isMode {
			f.permissions(one.id)
		}
	}
	m.remove = func(one choice) {
		if id, ok := strings.CutPrefix(one.id, "\x01"); ok {
			ruled.Forget(id)
			f.say("calls like it are asked about again")
			f.refreshMenu()
		}
	}
	f.openMenu(m.selectID(f.conversation.Mode()))
}

// pickSession has a person choose a session of the directory.
func (f *Face) pickSession() {
	f.beside("looking for sessions", func(ctx context.Context) (func(), error) {
		sessions, err := f.Sessions.List(ctx)
		return func() {
			previews := map[string][]string{}
			m := &menu{title: "Resume", pick: func(one choice) { f.resume(one.id) }}
			m.preview = func(one choice) []string { return f.previewOf(one.id, previews) }
			for _, s := range sessions {
				one := choice{id: s.ID, label: s.Updated.Local().Format("2006-01-02 15:04") + "  " + cmp.Or(s.Title, "(nothing was said)"), detail: s.ID}
				switch {
				case s.ID == f.conversation.ID():
					one.detail = "this session"
				case s.Host != "":
					one.detail += "  open in " + s.Host
				}
				m.all = append(m.all, one)
			}
			if len(m.all) == 0 {
				f.say("there is no session of this directory yet")
				return
			}
			f.openMenu(m)
		}, err
	})
}

// previewOf returns what is known of a session; if that is nothing, it is looked
// up.
func (f *Face) previewOf(id string, known map[string][]string) []string {
	source, ok := f.Sessions.(Previewer)
	if lines, has := known[id]; has || !ok || id == "" {
		return lines
	}
	known[id] = nil
	go f.guarded(func() { // ends within the timeout
		ctx, cancel := context.WithTimeout(f.ctx, actTimeout)
		defer cancel()
		lines, err := source.Preview(ctx, id)
		if err != nil {
			lines = []string{err.Error()}
		}
		f.send(func() { known[id], f.dirty = lines, true })
	})
	return nil
}

// pickQueued shows the inputs that wait, to be edited or withdrawn.
func (f *Face) pickQueued(string) {
	m := &menu{title: "Queue", note: "to edit it; Ctrl-D withdraws"}
	m.refresh = func() (all []choice) {
		waiting := f.state().Waiting
		for _, group := range []string{"joins the next request", "waits for the end", heldWords} {
			for _, in := range waiting {
				if waitsFor(&in) == group {
					all = append(all, choice{id: in.ID, label: terminal.OneLine(typed(&in)), group: strings.ToUpper(group[:1]) + group[1:]})
				}
			}
		}
		return all
	}
	m.all = m.refresh()
	m.pick = func(one choice) { f.takeBack(one.id, f.edit) }
	m.remove = func(one choice) { f.takeBack(one.id, func(*event.Input) { f.say("withdrawn") }) }
	if len(m.all) == 0 {
		f.say("no input waits")
		return
	}
	f.openMenu(m)
}

const heldWords = "held; goes with the next input"

// waitsFor says what an input waits for.
func waitsFor(in *event.Input) string {
	switch {
	case in.Held:
		return heldWords
	case in.Mode == event.Steer:
		return "joins the next request"
	}
	return "waits for the end"
}

// takeBack withdraws an input that waits, and does something with it then.
func (f *Face) takeBack(id string, then func(*event.Input)) {
	waiting := f.state().Waiting
	n := slices.IndexFunc(waiting, func(in event.Input) bool { return in.ID == id })
	if n < 0 {
		f.say("it does not wait any more")
		return
	}
	in, c := waiting[n], f.conversation
	f.do(func(context.Context) error {
		dropped, err := c.Drop(in.ID, user)
		if err == nil {
			f.send(func() {
				if f.dirty = true; dropped {
					then(&in)
				} else {
					f.say("it does not wait any more")
				}
			})
		}
		return err
	})
}
