package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/index"
	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/frontend/sessions"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/terminal"
)

const approvalsHelp = `List the held calls. A call that needs a person is held: its turn has ended, its task is
held, and no worker waits for the answer. A unique prefix of an ID is enough.

When all held calls of a task have a verdict, a worker continues the task in a new turn. It
runs the approved calls, exactly as their questions showed them, and the model receives
the results and the denials. The first verdict counts. A held call does not expire;
settle-fleet cancel ends its task without a verdict.`

const approveHelp = `Approve a held call. A worker runs it in a new turn of its session.

If the call's files, links, directory or sandbox, or the reason of the question, have
changed since, the worker asks again, and the task is held again. A call that has a
verdict already does not run again: the exit code is 1.`

const denyHelp = `Deny a held call. It does not run; the model receives the denial and continues the task.`

func newApprovals(d *database) *cobra.Command {
	var sel selection
	var asJSON bool
	cmd := &cobra.Command{
		Use: "approvals", Short: "List, show, approve and deny calls that wait for a person", Long: approvalsHelp,
		Example: "  settle-fleet approvals\n  settle-fleet approvals show 3f9c\n  settle-fleet approvals approve 3f9c",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := d.open(cmd.Context())
			if err != nil {
				return err
			}
			defer f.close()
			calls, err := f.heldCalls(cmd.Context(), sel.filter())
			switch {
			case err != nil:
				return failed(err)
			case asJSON:
				return failed(f.printHeldJSON(cmd.Context(), cmd.OutOrStdout(), calls))
			case len(calls) == 0:
				_, err := fmt.Fprintln(cmd.ErrOrStderr(), "no calls are held")
				return failed(err)
			}
			return failed(printHeld(cmd.OutOrStdout(), calls))
		},
	}
	sel.define(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	cmd.AddCommand(newApprovalShow(d), newVerdict(d, event.Approved), newVerdict(d, event.Denied))
	return cmd
}

func newApprovalShow(d *database) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show the whole question of a held call", Args: cobra.ExactArgs(1),
		Long: "Show the whole question of a held call, and its verdict if it has one.",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := d.open(cmd.Context())
			if err != nil {
				return err
			}
			defer f.close()
			call, err := f.findHeld(cmd.Context(), args[0])
			if err != nil {
				return failed(err)
			}
			if asJSON {
				return failed(f.printHeldJSON(cmd.Context(), cmd.OutOrStdout(), []heldCall{call}))
			}
			question, err := f.question(cmd.Context(), call)
			if err != nil {
				return failed(err)
			}
			if err := sessions.ShowHeldCall(cmd.OutOrStdout(), question); err != nil || call.verdict == nil {
				return failed(err)
			}
			text := "it was " + string(call.verdict.Verdict)
			if call.verdict.Verdict == event.Expired {
				text = "its task was cancelled"
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "\n%s by %s\n", text, call.verdict.By)
			return failed(err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// newVerdict is the command that approves or denies a held call.
func newVerdict(d *database, verdict event.Verdict) *cobra.Command {
	var message string
	cmd := &cobra.Command{
		Use: "approve ID", Short: "Approve a held call", Long: approveHelp, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			secrets, err := d.secrets()
			if err != nil {
				return err
			}
			f, err := d.openLazily(cmd.Context(), newLogger(cmd))
			if err != nil {
				return err
			}
			defer f.close()
			return failed(f.decide(cmd.Context(), cmd.OutOrStdout(), args[0], fleet.Verdict{
				Verdict: verdict, Message: redact.New(secrets...).String(message), By: "user", At: time.Now().UTC(),
			}))
		},
	}
	if verdict == event.Denied {
		cmd.Use, cmd.Short, cmd.Long = "deny ID", "Deny a held call", denyHelp
		cmd.Flags().StringVar(&message, "message", "", "`TEXT` for the model: why, or what to do instead")
	}
	return cmd
}

// decide gives the verdict about a held call.
func (f *fleetOf) decide(ctx context.Context, to io.Writer, id string, v fleet.Verdict) error {
	call, err := f.findHeld(ctx, id)
	if err != nil {
		return err
	}
	v.Call = call.ID
	queued, err := f.engine.Answer(ctx, call.task.ID, v)
	if err != nil {
		return fmt.Errorf("cannot answer held call %s: %w", call.short, err)
	}
	effect := "a worker continues task " + call.task.ID
	if !queued {
		effect = fmt.Sprintf("task %s still waits for verdicts about other calls", call.task.ID)
	}
	_, err = fmt.Fprintf(to, "%s %s: %s\n", v.Verdict, call.short, effect)
	return err
}

// heldCall is a held call of a task.
type heldCall struct {
	fleet.HeldCall
	task    fleet.TaskStatus
	short   string // the beginning of the id that no other held call has
	verdict *fleet.Verdict
}

