package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/client/rewind"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/terminal"
)

const rewindHelp = `Go back to before an input of a session: in a copy of the session, with the files
that settle's own tools and commands changed since as they were. INPUT is the id of an input or of
its turn, or its number; without it, settle takes the last one. A unique prefix of a
session's id is enough. In a terminal, settle takes the last session of this directory without it.

settle restores a file only if it is still as settle left it. settle keeps and reports
files that another program has changed since. settle lists what it did not record of
commands and what child agents did, and cannot undo it. It does not touch git's HEAD,
index or stash.

settle copies the present files first. --undo reverts the last rewind in this directory
by that copy; --undo=WHICH reverts another one. WHICH is a session (the copy or the
original), or the directory that the rewind printed.

settle prints the planned changes and asks. --yes makes them without asking. The id of the
copy goes to standard output, everything else to standard error.`

const rewindExamples = `  settle rewind 01a1fc84 --dry-run
  settle rewind 01a1fc84 n000003
  settle rewind --undo
  settle rewind --undo=01a1fd02`

// rewindFlags are the flags of rewind that are not settings.
type rewindFlags struct {
	dryRun, yes, keep bool
	undo, dataDir     string
	undoes            bool // --undo was given
}

// lastRewind is the value of --undo without one. It is no name of a session.
const lastRewind = " "

func newRewind(s *streams) *cobra.Command {
	var f rewindFlags
	cmd := &cobra.Command{
		Use:     "rewind [flags] [SESSION [INPUT]]",
		Short:   "Go back to before an input, with the files as they were",
		Long:    rewindHelp,
		Example: rewindExamples,
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			sig := catch(cmd.Context())
			defer sig.release()
			f.undoes = cmd.Flags().Changed("undo")
			return sig.instead(f.run(sig.ctx, s, args))
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would be done, and do nothing")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do it without asking")
	flags.BoolVar(&f.keep, "keep-files", false, "copy the session only, and leave the files as they are")
	flags.StringVar(
		&f.undo, "undo", "",
		"revert the last rewind in this directory; `WHICH` is a session, or a directory that a rewind printed",
	)
	flags.Lookup("undo").NoOptDefVal = lastRewind
	flags.StringVar(&f.dataDir, "data-dir", "", "look for the session in `DIR`")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "yes")
	cmd.MarkFlagsMutuallyExclusive("undo", "keep-files")
	return cmd
}

func (f *rewindFlags) run(ctx context.Context, s *streams, args []string) error {
	if f.undoes {
		return f.takeBack(ctx, s, args)
	}
	if len(args) == 0 && !s.person() {
		return errors.New("which session? \"settle sessions\" lists them")
	}
	dataDir, err := s.storedIn(f.dataDir)
	if err != nil {
		return err
	}
	session, input, err := f.session(ctx, dataDir, args)
	if err != nil {
		return failed(err)
	}
	p, err := rewind.Read(ctx, dataDir, session, input)
	if unknown := (*rewind.InputError)(nil); errors.As(err, &unknown) {
		return err
	}
	if err != nil {
		return failed(err)
	}
	head := fmt.Sprintf("Back to before: %s (%s)", p.ShortInput(), p.At.Local().Format("2006-01-02 15:04"))
	if f.keep {
		p.Files = nil
	}
	return f.carryOut(ctx, s, head, p, f.question(p), func() (rewind.Report, error) {
		if f.keep {
			return p.Fork(ctx, rewind.LeaveFiles)
		}
		return p.Fork(ctx, rewind.RestoreFiles)
	})
}

// session returns the session and the input of the arguments. Without arguments, it is the last
// session of this directory.
func (f *rewindFlags) session(ctx context.Context, dataDir string, args []string) (session, input string, err error) {
	if len(args) > 0 {
		resolve := store.Resolve
		if f.yes { // no question names the session
			resolve = store.ResolveWhole
		}
		session, err = resolve(dataDir, args[0])
		return session, strings.Join(args[1:], ""), err
	}
	dir, err := directory(".")
	if err != nil {
		return "", "", err
	}
	session, err = rewind.LastSession(ctx, dataDir, dir)
	return session, "", err
}

func (f *rewindFlags) question(p *rewind.Plan) string {
	if n := len(p.Changes()); n > 0 {
		return fmt.Sprintf(
			"Restore %s in %s, and continue in a copy of the session?",
			terminal.Count(n, "file"),
			terminal.OneLine(p.Dir),
		)
	}
	return "Continue in a copy of the session? No file is changed."
}

