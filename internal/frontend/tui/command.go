package tui

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/client/transcript"

	"github.com/settle-agent/settle/internal/terminal"
)

// slash is a command that begins with a slash.
type slash struct {
	name, argument, help string
	run                  func(f *Face, argument string)
}

func slashes() []slash {
	return []slash{
		{"compact", "", "make the history that the model is sent shorter, once no turn runs", (*Face).compact},
		{"copy", "", "copy the last answer to the clipboard", (*Face).copyAnswer},
		{"cost", "", "show the tokens and the cost of this session, by model", (*Face).showCost},
		{"diff", "", "show every change to files in this session", (*Face).showDiff},
		{"effort", "[LEVEL]", "choose how much the model thinks from the next turn on: none, minimal, low, medium, high, xhigh, max", (*Face).effort},
		{"doctor", "", "check the installation and the configuration", (*Face).checkUp},
		{"export", "[FILE]", "write the transcript to a file", (*Face).export},
		{"fork", "", "go on in a copy of this session; the original stays as it is", (*Face).fork},
		{"help", "", "show keys and commands", (*Face).help},
		{"jobs", "", "list the commands that run in the background", (*Face).listJobs},
		{"kill", "JOB", "end a job", (*Face).killJob},
		{"model", "[NAME]", "choose the model of the next turns", (*Face).model},
		{"new", "", "begin a new session", func(f *Face, _ string) { f.replace("", "") }},
		{"permissions", "[MODE]", "choose what may run without asking, see the rules in force, take approvals back (Shift-Tab changes the mode)", (*Face).permissions},
		{"queue", "", "show the inputs that wait; edit or withdraw them", (*Face).pickQueued},
		{"quit", "", "end everything and leave", func(f *Face, _ string) { f.leave(event.Shutdown, user) }},
		{"rename", "NAME", "name this session", (*Face).rename},
		{"resume", "[ID]", "open another session of this directory", (*Face).resume},
		{"rewind", "", "go back to before an earlier input, in a copy of this session (Esc twice)", func(f *Face, _ string) { f.pickInput() }},
		{"theme", "[NAME]", "choose the colors: default, light, dark, none", (*Face).theme},
		{"timeline", "", "show when each turn, request and call ran, and for how long", (*Face).showTimeline},
		{"transcript", "", "show the whole session, with what is folded (Ctrl-T)", func(f *Face, _ string) {
			f.openPager("Transcript", transcriptSheet(f.out.renderer, f.state())...)
		}},
		{"vi", "", "turn vi keys in the editor on or off", (*Face).toggleVi},
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

// isOwn reports whether a command is settle's.
func isOwn(name string) bool {
	return slices.ContainsFunc(slashes(), func(s slash) bool { return s.name == name })
}

// command runs a command, and reports whether there is one of the name.
func (f *Face) command(name, argument string) bool {
	if s, ok := f.commandNamed(name); ok {
		s.run(f, argument)
		return true
	}
	if text := "/" + strings.TrimSpace(name+" "+argument); f.fetches(f.conversation, text) {
		f.fetch(text)
		return true
	}
	f.say("there is no command /%s; /help lists them; a space before the slash sends it as it is", name)
	return false
}

func (f *Face) help(string) {
	var b strings.Builder
	b.WriteString("# Keys\n\n| Key | What it does |\n|---|---|\n")
	for _, k := range keyHelp() {
		fmt.Fprintf(&b, "| %s | %s |\n", k[0], k[1])
	}
	b.WriteString("\n# Commands\n\n| Command | What it does |\n|---|---|\n")
	for _, s := range f.commands() {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.TrimSpace("/"+s.name+" "+s.argument), s.help)
	}
	f.openPager("Help", markdownRows(f, b.String()))
}

// keyHelp is a table; docs/reference/terminal.md has the same.
func keyHelp() [][2]string {
	return [][2]string{
		{"Enter", "send; while a turn runs, queue the input behind it"},
		{"Tab", "while a turn runs: send to it, with its next request"},
		{"@", "offer files: ↑ ↓ select, Tab or Enter takes one, Esc closes the list; so does / for commands. An image is sent along; so is one whose path is pasted"},
		{"! at the start", "run a command; the model sees it with your next prompt"},
		{"Shift-Enter, Alt-Enter, Ctrl-J", "begin a new line; so does Enter after a backslash"},
		{"Shift-Tab", "change what may run without asking: ask, accept edits, read-only"},
		{"Esc", "interrupt the turn; twice while nothing runs and the editor is empty: go back to before an earlier input"},
		{"Ctrl-C", "clear the editor; else interrupt; else, twice, quit"},
		{"Ctrl-D", "quit, if the editor is empty"},
		{"↑ ↓", "move between lines; beyond them, earlier prompts"},
		{"Ctrl-R", "search earlier prompts; again for an older one"},
		{"Alt-↑", "take the last input that waits back into the editor"},
		{"Ctrl-T", "show the whole transcript"},
		{"Ctrl-A, Ctrl-E, Alt-B, Alt-F", "move to the line's start or end, by words"},
		{"Ctrl-W, Ctrl-U, Ctrl-K, Ctrl-Y", "cut a word, to the line's start, to its end; paste what was cut"},
		{"vi keys (/vi)", "in normal mode: h j k l w b e 0 ^ $ gg G f t ; , with counts; d c y x s r p J ~ u Ctrl-R; i a I A o O; / searches earlier prompts"},
		{"Ctrl-G", "edit the text in $VISUAL or $EDITOR"},
		{"Ctrl-L", "draw the screen anew"},
		{"Ctrl-Z", "suspend settle"},
		{"y, s, n", "answer a question: once, for the session, no; with Alt while there is text in the editor"},
	}
}

func markdownRows(f *Face, text string) func(int) []terminal.Line {
	return func(width int) []terminal.Line {
		var out []terminal.Line
		for n, b := range blocksOf(text) {
			if b.First && n > 0 {
				out = append(out, nil)
			}
			out = append(out, f.out.renderer.Rows(b, width)...)
		}
		return out
	}
}

// lines shows lines in the pager.
func (f *Face) lines(name string, lines []string) {
	f.openPager(name, func(width int) (rows []terminal.Line) {
		for _, line := range lines {
			rows = append(rows, terminal.Wrap(terminal.Plain(line, terminal.Style{}), width, terminal.Indent{Rest: spaces(4)})...)
		}
		return rows
	})
}

// copyAnswer uses OSC 52, which reaches the clipboard also through ssh.
func (f *Face) copyAnswer(string) {
	turns := f.state().Turns
	for _, t := range slices.Backward(turns) {
		if text := t.Answer(); text != "" {
			f.frames.WriteString("\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a")
			f.say("copied the last answer (%d characters), if the terminal allows it", len([]rune(text)))
			return
		}
	}
	f.say("there is no answer yet")
}

func (f *Face) showDiff(string) {
	s := f.state()
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
		f.say("no file was changed by the file tools in this session")
		return
	}
	dir := s.Host.Dir
	f.openPager("Changes", func(width int) []terminal.Line { return changeRows(changes, dir, width, 1<<20) })
}