// heldCalls returns the calls of the tasks that are held, also those that have a verdict while their
// task waits for another one.
func (f *fleetOf) heldCalls(ctx context.Context, filter index.Filter) (calls []heldCall, err error) {
	filter.State, filter.Limit = fleet.Held, pageSize
	for {
		tasks, last, err := f.index.List(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, u := range tasks {
			for _, h := range u.Result.Held {
				calls = append(calls, heldCall{HeldCall: h, task: u, verdict: index.VerdictOn(u, h.ID)})
			}
		}
		if filter.After = last; len(tasks) < pageSize {
			break
		}
	}
	var ids []string
	for _, c := range calls {
		ids = append(ids, c.ID)
	}
	short := store.Shortest(ids)
	for n := range calls {
		calls[n].short = short[calls[n].ID]
	}
	return calls, nil
}

// findHeld returns the held call that a person means, by its id or the beginning of it. A call that
// does not wait any more has the verdict that counted.
func (f *fleetOf) findHeld(ctx context.Context, id string) (heldCall, error) {
	if id == "" {
		return heldCall{}, fmt.Errorf("there is no held call %q; \"settle-fleet approvals\" lists held calls", id)
	}
	calls, err := f.heldCalls(ctx, index.Filter{})
	if err != nil {
		return heldCall{}, err
	}
	calls = slices.DeleteFunc(calls, func(c heldCall) bool { return !strings.HasPrefix(c.ID, id) })
	if len(calls) == 0 {
		if calls, err = f.callsWithVerdict(ctx, id); err != nil {
			return heldCall{}, err
		}
	}
	switch len(calls) {
	case 0:
		return heldCall{}, fmt.Errorf("there is no held call %q; \"settle-fleet approvals\" lists held calls", id)
	case 1:
		return calls[0], nil
	}
	return heldCall{}, fmt.Errorf(
		"held call %q is ambiguous: %d calls have ids that begin so; use more of the ID", id, len(calls),
	)
}

// callsWithVerdict returns the calls with a verdict whose ids begin with the text.
func (f *fleetOf) callsWithVerdict(ctx context.Context, id string) (calls []heldCall, err error) {
	tasks, err := f.index.WithVerdict(ctx, id)
	for _, u := range tasks {
		for n, v := range u.Verdicts {
			if strings.HasPrefix(v.Call, id) {
				calls = append(calls, heldCall{
					HeldCall: fleet.HeldCall{ID: v.Call}, task: u, short: store.Shortest([]string{v.Call})[v.Call],
					verdict: &u.Verdicts[n],
				})
			}
		}
	}
	return calls, err
}

// question reads a held call from the log of its session.
func (f *fleetOf) question(ctx context.Context, c heldCall) (store.HeldCall, error) {
	session := c.task.Task.Session
	state := event.State{Session: session}
	for e, err := range f.logs.Read(ctx, session, 0) {
		if err == nil {
			state, err = event.Fold(state, e)
		}
		if err != nil {
			return store.HeldCall{}, err
		}
	}
	for _, h := range state.EverHeld() {
		if h.ID == c.ID {
			h.Verdict = nil // the task has it
			return store.HeldCall{HeldCall: h, Session: session, Short: c.short}, nil
		}
	}
	return store.HeldCall{}, fmt.Errorf("the log of session %s does not have held call %s", session, c.short)
}

func (c *heldCall) state() string {
	if c.verdict == nil {
		return string(fleet.Held)
	}
	return string(c.verdict.Verdict)
}

// maxTitle is the maximum length of a call's title in the table, in characters.
const maxTitle = 60

func printHeld(to io.Writer, calls []heldCall) error {
	var rows [][]string
	for _, c := range calls {
		title := c.Title
		if title == "" {
			title = c.Tool
		}
		rows = append(rows, []string{
			c.short, c.state(), c.task.ID, c.At.Local().Format(time.DateTime),
			terminal.Short(c.Tool+": "+title, maxTitle),
		})
	}
	return listing.Table(to, rows)
}

// heldLine is a held call as JSON: as settle approvals prints it, with its task.
type heldLine struct {
	TaskID string `json:"unit"`
	sessions.HeldLine
}

func (f *fleetOf) printHeldJSON(ctx context.Context, to io.Writer, calls []heldCall) error {
	for _, c := range calls {
		question, err := f.question(ctx, c)
		if err != nil {
			return err
		}
		line := heldLine{TaskID: c.task.ID, HeldLine: sessions.HeldLineOf(question)}
		line.State = c.state()
		if v := c.verdict; v != nil {
			line.Verdict, line.By = v.Verdict, v.By
		}
		if err := listing.JSON(to, []heldLine{line}); err != nil {
			return err
		}
	}
	return nil
}
