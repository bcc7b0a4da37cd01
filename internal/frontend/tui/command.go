package tui

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// slash is a command that begins with a slash.
type slash struct {
	name, argument, help string
	run                  func(u *UI, argument string)
}

func slashes() []slash {
	return []slash{
		{"agents", "", "list the child agents of this session", (*UI).listAgents},
		{"compact", "", "make the history that the model is sent shorter, once no turn runs", (*UI).compact},
		{"copy", "", "copy the last answer to the clipboard", (*UI).copyAnswer},
		{"cost", "", "show the tokens and the cost of this session, by model", (*UI).showCost},
		{"detach", "", "leave the session running in its host process, and quit", (*UI).detach},
		{"diff", "", "show every change by the file tools in this session", (*UI).showDiff},
		{
			"effort", "[LEVEL]",
			"choose how much the model thinks from the next turn on: none, minimal, low, medium, high, xhigh, max",
			(*UI).effort,
		},
		{"doctor", "", "check the installation and the configuration", (*UI).checkUp},
		{"export", "[FILE]", "write the transcript to a file", (*UI).export},
		{"fork", "", "continue in a copy of this session; the original stays unchanged", (*UI).fork},
		{"help", "", "show commands and keys", (*UI).help},
		{"init", "", "have the model write AGENTS.md from the repository", (*UI).initAgents},
		{"jobs", "", "list the commands that run in the background", (*UI).listJobs},
		{"keys", "", "show the keys in force", (*UI).showKeys},
		{"kill", "JOB", "end a job", (*UI).killJob},
		{"model", "[NAME]", "choose the model of the next turns", (*UI).model},
		{"new", "", "begin a new session", func(u *UI, _ string) { u.replace("", "") }},
		{
			"permissions",
			"[MODE]",
			"choose what may run without asking, see the rules in force, take approvals back",
			(*UI).permissions,
		},
		{"plan", "[PROMPT]", "turn plan mode on: the model only reads until you accept its plan", (*UI).plan},
		{"plugins", "", "list your plugins, and where they come from", (*UI).listPlugins},
		{"queue", "", "show the inputs that wait; edit or withdraw them", (*UI).pickQueued},
		{"quit", "", "end everything and leave", func(u *UI, _ string) { u.leave(event.Shutdown, user) }},
		{"rename", "NAME", "name this session", (*UI).rename},
		{"resume", "[ID]", "open another session of this directory", (*UI).resume},
		{"review", "[WHAT]", "have the model review a change; without words, what is not committed", (*UI).review},
		{
			"rewind", "", "go back to before an earlier input, in a copy of this session (Esc twice)",
			func(u *UI, _ string) { u.pickInput() },
		},
		{"status", "", "show the session, what doctor finds, and the settings", (*UI).showStatus},
		{"theme", "[NAME]", "choose the colors: auto, default, light, dark, none", (*UI).theme},
		{"timeline", "", "show when each turn, request and call ran, and for how long", (*UI).showTimeline},
		{"todos", "", "show the model's plan", (*UI).showTodos},
		{"transcript", "", "show the whole session, including folded text", (*UI).openTranscript},
		{"usage", "", "show the tokens and the cost of this session, like /cost", (*UI).showCost},
		{"vi", "", "turn vi keys in the editor on or off", (*UI).toggleVi},
	}
}

// commandOf reads a command: a slash and a word of letters. Anything else with a
// slash, such as a path, is a prompt.
func commandOf(text string) (name, argument string, ok bool) {
	text, ok = strings.CutPrefix(strings.TrimRight(text, " \n"), "/")
	if !ok || strings.Contains(text, "\n") {
		return "", "", false
	}
	name, argument, _ = strings.Cut(text, " ")
	if name == "" || !isName(name) {
		return "", "", false
	}
	return name, strings.TrimSpace(argument), true
}

// isName reports whether a word could be the name of a command, or its beginning.
func isName(word string) bool { return commands.IsName(word) }

