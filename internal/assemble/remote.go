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
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/search"
	"github.com/settle-agent/settle/tool/shell"
)

// remoteTools is another machine that tools work on, as it was when the agent was put
// together.
type remoteTools struct {
	command string
	lease   time.Duration
	settle  string          // this program's version
	host    string          // this machine's name
	shared  *SharedExecutor // as in Options
	install *executor.Install
	env     []string // of the command that leads there
	dir     string
	machine executor.Machine
	prompt  prompt.Prompt // of its directory
	missing error         // why commands cannot be confined there; nil if they can
	tried   int           // ways out of the sandbox there
	network string        // of confined commands there
	layers  layers        // of workspaces there
}

const (
	// promptCall asks hands what a system prompt says of their directory; its Args
	// are promptOrder.
	promptCall = "prompt"
	// reachTimeout bounds the first contact with hands.
	reachTimeout = 30 * time.Second
	// reachRetries is how often it is tried again at once.
	reachRetries = 3
	// maxReachDelay is the longest pause between attempts where nobody would try again.
	maxReachDelay = time.Second
	// closeTimeout bounds the end of what led to hands.
	closeTimeout = 3 * time.Second
	// remoteEndTimeout is how much longer than its grace the end of a command may take
	// to be heard of, before it is named as one that was not ended.
	remoteEndTimeout = time.Second
)

type promptOrder struct {
	Environment bool `json:"environment"` // and settle's own words
	Project     bool `json:"project"`
	Sandbox     bool `json:"sandbox"` // try it out
}

// promptAnswer answers it.
type promptAnswer struct {
	Prompt  prompt.Prompt `json:"prompt"`
	Missing string        `json:"missing,omitempty"` // why there is no sandbox
	Tried   int           `json:"tried,omitempty"`   // ways out of it
	Network string        `json:"network,omitempty"` // of confined commands
	// Viewless, Joined and Crowded are as in layers; OwnProcesses says that Crowded is
	// empty because there is no reason. An older executor has neither.
	Viewless string `json:"viewless,omitempty"`
	Joined   string `json:"joined,omitempty"`
	Crowded  string `json:"crowded,omitempty"`

	OwnProcesses bool `json:"own_processes,omitempty"`
}

// reach finds out about the other machine; nil if tools work on this one.
func (o Options) reach(ctx context.Context, env []string) (*remoteTools, error) {
	if o.Settings.Executor == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	r := &remoteTools{command: o.Settings.Executor, lease: o.Settings.ExecutorLease, settle: o.Version, env: env, dir: o.Dir, shared: o.SharedExecutor}
	r.host, _ = os.Hostname() // one of the things that tell sessions apart
	if o.Settings.ExecutorInstall == config.InstallMissing {
		program, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("cannot find this program: %w", err)
		}
		r.install = &executor.Install{Program: program}
	}
	order, err := json.Marshal(promptOrder{Environment: o.System == nil && o.SystemFile == "", Project: o.Project != IgnoreProject, Sandbox: cmp.Or(o.Settings.Sandbox.Use, o.Sandbox, config.SandboxOff) != config.SandboxOff})
	if err != nil {
		return nil, err
	}
	var answer promptAnswer
	err = r.retry(ctx, func(ctx context.Context) (err error) {
		answer, err = r.ask(ctx, order)
		return err
	}, func(err error) bool { return errors.As(err, new(*executor.LostError)) }) // the stream was cut
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

// retry tries to reach hands, and some more times at once if that is worthwhile. Hands
// that hosts share are waited for, at least as long as those that were lost: they may be
// about to be started anew, and nobody is there to try again.
func (r *remoteTools) retry(ctx context.Context, try func(context.Context) error, worthwhile func(error) bool) error {
	most := reachTimeout
	if r.shared != nil {
		most = max(most, r.lease)
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	delay := maxReachDelay >> reachRetries
	var last error // which says more than that the time is over
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
		select {
		case <-time.After(delay):
			delay = min(2*delay, maxReachDelay)
		case <-ctx.Done():
			return err
		}
	}
}

// ask asks the other machine about itself and its directory.
func (r *remoteTools) ask(ctx context.Context, order []byte) (answer promptAnswer, err error) {
	remote, leave, err := r.connect(ctx, settle.SessionInfo{}, &notices{})
	if err != nil {
		return answer, fmt.Errorf("%q leads nowhere: %w", r.command, err)
	}
	defer func() { _ = leave(ctx) }() // nothing was started there
	r.machine = remote.Machine()
	raw, err := remote.Call(ctx, executor.Request{Name: promptCall, Args: order})
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	if err != nil {
		return answer, fmt.Errorf("cannot ask the machine at the other end of %q about its directory: %w", r.command, err)
	}
	return answer, nil
}

// check refuses what CheckDirectory refuses here.
func (r *remoteTools) check(o Options) error {
	m := r.machine
	if m.Container || o.permission() != settle.Allow || o.Settings.Origins["permission"].Kind == config.Flag || m.Dir != "/" && m.Dir != m.Home {
		return nil
	}
	return &config.Error{Where: "executor", Message: fmt.Sprintf("refusing to work in %q on %s, where a mistake could affect everything; "+
		"have the command change to a project directory first, or use --permission allow if you mean it", m.Dir, m.Name)}
}

