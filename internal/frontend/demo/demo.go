package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/setup"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// Options configure the demo.
type Options struct {
	Stdout  io.Writer
	Environ []string
	// Stops receives signals.
	Stops chan stdio.Stop
	// Show runs and prints a turn, and returns its exit code, as "settle run" does.
	Show func(ctx context.Context, t Turn) (code int)
	// Keep keeps the temporary directory.
	Keep    bool
	Version string
	// Host is the command line that runs [Host] with the directory that follows it, in another
	// process, which the demo kills.
	Host []string
	// Columns is the width of the terminal at Stdout; 0 if there is none.
	Columns int
}

// Turn is a turn that Show runs and prints.
type Turn struct {
	Host    *settle.Host
	Session string
	Config  settle.SessionConfig
	Prompt  string
	// Answers has the typed answers of a person; nil if no questions are asked.
	Answers io.Reader
	// Ended is called when the turn has ended, with the session still open.
	Ended func(*settle.Session)
}

const (
	session = "demo"
	// interrupted is the exit code of the turn that the demo interrupts.
	interrupted = -1
)

// demo is one run of the demo.
type demo struct {
	Options
	dir       string // holds the data and the working directory
	began     time.Time
	outputErr error // first error of standard output
}

// Run shows the demo and returns the exit code. The error is the reason why the demo could not run
// or could not be shown.
func Run(ctx context.Context, o Options) (code int, err error) {
	dir, err := os.MkdirTemp("", "settle-demo-")
	if err != nil {
		return stdio.CodeFailed, fmt.Errorf("cannot make a directory for the demo: %w", err)
	}
	if !o.Keep {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	d := &demo{Options: o, dir: dir, began: time.Now()}
	defer func() {
		if code == stdio.CodeFailed && err == nil { // Show has printed the failure, if standard output works
			d.printf("\n")
			err = d.outputErr
		}
	}()
	if err := d.prepare(); err != nil {
		return stdio.CodeFailed, err
	}
	d.printf("settle demo: the model is a script; the engine, the tools, the processes and the log are real.\n")
	for _, part := range []func(context.Context) (int, error){d.change, d.interruption, d.crash, d.recovery} {
		if code, err := part(ctx); err != nil || code != stdio.CodeCompleted {
			return code, err
		}
	}
	kept := ""
	if o.Keep {
		kept = fmt.Sprintf(" The log is kept: settle sessions --data-dir %s show %s", d.data(), session)
	}
	d.printf("\nCompleted, %s after the beginning.%s\n", terminal.Duration(time.Since(d.began)), kept)
	d.printf("\nTry next%s:\n%s", afterInstalling(d.Environ), nextCommands(ctx, d.Environ, setup.LocalServers()))
	return stdio.CodeCompleted, nil
}

// change shows an edit, with a question before it and its diff.
func (d *demo) change(ctx context.Context) (int, error) {
	const prompt = "Greet the world."
	d.printf("\n1. A change, which needs your approval. The demo answers.\n\n> %s\n\n", prompt)
	return d.play(ctx, part{model: edits(), prompt: prompt, permission: settle.Ask, answers: &typist{to: d.Stdout}})
}

// interruption shows an interrupt while a command runs that ignores signals.
func (d *demo) interruption(ctx context.Context) (int, error) {
	const prompt = "Show me what happens when I interrupt you."
	d.printf("\n2. An interrupt.\n\n> %s\n\n", prompt)
	code, err := d.play(ctx, part{model: first(), prompt: prompt, watch: d.interruptAwake})
	if err != nil || code != interrupted {
		return code, err
	}
	return stdio.CodeCompleted, d.checkProcesses()
}

// recovery opens the session of the killed host, and continues it.
func (d *demo) recovery(ctx context.Context) (int, error) {
	d.printf("\n\n4. Another settle opens the session from its log and continues.\n\n> Go on.\n\n")
	code, err := d.play(ctx, part{model: second(), prompt: "Go on."})
	if err != nil || code != stdio.CodeCompleted {
		return code, err
	}
	d.printf("\n")
	return code, d.checkProcesses()
}

// printf writes lines, which break between words.
func (d *demo) printf(format string, args ...any) {
	text := terminal.Fold(fmt.Sprintf(format, args...), d.Columns)
	if _, err := io.WriteString(d.Stdout, text); err != nil && d.outputErr == nil {
		d.outputErr = fmt.Errorf("cannot show the demo: %w", err)
	}
}

func (d *demo) data() string { return filepath.Join(d.dir, "data") }
func (d *demo) work() string { return filepath.Join(d.dir, "work") }

func (d *demo) prepare() error {
	if err := os.Mkdir(d.work(), 0o755); err != nil {
		return fmt.Errorf("cannot prepare the demo: %w", err)
	}
	for _, name := range []string{"greeting.txt", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(d.work(), name), []byte("hello\nfrom settle\n"), 0o600); err != nil {
			return fmt.Errorf("cannot prepare the demo: %w", err)
		}
	}
	return nil
}

// part is a turn of the demo.
type part struct {
	model      *script.Model
	prompt     string
	permission settle.Permission // empty for allow
	answers    io.Reader
	watch      func(context.Context, *settle.Session)
}

