package assemble

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/prompt"
	"github.com/settle-agent/settle/internal/sandbox"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/search"
)

// ExecutorOptions describe this machine as an executor for the agent of another host.
type ExecutorOptions struct {
	// Environ is the environment of commands, and Getenv reads the environment of settle.
	Environ []string
	Getenv  func(string) string
	Version string
	// Settings are the settings of this machine's user, who can withhold variables.
	Settings *config.Resolved
	// Dir is the absolute working directory. Sockets is the directory in which other
	// processes of this user find the executor.
	Dir, Sockets string
}

// Stand assembles the listener of settle executor. discard removes the files that it leaves.
func (o ExecutorOptions) Stand() (stand *executor.Listener, discard func() error) {
	from := Options{Settings: o.Settings, Dir: o.Dir, Environ: o.Environ, Getenv: o.Getenv}
	b := &confinement{commandEnv: from.commandEnv(), files: new(policy.SecretFiles), sessions: new(sync.Map)}
	if data := o.Settings.DataDir; data != "" {
		b.files.Keep(secretRecord(data, real(o.Dir)), nil)
	}
	name, _ := os.Hostname() // the name is for people
	confined := newSandboxes(
		sandboxing{
			Sandbox: o.Settings.Sandbox, dir: real(o.Dir), home: o.Getenv("HOME"), configDir: configDir(o.Getenv),
			dataDir: o.Settings.DataDir, userEnv: o.Environ,
		},
		b, "",
	)
	confined.markWritable(confined.place() == nil, variable(o.Environ, "XDG_CACHE_HOME"))
	hosts, _ := egress.ParseList(o.Settings.Sandbox.Hosts) // validated with the configuration
	workDir, _ := disk.HoldWorkDir(real(o.Dir))            // one that cannot be opened: calls report it
	local := func(lock *os.File, marker string) *executor.Local {
		return &executor.Local{
			Env: b.env, Withheld: b.withheld, Marker: marker, Lock: lock, WorkDir: workDir,
			Calls:   o.calls(confined, workDir),
			Sandbox: confined.confine, Secret: b.secret, Hosts: hosts, Repositories: confined.repositories,
		}
	}
	m := local(nil, "").Machine()
	m.Name, m.Dir, m.Home, m.Container, m.Weaker = name, real(o.Dir), o.Getenv("HOME"), inContainer(o.Getenv),
		proc.Tracking().Weaker
	return &executor.Listener{Settle: o.Version, Machine: m, Dir: o.Sockets, Local: local}, func() error {
		workDir.Close()
		return confined.discard()
	}
}

// proved probes every sandbox that another host's session can rely on.
func (b *sandboxes) proved() (tried int, err error) {
	if err := b.place(); err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sandboxing
	s.byMode = true
	tried, err = s.prove()
	b.layers = s.layers
	return tried, err
}

// confine returns the sandbox of a command from another host.
func (b *sandboxes) confine(c executor.Confined) (sandbox.Policy, []string, error) {
	if _, err := b.proved(); err != nil { // C22
		return sandbox.Policy{}, nil, err
	}
	return b.policy(c)
}

// policy returns the sandbox of a program that settle starts, and its additional
// environment.
func (b *sandboxes) policy(c executor.Confined) (sandbox.Policy, []string, error) {
	confined, err := b.sandbox(c.Sandbox, c.Secrets, c.Dir)
	if err != nil {
		return sandbox.Policy{}, nil, err
	}
	hidden, err := sandbox.FindAll(confined.Hide, confined.Contents)
	return sandbox.Policy{
		Read: confined.Read, Write: confined.Write, Network: sandbox.NetworkOf(confined.Network),
		OwnNetwork: confined.Apart, View: confined.View, Protect: confined.Protect, Pinned: confined.Pinned,
		OwnProcesses: confined.OwnProcesses, Hide: hidden,
	}, confined.Env, err
}

// remoteHandler answers a call of another host.
type remoteHandler = func(context.Context, executor.Request) (json.RawMessage, error)

// calls are the remote calls that the executor answers.
func (o ExecutorOptions) calls(b *sandboxes, workDir *disk.WorkDir) map[string]remoteHandler {
	calls := map[string]remoteHandler{
		promptCall: func(_ context.Context, r executor.Request) (json.RawMessage, error) {
			var order promptOrder
			if err := json.Unmarshal(r.Args, &order); err != nil {
				return nil, err
			}
			return json.Marshal(o.answer(b, order))
		},
	}
	files := file.Config{}.In(workDir)
	open := fileTools(files, search.Config{}.In(workDir))
	wary := fileTools(files, search.Config{Private: b.files.Secret}.In(workDir))
	for i, t := range open {
		name := t.Spec().Name
		calls[name] = func(ctx context.Context, r executor.Request) (json.RawMessage, error) {
			var in remoteCall
			if err := json.Unmarshal(r.Args, &in); err != nil {
				return nil, fmt.Errorf("cannot read the call: %w", err)
			}
			chosen := t
			if in.Private {
				chosen = wary[i]
			}
			result, err := chosen.Run(ctx, tool.Call{
				ID: r.Call, Name: name, Args: in.Args, Dir: r.Dir, Progress: func(string) {}, Ask: tool.NobodyToAsk,
				Places: in.Places,
			})
			if err != nil {
				return nil, err
			}
			return json.Marshal(result)
		}
	}
	return calls
}

// answer describes this machine for the system prompt and the sandbox of another host.
func (o ExecutorOptions) answer(b *sandboxes, order promptOrder) promptAnswer {
	a := promptAnswer{Prompt: o.prompt(order), Network: b.Network}
	if order.Sandbox {
		var err error
		if a.Tried, err = b.proved(); err != nil {
			a.Missing = err.Error()
		}
		own := b.found()
		a.Viewless, a.Joined, a.Crowded, a.OwnProcesses = words(own.viewless), words(own.joined), words(own.crowded),
			own.crowded == nil
	}
	return a
}

// words returns the text of an error; "" for none.
func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// prompt returns the part of the system prompt about the directory.
func (o ExecutorOptions) prompt(order promptOrder) prompt.Prompt {
	p := prompt.Options{Dir: o.Dir, GOOS: runtime.GOOS, Now: time.Now(), Sources: prompt.Sources{Secret: policy.Secret}}
	if order.Project {
		p.Project = o.Settings.Trust.Project(o.Dir)
	}
	if !order.Environment {
		empty := ""
		p.Replace = &empty
	}
	return prompt.Build(p)
}
