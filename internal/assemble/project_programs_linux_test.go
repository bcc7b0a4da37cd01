package assemble

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/hooks"
	"github.com/settle-agent/settle/model/script"
)

// A project's hooks run in the sandbox in force, whatever their command line runs; the
// user's own hooks run outside.
func TestProjectHooksRunInSandbox(t *testing.T) {
	if !confines(t) {
		return
	}
	for _, tt := range []struct {
		name, file string
		project    bool
		wrote      bool
	}{
		{"a project's hook", "[sandbox]\nuse = \"required\"\n", true, false},
		{"the user's own hook", "[sandbox]\nuse = \"required\"\n", false, true},
		{"without a sandbox", "[sandbox]\nuse = \"off\"\n", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top, work := home(t)
			env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + top}
			a := make1(t, resolve(t, "/", nil, nil, tt.file), func(o *Options) {
				o.Dir, o.Environ, o.Getenv = work, env, func(name string) string { return variable(env, name) }
				o.Permission, o.Model = settle.Ask, scripted(script.New(script.Text("Done.")))
			})
			start := a.confined.projectPrograms(func() Mode { return Mode{Permission: event.Ask} })
			script := filepath.Join(work, "hook.sh")
			if err := os.WriteFile(script, []byte("echo x >"+top+"/work/inside; echo x >"+top+"/outside\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := hooks.Processes{
				Env:     env,
				Project: start,
			}.Run(
				t.Context(),
				hooks.Command{Line: "cd . && sh $PWD/hook.sh", Dir: work, Project: tt.project},
			)
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]bool{"work/inside": true, "outside": tt.wrote} {
				if _, err := os.Stat(filepath.Join(top, name)); (err == nil) != want {
					t.Errorf("%s written: %v, want %v (%s)", name, err == nil, want, got.Stderr)
				}
			}
		})
	}
}

// The programs of a project's trusted MCP servers run in the sandbox in force.
func TestServersOfProjectRunInSandbox(t *testing.T) {
	if !confines(t) {
		return
	}
	free := "[[rules]]\ntool = \"mcp_start\"\npattern = \"files\"\ndecision = \"allow\"\nsandbox = \"off\"\n"
	for _, tt := range []struct {
		name, file string
		permission settle.Permission
		project    bool
		wrote      bool
	}{
		{"a project's server", "", settle.Ask, true, false},
		{"deny", "", settle.Deny, true, false},
		{"allow, with a sandbox that the user chose", "", settle.Allow, true, false},
		{"a rule starts it without", free, settle.Ask, true, true},
		{"the user's own server", "", settle.Ask, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top, work := home(t)
			s := hostileServer(top)
			file := "[mcp.files]\ncommand = [\"/bin/sh\", \"-c\", '''" + s.Argv[2] + "''']\n[sandbox]\nuse = \"required\"\n" + tt.file
			env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + top}
			r := resolve(t, "/", nil, nil, file)
			if one := r.Servers["files"]; tt.project {
				one.Origin = config.Origin{Kind: config.Project, Where: filepath.Join(work, ".mcp.json")}
				r.Servers["files"] = one
			}
			a := make1(t, r, func(o *Options) {
				o.Dir, o.Environ, o.Getenv = work, env, func(name string) string { return variable(env, name) }
				o.Permission = tt.permission
				o.Model = scripted(
					script.New(script.Turn(script.Call("tool_search", `{"query":"x"}`)), script.Text("Done.")),
				)
			})
			_ = outputs(t, a)
			for name, want := range map[string]bool{"work/started": true, "outside": tt.wrote} {
				if _, err := os.Stat(filepath.Join(top, name)); (err == nil) != want {
					t.Errorf("%s written: %v, want %v", name, err == nil, want)
				}
			}
		})
	}
}

// The test of a project's server starts it as a session does.
func TestProbeOfProjectServersRunsInSandbox(t *testing.T) {
	if !confines(t) {
		return
	}
	free := "[[rules]]\ntool = \"mcp_start\"\npattern = \"files\"\ndecision = \"allow\"\nsandbox = \"off\"\n"
	for _, tt := range []struct {
		name, file     string
		project, wrote bool
	}{
		{"a project's server", "", true, false},
		{"a rule starts it without", free, true, true},
		{"the user's own server", "", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top, work := home(t)
			s := hostileServer(top)
			env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + top}
			file := "[mcp.files]\ncommand = [\"/bin/sh\", \"-c\", '''" + s.Argv[2] + "''']\n" + tt.file
			r := resolve(t, "/", nil, nil, file)
			if one := r.Servers["files"]; tt.project {
				one.Origin = config.Origin{Kind: config.Project, Where: filepath.Join(work, ".mcp.json")}
				r.Servers["files"] = one
			}
			getenv := func(name string) string { return variable(env, name) }
			o := Options{Settings: r, Dir: work, Environ: env, Getenv: getenv}
			if err := o.Probe(t.Context(), o.ConfiguredServers()); err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]bool{"work/started": true, "outside": tt.wrote} {
				if _, err := os.Stat(filepath.Join(top, name)); (err == nil) != want {
					t.Errorf("%s written: %v, want %v", name, err == nil, want)
				}
			}
		})
	}
}
