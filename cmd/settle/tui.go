package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/image"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/about"
	"github.com/settle-agent/settle/internal/frontend/tui"
	"github.com/settle-agent/settle/internal/frontend/tui/conversation"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/terminal"
)

const resumeHelp = `Open a session in the terminal again: by its id, the beginning of its id, or, with
--last or without an id, the last session of this directory that has an input.

docs/terminal.md describes the terminal. "settle sessions" lists sessions.`

// lastCloseTimeout bounds the end of sessions that the terminal has not closed itself,
// since it failed or the person did not wait.
const lastCloseTimeout = time.Second

// tuiGCPercent is the terminal's GOGC: a quarter of Go's default, since several copies of
// a long answer exist at its end. It costs CPU below the noise of BenchmarkTUIMemory.
const tuiGCPercent = 25

// tuiFlags are the flags of the terminal that are no settings.
type tuiFlags struct {
	projectFlags
	dir   string
	take  bool
	plain bool
	// host means that this process hosts a session for the terminal that started it.
	host bool
	idle time.Duration // see idleFlag
	// worktree is defined for new sessions only.
	worktree worktreeFlag
}

func (f *tuiFlags) define(flags *pflag.FlagSet) {
	settingFlags(flags)
	f.defineOwn(flags)
}

// defineOwn defines the flags that are no settings.
func (f *tuiFlags) defineOwn(flags *pflag.FlagSet) {
	flags.StringVarP(&f.dir, "cwd", "C", ".", "work in `DIR`")
	flags.Bool("plan", false, planUsage)
	flags.Lookup("permission").Usage = modesUsage
	flags.BoolVar(&f.take, "take", false, takeHelp)
	flags.BoolVar(&f.plain, "plain", false, "write labelled lines and redraw nothing, for screen readers")
	f.projectFlags.define(flags)
	flags.BoolVar(&f.host, terminalHostFlag, false, "")
	flags.DurationVar(&f.idle, idleFlag, detachedIdleTimeout, "")
	_, _ = flags.MarkHidden(terminalHostFlag), flags.MarkHidden(idleFlag) // they exist
}

// options returns the options of the terminal's agents.
func (f *tuiFlags) options() assemble.Options {
	o := assemble.Options{
		HostOptions: assemble.HostOptions{Frontend: "terminal", Take: f.take},
		PermissionOptions: assemble.PermissionOptions{
			Permission: settle.Ask,
			Sandbox:    config.SandboxAuto,
			Attended:   true,
		},
	}
	f.apply(&o)
	return o
}

func newResume(s *streams) *cobra.Command {
	var f tuiFlags
	last := false
	cmd := &cobra.Command{
		Use: "resume [flags] [ID]", Short: "Open a session in the terminal again", Long: resumeHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if last && len(args) > 0 {
				return errors.New("--last and an ID: give one of them")
			}
			return f.open(cmd, s, func(ctx context.Context, c *conversation.Sessions) (string, error) {
				return c.Resolve(ctx, strings.Join(args, ""))
			}, "")
		},
	}
	f.define(cmd.Flags())
	cmd.Flags().BoolVar(&last, "last", false, "open the last session of this directory")
	return cmd
}

const attachHelp = `Attach the terminal to a session that another process hosts, such as one that
"settle run --detach" started: see it, send messages, interrupt it and answer its
questions. Leaving (/quit) ends nothing there. Without an id, settle takes the
session of this directory that another process hosts, the last one of several.

"settle sessions" shows which process hosts a session. To open a session that none
hosts, use "settle resume".`

func newAttach(s *streams) *cobra.Command {
	var f tuiFlags
	cmd := &cobra.Command{
		Use: "attach [flags] [ID]", Short: "Attach the terminal to a running session", Long: attachHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.open(cmd, s, func(ctx context.Context, c *conversation.Sessions) (string, error) {
				return c.Hosted(ctx, strings.Join(args, ""))
			}, "")
		},
	}
	settingFlags(cmd.Flags())
	hideHostSettings(cmd.Flags()) // while there are no others
	f.defineOwn(cmd.Flags())
	_ = cmd.Flags().MarkHidden("take") // it exists
	return cmd
}

