package assemble

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/oauth"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/mcp"
	"github.com/settle-agent/settle/tool/plan"
	"github.com/settle-agent/settle/tool/search"
	"github.com/settle-agent/settle/tool/shell"
	"github.com/settle-agent/settle/tool/skill"
	"github.com/settle-agent/settle/tool/task"
	"github.com/settle-agent/settle/tool/web"
)

// toolNames are all tools that there are, in the order in which models see
// them.
func toolNames() []string {
	return []string{"shell", "job", "read", "write", "edit", "apply_patch", "glob", "grep", "list", plan.Name, task.Name, skill.Name, web.FetchName, web.SearchName}
}

// offered returns the names of a session's tools: those that the user chose, else
// all; which of them suit a model is decided for each (package tool/family). The web
// is searched only where the user has said with what.
func offered(chosen []string, search config.Web) ([]string, error) {
	searches := search.Search == config.SearchProvider || search.Search == config.SearchCommand
	if search.Search == config.SearchCommand && len(search.SearchCommand) == 0 {
		return nil, &config.Error{Where: "web.search", Message: "name the command that searches in web.search_command"}
	}
	if chosen == nil {
		return slices.DeleteFunc(toolNames(), func(name string) bool { return name == web.SearchName && !searches }), nil
	}
	if !searches && slices.Contains(chosen, web.SearchName) {
		return nil, &config.Error{Where: "tools", Message: web.SearchName + " is off: set web.search to provider or command"}
	}
	chosen = slices.DeleteFunc(slices.Clone(chosen), func(name string) bool { return name == serverTools })
	for _, name := range chosen {
		if !slices.Contains(toolNames(), name) {
			return nil, &config.Error{Where: "tools", Message: fmt.Sprintf("there is no tool %q; the tools are %s and %s", name, strings.Join(toolNames(), ", "), serverTools)}
		}
	}
	return chosen, nil
}

// bench makes the tools of sessions.
type bench struct {
	offered  []string
	env      []string // of commands
	withheld []string
	secret   func(name, value string) bool // of variables that commands do not get which run without a question
	files    *policy.SecretFiles
	release  settle.Permission
	onExit   string
	onStop   string // what an interrupt does to jobs
	ripgrep  string
	editor   *file.Editor           // nil if there is none
	far      *far                   // nil if tools work on this machine
	private  func(path string) bool // files whose lines are not to be come across
	sandbox  sandboxing
	here     sandboxing                               // of servers, where commands run on another machine
	mayStart func(tool.Program) (event.Sandbox, bool) // of those that a client names
	extent   func() policy.Extent                     // of a client's mode; may be nil

	skills     *skillSet    // nil if there are none
	servers    []mcp.Server // MCP servers
	roster     *roster      // of the sessions that are open
	seen       func(server string, state mcp.State, why error)
	listed     func(server string)
	catalogues string       // where their catalogues are
	client     *http.Client // for those over HTTP
	tokens     func(learn func(secrets ...string)) *oauth.Tokens
	version    string       // the program's
	nearby     []string     // addresses that are not public, and may be fetched from
	searcher   []string     // the command that searches the web; nil for the model's provider
	logger     *slog.Logger // may be nil
}

// toolbox makes the tools of one session.
func (b *bench) toolbox(info settle.SessionInfo) (kit settle.Toolbox, err error) {
	spool, discard := spool(info.OutputDir)
	box := newBoxes(b.sandbox, b, b.extent, "")
	marker := info.Marker
	commands := shell.Config{
		Env: b.env, Withheld: b.withheld, SpoolDir: spool, Marker: marker, Lock: info.Lock,
		Mask:     masker(info),
		Registry: info.Jobs, Release: b.mayRelease,
		Box: box.box, Secret: b.secret, Hosts: b.sandbox.Hosts, Inspect: b.sandbox.Network == "proxy" || b.sandbox.viewless != nil, Outside: b.sandbox.Use != config.SandboxOff && b.sandbox.missing == nil,
	}
	commands = commands.Guarding(box.repositories)
	leave := func(context.Context) error { return nil }
	defer func() {
		if err != nil {
			err = errors.Join(err, leave(context.Background()), discard())
		}
	}()
	var files []tool.Tool
	news := &notices{logger: b.logger}
	var remote *executor.Remote
	if b.far == nil {
		files = fileTools(
			kept(info.OutputDir, file.Config{Masked: info.Masked, Editor: b.editor}),
			search.Config{Ripgrep: b.ripgrep, Private: b.private, Runner: runner{env: Helper(b.env), marker: marker, lock: info.Lock}},
		)
	} else {
		if remote, leave, err = b.far.open(info, news); err != nil {
			leave = func(context.Context) error { return nil }
			return settle.Toolbox{}, err
		}
		commands = commands.On(remote)
		commands.EndTimeout, commands.Release = farEndTimeout, b.far.refuseRelease
		files = b.far.tools(remote, info, news, b.private != nil)
	}
	jobs := shell.NewJobs(commands)
	own := jobs.Tools()
	if b.far != nil {
		own = b.far.there(own, news)
	}
	set, err := tool.NewSet(slices.Concat(own, files, []tool.Tool{b.fetch(), b.search(info), plan.New(), skill.New(b.skills.load)})...)
	if err != nil {
		return settle.Toolbox{}, err
	}
	var tools []tool.Tool
	for _, name := range b.offered {
		if name == task.Name { // which the session has by itself
			continue
		}
		t, ok := set.Lookup(name)
		if !ok {
			return settle.Toolbox{}, fmt.Errorf("there is no tool %q", name)
		}
		tools = append(tools, t)
	}
	here, leaveHere := box, box.discard // servers run on this machine
	if b.far != nil {
		here = newBoxes(b.here, b, b.extent, "")
		leaveHere = func() error { return errors.Join(box.discard(), here.discard()) }
	}
	servers := b.open(info, spool, here)
	if servers != nil {
		tools = append(tools, servers.Tools()...)
	}
	kit = settle.Toolbox{
		Tools: tools,
		Close: func(ctx context.Context) error {
			ended := make(chan error, 1)
			go func() { ended <- servers.Close(ctx) }() // in a bounded time; it is waited for below
			b.roster.left(info.ID)
			err := b.close(ctx, jobs)
			return errors.Join(err, <-ended, leave(ctx), leaveHere(), discard())
		},
		Kill:  jobs.Kill,
		Sweep: func(released []string) []int { return shell.Sweep(marker, released) },
	}
	if remote != nil && b.far.shared != nil {
		kit.Reattach = b.far.shared.reattach(remote, jobs)
	}
	if b.onStop == "end" {
		kit.Interrupted = func(ctx context.Context) { _, _ = jobs.KillAll(ctx) } // what is left is named in each job's end
	}
	return kit, nil
}

