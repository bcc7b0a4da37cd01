package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/budget"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/terminal"
)

const submitHelp = `Submit a task, or many.

With a prompt, its task is submitted. With --file, each line of the file is a task in
JSON: {"session":"…","input":"…","prompt":"…","dir":"…","repo":"URL","ref":"…","depth":N,
"model":"PROVIDER/NAME","executor":"COMMAND","limits":{"steps":N,"seconds":N,"tokens":N},
"tenant":"NAME","batch":"NAME","labels":{"KEY":"VALUE"}}.
Only prompt is needed; the flags are for tasks that do not say otherwise.

A line has at most 4 MiB, the file at most 512 MiB.

The id of a task is SESSION/INPUT. Submitting a task again with the same id changes
nothing, so that a submission that was cut off can be repeated, if all of its tasks name
their session, or with --session-prefix; a task without a session is a new one each time. All tasks of a file that
is wrong anywhere are refused. The ids are printed, one a line, as soon as their tasks
are accepted. If they cannot be, the tasks are submitted, and the exit code is 1.

--batch puts the tasks into a batch, and --budget-tokens and --budget-usd bound what all
tasks of the batch may take. When that is spent, tasks that wait end with the reason
"limit", and tasks that run end before their next request. Without these two, a budget
that the batch has stays as it is.`

const (
	// maxLine bounds a task in a file, in bytes.
	maxLine = 4 << 20
	// maxTasks bounds all tasks of a file, in bytes.
	maxTasks = 512 << 20
	// submitSize is the number of tasks that are accepted at a time.
	submitSize = 500
)

// submitFlags are the flags of submit.
type submitFlags struct {
	file     string
	prefix   string // of the sessions of lines that name none
	line     int    // the line that is read
	task     fleet.Task
	labels   map[string]string
	budget   budget.Budget
	cwdSet   bool             // -C was given
	redactor *redact.Redactor // masks the keys that must not be stored
}

func newSubmit(d *database) *cobra.Command {
	var f submitFlags
	cmd := &cobra.Command{
		Use:     "submit [flags] [PROMPT…]",
		Short:   "Submit a task, or many",
		Long:    submitHelp,
		Example: "  settle-fleet submit -C /work/project \"fix the failing test\"\n  settle-fleet submit --file tasks.jsonl --label batch=7",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := d.engine.checkQueue(); err != nil {
				return err
			}
			f.cwdSet = cmd.Flags().Changed("cwd")
			f.budget.Batch = f.task.Batch
			hasBudget := cmd.Flags().Changed("budget-tokens") || cmd.Flags().Changed("budget-usd")
			if hasBudget && f.task.Batch == "" {
				return errors.New("--budget-tokens and --budget-usd bound a batch: name it with --batch")
			}
			if f.budget.Tokens < 0 || !isAmount(f.budget.USD) {
				return errors.New("--budget-tokens and --budget-usd must be numbers that are not negative")
			}
			if hasBudget {
				if err := fleet.CheckName("batch", f.task.Batch); err != nil {
					return err
				}
			}
			secrets, err := d.secrets()
			if err != nil {
				return err
			}
			f.redactor = redact.New(secrets...)
			tasks, err := f.tasks(cmd.InOrStdin(), args)
			if err != nil {
				return err
			}
			to, err := d.openLazily(cmd.Context(), newLogger(cmd))
			if err != nil {
				return err
			}
			defer to.close()
			defer outlivePipe()()
			if hasBudget && f.redactor.String(f.budget.Batch) != f.budget.Batch {
				return errors.New("the name of the batch contains a key, which would be stored; nothing was submitted")
			}
			if hasBudget {
				if err := budget.Set(cmd.Context(), to.pool, f.budget); err != nil {
					return failed(err)
				}
			}
			return failed(submit(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), to.engine, tasks))
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "submit the tasks in `FILE`, one a line; - is standard input")
	flags.StringVar(&f.task.Session, "session", "", "the session's `ID`; default: a new one")
	flags.StringVar(&f.prefix, "session-prefix", "",
		"with --file, a line that names no session gets `PREFIX`-LINE, so that a repetition submits nothing twice")
	flags.StringVar(&f.task.Input, "input", "", "the input's `ID` in the session; default: 1")
	flags.Int64Var(&f.budget.Tokens, "budget-tokens", 0, "the batch may take `N` tokens, input and output; 0: no limit")
	flags.Float64Var(&f.budget.USD, "budget-usd", 0, "the batch may cost `N` US dollars; 0: no limit")
	f.defineTask(flags)
	return cmd
}

