package assemble

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/prompt"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/search"
	"github.com/settle-agent/settle/tool/shell"
)

// remoteTools is the executor on another machine, as it answered while the agent was built.
type remoteTools struct {
	command string
	lease   time.Duration
	settle  string          // this program's version
	host    string          // this machine's name
	shared  *SharedExecutor // from the Options
	install *executor.Install
	env     []string // of the connecting command
	dir     string
	machine executor.Machine
	prompt  prompt.Prompt // about its directory
	missing error         // reason why it cannot sandbox commands; nil if it can
	tried   int           // number of probed escapes from its sandbox
	network string        // of sandboxed commands there
	layers  layers        // of workspaces there
}

const (
	// promptCall requests the executor's part of the system prompt; its Args are
	// promptOrder.
	promptCall = "prompt"
	// reachTimeout bounds the first connection to the executor.
	reachTimeout = 30 * time.Second
	// reachRetries is the number of immediate retries.
	reachRetries = 3
	// maxReachDelay is the longest delay between later retries.
	maxReachDelay = time.Second
	// closeTimeout bounds the end of the connection.
	closeTimeout = 3 * time.Second
	// remoteEndTimeout is the additional time after the grace for the report that a command
	// ended; without a report, the command counts as a survivor.
	remoteEndTimeout = time.Second
)

type promptOrder struct {
	Environment bool `json:"environment"` // including settle's own words
	Project     bool `json:"project"`
	Sandbox     bool `json:"sandbox"` // probe the sandbox
}

// promptAnswer is the answer to a promptOrder.
type promptAnswer struct {
	Prompt  prompt.Prompt `json:"prompt"`
	Missing string        `json:"missing,omitempty"` // reason why there is no sandbox
	Tried   int           `json:"tried,omitempty"`   // number of probed escapes
	Network string        `json:"network,omitempty"` // of sandboxed commands
	// Viewless, Joined and Crowded are the reasons in layers; OwnProcesses reports that the
	// executor knows Crowded and has no reason. An older executor sends neither.
	Viewless string `json:"viewless,omitempty"`
	Joined   string `json:"joined,omitempty"`
	Crowded  string `json:"crowded,omitempty"`

	OwnProcesses bool `json:"own_processes,omitempty"`
}

// reach connects to the executor and reads its description; nil if tools run on this
// machine.
func (o Options) reach(ctx context.Context, env []string) (*remoteTools, error) {
	if o.Settings.Executor == "" {
		return nil, nil // there is none
	}
	r := &remoteTools{
		command: o.Settings.Executor, lease: o.Settings.ExecutorLease, settle: o.Version, env: env,
		dir: o.Dir, shared: o.SharedExecutor,
	}
	r.host, _ = os.Hostname() // part of the session's identity
	if o.Settings.ExecutorInstall == config.InstallMissing {
		program, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("cannot find this program: %w", err)
		}
		r.install = &executor.Install{Program: program}
	}
	order, err := json.Marshal(promptOrder{
		Environment: o.System == nil && o.SystemFile == "",
		Project:     o.Project != IgnoreProject,
		Sandbox:     o.sandboxUse() != config.SandboxOff,
	})
	if err != nil {
		return nil, err
	}
	var answer promptAnswer
	err = r.retry(ctx, func(ctx context.Context) (err error) {
		answer, err = r.ask(ctx, order)
		return err
	}, func(err error) bool { return errors.As(err, new(*executor.LostError)) }) // the connection was cut
	if err != nil {
		return nil, &config.Error{Where: "executor", Message: err.Error()}
	}
	if r.prompt, r.tried, r.network = answer.Prompt, answer.Tried, answer.Network; answer.Missing != "" {
		r.missing = errors.New(answer.Missing)
	}
	if answer.Viewless != "" {
		r.layers.viewless = errors.New(answer.Viewless)
	}
	if answer.Joined != "" {
		r.layers.joined = errors.New(answer.Joined)
	}
	if !answer.OwnProcesses {
		r.layers.crowded = errors.New(cmp.Or(answer.Crowded, "the executor does not hide them"))
	}
	return r, r.check(o)
}

