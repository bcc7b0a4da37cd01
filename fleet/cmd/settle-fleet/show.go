package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/index"
	"github.com/settle-agent/settle/internal/terminal"
)

// pageSize is the number of tasks that are read at a time.
const pageSize = 500

// selection are the flags that choose tasks.
type selection struct {
	labels        map[string]string
	batch, tenant string
	since         time.Duration
}

func (s *selection) define(cmd *cobra.Command) {
	cmd.Flags().StringToStringVar(&s.labels, "label", nil, "only tasks with `KEY=VALUE`; repeatable")
	cmd.Flags().StringVar(&s.batch, "batch", "", "only tasks of batch `NAME`")
	cmd.Flags().StringVar(&s.tenant, "tenant", "", "only tasks of tenant `NAME`")
	cmd.Flags().DurationVar(&s.since, "since", 0,
		"only tasks that were submitted, or for results have ended, in the last `DURATION`; default: all")
}

func (s *selection) filter() index.Filter {
	f := index.Filter{Labels: s.labels, Batch: s.batch, Tenant: s.tenant}
	if s.since > 0 {
		f.Since = time.Now().Add(-s.since)
	}
	return f
}

func writeLine(to io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = to.Write(append(line, '\n'))
	return err
}

const resultsHelp = `Print the tasks that have ended with their results, one line of JSON each.

With --format atif, print their sessions instead, as trajectories for evaluations and
training: version 1.7 of the Agent Trajectory Interchange Format, one line each.

With --wait, wait until all have ended, and print how far they are to standard error.
Tasks that are held wait for a person: they are not waited for and not printed, and
standard error says how many there are.

The exit code is 0 if every task that was printed has completed and none is held, and 1
otherwise.`

func newResults(d *database) *cobra.Command {
	var sel selection
	var wait bool
	var format, dir string
	cmd := &cobra.Command{
		Use: "results", Short: "Print the results of tasks", Long: resultsHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != formatJSON && format != formatATIF || dir != "" && format != formatATIF {
				return errors.New("--format is json or atif, and --dir is for atif")
			}
			f, err := d.open(cmd.Context())
			if err != nil {
				return err
			}
			defer f.close()
			if wait {
				if err := f.watch(cmd.Context(), cmd.ErrOrStderr(), sel.filter()); err != nil {
					return failed(err)
				}
			}
			var exitErr error
			if format == formatATIF {
				exitErr = f.trajectories(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), dir, sel.filter())
			} else {
				exitErr = f.results(cmd.Context(), cmd.OutOrStdout(), sel.filter())
			}
			if exit := (*exitError)(nil); exitErr != nil && (!errors.As(exitErr, &exit) || exit.err != nil) {
				return exitErr
			}
			return cmp.Or(f.warnHeld(cmd.Context(), cmd.ErrOrStderr(), sel.filter()), exitErr)
		},
	}
	sel.define(cmd)
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until all tasks have ended")
	cmd.Flags().StringVar(&format, "format", formatJSON,
		"print tasks as `FORMAT`: json, or the sessions as trajectories: atif")
	cmd.Flags().StringVarP(&dir, "dir", "d", "",
		"with atif, write SESSION.json into `DIR` for each session, and print nothing")
	return cmd
}

// warnHeld prints the number of tasks that wait for a person, and returns an exit code if there are any.
func (f *fleetOf) warnHeld(ctx context.Context, to io.Writer, filter index.Filter) error {
	c, err := f.index.Tally(ctx, filter)
	if err != nil || c.Held == 0 {
		return failed(err)
	}
	fmt.Fprintf(to, "settle-fleet: tasks that wait for a person: %d; \"settle-fleet approvals\" lists them\n", c.Held)
	return &exitError{code: codeFailed}
}

// The formats of results.
const (
	formatJSON = "json"
	formatATIF = "atif"
)

// results prints the tasks that have ended.
func (f *fleetOf) results(ctx context.Context, to io.Writer, filter index.Filter) error {
	out := bufio.NewWriter(to)
	exitErr, err := f.eachEnded(ctx, filter, func(u fleet.TaskStatus) error { return writeLine(out, showStatus(u)) })
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return failed(err)
	}
	return exitErr
}

// eachEnded calls visit for each task that has ended. exitErr has the exit code of the program if
// a task has not completed.
func (f *fleetOf) eachEnded(
	ctx context.Context, filter index.Filter, visit func(fleet.TaskStatus) error,
) (exitErr, err error) {
	filter.State, filter.Limit = fleet.Ended, pageSize
	for {
		tasks, last, err := f.index.List(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, u := range tasks {
			if u.Result == nil || u.Result.Outcome != event.Completed {
				exitErr = &exitError{code: codeFailed}
			}
			if err := visit(u); err != nil {
				return nil, err
			}
		}
		if len(tasks) < pageSize {
			return exitErr, nil
		}
		filter.After = last
	}
}

func newLogs(d *database) *cobra.Command {
	var follow, asJSON bool
	var after uint64
	cmd := &cobra.Command{
		Use: "logs [-f] TASK | SESSION", Short: "Print the log of a session", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := d.open(cmd.Context())
			if err != nil {
				return err
			}
			defer f.close()
			session, _, _ := strings.Cut(args[0], "/")
			events := f.logs.Read(cmd.Context(), session, after)
			if follow {
				events = f.logs.Follow(cmd.Context(), session, after)
			}
			for e, err := range events {
				if err != nil {
					return failed(err)
				}
				if err := printEvent(cmd.OutOrStdout(), e, asJSON); err != nil {
					return failed(err)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "wait for more, until a signal comes")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print events as JSON, one a line")
	cmd.Flags().Uint64Var(&after, "after", 0, "begin after event `N`")
	return cmd
}

// printEvent prints an event as JSON, or a summary of it for people.
func printEvent(to io.Writer, e event.Event, asJSON bool) error {
	if asJSON {
		return writeLine(to, e)
	}
	text := ""
	switch d := e.Data.(type) {
	case event.ItemDelta, event.CallReady:
		return nil
	case event.ItemStarted:
		text = strings.TrimSpace(string(d.Type) + " " + d.Name)
	case event.InputAccepted:
		text = d.Text
	case event.ItemEnded:
		text = strings.TrimSpace(d.Text + d.Arguments + " " + d.Output)
		if d.Status != event.ItemCompleted {
			text += fmt.Sprintf(" (%s, effects %s)", d.Status, d.Effects)
		}
	case event.TurnCompleted:
		text = d.Answer
	case event.TurnAborted:
		text = (&event.Cause{Outcome: event.Aborted, Reason: d.Reason, Limit: d.Limit, Message: d.Message}).Error()
	case event.TurnFailed:
		text = event.Fail(d.Failure).Error()
	}
	_, err := fmt.Fprintf(
		to, "%s %4d %-18s %s\n", e.At.Local().Format(time.TimeOnly), e.Seq, e.Kind(), terminal.Text(text),
	)
	return err
}

func newCancel(d *database) *cobra.Command {
	return &cobra.Command{
		Use: "cancel TASK…", Short: "End tasks", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := d.openLazily(cmd.Context(), newLogger(cmd))
			if err != nil {
				return err
			}
			defer f.close()
			var errs error // after an error, the other tasks are cancelled all the same
			for _, taskID := range args {
				ok, err := f.engine.Cancel(cmd.Context(), taskID, "user")
				errs = errors.Join(errs, err)
				if err == nil && !ok {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s has ended already\n", taskID)
				}
			}
			return failed(errs)
		},
	}
}