// defineTask defines the flags of a task's fields.
func (f *submitFlags) defineTask(flags *pflag.FlagSet) {
	flags.StringVarP(&f.task.Dir, "cwd", "C", ".", "work in `DIR`, which every worker has")
	flags.StringVar(&f.task.Repo, "repo", "", "work in a clone of the git repository at `URL` instead")
	flags.StringVar(&f.task.Ref, "ref", "", "branch, tag or commit `REF` of the repository; default: its HEAD")
	flags.IntVar(&f.task.Depth, "depth", 0, "clone only the last `N` commits; 0: all")
	flags.StringVarP(&f.task.Model, "model", "m", "", "`PROVIDER/NAME` of the model; default: the worker's")
	flags.StringVar(&f.task.Executor, "executor", "", "run commands and work on files at the other end of `COMMAND`")
	flags.IntVar(&f.task.Limits.Steps, "max-steps", 0, "end a turn after `N` model responses; 0: the worker's limit")
	flags.Int64Var(&f.task.Limits.Tokens, "max-tokens", 0, "end a turn after `N` tokens; 0: the worker's limit")
	flags.Float64Var(&f.task.Limits.Seconds, "timeout", 0, "end a turn after so many `SECONDS`; 0: the worker's limit")
	flags.StringVar(&f.task.Batch, "batch", "", "submit the tasks to batch `NAME`, which can have a budget")
	flags.StringVar(&f.task.Tenant, "tenant", "", "submit the tasks for tenant `NAME`; default: default")
	flags.StringToStringVar(&f.labels, "label", nil, "`KEY=VALUE` to find the tasks by; repeatable")
}

// isAmount reports whether a flag's number is an amount: neither NaN nor infinite, and
// not below zero.
func isAmount(n float64) bool { return n >= 0 && !math.IsInf(n, 1) }

