package assemble

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/skills"
	"github.com/settle-agent/settle/tool/skill"
)

// offers returns the names of the tools of an agent's sessions.
func offers(t *testing.T, a *Agent) (names []string) {
	t.Helper()
	kit, err := a.Session.Toolbox(settle.SessionInfo{ID: "s", WorkDir: a.Session.WorkDir})
	if err != nil {
		t.Fatal(err)
	}
	if err := kit.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, one := range kit.Tools {
		names = append(names, one.Spec().Name)
	}
	return names
}

// A session without skills equals a session of a program without the feature, byte for
// byte; the user decides, as for any tool.
func TestSkills(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "sk-0123456789abcdefghij"}
	home, dir := t.TempDir(), t.TempDir()
	made := func(flags map[string]string, project Project) *Agent {
		return make1(t, resolve(t, "/", flags, env, ""),
			func(o *Options) { o.Dir, o.Getenv, o.Project = dir, elsewhere(home), project })
	}
	before := made(nil, ReadProject)
	if names := offers(t, before); slices.Contains(names, skill.Name) ||
		strings.Contains(before.Session.System, "# Skills") {
		t.Fatalf("%v\n%s", names, before.Session.System)
	}
	for path, about := range map[string]string{
		filepath.Join(home, ".claude"): "of the user",
		filepath.Join(dir, ".agents"):  "of the project",
	} {
		path = filepath.Join(path, "skills", filepath.Base(path)[1:])
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "SKILL.md"), []byte("---\ndescription: "+about+"\n---\nx"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{
		Settings: resolve(t, "/", nil, env, ""), Dir: dir, Getenv: elsewhere(home),
		PromptOptions: PromptOptions{Home: IgnoreHome},
	}
	if found := o.Skills().Skills; len(found) != 1 || !found[0].Project {
		t.Errorf("a program that embeds settle has the user's: %v", found)
	}
	tests := map[string]struct {
		flags    map[string]string
		project  Project
		want     string
		notThere string
	}{
		"all":                 {nil, ReadProject, "\n\n- agents: of the project\n- claude: of the user", "of nobody"},
		"not the project's":   {nil, IgnoreProject, "\n\n- claude: of the user", "of the project"},
		"not wanted":          {map[string]string{"tools": "shell,read"}, ReadProject, "", "# Skills"},
		"wanted, with others": {map[string]string{"tools": "skill,read"}, ReadProject, "- agents:", "of nobody"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := made(tt.flags, tt.project)
			system := a.Session.System
			if !strings.Contains(system, tt.want) || strings.Contains(system, tt.notThere) {
				t.Errorf("want %q and not %q in\n%s", tt.want, tt.notThere, system)
			}
			if got, want := slices.Contains(offers(t, a), skill.Name), tt.want != ""; got != want {
				t.Errorf("the tool is offered: %v, want %v", got, want)
			}
			if !strings.HasPrefix(system, before.Session.System) {
				t.Errorf("what there was without skills is not the beginning:\n%s", system)
			}
		})
	}
}

// Sandboxed commands can read the files of a skill.
func TestSandboxReadsSkillFolders(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	b := newSandboxes(sandboxing{dir: dir},
		&confinement{skills: &skillSet{found: skills.Found{Skills: []skills.Skill{{Real: folder}}}}}, "")
	for _, kind := range []event.Sandbox{event.ReadOnly, event.Workspace} {
		confined, err := b.sandbox(kind, "", dir)
		if err != nil || !slices.Contains(confined.Read, folder) || slices.Contains(confined.Write, folder) {
			t.Errorf("%s: %+v, %v", kind, confined, err)
		}
	}
	if err := b.discard(); err != nil {
		t.Error(err)
	}
}
