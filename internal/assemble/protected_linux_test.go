package assemble

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/tool"
)

// A program that obeys a link obeys its target: sandboxed commands change neither the
// target nor, after they have ended, the link. The user's own configuration can be in the
// working directory as well.
func TestProtectedFilesBehindLinks(t *testing.T) {
	if !confines(t) {
		return
	}
	var work string
	own := []string{"dot/gitconfig", "dot/settle.toml", "claude/settings.json"}
	links := []string{".envrc", ".vscode/tasks.json", ".husky/_/pre-commit"}
	evil := "for f in " + strings.Join(append(links, own...), " ") + "; do echo evil > $f; done; echo end"
	a := inSandbox(t, settle.Ask, "", func(o *Options) {
		work = o.Dir
		top := variable(o.Environ, "HOME")
		o.Environ = append(o.Environ, "CLAUDE_CONFIG_DIR="+filepath.Join(work, "claude"))
		o.Getenv = func(name string) string { return variable(o.Environ, name) }
		for _, name := range append([]string{"conf/envrc", "conf/vs/tasks.json", "hk/pre-commit"}, own...) {
			mustWrite(t, filepath.Join(work, name), "good\n")
		}
		for link, target := range map[string]string{
			filepath.Join(work, ".envrc"): "conf/envrc", filepath.Join(work, ".vscode"): "conf/vs",
			filepath.Join(work, ".husky/_"):                  "../hk",
			filepath.Join(top, ".gitconfig"):                 filepath.Join(work, "dot/gitconfig"),
			filepath.Join(top, ".config/settle/config.toml"): filepath.Join(work, "dot/settle.toml"),
		} {
			if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
				t.Fatal(err)
			}
			_ = os.Remove(link) // home has some of them
			if err := os.Symlink(target, link); err != nil {
				t.Fatal(err)
			}
		}
	}, commands(
		evil, "rm .vscode; mkdir .vscode; echo evil > .vscode/tasks.json; mv dot d2; mkdir dot; echo end", evil,
	))
	if !slices.Contains(a.Session.Confinement.By, "mounts") {
		return // a reported gap
	}
	for _, call := range outputs(t, a) {
		if got := call.Content().Output; !strings.Contains(got, "end") {
			t.Errorf("the command: %q", got)
		}
	}
	for _, name := range append(links, own...) {
		if got, err := os.ReadFile(filepath.Join(work, name)); err != nil || string(got) != "good\n" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if info, err := os.Lstat(filepath.Join(work, ".vscode")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link: %v, %v", info, err)
	}
}

// A link in a protected folder to the working directory, such as that of a skill under development,
// does not protect what the working directory has.
func TestLinkToWorkingDirectoryProtectsNoWork(t *testing.T) {
	if !confines(t) {
		return
	}
	var work string
	a := inSandbox(t, settle.Ask, "", func(o *Options) {
		work = o.Dir
		mustWrite(t, filepath.Join(work, "vendor/tool/cli.js"), "old\n")
		mustWrite(t, filepath.Join(work, ".claude/settings.json"), "{}\n")
		for link, target := range map[string]string{
			"vendor/.bin/tool": "../tool/cli.js", ".claude/all": "..",
			filepath.Join(variable(o.Environ, "HOME"), ".claude/skills/my"): work,
		} {
			if !filepath.IsAbs(link) {
				link = filepath.Join(work, link)
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(target, link)); err != nil {
				t.Fatal(err)
			}
		}
	}, commands(
		"echo new >vendor/tool/cli.js && rm vendor/.bin/tool && rmdir vendor/.bin && mv vendor gone && echo end",
	))
	if got := outputs(t, a)[0].Content().Output; !strings.HasPrefix(got, "end") || strings.Contains(got, "[settle") {
		t.Errorf("the command: %q", got)
	}
	if _, err := os.Lstat(filepath.Join(work, "vendor")); err == nil {
		t.Error("the folder was put back")
	}
}