// tasks returns the tasks to submit.
func (f *submitFlags) tasks(stdin io.Reader, args []string) ([]fleet.Task, error) {
	f.task.Labels = f.labels
	dir, err := filepath.Abs(f.task.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot find the directory: %w", err)
	}
	f.task.Dir = dir
	if f.prefix != "" && f.file == "" {
		return nil, errors.New("--session-prefix is for --file; one task is named by --session")
	}
	if f.file == "" {
		f.task.Prompt = strings.Join(args, " ")
		t, err := f.complete(f.task)
		return []fleet.Task{t}, err
	}
	if len(args) > 0 || f.task.Session != "" {
		return nil, errors.New("with --file, there is no prompt and no --session")
	}
	in := stdin
	if f.file != "-" {
		file, _, err := disk.OpenRegular(f.file)
		if err != nil {
			return nil, fmt.Errorf("cannot read the tasks: %w", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		in = file
	}
	return f.read(in)
}

// read reads a task from each line.
func (f *submitFlags) read(in io.Reader) (tasks []fleet.Task, err error) {
	limited := &io.LimitedReader{R: in, N: maxTasks + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, maxLine+len("\r\n"))
	seen := map[string]int{}
	n := 1
	for ; lines.Scan(); n++ {
		if limited.N <= 0 {
			return nil, fmt.Errorf(
				"cannot submit the tasks: they have more than %d MiB; nothing was submitted; split them over several files",
				maxTasks>>20,
			)
		}
		line := lines.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff")) // as some editors write it
		}
		line = bytes.TrimSpace(line)
		if len(line) > maxLine {
			return nil, tooLongError(n)
		}
		if len(line) == 0 {
			continue
		}
		f.line = n
		t, err := f.parse(line)
		if err != nil {
			return nil, fmt.Errorf("cannot submit line %d: %w", n, err)
		}
		if earlier := seen[t.ID()]; earlier > 0 {
			return nil, fmt.Errorf("lines %d and %d have the same id %s; nothing was submitted", earlier, n, t.ID())
		}
		seen[t.ID()] = n
		tasks = append(tasks, t)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, tooLongError(n)
	} else if err != nil {
		return nil, fmt.Errorf("cannot read the tasks: %w", err)
	}
	if len(tasks) == 0 {
		return nil, errors.New("there are no tasks to submit")
	}
	return tasks, nil
}

// tooLongError returns the error for a line that is too long.
func tooLongError(n int) error {
	return fmt.Errorf("cannot submit line %d: it has more than %d MiB", n, maxLine>>20)
}

// parse returns the task of a line, completed by the flags.
func (f *submitFlags) parse(line []byte) (fleet.Task, error) {
	t := f.task
	t.Labels = nil
	if err := decodeTask(line, &t); err != nil {
		return t, err
	}
	if t.Session == "" && f.prefix != "" {
		t.Session = fmt.Sprintf("%s-%d", f.prefix, f.line)
	}
	if t.Labels == nil {
		t.Labels = f.labels
	} else {
		for key, value := range f.labels {
			if _, ok := t.Labels[key]; !ok {
				t.Labels[key] = value
			}
		}
	}
	return f.complete(t)
}

// complete returns the task with its ids and an absolute directory, or none where it
// has a repository and names no directory, and without the keys that are known here.
func (f *submitFlags) complete(t fleet.Task) (fleet.Task, error) {
	switch {
	case t.Repo != "" && t.Dir == f.task.Dir && (!f.cwdSet || f.file != ""):
		t.Dir = ""
	case !filepath.IsAbs(t.Dir):
		t.Dir = filepath.Join(f.task.Dir, t.Dir)
	}
	t, err := t.Complete()
	if err != nil {
		return t, err
	}
	return t.Mask(f.redactor.String)
}

// accepter takes tasks and sends them to Temporal.
type accepter interface {
	Accept(ctx context.Context, tasks []fleet.Task) (newIDs []string, err error)
	Send(ctx context.Context, ids []string) error
}

// submit makes the tasks durable and prints their ids, as soon as each group of them is
// accepted. Then it sends them to Temporal; what it cannot send, workers do.
func submit(ctx context.Context, out, errs io.Writer, e accepter, tasks []fleet.Task) error {
	var newIDs []string
	accepted, printErr := 0, error(nil)
	for accepted < len(tasks) {
		part := tasks[accepted:min(accepted+submitSize, len(tasks))]
		ids, err := e.Accept(ctx, part)
		if err != nil {
			send(ctx, errs, e, newIDs)
			return errors.Join(partialError(accepted, len(tasks), err), printErr)
		}
		newIDs = append(newIDs, ids...)
		accepted += len(part)
		if printErr == nil {
			printErr = printIDs(out, part)
		}
	}
	if len(newIDs) < len(tasks) {
		fmt.Fprintf(errs, "%d of %d tasks were known\n", len(tasks)-len(newIDs), len(tasks))
	}
	send(ctx, errs, e, newIDs)
	if printErr != nil {
		return fmt.Errorf("%s submitted, but %w", tasksWere(len(tasks)), printErr)
	}
	return nil
}

// send sends accepted tasks to Temporal. They are durable, so that a failure is only reported.
func send(ctx context.Context, errs io.Writer, e accepter, ids []string) {
	if err := e.Send(ctx, ids); err != nil {
		fmt.Fprintf(
			errs, "settle-fleet: the tasks are accepted, but Temporal does not have all of them yet: %s; "+
				"workers send the rest\n",
			terminal.Text(redact.Diagnostic(err.Error())),
		)
	}
}

// printIDs prints the ids of tasks. The error names the first of them, which may not have
// been.
func printIDs(out io.Writer, tasks []fleet.Task) error {
	var text strings.Builder
	for _, t := range tasks {
		text.WriteString(t.ID() + "\n")
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("the ids from %s on could not be printed: %w", tasks[0].ID(), err)
	}
	return nil
}

// partialError returns the error for a submission of which only some tasks were accepted.
func partialError(accepted, all int, err error) error {
	if all == 1 {
		return err
	}
	return fmt.Errorf(
		"%s accepted of %d: %w; submit again those that name their session, which changes nothing for the accepted ones; others would be new tasks",
		tasksWere(accepted),
		all,
		err,
	)
}

// tasksWere returns the beginning of a sentence about n tasks.
func tasksWere(n int) string {
	if n == 1 {
		return "1 task was"
	}
	return fmt.Sprintf("%d tasks were", n)
}