// isOwn reports whether a command is settle's, by its own name.
func isOwn(name string) bool {
	return slices.ContainsFunc(slashes(), func(s slash) bool { return s.name == name })
}

// command runs a command, and reports whether settle knows the name.
func (u *UI) command(name, argument string) bool {
	if s, ok := u.commandNamed(name); ok {
		s.run(u, argument)
		return true
	}
	if text := "/" + strings.TrimSpace(name+" "+argument); u.fetches(u.view.conversation, text) {
		u.fetch(text)
		return true
	}
	if c, ok := counterpartOf(name, u.Keys); ok {
		u.showHint("there is no /%s here: %s", name, c.words())
		return true
	}
	var known []string
	for _, s := range u.commands() {
		known = append(known, "/"+s.name)
	}
	u.showHint("there is no command /%s%s; /help lists them; a space before the slash sends it as it is",
		name, config.DidYouMean("/"+name, known))
	return false
}

// copyAnswer uses OSC 52, which reaches the clipboard also through ssh.
func (u *UI) copyAnswer(string) {
	turns := u.state().Turns
	for _, t := range slices.Backward(turns) {
		if text := t.Answer(); text != "" {
			u.display.frames.WriteString("\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a")
			u.showHint("copied the last answer (%d characters), if the terminal allows it", len([]rune(text)))
			return
		}
	}
	u.showHint("there is no answer yet")
}

func (u *UI) showDiff(string) {
	s := u.state()
	var changes []toolview.Change
	for _, t := range s.Turns {
		for _, i := range t.Items {
			if i.Type() == event.ToolCall && i.Status == event.ItemCompleted {
				if call := transcript.CallOf(i, s.Host.Dir); call.Kind == toolview.Edit {
					changes = append(changes, call.Changes(i.Content().Detail)...)
				}
			}
		}
	}
	if len(changes) == 0 {
		u.showHint("no file was changed by the file tools in this session")
		return
	}
	dir := s.Host.Dir
	u.openPager("Changes", func(width int) []terminal.Line { return changeRows(changes, dir, width, 1<<20, "") })
}

func (u *UI) checkUp(string) {
	if u.Doctor == nil {
		u.showHint("not available here")
		return
	}
	u.report("Doctor", nil, func(ctx context.Context, to io.Writer) {
		u.Doctor(ctx, to)
		if u.Commands != nil {
			for _, problem := range u.Commands().Broken {
				fmt.Fprintf(to, "\ncommands  %v\n", problem)
			}
		}
	})
}

// report shows the lines and below them the output of write within the timeout.
func (u *UI) report(title string, lines []string, write func(context.Context, io.Writer)) {
	u.showHint("checking")
	go u.guarded(func() { // ends within the timeout
		ctx, cancel := context.WithTimeout(u.ctx, actTimeout)
		defer cancel()
		var b strings.Builder
		write(ctx, &b)
		u.send(func() {
			u.display.hint, u.display.dirty = "", true
			u.lines(title, append(lines, strings.Split(strings.TrimRight(b.String(), "\n"), "\n")...))
		})
	})
}

func (u *UI) listJobs(string) {
	var lines []string
	for _, j := range u.state().Jobs {
		how := "running"
		if j.Ended != nil {
			how = string(j.Ended.How)
		}
		lines = append(lines, fmt.Sprintf("%s  %s  pid %d  %s", j.Job, how, j.PID, terminal.OneLine(j.Command)))
		if j.Log != "" {
			lines = append(lines, "    "+j.Log)
		}
	}
	if len(lines) == 0 {
		u.showHint("this session has started no jobs")
		return
	}
	u.lines("Jobs", lines)
}

func (u *UI) killJob(job string) {
	if job == "" {
		u.showHint("which one? /jobs lists them")
		return
	}
	c := u.view.conversation
	u.enqueue(func(ctx context.Context) error { return c.KillJob(ctx, job) })
}

