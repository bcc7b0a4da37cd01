package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/run"
	"github.com/settle-agent/settle/internal/frontend/sessions"
	"github.com/settle-agent/settle/internal/hostsocket"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/tool/plan"
)

const approvalsHelp = `List the held calls. A call is held if it waited for your approval when settle
stopped or died: its turn has ended, and you can still answer the question. A
unique prefix of an ID is enough.

An approved call runs in a new turn of its session, exactly as the question showed
it. The first verdict counts, but you can deny an approved call that has not begun. A
held call does not expire.`

const approveHelp = `Approve a held call. It runs in a new turn, and the model continues with its result,
like "settle run". If another process has the session open, the call runs there,
and only --permission has a meaning, for a plan. A process that ends with its turn
("settle run") runs no other call: the exit code is 1, and you approve the call
again when that process has ended.

The session keeps its model and sandbox, unless a flag, a variable or your
configuration gives others, and the permission in which the question was asked: a
variable or your configuration can only make it stricter. For a plan, --permission
chooses the permission of the work; without it and without a configured one, the
work asks. If the call's files, links, directory or sandbox, the reason of the
question, or the content of a program or script in the working directory that the
command names have changed since, settle asks again. If no person can be asked, or a
rule denies the call now, it stays held and the exit code is 2; the same holds for a
plan whose work would ask.
If the call does not run for another reason, standard error says so and the exit code
is 1. A call that has a verdict already does not run again: the exit code is 1. If
settle stopped after the verdict and before the call, or you interrupted the turn
before it, approve it again to run it.`

func newApprovals(s *streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "approvals", Short: "List, show, approve and deny calls that waited when settle stopped",
		Long:    approvalsHelp,
		Example: "  settle approvals\n  settle approvals show 3f9c\n  settle approvals approve 3f9c",
		Args:    known,
	}
	dataDir := cmd.Flags().String("data-dir", "", "`DIR` for sessions and logs")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	cmd.RunE = func(*cobra.Command, []string) error {
		dir, err := s.storedIn(*dataDir)
		if err != nil {
			return err
		}
		if asJSON {
			return failed(sessions.HeldCallsJSON(s.lines(), dir))
		}
		const none = "no calls are held; \"settle attach\" answers the question of a session that runs"
		return s.list(none, func(to io.Writer) error { return sessions.HeldCalls(to, dir) })
	}
	cmd.AddCommand(newApprovalShow(s), newApprove(s), newDeny(s))
	return cmd
}

func newApprovalShow(s *streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show the whole question of a held call", Args: cobra.ExactArgs(1),
		Long: "Show the whole question of a held call, and its verdict if it has one.",
	}
	dataDir := cmd.Flags().String("data-dir", "", "`DIR` for sessions and logs")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		_, h, err := s.heldCall(*dataDir, args[0])
		if err != nil {
			return err
		}
		if asJSON {
			return failed(sessions.ShowHeldCallJSON(s.lines(), h))
		}
		return failed(sessions.ShowHeldCall(s.stdout, h))
	}
	return cmd
}

func newApprove(s *streams) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "approve [flags] ID", Short: "Approve a held call and run it", Long: approveHelp, Args: cobra.ExactArgs(1),
		Example: "  settle approvals approve 3f9c\n  settle approvals approve 3f9c --json > events.jsonl",
	}
	settingFlags(cmd.Flags())
	f.defineOutput(cmd.Flags())
	f.projectFlags.define(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("quiet", "verbose")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dataDir := cmd.Flag("data-dir").Value.String()
		return s.decide(cmd.Context(), dataDir, args[0], func(dir string, h store.HeldCall) error {
			return f.approve(cmd, s, dir, h)
		})
	}
	return cmd
}

// approve gives the approval to the process that has the session open, or else runs the call.
func (f *runFlags) approve(cmd *cobra.Command, s *streams, dir string, h store.HeldCall) error {
	answer := settle.Answer{Approval: h.ID, Verdict: event.Approved, By: "user"}
	if given := cmd.Flag("permission"); given.Changed {
		answer.Permission = given.Value.String()
	}
	if h.Approval.Tool == plan.ProposeName && answer.Permission != "" {
		if !slices.Contains(event.PlanModes(), answer.Permission) {
			return fmt.Errorf("cannot accept held plan %s with --permission %q: it is not one of %s",
				h.Short, answer.Permission, strings.Join(event.PlanModes(), ", "))
		}
		f.work = answer.Permission
	}
	own := ownFlags(cmd)
	if hosted, err := sessions.AnswerInHost(cmd.Context(), s.stdout, dir, h, answer, own...); hosted {
		return failed(err)
	}
	f.resume, f.dir, f.held = h.Session, h.Turn.Dir, &h
	f.worktree.outside = true
	if w := assemble.RecordedWorktree(dir, h.Session); w != nil && w.Dir == h.Turn.Dir {
		f.dir, f.worktree.outside = w.From, false // the worktree may be gone, and is made again
	}
	code, err := f.run(cmd, s, nil)
	if err != nil || code == stdio.CodeCompleted {
		return err
	}
	if !f.opened { // another process can have opened the session since, with a verdict
		if now, err := store.FindHeldCall(dir, h.ID); err == nil && !now.Runs() {
			if err := sessions.AnsweredBefore(now); err != nil {
				return failed(err)
			}
		}
	}
	return &exitError{code: code} // the command has printed the cause
}

const (
	// decideTimeout bounds how long a verdict waits for a process that opens the session, or that
	// has it open and has no control socket: it records a verdict. decideDelay is between attempts.
	decideTimeout = 5 * time.Second
	decideDelay   = 50 * time.Millisecond
)