// retry calls try until it succeeds: a few times immediately if worthwhile accepts the
// error, and then, for a shared executor, with a delay until at least the lease has passed,
// because the executor can be restarting and no person is there to retry.
func (r *remoteTools) retry(ctx context.Context, try func(context.Context) error, worthwhile func(error) bool) error {
	limit := reachTimeout
	if r.shared != nil {
		limit = max(limit, r.lease)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	delay := maxReachDelay >> reachRetries
	var last error // more informative than the timeout
	for n := 0; ; n++ {
		err := try(ctx)
		if err != nil && ctx.Err() != nil {
			return cmp.Or(last, err)
		}
		last = err
		switch {
		case err == nil || errors.As(err, new(*executor.RefusedError)):
			return err
		case n < reachRetries && worthwhile(err):
			continue
		case r.shared == nil:
			return err
		}
		if scope.Sleep(ctx, delay) != nil {
			return err
		}
		delay = min(2*delay, maxReachDelay)
	}
}

// ask requests the executor's description of its machine and directory.
func (r *remoteTools) ask(ctx context.Context, order []byte) (answer promptAnswer, err error) {
	remote, leave, err := r.connect(ctx, settle.SessionInfo{}, &notices{})
	if err != nil {
		return answer, fmt.Errorf("%q leads nowhere: %w", r.command, err)
	}
	defer func() { _ = leave(ctx) }() // the call started nothing there
	r.machine = remote.Machine()
	raw, err := remote.Call(ctx, executor.Request{Name: promptCall, Args: order})
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	if err != nil {
		return answer, fmt.Errorf("cannot ask the machine at the other end of %q about its directory: %w", r.command,
			err)
	}
	return answer, nil
}

// check refuses the directories that CheckDirectory refuses on this machine.
func (r *remoteTools) check(o Options) error {
	m := r.machine
	if m.Container || o.permission() != settle.Allow || o.Settings.Origins["permission"].Kind == config.Flag ||
		m.Dir != "/" && m.Dir != m.Home {
		return nil
	}
	return &config.Error{
		Where: "executor",
		Message: fmt.Sprintf("refusing to work in %q on %s, where a mistake could affect everything; "+
			"have the command change to a project directory first, or use --permission allow if you mean it", m.Dir,
			m.Name),
	}
}

// connect connects a session to the executor. leave ends all its processes there.
func (r *remoteTools) connect(ctx context.Context, info settle.SessionInfo, n *notices) (remote *executor.Remote,
	leave func(context.Context) error, err error,
) {
	way := &executor.CommandDialer{Command: r.command, Env: r.env, Dir: r.dir, Lock: info.Lock, Install: r.install}
	if info.Marker != "" {
		// The connecting command has its own marker: the sweep of an earlier host's
		// processes by the session's marker happens after it starts.
		way.Marker = info.Marker + "-way"
		_, _ = proc.Sweep(way.Marker) // no other process can end the survivors either
	}
	marker := info.Marker
	var takeOver func(*executor.Remote, []executor.HandedOverCommand)
	if r.shared != nil && info.ID != "" {
		takeOver = r.shared.takeOver
		// An executor on this machine keeps processes that a sweep must not end.
		marker = r.shared.name + "/" + info.ID
	}
	remote, err = executor.NewRemote(ctx, executor.RemoteConfig{
		Dial: way.Dial, Settle: r.settle, Session: r.identity(info), Epoch: info.Epoch, Marker: marker,
		Lease: r.lease, TakeOver: takeOver, Notice: n.take,
	})
	leave = func(ctx context.Context) error {
		var err error
		if remote != nil {
			err = remote.Close(ctx)
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		return errors.Join(err, way.Close(bounded))
	}
	if err != nil {
		return nil, nil, errors.Join(err, leave(ctx))
	}
	return remote, leave, nil
}

// identity is the session's name on the executor, which other hosts also use: sessions of
// different hosts can have the same id.
func (r *remoteTools) identity(info settle.SessionInfo) string {
	if info.ID == "" {
		return ""
	}
	if r.shared != nil {
		return strings.Join([]string{info.ID, r.shared.name}, "\x00")
	}
	return strings.Join([]string{info.ID, info.Marker, r.host}, "\x00")
}

// open connects a new session to the executor.
func (r *remoteTools) open(info settle.SessionInfo, n *notices) (*executor.Remote, func(context.Context) error, error) {
	var remote *executor.Remote
	var leave func(context.Context) error
	err := r.retry(context.Background(), func(ctx context.Context) (err error) {
		remote, leave, err = r.connect(ctx, info, n)
		return err
	}, func(error) bool { return true }) // the executor was reachable a moment ago
	if err != nil {
		return nil, nil, fmt.Errorf("cannot reach the executor with %q: %w", r.command, err)
	}
	for _, e := range remote.Ended() {
		n.log(fmt.Sprintf("the executor ended a process of an earlier run: %q, pid %d", e.Command, e.PID))
	}
	return remote, leave, nil
}

// SharedExecutor is an executor whose sessions belong to any host that opens them, such as
// the workers of a fleet. The new host takes over the processes of an earlier host instead
// of ending them.
type SharedExecutor struct {
	name     string
	takeOver func(*executor.Remote, []executor.HandedOverCommand)
	reattach func(*executor.Remote, *shell.Jobs) func(context.Context) []settle.Reattached
}

// ShareExecutor returns the shared executor for the sessions under the name.
func ShareExecutor(name string) *SharedExecutor {
	return &SharedExecutor{name: name, takeOver: executor.TakeOver, reattach: reattach}
}

// reattach takes over the processes that an earlier host's calls have started there.
func reattach(remote *executor.Remote, jobs *shell.Jobs) func(context.Context) []settle.Reattached {
	return func(ctx context.Context) (all []settle.Reattached) {
		for _, k := range executor.TakenCommands(remote) {
			if text, job := shell.Reattach(ctx, jobs, k); text != "" {
				all = append(all, settle.Reattached{Call: k.Call, Text: text, Job: job})
			}
		}
		return all
	}
}

// commands are the tools of commands, which run in the executor's directory.
func (r *remoteTools) commands(tools []tool.Tool, n *notices) []tool.Tool {
	var all []tool.Tool
	for _, t := range tools {
		all = append(all, remoteCommandTool{Tool: t, dir: r.machine.Dir, notices: n})
	}
	return all
}

// refuseRelease refuses to release a process on a machine where no one would end it.
func (r *remoteTools) refuseRelease(context.Context, string) error {
	return fmt.Errorf(
		"cannot release the process: commands run on another machine (%s), where it would never end; start it as a job, which ends with the session",
		r.machine.Name,
	)
}

// note describes the executor to the user.
func (r *remoteTools) note() string {
	text := fmt.Sprintf("commands and files: %s on %s (%s)", r.machine.Dir, r.machine.Name, r.command)
	if len(r.machine.Weaker) > 0 {
		text += "; there, " + strings.Join(r.machine.Weaker, "; ")
	}
	return text
}

// files are the tools for files there. Their specs and results are the same as on this
// machine.
func (r *remoteTools) files(h executor.Executor, info settle.SessionInfo, n *notices, private bool) []tool.Tool {
	var all []tool.Tool
	for _, t := range fileTools(file.Config{}, search.Config{}) {
		all = append(all, remoteFileTool{
			Tool: t, executor: h, machine: r.machine, masked: info.Masked, private: private,
			notices: n,
		})
	}
	return all
}

// fileTools are the tools for files.
func fileTools(c file.Config, s search.Config) []tool.Tool {
	return slices.Concat(file.NewWorkspace(c).Tools(), search.Tools(s))
}

// remoteFileTool is a tool whose calls run on the executor, in one round trip each.
type remoteFileTool struct {
	tool.Tool
	executor executor.Executor
	machine  executor.Machine
	masked   func(string) bool
	private  bool
	notices  *notices
}

// remoteCall is the Args of a tool call.
type remoteCall struct {
	Args    json.RawMessage `json:"args"`
	Private bool            `json:"private,omitempty"` // a search of a folder returns no lines of files with secrets
	// Places are the Places of [tool.Call]: the decision is about them, and the executor
	// opens nothing else.
	Places []event.ResolvedPath `json:"places"`
}

// Title implements tool.Titler.
func (t remoteFileTool) Title(args json.RawMessage) string {
	if titler, ok := t.Tool.(tool.Titler); ok {
		return titler.Title(args)
	}
	return t.Spec().Name
}

// Run implements tool.Tool.
func (t remoteFileTool) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	if err := file.CheckMask(call.Name, call.Args, t.masked); err != nil {
		return tool.Result{}, err
	}
	args, err := json.Marshal(remoteCall{Args: call.Args, Private: t.private, Places: call.Places})
	if err != nil {
		return tool.Result{}, fmt.Errorf("cannot send the call: %w", err)
	}
	defer t.notices.watch(call.Notice)()
	raw, err := t.executor.Call(ctx, executor.Request{Name: call.Name, Call: call.ID, Dir: t.machine.Dir, Args: args})
	var lost *executor.LostError
	switch {
	case errors.As(err, &lost) && t.Spec().ReadOnly:
		return tool.Result{Failed: true, Output: lost.Error()}, nil
	case errors.As(err, &lost):
		return tool.Result{Unknown: true, Output: "[" + lost.Error() + "]"}, nil
	case err != nil:
		return tool.Result{}, err
	}
	var result tool.Result
	if err := json.Unmarshal(raw, &result); err != nil {
		return tool.Result{}, fmt.Errorf("cannot read what came of the call: %w", err)
	}
	if string(result.Detail) == "null" {
		result.Detail = nil
	}
	return result, nil
}

// remoteCommandTool is a tool whose working directory is on another machine.
type remoteCommandTool struct {
	tool.Tool
	dir     string
	notices *notices
}

// Title implements tool.Titler.
func (t remoteCommandTool) Title(args json.RawMessage) string {
	if titler, ok := t.Tool.(tool.Titler); ok {
		return titler.Title(args)
	}
	return t.Spec().Name
}

// Run implements tool.Tool.
func (t remoteCommandTool) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	call.Dir = t.dir
	defer t.notices.watch(call.Notice)()
	return t.Tool.Run(ctx, call)
}

// promptOf returns the system prompt of a session whose tools run there.
func (r *remoteTools) promptOf(o prompt.Options) prompt.Prompt {
	p := r.prompt
	var parts []prompt.Part
	if o.Replace != nil {
		parts = append(parts, prompt.Part{Name: "replacement", Text: *o.Replace})
	}
	user := prompt.User(o)
	p.Notes = append(slices.Clone(p.Notes), user.Notes...)
	parts = append(parts, prompt.Part{Name: prompt.PartUser, Text: user.Text})
	there, isOwn := strings.CutPrefix(r.prompt.Text, prompt.Own(prompt.Others))
	if isOwn {
		parts = append(parts, prompt.Part{Name: prompt.PartOwn, Text: prompt.Own(prompt.Others)})
	}
	parts = append(
		parts,
		prompt.Part{Name: "executor", Text: there},
		prompt.Part{Name: prompt.PartAppended, Text: o.Append},
	)
	return p.Join(parts...)
}