func (f *Face) checkUp(string) {
	if f.Doctor == nil {
		f.say("not available here")
		return
	}
	f.say("checking")
	go f.guarded(func() { // ends within the timeout
		ctx, cancel := context.WithTimeout(f.ctx, actTimeout)
		defer cancel()
		var b strings.Builder
		f.Doctor(ctx, &b)
		if f.Commands != nil {
			for _, problem := range f.Commands().Broken {
				fmt.Fprintf(&b, "\ncommands  %v\n", problem)
			}
		}
		f.send(func() {
			f.hint = ""
			f.lines("Doctor", strings.Split(strings.TrimRight(b.String(), "\n"), "\n"))
			f.dirty = true
		})
	})
}

func (f *Face) export(name string) {
	name = cmp.Or(name, "settle-"+f.conversation.ID()+".txt")
	if !filepath.IsAbs(name) {
		name = filepath.Join(f.state().Host.Dir, name)
	}
	var b strings.Builder
	for _, part := range transcriptSheet(f.out.renderer, f.state()) {
		for _, row := range part(100) {
			b.WriteString(strings.TrimRight(row.Text(), " ") + "\n")
		}
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		f.say("cannot export: %v", err)
		return
	}
	_, err = file.WriteString(b.String())
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		f.say("cannot export: %v", err)
		return
	}
	f.say("wrote %s", name)
}