// play runs one turn on a host of its own.
func (d *demo) play(ctx context.Context, p part) (int, error) {
	getenv := func(name string) string { return lookUp(d.Environ, name) }
	settings, err := config.Load(config.Input{
		Dir:           d.work(),
		Getenv:        getenv,
		Flags:         map[string]string{"data_dir": d.data()},
		ProjectConfig: config.IgnoreProject,
	})
	if err != nil {
		return stdio.CodeFailed, err
	}
	a, err := assemble.New(ctx, assemble.Options{
		Settings:    settings,
		Dir:         d.work(),
		Environ:     d.Environ,
		Getenv:      getenv,
		Version:     d.Version,
		HostOptions: assemble.HostOptions{Frontend: "demo"},
		PermissionOptions: assemble.PermissionOptions{
			Permission: cmp.Or(p.permission, settle.Allow), Attended: p.answers != nil,
		},
		ModelOptions: assemble.ModelOptions{
			Model: model.Config{Provider: p.model, ProviderName: "script", Name: "script"},
		},
	})
	if err != nil {
		return stdio.CodeFailed, err
	}
	host, err := settle.Open(ctx, a.Host)
	if err != nil {
		return stdio.CodeFailed, err
	}
	turn := Turn{Host: host, Session: session, Config: a.Session, Prompt: p.prompt, Answers: p.answers}
	if p.watch != nil {
		turn.Ended = d.table
		s, err := host.Session(ctx, session, a.Session)
		if err != nil {
			return stdio.CodeFailed, err
		}
		watching, enough := context.WithCancel(ctx)
		defer enough()
		go p.watch(watching, s) // ends with enough
	}
	return d.Show(ctx, turn), nil
}

// lookUp returns the value of a variable. It ignores variables that configure settle: the demo is
// the same on every machine.
func lookUp(environ []string, name string) string {
	if strings.HasPrefix(name, "SETTLE_") || strings.HasPrefix(name, "XDG_") ||
		strings.HasSuffix(name, "_BASE_URL") || name == "HOME" {
		return ""
	}
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// interruptAwake interrupts the turn once the command that ignores signals runs.
func (d *demo) interruptAwake(ctx context.Context, s *settle.Session) {
	for e, err := range s.Events(ctx, 0) {
		if err != nil {
			return
		}
		delta, ok := e.Data.(event.ItemDelta)
		if ok && delta.Stream == event.Output && strings.Contains(delta.Text, awake) {
			d.interrupt(ctx)
			return
		}
	}
}

func (d *demo) interrupt(ctx context.Context) {
	middle := time.NewTimer(400 * time.Millisecond)
	defer middle.Stop()
	select {
	case <-middle.C:
	case <-ctx.Done():
		return
	}
	select {
	case d.Stops <- stdio.Stop{Reason: event.Interrupted, By: "demo", Code: interrupted}:
	case <-ctx.Done():
	}
}

// table writes how the last turn and its calls ended.
func (d *demo) table(s *settle.Session) {
	state := s.State()
	t := state.Turns[len(state.Turns)-1]
	if len(t.Items) == 1 {
		return // the turn called no tool
	}
	seconds := func(from, to time.Time) string { return fmt.Sprintf("%.2f s", to.Sub(from).Seconds()) }
	rows := [][3]string{{"what", "how it ended", "after"}}
	for _, i := range t.Items {
		if i.Type() == event.ToolCall {
			rows = append(rows, [3]string{title(i), ending(i), seconds(i.StartedAt, i.EndedAt)})
		}
	}
	rows = append(rows, [3]string{"the turn", t.Cause.Error(), seconds(t.StartedAt, t.EndedAt)})
	d.printf("\n%s", tabulate(rows, d.Columns))
	if t.Interrupt != nil {
		d.printf(
			"\nThe last command ignored SIGTERM. settle killed it and its descendants after a grace period of 250 ms. "+
				"\"effects: partial\": it had begun, so it may have changed something.\n"+
				"The turn ended %s after the interrupt.\n", seconds(d.interruptedAt(s), t.EndedAt),
		)
	}
}

// interruptedAt returns the time of the interrupt of the last turn.
func (*demo) interruptedAt(s *settle.Session) (at time.Time) {
	for e, err := range s.Events(context.Background(), 0) { // ends at the ending of the turn
		if err != nil {
			return at
		}
		switch e.Data.(type) {
		case event.InterruptRequested:
			at = e.At
		case event.TurnAborted:
			if !at.IsZero() {
				return at
			}
		}
	}
	return at
}

// tabulate returns the rows as a table, or as a list if the columns are too few; 0 for any number.
func tabulate(rows [][3]string, columns int) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", r[0], r[1], r[2]) // it is memory
	}
	_ = w.Flush()
	for line := range strings.Lines(out.String()) {
		if columns > 0 && terminal.TextWidth(strings.TrimRight(line, " \n")) > columns {
			out.Reset()
			for _, r := range rows[1:] {
				fmt.Fprintf(&out, "%s\n  %s after %s\n", r[0], r[1], r[2])
			}
			break
		}
	}
	return out.String()
}

func title(i *event.Item) string {
	command := i.Content().Arguments
	command = strings.TrimSuffix(strings.TrimPrefix(command, `{"command":"`), `"}`)
	return "$ " + command
}

func ending(i *event.Item) string {
	c := i.Content()
	switch {
	case i.Status == event.ItemAborted:
		return fmt.Sprintf("%s; effects: %s", i.Cause.Error(), i.Effects)
	case c.ExitCode != nil:
		return fmt.Sprintf("%s, exit code %d", i.Status, *c.ExitCode)
	}
	return string(i.Status)
}

// checkProcesses reports processes that the demo left running.
func (d *demo) checkProcesses() error {
	left, err := proc.Sweep(settle.Store{Dir: d.data()}.Marker(session))
	if err != nil || len(left) > 0 {
		return errors.Join(fmt.Errorf("processes were left running: %v", left), err)
	}
	d.printf("Every process that the demo started has ended: no process is left.\n")
	return nil
}