// hideHostSettings hides the flags that are settings of a session's host: they are accepted, and
// change nothing in a terminal that is attached to another host.
func hideHostSettings(settings *pflag.FlagSet) {
	settings.VisitAll(func(f *pflag.Flag) {
		if f.Name != "data-dir" && f.Name != "log-level" {
			f.Hidden = true
		}
	})
}

// open opens the terminal: with the session that choose returns, or a new one.
func (f *tuiFlags) open(
	cmd *cobra.Command, s *streams, choose func(context.Context, *conversation.Sessions) (string, error), prompt string,
) error {
	if f.host {
		return f.runHost(cmd, s)
	}
	if !s.person() {
		const needed = "cannot open the terminal: standard input, output and error must be a terminal; elsewhere, use "
		if prompt != "" {
			return fmt.Errorf(needed+"settle run %q", prompt)
		}
		return errors.New(
			needed + "\"settle run PROMPT\", or \"settle run --resume ID PROMPT\" for an earlier session",
		)
	}
	dir, err := directory(f.dir)
	if err != nil {
		return err
	}
	o := f.options()
	s.keepGarbage(tuiGCPercent)
	in, sig := s.server(cmd, o)
	defer in.release()
	defer sig.watchParent()()
	resolved, err := in.hosts.Settings(dir, nil)
	if err != nil {
		return err
	}
	if resolved, err = f.setUp(sig, s, in, resolved, dir, !cmd.HasParent()); err != nil {
		return sig.instead(err)
	}
	sessions := conversation.New(in.hosts, dir, resolved.DataDir, f.take, plans(cmd.Flags())).
		Worktrees(f.worktree.name())
	if resolved.Terminal.Host == config.HostOwn && resolved.DataDir != "" {
		sessions.Hosts(s.starter(cmd, resolved.DataDir))
	}
	session, err := choose(sig.ctx, sessions)
	if err != nil {
		return sig.instead(err)
	}
	if cmd.Flags().Changed("cwd") {
		sessions.OutsideWorktree(session)
	}
	shown := s.terminalOptions(resolved, dir)
	found := o
	found.Settings, found.Dir, found.Getenv = resolved, dir, s.getenv
	shown.Sessions, shown.Mask, shown.Commands = sessions, sessions.Mask, conversation.Commands(found)
	shown.Session, shown.Prompt, shown.Stops = session, prompt, in.stops
	shown.AgentKinds, shown.Plugins = kindsOf(found), pluginsOf(s, resolved, dir)
	shown.Imported = importedBy(found)
	shown.InUse = func(out io.Writer) { _ = about.InUse(out, found) } // it is memory
	code, err := f.run(cmd.Context(), s, shown)
	closing, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), lastCloseTimeout)
	defer cancel()
	if left := in.hosts.CloseAll(closing, event.Shutdown, "terminal"); left != nil { // else it is closed
		s.say(left)
	}
	switch {
	case code == stdio.CodeUsage: // nothing was opened
		return sig.instead(err)
	case err != nil:
		return failed(err)
	case code != stdio.CodeCompleted:
		return &exitError{code: code}
	}
	return nil
}

// terminalOptions returns the options of the terminal that the settings and the environment decide.
func (s *streams) terminalOptions(r *config.Resolved, dir string) tui.Options {
	return tui.Options{
		Palette:   s.linked(r.Terminal.Links).With(r.Terminal.Theme),
		AutoTheme: r.Terminal.Theme == "auto",

		Reflow:        terminal.ReflowOf(s.getenv),
		Notify:        terminal.Notification(r.Terminal.Notify),
		Through:       terminal.PassthroughOf(s.getenv),
		Keys:          r.Terminal.Keys,
		StatusLine:    r.Terminal.StatusLine,
		StatusCommand: assemble.StatusCommand(r.Terminal.StatusCommand, s.environ),

		Place:   s.place(dir),
		PlaceOf: s.place,
		Version: version(),
		DataDir: r.DataDir, FindsDataDir: r.FindsDataDir(),
		Edit:       s.editor(),
		PasteImage: image.NewClipboard(runtime.GOOS, assemble.Nowhere(), s.environ, s.getenv).Image,
		Suspend:    proc.Pause,
		FreeMemory: tui.FreeMemory,
		Resume:     continueCommand,
		Doctor:     s.doctor(r, dir),
		Settings:   func(out io.Writer) { _ = about.Chosen(out, r) }, // it is memory
	}
}