// decide calls give, which gives a verdict to the held call that the ID names. Other processes can
// give a verdict at the same time: decide retries until it has the verdict that counts.
func (s *streams) decide(
	ctx context.Context, dataDir, id string, give func(dir string, h store.HeldCall) error,
) error {
	for deadline := time.Now().Add(decideTimeout); ; {
		dir, h, err := s.heldCall(dataDir, id)
		if err == nil {
			if err := sessions.AnsweredBefore(h); err != nil && !h.Runs() {
				return failed(err)
			}
			err = give(dir, h)
		}
		cause := err
		if exit, ok := errors.AsType[*exitError](err); ok {
			cause = exit.err
		}
		isContended := errors.Is(cause, store.ErrRecovering) || errors.Is(cause, hostsocket.ErrNoAnswer) ||
			errors.As(cause, new(*settle.LockedError))
		if !isContended || time.Now().After(deadline) {
			return err
		}
		if err := scope.Sleep(ctx, decideDelay); err != nil {
			return failed(err)
		}
	}
}

// ownFlags returns the names of the given flags that have no meaning for a process that has the session open.
func ownFlags(cmd *cobra.Command) (names []string) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains([]string{"data-dir", "permission", "quiet", "verbose"}, flag.Name) {
			names = append(names, flag.Name)
		}
	})
	return names
}

// restrictHeld gives the agent the sandbox of the held call's turn, and the stricter one of the permission with
// which the turn began and the permission in which its question was asked. Only a flag loosens it. It reports whether
// the session continues in plan mode.
func (f *runFlags) restrictHeld(o *assemble.Options, r *config.Resolved) (plans bool) {
	h := f.held
	permission := f.heldPermission()
	if plans = f.heldPlans(r); plans {
		permission = assemble.PlanMode().Permission.Stricter(h.Turn.Start.Permission)
	}
	o.Permission = cmp.Or(permission, o.Permission)
	if h.Sandboxed {
		o.Sandbox = config.SandboxAuto
	}
	if !isPermissionFlag(r) && h.Approval.Tool != plan.ProposeName {
		strict := *r
		strict.Permission = r.Permission.Stricter(permission)
		o.Settings = &strict
	}
	return plans
}

// heldPermission returns the stricter one of the permissions of the held call's question and of its turn.
func (f *runFlags) heldPermission() event.Permission {
	return event.Permission(f.held.Approval.Permission).Stricter(f.held.Turn.Start.Permission)
}

// heldPlans reports whether the session of the held call continues in plan mode.
func (f *runFlags) heldPlans(r *config.Resolved) bool {
	h := f.held
	switch {
	case h.Approval.Tool == plan.ProposeName:
		return true
	case isPermissionFlag(r):
		return false
	case h.Approval.Permission == "": // an earlier version did not record it
		return assemble.PlanModeIn(r.DataDir, h.Session)
	}
	return h.Approval.Permission == assemble.PlanMode().Name
}

// heldFlags returns the given settings. The permission of a plan's work can be a mode that is no setting.
func (f *runFlags) heldFlags(all map[string]string) map[string]string {
	if f.work != "" && event.Permission(f.work).Strictness() < 0 {
		delete(all, "permission")
	}
	return all
}

// heldWork returns the mode in which the work on a held plan begins, and the permission that bounds it; empty
// if a flag chose the mode.
func (f *runFlags) heldWork(r *config.Resolved) (work assemble.Mode, ceiling event.Permission) {
	if m, err := assemble.ModeNamed(f.work); err == nil { // a flag
		return m, ""
	}
	// The session can have been opened with more than the mode before plan mode.
	return assemble.ModeOf(cmp.Or(r.Permission, event.Ask.Stricter(f.held.Turn.Start.Permission))), r.Permission
}

// checkHeld refuses a plan whose work would ask, if no person can be asked: nothing of it would run.
func (f *runFlags) checkHeld(s *streams, r *config.Resolved, format run.Format) error {
	if f.held == nil || f.held.Approval.Tool != plan.ProposeName || f.asks(s, format) {
		return nil
	}
	if work, _ := f.heldWork(r); work.Name != string(event.Ask) {
		return nil
	}
	return fmt.Errorf(
		"cannot accept held plan %s: its work would ask before each change, and no person can be asked; it stays "+
			"held. Choose --permission accept-edits or allow, or accept it on a terminal", f.held.Short,
	)
}

// isPermissionFlag reports whether a flag gave the permission.
func isPermissionFlag(r *config.Resolved) bool { return r.Origins["permission"].Kind == config.Flag }

func newDeny(s *streams) *cobra.Command {
	var message string
	cmd := &cobra.Command{
		Use: "deny ID", Short: "Deny a held call", Args: cobra.ExactArgs(1),
		Long: "Deny a held call. No model is called: the model receives the denial with the\nsession's next input.",
	}
	dataDir := cmd.Flags().String("data-dir", "", "`DIR` for sessions and logs")
	cmd.Flags().StringVar(&message, "message", "", "`TEXT` for the model: why, or what to do instead")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return s.decide(cmd.Context(), *dataDir, args[0], func(dir string, h store.HeldCall) error {
			answer := settle.Answer{Approval: h.ID, Verdict: event.Denied, Message: message, By: "user"}
			if hosted, err := sessions.AnswerInHost(cmd.Context(), s.stdout, dir, h, answer); hosted {
				return failed(err)
			}
			return failed(sessions.Deny(cmd.Context(), s.stdout, dir, version(), h, message))
		})
	}
	return cmd
}

// heldCall returns the data directory, and the held call that the ID names.
func (s *streams) heldCall(dataDir, id string) (string, store.HeldCall, error) {
	dir, err := s.storedIn(dataDir)
	if err != nil {
		return "", store.HeldCall{}, err
	}
	h, err := store.FindHeldCall(dir, id)
	return dir, h, failed(err)
}