// kept has what files contained, and what calls are about to do to them, kept beside
// the outputs of the session, as long as it is kept itself.
func kept(outputDir string, c file.Config) file.Config {
	if outputDir != "" {
		store := disk.SessionContents(outputDir)
		c.Keep = store.Keep
		c.Intend = func(call tool.Call, files json.RawMessage) error { return store.Intend(call.ID, call.Args, files) }
	}
	return c
}

// variable is the value of an environment variable; the last one counts.
func variable(env []string, name string) string {
	value := ""
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// masker returns what masks the session's secrets in the output of a command.
func masker(info settle.SessionInfo) func() shell.Masker {
	if info.Mask == nil {
		return nil
	}
	return func() shell.Masker { return info.Mask() }
}

// close ends the session's processes, and names what could not be ended.
func (b *bench) close(ctx context.Context, jobs *shell.Jobs) error {
	if b.onExit == "release" {
		for _, job := range jobs.List() {
			if job.How == "" {
				_, _ = jobs.Release(ctx, job.ID) // what cannot be released is ended
			}
		}
	}
	left, err := jobs.Close(ctx)
	for _, p := range left {
		err = errors.Join(err, fmt.Errorf("cannot end process %d (%s): %s", p.PID, p.Command, p.Why))
	}
	return err
}

// spool returns the directory for long outputs of a session's commands, which
// are kept as long as the session is.
func spool(kept string) (dir string, discard func() error) {
	keep := func() error { return nil }
	if kept != "" {
		return kept, keep
	}
	disk.SweepScratch()
	made, err := disk.NewScratch("output")
	if err != nil {
		return "", keep // commands work without; the middle of a long output is lost
	}
	return made.Path, made.Remove
}

// mayRelease decides whether the model may let a process outlive settle. Where
// it is to be asked about, that was done before the call started.
func (b *bench) mayRelease(_ context.Context, _ string) error {
	if b.release != settle.Deny {
		return nil
	}
	return errors.New("the policy (jobs.release) does not let processes outlive the session")
}

// runner starts the programs that tools use for themselves.
type runner struct {
	env    []string
	marker string
	lock   *os.File
}

// Run implements search.Runner.
func (r runner) Run(ctx context.Context, argv []string, dir string, read func(io.Reader) error) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	from, to := io.Pipe()
	p, err := proc.Start(ctx, proc.Spec{
		Argv: argv, Dir: dir, Env: r.env, Stdout: to, Stderr: io.Discard, Marker: r.marker, Lock: r.lock,
	})
	if err != nil {
		return 0, err
	}
	finished := make(chan error, 1)
	go scope.Shield(func(err error) { _ = from.CloseWithError(err); cancel(err); finished <- err }, func() { // ends with the pipe, which ends with the process
		err := read(from)
		_ = from.CloseWithError(io.ErrClosedPipe) // a writer is not kept
		if err != nil {
			cancel(err)
		}
		finished <- err
	})()
	exit, waited := p.Wait(ctx)
	ending, enough := context.WithTimeout(context.WithoutCancel(ctx), proc.DefaultGrace*4)
	defer enough()
	p.End(ending, proc.DefaultGrace)
	_ = to.Close()
	if err := <-finished; err != nil {
		return exit.Code, err
	}
	if waited != nil {
		return 0, waited
	}
	return exit.Code, nil
}

// ripgrep finds rg as a command would find it.
func ripgrep(path string) string {
	name := "rg"
	if runtime.GOOS == "windows" {
		name = "rg.exe"
	}
	for _, dir := range filepath.SplitList(path) {
		full := filepath.Join(dir, name)
		info, err := os.Stat(full)
		if err == nil && filepath.IsAbs(full) && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
			return full
		}
	}
	return ""
}
