package tui

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
)

// Optional abilities of conversations and of [Sessions].
type (
	// Catalog lists the models that a conversation could use.
	Catalog interface {
		Models(ctx context.Context) ([]assemble.Offered, error)
	}
	// Ruled lists the rules in force. They can be another process's.
	Ruled interface {
		Rules(ctx context.Context) ([]Rule, error)
		// Forget takes back a rule that has an ID.
		Forget(ctx context.Context, id string) error
	}
	// Previewer returns a few lines about a session.
	Previewer interface {
		Preview(ctx context.Context, id string) ([]string, error)
	}
)

// Rule is a rule in force. Rules that a person can revoke have an ID.
type Rule struct{ ID, Decision, Text, Where string }

// pickModel opens a menu of the models that the providers offer.
func (u *UI) pickModel() {
	c := u.view.conversation
	catalog, ok := c.(Catalog)
	if !ok {
		u.showHint("the model is %s; /model NAME changes it", c.Model())
		return
	}
	u.runInBackground("asking the providers for their models", func(ctx context.Context) (func(), error) {
		models, err := catalog.Models(ctx)
		return func() {
			m := &menu{title: "Model", pick: func(one choice) { u.model(one.id) }}
			for _, o := range models {
				one := choice{id: o.Name, label: o.Name, detail: o.Columns(), group: assemble.OfferedColumns}
				m.all = append(m.all, one)
			}
			now := c.Model()
			if !slices.ContainsFunc(m.all, func(one choice) bool { return one.id == now }) {
				m.all = slices.Insert(m.all, 0, choice{id: now, label: now, group: "In use; no provider lists it"})
			}
			u.openMenu(m.selectID(now))
		}, err
	})
}

func (u *UI) pickEffort() {
	m := &menu{title: "Effort", pick: func(one choice) { u.effort(one.id) }}
	for _, level := range efforts() {
		m.all = append(m.all, choice{id: level, label: level})
	}
	if u.view.conversation.Effort() == "" {
		m.note = "now: the model's default"
	}
	u.openMenu(m.selectID(u.view.conversation.Effort()))
}

// pickPermission shows the modes, the rules in force, and the approvals for the session,
// which can be revoked.
func (u *UI) pickPermission() {
	ruled, ok := u.view.conversation.(Ruled)
	if !ok {
		u.openMenu(u.permissionMenu(nil))
		return
	}
	u.runInBackground("looking up the rules", func(ctx context.Context) (func(), error) {
		rules, err := ruled.Rules(ctx)
		return func() {
			m := u.permissionMenu(rules)
			m.remove = func(one choice) {
				if id, ok := strings.CutPrefix(one.id, "\x01"); ok {
					u.revoke(ruled, m, id)
				}
			}
			u.openMenu(m.selectID(u.view.conversation.Mode()))
		}, err
	})
}

// permissionMenu is the menu of the modes and the rules.
func (u *UI) permissionMenu(rules []Rule) *menu {
	now := u.view.conversation.Mode()
	m := &menu{title: "Permissions", list: list{ends: true}, home: now}
	for _, name := range permissionModes() {
		one := choice{id: name, label: event.ModeWords(name), group: "Mode (Enter changes it)"}
		one.detail = event.ModeEffect(name, u.state().Host.Confinement)
		m.all = append(m.all, one)
	}
	for n, r := range rules {
		one := choice{
			id: "\x00" + string(rune(n)), label: r.Decision + " " + r.Text, detail: r.Where,
			group: "Rules in force (change those of the configuration there)",
		}
		if r.ID != "" {
			one.id, one.label, one.detail, one.group = "\x01"+
				r.ID, r.Text, "", "Allowed for the session (Ctrl-D takes it back)"
			m.note = "Ctrl-D takes an approval back"
		}
		m.all = append(m.all, one)
	}
	m.pick = func(one choice) {
		if slices.Contains(permissionModes(), one.id) {
			u.permissions(one.id)
		}
	}
	return m.selectID(now)
}

// revoke takes back an approval for the session, which the menu shows.
func (u *UI) revoke(ruled Ruled, m *menu, id string) {
	u.enqueue(func(ctx context.Context) error {
		if err := ruled.Forget(ctx, id); err != nil {
			return err
		}
		rules, err := ruled.Rules(ctx)
		u.send(func() {
			u.showHint("calls like it are asked about again")
			if err == nil {
				m.refresh = func() []choice { return u.permissionMenu(rules).all }
				u.refreshMenu()
			}
		})
		return nil
	})
}

// pickSession opens a menu of the directory's sessions.
func (u *UI) pickSession() {
	u.runInBackground("looking for sessions", func(ctx context.Context) (func(), error) {
		sessions, err := u.Sessions.List(ctx)
		return func() {
			previews := map[string][]string{}
			m := &menu{title: "Resume", pick: func(one choice) { u.resume(one.id) }}
			m.preview = func(one choice) []string { return u.previewOf(one.id, previews) }
			for _, s := range sessions {
				one := choice{
					id:     s.ID,
					label:  s.Updated.Local().Format("2006-01-02 15:04") + "  " + cmp.Or(s.Title, "(no prompt)"),
					detail: s.ID,
				}
				switch {
				case s.ID == u.view.conversation.ID():
					one.detail = "this session"
				case s.Host != "":
					one.detail += "  open in " + s.Host
				case s.Held > 0:
					one.detail += "  " + terminal.Count(s.Held, "held call")
				}
				m.all = append(m.all, one)
			}
			if len(m.all) == 0 {
				u.showHint("no session of this directory has an input yet")
				return
			}
			u.openMenu(m)
		}, err
	})
}

// previewOf returns the preview of a session, and loads it if it is unknown.
func (u *UI) previewOf(id string, known map[string][]string) []string {
	source, ok := u.Sessions.(Previewer)
	if lines, has := known[id]; has || !ok || id == "" {
		return lines
	}
	known[id] = nil
	go u.guarded(func() { // ends within the timeout
		ctx, cancel := context.WithTimeout(u.ctx, actTimeout)
		defer cancel()
		lines, err := source.Preview(ctx, id)
		if err != nil {
			lines = []string{err.Error()}
		}
		u.send(func() { known[id], u.display.dirty = lines, true })
	})
	return nil
}

// pickQueued shows the inputs that wait, to be edited or withdrawn.
func (u *UI) pickQueued(string) {
	m := &menu{title: "Queue", enter: "edits it", note: "Ctrl-D withdraws it"}
	m.refresh = func() (all []choice) {
		waiting := u.state().Waiting
		for _, group := range []string{"joins the next request", "waits for the end", heldWords} {
			for _, in := range waiting {
				if waitsFor(&in) == group {
					all = append(
						all,
						choice{
							id:    in.ID,
							label: terminal.OneLine(transcript.Typed(&in)),
							group: strings.ToUpper(group[:1]) + group[1:],
						},
					)
				}
			}
		}
		return all
	}
	m.all = m.refresh()
	m.pick = func(one choice) { u.takeBack(one.id, u.edit) }
	m.remove = func(one choice) { u.takeBack(one.id, func(*event.Input) { u.showHint("withdrawn") }) }
	if len(m.all) == 0 {
		u.showHint("no input waits")
		return
	}
	u.openMenu(m)
}