// A command can make the virtual environment again that git's configuration names; what is no
// environment is moved aside.
func TestVirtualEnvironmentThatGitRunsCanBeRemade(t *testing.T) {
	if !confines(t) {
		return
	}
	python := filepath.Join(t.TempDir(), "python3")
	mustWrite(t, python, "")
	var work string
	a := inSandbox(t, settle.Ask, "", func(o *Options) {
		work = o.Dir
		mustWrite(t, filepath.Join(variable(o.Environ, "HOME"), ".gitconfig"),
			"[filter \"x\"]\n\tclean = "+work+"/.venv/bin/python3 -m x\n")
		bin := filepath.Join(work, ".venv/bin")
		if err := errors.Join(os.MkdirAll(bin, 0o755), os.Symlink(python, filepath.Join(bin, "python3"))); err != nil {
			t.Fatal(err)
		}
	}, commands(
		"mv .venv v2; mkdir -p .venv/bin && ln -s "+python+" .venv/bin/python3 && echo end",
		"mv .venv v3; mkdir -p .venv/bin && echo evil >.venv/bin/python3 && echo end",
	))
	calls := outputs(t, a)
	if got := calls[0].Content().Output; got != "end" && got != "end\n" {
		t.Errorf("the command: %q", got)
	}
	if got := calls[1].Content().Output; !strings.Contains(got, "python3 is now python3-quarantined-1") {
		t.Errorf("the command: %q", got)
	}
}

// A file tool changes a file that sandboxed commands cannot change only with a decision about that
// file: a rule for all edits does not count.
func TestFileToolsAskAboutProtectedFiles(t *testing.T) {
	top, work := home(t)
	env := []string{"HOME=" + top, "PATH=" + os.Getenv("PATH")}
	mustWrite(t, filepath.Join(work, ".git/config"), "[core]\n\thooksPath = .githooks\n")
	mustWrite(t, filepath.Join(work, ".githooks/pre-commit"), "")
	mustWrite(t, filepath.Join(work, "conf/envrc"), "")
	for link, target := range map[string]string{
		".envrc": "conf/envrc", ".git/hooks": "../hk", "hk/pre-commit": "../scripts/pre-commit",
		"hk/pre-push": "../scripts/absent",
	} {
		at := filepath.Join(work, link)
		if err := errors.Join(
			os.MkdirAll(filepath.Dir(at), 0o755), os.RemoveAll(at), os.Symlink(target, at),
		); err != nil {
			t.Fatal(err)
		}
	}
	mustWrite(t, filepath.Join(work, ".git/HEAD"), "ref: refs/heads/main\n")
	mustWrite(t, filepath.Join(work, ".git/refs/x"), "")
	mustWrite(t, filepath.Join(work, ".git/objects/x"), "")
	mustWrite(t, filepath.Join(work, "scripts/pre-commit"), "")
	o := Options{
		Settings: &config.Resolved{Settings: config.Settings{Rules: []config.Rule{
			{Tool: "edit", Decision: "allow"}, {Tool: "edit", Pattern: ".husky/allowed", Decision: "allow"},
		}}},
		Dir: work, Environ: env, Getenv: func(name string) string { return variable(env, name) },
		PermissionOptions: PermissionOptions{Release: settle.Allow},
	}
	made, err := o.judge(
		settle.Ask, &confinement{sandbox: sandboxing{dir: work, home: top}, files: new(policy.SecretFiles)},
	)
	if err != nil {
		t.Fatal(err)
	}
	judge, err := made()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]settle.Permission{
		"main.go": settle.Allow, "docs/agents.md": settle.Allow, ".github/workflows/ci.yml": settle.Allow,
		".husky/allowed": settle.Allow, "scripts/other": settle.Allow,
		"scripts/pre-commit": settle.Ask, "scripts/absent": settle.Ask, "hk/commit-msg": settle.Ask,
		".githooks/pre-commit": settle.Ask, ".githooks/new": settle.Ask, "conf/envrc": settle.Ask,
		".husky/pre-commit": settle.Ask, ".vscode/tasks.json": settle.Ask,
		".mcp.json": settle.Ask, ".bashrc": settle.Ask,
		".claude/settings.json": settle.Ask, "pkg/.Idea/workspace.xml": settle.Ask, ".codex/config.toml": settle.Ask,
	} {
		call := settle.Approval{
			Tool: tool.Spec{Name: "write"}, Arguments: fmt.Sprintf(`{"path":%q,"content":"x"}`, path),
		}
		if got := judge.Judge(call); got.Decision != want {
			t.Errorf("%s: %+v, want %s", path, got, want)
		}
	}
}

func mustWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
