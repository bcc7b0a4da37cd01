package execserver

import (
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/sandbox"
)

const (
	// endTimeout bounds the end of processes.
	endTimeout = 3 * time.Second
	// drainTimeout bounds the wait for output to a client at standard streams that has closed its
	// input.
	drainTimeout = 200 * time.Millisecond
)

type startParams struct {
	Process   *string           `json:"processId"`
	Argv      []string          `json:"argv"`
	Dir       place             `json:"cwd"`
	EnvPolicy *envPolicy        `json:"envPolicy"`
	Env       map[string]string `json:"env"`
	Terminal  bool              `json:"tty"`
	PipeStdin bool              `json:"pipeStdin"`
	Arg0      *string           `json:"arg0"`
	Sandbox   *sandboxContext   `json:"sandbox"`
	// Confinements that settle does not have.
	Managed bool `json:"enforceManagedNetwork"`
	Proxy   any  `json:"networkProxy"`
}

type started struct {
	Process string `json:"processId"`
	Sandbox string `json:"sandboxType"`
}

// start starts a process, under an id that has not been used.
func (c *conn) start(ctx context.Context, params startParams) (any, error) {
	spec, err := c.server.spec(params)
	if err != nil {
		return nil, err
	}
	p, err := c.session.start(ctx, *params.Process, spec, params.PipeStdin)
	if err != nil {
		return nil, err
	}
	kind := "none"
	if p.sandboxed {
		kind = "linuxSeccomp" // the protocol's word for confinement by Linux itself
	}
	return started{p.id, kind}, nil
}

// spec returns the specification of the process.
func (s *Server) spec(params startParams) (proc.Spec, error) {
	none := proc.Spec{}
	dir, err := params.Dir.path("cwd")
	switch {
	case params.Process == nil:
		return none, invalidParams("missing field `processId`")
	case *params.Process == "" || len(*params.Process) > idBytes:
		return none, invalidParams("a processId has 1 to %d bytes", idBytes)
	case err != nil:
		return none, err
	case len(params.Argv) == 0 || params.Argv[0] == "":
		return none, invalidParams("argv must not be empty")
	case params.Arg0 != nil && *params.Arg0 != params.Argv[0]:
		return none, invalidRequest("cannot start a program under another name (arg0)")
	case params.Managed || params.Proxy != nil: // C22
		return none, invalidRequest("cannot enforce a managed network; nothing was started")
	}
	rights, err := s.rights(params.Sandbox)
	if err != nil {
		return none, err
	}
	policy, err := rights.policy()
	if err != nil {
		return none, err
	}
	if policy != nil {
		policy.OwnProcesses = hidesProcesses()
	}
	env, err := environment(s.options.Env, params.EnvPolicy, params.Env)
	if err != nil {
		return none, err
	}
	spec := proc.Spec{
		Argv: slices.Clone(
			params.Argv,
		),
		Dir:     dir,
		Env:     env,
		Grace:   proc.DefaultGrace,
		Rest:    proc.KeepRest,
		Marker:  s.options.Marker,
		Sandbox: policy,
	}
	spec.Argv[0] = lookUp(spec.Argv[0], dir, env)
	if params.PipeStdin {
		spec.Input = proc.PipeInput
	}
	if params.Terminal {
		spec.Terminal = &proc.Size{Rows: 24, Cols: 80} // the protocol cannot resize it
	}
	return spec, nil
}

// hidesProcesses reports whether a sandboxed command can have processes of its own here:
// a sandbox probe tries it, once (C22).
var hidesProcesses = sync.OnceValue(func() bool {
	_, err := proc.Prove(context.Background(), sandbox.Policy{OwnProcesses: true}, nil)
	return err == nil
})

// lookUp finds a program in the PATH of its own environment. It returns a name that it
// does not find unchanged.
func lookUp(name, dir string, env []string) string {
	if runtime.GOOS == "windows" {
		return name
	}
	if strings.ContainsRune(name, '/') {
		if !filepath.IsAbs(name) {
			return filepath.Join(dir, name)
		}
		return name
	}
	for _, entry := range env {
		value, ok := strings.CutPrefix(entry, "PATH=")
		if !ok {
			continue
		}
		for _, folder := range filepath.SplitList(value) {
			file := filepath.Join(dir, folder, name)
			if filepath.IsAbs(folder) {
				file = filepath.Join(folder, name)
			}
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
				return file
			}
		}
	}
	return name
}

// envPolicy selects the variables that a process inherits from the server.
type envPolicy struct {
	Inherit               string            `json:"inherit"`
	IgnoreDefaultExcludes bool              `json:"ignoreDefaultExcludes"`
	Exclude               []string          `json:"exclude"`
	Set                   map[string]string `json:"set"`
	IncludeOnly           []string          `json:"includeOnly"`
}

// core are the variables that "core" inherits.
var core = []string{"PATH", "SHELL", "TMPDIR", "TEMP", "TMP", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "USER"}

// environment puts the environment of a process together.
func environment(ours []string, policy *envPolicy, given map[string]string) ([]string, error) {
	all := map[string]string{}
	if policy != nil {
		for _, entry := range ours {
			name, value, _ := strings.Cut(entry, "=")
			if policy.inherits(name) {
				all[name] = value
			}
		}
		switch policy.Inherit {
		case "all", "core", "none":
		default:
			return nil, invalidParams(
				"unknown inheritance %q of the environment, expected \"all\", \"core\" or \"none\"", policy.Inherit,
			)
		}
		maps.Copy(all, policy.Set)
		maps.DeleteFunc(
			all, func(name, _ string) bool { return len(policy.IncludeOnly) > 0 && !matches(policy.IncludeOnly, name) },
		)
	}
	maps.Copy(all, given)
	env := make([]string, 0, len(all))
	for name, value := range all {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return nil, invalidParams("cannot set the variable %q", name)
		}
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}

func (p *envPolicy) inherits(name string) bool {
	switch {
	case name == "", p.Inherit == "none":
		return false
	case p.Inherit == "core" && !slices.Contains(core, strings.ToUpper(name)):
		return false
	case !p.IgnoreDefaultExcludes && matches([]string{"*KEY*", "*SECRET*", "*TOKEN*"}, name):
		return false
	}
	return !matches(p.Exclude, name)
}

// matches reports whether a name matches one of the patterns, in which * and ? are
// wildcards. Case does not matter.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(strings.ToUpper(pattern), strings.ToUpper(name))
		return ok && err == nil
	})
}