func (f *Face) listJobs(string) {
	var lines []string
	for _, j := range f.state().Jobs {
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
		f.say("this session has started no jobs")
		return
	}
	f.lines("Jobs", lines)
}

func (f *Face) killJob(job string) {
	if job == "" {
		f.say("which one? /jobs lists them")
		return
	}
	c := f.conversation
	f.do(func(ctx context.Context) error { return c.KillJob(ctx, job) })
}

func (f *Face) model(name string) {
	c := f.conversation
	if name == "" {
		f.pickModel()
		return
	}
	f.do(func(ctx context.Context) error {
		if err := c.Choose(ctx, "model", name); err != nil {
			return err
		}
		f.send(func() { f.say("from the next turn on: %s", c.Model()) })
		return nil
	})
}

func (f *Face) effort(level string) {
	c := f.conversation
	if level == "" {
		f.pickEffort()
		return
	}
	f.do(func(ctx context.Context) error {
		if err := c.Choose(ctx, "effort", level); err != nil {
			return err
		}
		f.send(func() { f.say("from the next turn on: %s effort", c.Effort()) })
		return nil
	})
}

func (f *Face) permissions(mode string) {
	if mode == "" {
		f.pickPermission()
		return
	}
	c := f.conversation
	f.do(func(ctx context.Context) error {
		if err := c.SetMode(ctx, mode); err != nil {
			return err
		}
		f.send(func() { f.say("from the next call on: %s", modes()[mode]) })
		return nil
	})
}

// nextMode goes to the next mode that is safe to come upon by a key.
func (f *Face) nextMode() {
	next := map[string]string{"ask": "accept-edits", "accept-edits": "read-only"}
	if hostOf(f.conversation) != "" { // a guest may only tighten it
		next = map[string]string{"allow": "accept-edits", "ask": "read-only", "read-only": "accept-edits"}
	}
	f.permissions(cmp.Or(next[f.conversation.Mode()], "ask"))
}

func (f *Face) resume(name string) {
	if name == "" {
		f.pickSession()
		return
	}
	go f.guarded(func() { // ends within the timeout
		ctx, cancel := context.WithTimeout(f.ctx, actTimeout)
		defer cancel()
		id, err := f.Sessions.Resolve(ctx, name)
		f.send(func() {
			switch {
			case err != nil:
				f.say("%v", err)
			case id == f.conversation.ID():
				f.say("this is that session")
			default:
				f.replace(id, "")
			}
		})
	})
}

// fork goes on in a copy. A turn that runs is not in it, and would end with its
// session.
func (f *Face) fork(string) {
	if f.state().Running() != nil {
		f.say("a turn runs; Esc interrupts it")
		return
	}
	id := f.conversation.ID()
	go f.guarded(func() { // ends within the timeout
		ctx, cancel := context.WithTimeout(f.ctx, actTimeout)
		defer cancel()
		fork, err := f.Sessions.Fork(ctx, id)
		f.send(func() {
			if err != nil {
				f.say("%v", err)
				return
			}
			f.replace(fork, "")
		})
	})
}

// compact ends as any turn does: the log says what came of it.
func (f *Face) compact(string) {
	c := f.conversation
	go f.guarded(func() { // ends with the compaction, which ends in time when it is interrupted (C9)
		got, err := c.Compact(f.ctx, user)
		var ended *event.Cause
		switch {
		case f.ctx.Err() != nil, errors.As(err, &ended): // the log says it
		case err != nil:
			f.send(func() { f.say("%v", err) })
		case got.After == 0:
			f.send(func() { f.say("there is nothing to compact") })
		}
	})
}

func (f *Face) rename(name string) {
	if name == "" {
		f.say("by which name?")
		return
	}
	id := f.conversation.ID()
	f.do(func(ctx context.Context) error {
		if err := f.Sessions.Rename(ctx, id, name); err != nil {
			return err
		}
		f.send(func() { f.say("this session is called %s", name) })
		return nil
	})
}