func (u *UI) model(name string) {
	c := u.view.conversation
	if name == "" {
		u.pickModel()
		return
	}
	u.enqueue(func(ctx context.Context) error {
		if err := c.Choose(ctx, "model", name); err != nil {
			return err
		}
		u.send(func() { u.showHint("from the next turn on: %s", c.Model()) })
		return nil
	})
}

func (u *UI) effort(level string) {
	c := u.view.conversation
	if level == "" {
		u.pickEffort()
		return
	}
	u.enqueue(func(ctx context.Context) error {
		if err := c.Choose(ctx, "effort", level); err != nil {
			return err
		}
		u.send(func() { u.showHint("from the next turn on: %s effort", c.Effort()) })
		return nil
	})
}

func (u *UI) permissions(mode string) {
	if mode == "" {
		u.pickPermission()
		return
	}
	c := u.view.conversation
	u.enqueue(func(ctx context.Context) error {
		if err := c.SetMode(ctx, mode); err != nil {
			return err
		}
		u.send(func() {
			asks, _ := event.PermissionWords(c.Mode(), u.state().Host.Confinement)
			u.showHint("from the next call on: %s", asks)
		})
		return nil
	})
}

// nextMode goes to the next mode that is safe to come upon by a key.
func (u *UI) nextMode() {
	next := map[string]string{"ask": "accept-edits", "accept-edits": planMode, planMode: "read-only"}
	if hostOf(u.view.conversation) != "" { // an attached client can only tighten the mode
		next = map[string]string{
			"allow": "accept-edits", "accept-edits": planMode, "ask": planMode, "read-only": "accept-edits",
		}
	}
	u.permissions(cmp.Or(next[u.view.conversation.Mode()], "ask"))
}

func (u *UI) resume(name string) {
	if name == "" {
		u.pickSession()
		return
	}
	go u.guarded(func() { // ends within the timeout
		ctx, cancel := context.WithTimeout(u.ctx, actTimeout)
		defer cancel()
		id, err := u.Sessions.Resolve(ctx, name)
		u.send(func() {
			switch {
			case err != nil:
				u.showHint("%v", err)
			case id == u.view.conversation.ID():
				u.showHint("this is that session")
			default:
				u.replace(id, "")
			}
		})
	})
}

// fork continues in a copy of the session. It refuses during a turn: the copy would lack
// the turn, and the turn would end with its session.
func (u *UI) fork(string) {
	if u.state().Running() != nil {
		u.showHint("a turn runs; %s interrupts it", u.Keys.Label(keymap.Interrupt, "Ctrl-C"))
		return
	}
	id := u.view.conversation.ID()
	go u.guarded(func() { // ends within the timeout
		ctx, cancel := context.WithTimeout(u.ctx, actTimeout)
		defer cancel()
		fork, err := u.Sessions.Fork(ctx, id)
		u.send(func() {
			if err != nil {
				u.showHint("%v", err)
				return
			}
			u.replace(fork, "", u.copyNotice())
		})
	})
}

// compact runs like any turn: the log reports its result.
func (u *UI) compact(string) {
	c := u.view.conversation
	if u.state().Running() != nil {
		u.showHint("compacts the history after this turn")
	}
	go u.guarded(func() { // ends with the compaction, which ends in time when it is interrupted (C9)
		_, err := c.Compact(u.ctx, user)
		var ended *event.Cause
		switch {
		case u.ctx.Err() != nil, errors.As(err, &ended): // the log reports it
		case err != nil:
			u.send(func() { u.showHint("%v", err) })
		}
	})
}

func (u *UI) rename(name string) {
	if name == "" {
		u.showHint("by which name?")
		return
	}
	id := u.view.conversation.ID()
	u.enqueue(func(ctx context.Context) error {
		if err := u.Sessions.Rename(ctx, id, name); err != nil {
			return err
		}
		u.send(func() { u.showHint("this session is called %s", name) })
		return nil
	})
}
