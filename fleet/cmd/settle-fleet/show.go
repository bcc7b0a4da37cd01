package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/lease"
	"github.com/settle-agent/settle/internal/printable"
)

// pageSize is how many units are read at a time.
const pageSize = 500

func newStatus(d *database) *cobra.Command {
	var labels map[string]string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status [UNIT]", Short: "Say how many tasks wait, run and have ended, or how one is", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := d.open(cmd.Context())
			if err != nil {
				return err
			}
			defer f.close()
			if len(args) == 1 {
				u, err := f.engine.State(cmd.Context(), args[0])
				if err != nil {
					return failed(err)
				}
				return failed(writeLine(cmd.OutOrStdout(), u))
			}
			c, err := f.engine.Count(cmd.Context(), labels)
			if err != nil {
				return failed(err)
			}
			if asJSON {
				return failed(writeLine(cmd.OutOrStdout(), c))
			}
			fmt.Fprintf(cmd.OutOrStdout(), "queued %d, running %d, ended %d (completed %d, failed %d, aborted %d); workers lost %d\n",
				c.Queued, c.Running, c.Ended, c.Completed, c.Failed, c.Aborted, c.Lost)
			return nil
		},
	}
	defineLabels(cmd, &labels)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func defineLabels(cmd *cobra.Command, labels *map[string]string) {
	cmd.Flags().StringToStringVar(labels, "label", nil, "only tasks with `KEY=VALUE`; repeatable")
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

With --wait, wait until all have ended, and print how far they are to standard error.
The exit code is 0 if every task that was printed has completed, and 1 otherwise.`

func newResults(d *database) *cobra.Command {
	var labels map[string]string
	var wait bool
	cmd := &cobra.Command{
		Use: "results", Short: "Print the results of tasks", Long: resultsHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := d.open(cmd.Context())
			if err != nil {
				return err
			}
			defer f.close()
			if wait {
				p := newProgress(cmd.ErrOrStderr())
				if err := fleet.Await(cmd.Context(), func(ctx context.Context) (int, error) {
					c, err := f.engine.Count(ctx, labels)
					p.show(c)
					return c.Queued + c.Running, err
				}); err != nil {
					return failed(err)
				}
			}
			return results(cmd.Context(), cmd.OutOrStdout(), f.engine, labels)
		},
	}
	defineLabels(cmd, &labels)
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until all tasks have ended")
	return cmd
}

// results prints the units that have ended.
func results(ctx context.Context, to io.Writer, e *lease.Engine, labels map[string]string) error {
	out := bufio.NewWriter(to)
	filter := lease.Filter{State: fleet.Ended, Labels: labels, Limit: pageSize}
	incomplete := false
	for {
		units, last, err := e.List(ctx, filter)
		if err != nil {
			return failed(err)
		}
		for _, u := range units {
			incomplete = incomplete || u.Result == nil || u.Result.Outcome != event.Completed
			if err := writeLine(out, u); err != nil {
				return failed(err)
			}
		}
		if len(units) < pageSize {
			break
		}
		filter.After = last
	}
	if err := out.Flush(); err != nil {
		return failed(err)
	}
	if incomplete {
		return &exitError{code: codeFailed}
	}
	return nil
}

// progressDelay is how often progress is shown.
const progressDelay = 2 * time.Second

// progress says how far tasks are, and when they may be done.
type progress struct {
	to          io.Writer
	began, last time.Time
	ended       int // when it began
}

func newProgress(to io.Writer) *progress { return &progress{to: to} }

func (p *progress) show(c lease.Counts) {
	now := time.Now()
	if p.began.IsZero() {
		p.began, p.ended = now, c.Ended
	}
	if now.Sub(p.last) < progressDelay && c.Queued+c.Running > 0 {
		return
	}
	p.last = now
	line := fmt.Sprintf("%d of %d ended, %d running", c.Ended, c.Queued+c.Running+c.Ended, c.Running)
	if rate := float64(c.Ended-p.ended) / now.Sub(p.began).Seconds(); now.Sub(p.began) >= progressDelay && rate > 0 {
		line += fmt.Sprintf("; %.1f/s", rate)
		if left := c.Queued + c.Running; left > 0 {
			line += fmt.Sprintf(", about %s left", time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second))
		}
	}
	fmt.Fprintln(p.to, line)
}

func newLogs(d *database) *cobra.Command {
	var follow, asJSON bool
	var after uint64
	cmd := &cobra.Command{
		Use: "logs [-f] UNIT | SESSION", Short: "Print the log of a session", Args: cobra.ExactArgs(1),
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

// printEvent prints an event as JSON, or what of it a person wants to know.
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
	_, err := fmt.Fprintf(to, "%s %4d %-18s %s\n", e.At.Local().Format(time.TimeOnly), e.Seq, e.Kind(), printable.Text(text))
	return err
}

func newCancel(d *database) *cobra.Command {
	return &cobra.Command{
		Use: "cancel UNIT…", Short: "End tasks", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := d.open(cmd.Context())
			if err != nil {
				return err
			}
			defer f.close()
			for _, unit := range args {
				ok, err := f.engine.Cancel(cmd.Context(), unit, "user")
				if err != nil {
					return failed(err)
				}
				if !ok {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s has ended already\n", unit)
				}
			}
			return nil
		},
	}
}
