package policy_test

import (
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
)

func BenchmarkJudge(b *testing.B) {
	dir := newDir(b)
	p := newPolicy(
		b,
		dir,
		policy.Config{
			Rules: []config.Rule{rule("shell", "npm run test*", event.Allow), rule("shell", "git push", event.Deny)},
		},
	)
	for name, command := range map[string]string{
		"Simple": "ls -la", "Nested": "cd sub && timeout 5 bash -c 'for f in a b; do echo \"$f\"; done' && git log --oneline | head -5", "Tree": "grep -rn foo sub",
	} {
		r := shell(b, command)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Judge(r)
			}
		})
	}
}
