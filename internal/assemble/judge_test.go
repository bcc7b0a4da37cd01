package assemble

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/tool"
)

func TestRulesReachTheJudge(t *testing.T) {
	dir := t.TempDir()
	call := func(command string) settle.Approval {
		return settle.Approval{Tool: tool.Spec{Name: "shell"}, Arguments: `{"command":"` + command + `"}`}
	}
	judge := func(policy settle.Permission, rules ...config.Rule) settle.Judge {
		o := Options{
			Settings: &config.Resolved{Settings: config.Settings{Rules: rules}}, Dir: dir, Environ: os.Environ(),
			Getenv:            os.Getenv,
			PermissionOptions: PermissionOptions{Release: settle.Allow},
		}
		made, err := o.judge(policy, &confinement{})
		if err != nil {
			t.Fatal(err)
		}
		if made == nil {
			return nil
		}
		j, err := made()
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	if judge(settle.Allow) != nil {
		t.Error("allow without rules judges")
	}
	deny := config.Rule{Tool: "shell", Pattern: "git push", Decision: "deny"}
	if got := judge(settle.Allow, deny).Judge(call("git status && git push")); got.Decision != "deny" {
		t.Errorf("a denied command: %+v", got)
	}
	if got := judge(settle.Allow, deny).Judge(call("make")); got.Decision != "allow" {
		t.Errorf("another command: %+v", got)
	}
	asks := judge(settle.Ask)
	if got := asks.Judge(call("make")); got.Decision != "ask" || got.Why == "" {
		t.Errorf("ask: %+v", got)
	}
	asks.Remember(call("make"))
	if got := asks.Judge(call("make")); got.Decision != "allow" {
		t.Errorf("remembered: %+v", got)
	}
	read := settle.Approval{
		Tool:      tool.Spec{Name: "read", ReadOnly: true},
		Arguments: `{"path":"` + filepath.Join(dir, ".env") + `"}`,
	}
	if got := asks.Judge(read); got.Decision != "ask" {
		t.Errorf("a secret file: %+v", got)
	}
	o := Options{
		Settings: &config.Resolved{Settings: config.Settings{Rules: []config.Rule{{
			Tool: "shell", Pattern: "ls && rm",
			Decision: "deny",
		}}}}, Dir: dir, Environ: os.Environ(), Getenv: os.Getenv,
	}
	if _, err := o.judge(settle.Allow, &confinement{}); err == nil {
		t.Error("a rule that cannot be used is no error")
	}
}
