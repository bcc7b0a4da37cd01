package rewind

import (
	"context"
	"os"
	"os/exec"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/changes"
	"github.com/settle-agent/settle/tool"
)

type command struct {
	Command string `json:"command"`
}

// recorder returns a recorder of the bench's directory, with a tool that runs commands.
func (b *bench) recorder(outputDir string, limits changes.Limits) (*changes.Recorder, []tool.Tool) {
	dir, err := disk.HoldWorkDir(b.dir)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(dir.Close)
	data, err := disk.Resolve(b.data)
	if err != nil {
		b.Fatal(err)
	}
	r := changes.NewRecorder(b.Context(), changes.Config{
		Dir: dir, Store: disk.SessionContents(outputDir), DataDir: data, Limits: limits,
	})
	shell := tool.Must(tool.New("shell", "runs a command", func(ctx context.Context, in command) (tool.Result, error) {
		called, _ := tool.CallFrom(ctx)
		running := r.Begin(ctx, called.ID, called.Args)
		result := tool.Result{Output: b.run(in.Command)}
		if b.interrupted {
			r.Leave(ctx, running)
			return result, nil
		}
		record, _ := r.End(ctx, running)
		result.Detail = record.AddTo(nil)
		return result, nil
	}))
	server := tool.Must(tool.New("server__do", "does something", func(context.Context, struct{}) (tool.Result, error) {
		return tool.Result{Output: "done"}, nil
	}))
	return r, []tool.Tool{shell, server}
}

func (b *bench) run(script string) string {
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}