// takeBack reverts a rewind.
func (f *rewindFlags) takeBack(ctx context.Context, s *streams, args []string) error {
	which := f.undo
	if which == lastRewind && len(args) > 0 { // "--undo WHICH"
		which, args = args[0], args[1:]
	}
	switch {
	case len(args) > 0:
		return fmt.Errorf("--undo: unexpected argument %q; --undo takes one session or directory", args[0])
	case which == "":
		return errors.New("--undo: it is empty; give a session or a directory, or leave out the \"=\"")
	}
	at, err := f.snapshot(ctx, s, which)
	if err != nil {
		return err
	}
	p, err := rewind.ReadSnapshot(ctx, at)
	if err != nil {
		return failed(err)
	}
	if len(p.Changes()) == 0 && !f.dryRun {
		f.show(s.stderr, "Nothing to restore:", p)
		return nil
	}
	question := fmt.Sprintf("Restore %s in %s?", terminal.Count(len(p.Changes()), "file"), terminal.OneLine(p.Dir))
	return f.carryOut(ctx, s, p.UndoTitle(), p, question, func() (rewind.Report, error) { return p.Undo(ctx, at) })
}

// snapshot returns the directory of the snapshot that --undo means.
func (f *rewindFlags) snapshot(ctx context.Context, s *streams, which string) (string, error) {
	if which != lastRewind && strings.ContainsAny(which, `/\`) {
		return which, nil
	}
	dataDir, err := s.storedIn(f.dataDir)
	if err != nil {
		return "", err
	}
	if which != lastRewind {
		session, err := store.Resolve(dataDir, which)
		if info, statErr := os.Stat(which); err != nil && statErr == nil && info.IsDir() {
			return which, nil
		}
		if err != nil {
			return "", failed(fmt.Errorf("cannot undo a rewind: %q is no directory, and %w", which, err))
		}
		at, err := rewind.SnapshotOf(dataDir, session)
		return at, failed(err)
	}
	dir, err := directory(".")
	if err != nil {
		return "", err
	}
	at, err := rewind.LastSnapshot(ctx, dataDir, dir)
	return at, failed(err)
}

func (f *rewindFlags) show(out io.Writer, head string, p *rewind.Plan) {
	fmt.Fprintln(out, head)
	if f.keep {
		fmt.Fprintln(out, "  the files stay as they are")
		return
	}
	for _, line := range p.Lines() {
		fmt.Fprintln(out, line)
	}
}

// carryOut prints the plan, asks, and executes it.
func (f *rewindFlags) carryOut(
	ctx context.Context, s *streams, head string, p *rewind.Plan, question string, do func() (rewind.Report, error),
) error {
	if f.dryRun {
		f.show(s.stdout, head, p)
		return nil
	}
	f.show(s.stderr, head, p)
	if !f.yes {
		if !s.person() {
			return errors.New(
				"no person can be asked here; nothing was changed; use --yes to make the changes, or --dry-run to print them",
			)
		}
		fmt.Fprintf(s.stderr, "%s [y/N] ", question)
		if !isYes(ctx, s.stdin) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			fmt.Fprintln(s.stderr, "Nothing was done.")
			return nil
		}
	}
	r, err := do()
	fmt.Fprintln(s.stderr, r.Line())
	if r.Snapshot != "" {
		fmt.Fprintf(
			s.stderr, "the files as they were before: %s\nto undo this: %s\n",
			terminal.OneLine(r.Snapshot), terminal.OneLine(r.UndoCommand(f.dataDir == "")),
		)
	}
	if session := cmp.Or(r.Session, r.Original); session != "" {
		fmt.Fprintf(s.stderr, "to continue: settle resume %s\n", terminal.OneLine(session))
	}
	if r.Session != "" {
		if _, err := fmt.Fprintln(s.stdout, r.Session); err != nil {
			return failed(err)
		}
	}
	return failed(err)
}

// isYes reads one line, unless it is interrupted.
func isYes(ctx context.Context, in io.Reader) bool {
	line := make(chan string, 1)
	go func() { // ends with the line, or with the process
		text, _ := bufio.NewReader(in).ReadString('\n')
		line <- text
	}()
	select {
	case text := <-line:
		answer := strings.ToLower(strings.TrimSpace(text))
		return answer == "y" || answer == "yes"
	case <-ctx.Done():
		return false
	}
}