// connect leads to the hands of a session. leave ends everything there.
func (r *remoteTools) connect(ctx context.Context, info settle.SessionInfo, n *notices) (remote *executor.Remote, leave func(context.Context) error, err error) {
	way := &executor.CommandDialer{Command: r.command, Env: r.env, Dir: r.dir, Lock: info.Lock, Install: r.install}
	if info.Marker != "" {
		// A name of its own: what an earlier settle has left is swept by the
		// session's, when this has begun.
		way.Marker = info.Marker + "-way"
		_, _ = proc.Sweep(way.Marker) // what it cannot end, nobody can
	}
	marker := info.Marker
	var takeOver func(*executor.Remote, []executor.HandedOverCommand)
	if r.shared != nil && info.ID != "" {
		takeOver = r.shared.takeOver
		// Where the hands are on this machine, what they have kept is not to be swept.
		marker = r.shared.name + "/" + info.ID
	}
	remote, err = executor.NewRemote(ctx, executor.RemoteConfig{
		Dial: way.Dial, Settle: r.settle, Session: r.identity(info), Epoch: info.Epoch, Marker: marker, Lease: r.lease, TakeOver: takeOver, Notice: n.take,
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

// identity is the name of a session for hands, which others may use as well: people
// give sessions on other machines the same name.
func (r *remoteTools) identity(info settle.SessionInfo) string {
	if info.ID == "" {
		return ""
	}
	if r.shared != nil {
		return strings.Join([]string{info.ID, r.shared.name}, "\x00")
	}
	return strings.Join([]string{info.ID, info.Marker, r.host}, "\x00")
}

// open leads to the hands of a session that begins.
func (r *remoteTools) open(info settle.SessionInfo, n *notices) (*executor.Remote, func(context.Context) error, error) {
	var remote *executor.Remote
	var leave func(context.Context) error
	err := r.retry(context.Background(), func(ctx context.Context) (err error) {
		remote, leave, err = r.connect(ctx, info, n)
		return err
	}, func(error) bool { return true }) // they could be reached a moment ago
	if err != nil {
		return nil, nil, fmt.Errorf("cannot reach the hands by %q: %w", r.command, err)
	}
	for _, e := range remote.Ended() {
		n.log(fmt.Sprintf("the hands have ended what an earlier run left: %q, pid %d", e.Command, e.PID))
	}
	return remote, leave, nil
}

// SharedExecutors are hands that belong to a session whoever has it open, such as one of the
// workers of a fleet. What they still run for an earlier host is taken over instead of
// ended.
type SharedExecutor struct {
	name     string
	takeOver func(*executor.Remote, []executor.HandedOverCommand)
	reattach func(*executor.Remote, *shell.Jobs) func(context.Context) []settle.Reattached
}

// ShareExecutors returns those of the sessions that the name tells apart from others.
func ShareExecutor(name string) *SharedExecutor {
	return &SharedExecutor{name: name, takeOver: executor.TakeOver, reattach: reattach}
}

// reattach takes over what an earlier host's calls have started there.
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

// commands are the tools of commands, which work in the directory of the machine.
func (r *remoteTools) commands(tools []tool.Tool, n *notices) []tool.Tool {
	var all []tool.Tool
	for _, t := range tools {
		all = append(all, remoteCommandTool{Tool: t, dir: r.machine.Dir, notices: n})
	}
	return all
}

// refuseRelease: a process that outlives settle would be where nobody ends it.
func (r *remoteTools) refuseRelease(context.Context, string) error {
	return fmt.Errorf("cannot release it: commands run on another machine (%s), where nobody would end it; start it as a job, which ends with the session", r.machine.Name)
}

// note is for the user.
func (r *remoteTools) note() string {
	text := fmt.Sprintf("commands and files: %s on %s (%s)", r.machine.Dir, r.machine.Name, r.command)
	if len(r.machine.Weaker) > 0 {
		text += "; there, " + strings.Join(r.machine.Weaker, "; ")
	}
	return text
}

// files are those that work on files there. The specs are the same as here, and
// so is what the model is told.
func (r *remoteTools) files(h executor.Executor, info settle.SessionInfo, n *notices, private bool) []tool.Tool {
	var all []tool.Tool
	for _, t := range fileTools(file.Config{}, search.Config{}) {
		all = append(all, remoteFileTool{Tool: t, hands: h, machine: r.machine, masked: info.Masked, private: private, notices: n})
	}
	return all
}

// fileTools are the tools that work on files.
func fileTools(c file.Config, s search.Config) []tool.Tool {
	return slices.Concat(file.NewWorkspace(c).Tools(), search.Tools(s))
}

// remoteFileTool is a tool whose calls run whole at the hands, in one round trip each.
type remoteFileTool struct {
	tool.Tool
	hands   executor.Executor
	machine executor.Machine
	masked  func(string) bool
	private bool
	notices *notices
}

// remoteCall are the Args of a call of a tool.
type remoteCall struct {
	Args    json.RawMessage `json:"args"`
	Private bool            `json:"private,omitempty"` // no line of a file with secrets in a search of a directory
	// Places are as in [tool.Call]: the judgement is about these, and nothing else is opened.
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
	raw, err := t.hands.Call(ctx, executor.Request{Name: call.Name, Call: call.ID, Dir: t.machine.Dir, Args: args})
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

// remoteCommandTool is a tool whose working directory is that of another machine.
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

// promptOf is the system prompt of a session whose tools work there.
func (r *remoteTools) promptOf(o prompt.Options) prompt.Prompt {
	p := r.prompt
	var parts []string
	if o.Replace != nil {
		parts = append(parts, strings.TrimSpace(*o.Replace))
	}
	user := prompt.User(o)
	p.Notes = append(slices.Clone(p.Notes), user.Notes...)
	parts = append(parts, user.Text, r.prompt.Text, strings.TrimSpace(o.Append))
	p.Text = strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "\n\n")
	return p
}