// continueCommand returns the command that continues the session; hosted reports that another
// process hosts it.
func continueCommand(id string, hosted bool) string {
	if hosted {
		return "settle attach " + id
	}
	return "settle resume " + id
}

// importedBy returns the line about other agents' configuration. The files are read while the session
// is opened.
func importedBy(o assemble.Options) func() string {
	line := make(chan string, 1)
	go func() { line <- about.Imported(o) }() // ends within the bounds of the files; room for one
	return sync.OnceValue(func() string { return <-line })
}

// doctor returns a function that checks the installation.
func (s *streams) doctor(r *config.Resolved, dir string) func(ctx context.Context, out io.Writer) {
	return func(ctx context.Context, out io.Writer) {
		m := about.Machine{Environ: s.environ, Getenv: s.getenv, Version: version(), Settings: r, Dir: dir}
		_ = about.Doctor(ctx, out, m) // Doctor has printed the problems
	}
}

// setUp asks for a model before a new session if none was named and no provider has a key, and
// returns the settings with the choice. On a terminal that cannot be redrawn, it only says so.
func (f *tuiFlags) setUp(
	sig *signals, s *streams, in *protocolServer, r *config.Resolved, dir string, fresh bool,
) (*config.Resolved, error) {
	_, err := r.Choose()
	if missing, ok := errors.AsType[*config.ModelError](err); !ok || !missing.Unset || !fresh || f.isPlain(s) {
		return r, nil // the session reports other errors
	}
	if err := s.setUp(sig.ctx, r, dir, false); err != nil {
		return nil, err
	}
	return in.hosts.Settings(dir, nil)
}

// isPlain reports whether the terminal writes lines.
func (f *tuiFlags) isPlain(s *streams) bool {
	return f.plain || s.getenv("ACCESSIBLE") == "1" || s.statusTerminal() == nil
}

// run shows the terminal, or where it cannot be drawn on, lines.
func (f *tuiFlags) run(ctx context.Context, s *streams, o tui.Options) (int, error) {
	if f.isPlain(s) {
		width, _ := terminal.Size(s.stdout)
		return tui.RunPlain(ctx, s.stdin, s.stdout, width, o)
	}
	device, err := terminal.Open(s.stdin, s.stdout)
	if err != nil {
		return stdio.CodeUsage, err
	}
	defer device.Restore()
	resized, stop := resizes()
	defer stop()
	o.Terminal, o.Resized = device, resized
	return tui.Run(ctx, o)
}

// palette returns the colors and attributes that the terminal can show. NO_COLOR
// (https://no-color.org) disables the colors.
func (s *streams) palette() terminal.Palette {
	return terminal.Palette{Color: s.getenv("NO_COLOR") == "", Attributes: true}
}

// linked is the palette with links (OSC 8), if the setting or the terminal takes them.
func (s *streams) linked(setting string) terminal.Palette {
	p := s.palette()
	p.Links = p.Color && (setting == "on" || setting == "auto" && terminal.LinksOf(s.getenv))
	return p
}

// place is a directory as a person knows it: their own is "~".
func (s *streams) place(dir string) string {
	home := s.getenv("HOME")
	if home == "" || home == "/" {
		return dir
	}
	if rest, err := filepath.Rel(home, dir); err == nil && filepath.IsLocal(rest) {
		return filepath.Join("~", rest)
	}
	return dir
}
