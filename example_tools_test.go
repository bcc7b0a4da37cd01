package settle_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/shell"
)

// An agent that runs commands and edits files. The first line of main is
// settle.RunAsSupervisor: with it, no process outlives its call unless it is a job of the
// session, and no job outlives the program, even if the program is killed.
func Example_tools() {
	work, err := os.MkdirTemp("", "settle-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(work)
	ctx := context.Background()
	host, err := settle.Open(ctx, settle.Config{DataDir: filepath.Join(work, "data")})
	if err != nil {
		log.Fatal(err)
	}
	session, err := host.Session(ctx, "", settle.SessionConfig{
		WorkDir: work, Permission: settle.Allow,
		Model: model.Config{Name: "scripted", ProviderName: "script", Provider: script.New(
			script.Turn(
				script.Call("shell", `{"command":"echo hello > greeting; sleep 1000 >/dev/null & echo served"}`),
			),
			script.Turn(script.Call("edit", `{"path":"greeting","old_string":"hello","new_string":"good morning"}`)),
			script.Text("Done."),
		)},
		Toolbox: toolbox,
	})
	if err != nil {
		log.Fatal(err)
	}
	turn, err := session.Submit(ctx, "Greet, and leave a server running.")
	if err != nil {
		log.Fatal(err)
	}
	outcome, err := turn.Wait(ctx)
	greeting, _ := os.ReadFile(filepath.Join(work, "greeting"))
	fmt.Print(outcome.Answer, " ", err, " ", string(greeting))
	fmt.Println(len(session.State().Jobs), "job runs")

	if err := host.Close(ctx); err != nil { // ends the job; names processes that did not stop
		log.Fatal(err)
	}
	session.View(func(s event.State) { fmt.Println("it was", s.Jobs[0].Ended.How) })
	// Output:
	// Done. <nil> good morning
	// 1 job runs
	// it was killed
}

// toolbox makes a session's tools: "shell" and "job", "read", "write", "edit"
// and "apply_patch".
func toolbox(info settle.SessionInfo) (settle.Toolbox, error) {
	jobs := shell.NewJobs(shell.Config{
		Env:      []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, // all that commands see
		Mask:     func() shell.Masker { return info.Mask() },                         // of the session's secrets
		SpoolDir: info.OutputDir,                                                     // whole outputs, and jobs' logs
		Marker:   info.Marker,                                                        // identifies its processes
		Lock:     info.Lock,                                                          // supervisors keep the session locked until all is cleaned up
		Registry: info.Jobs,                                                          // jobs are in the session's log
	})
	files := file.NewWorkspace(file.Config{Masked: info.Masked})
	return settle.Toolbox{
		Tools: append(jobs.Tools(), files.Tools()...),
		Kill:  jobs.Kill,
		Sweep: func(released []string) []int { return shell.Sweep(info.Marker, released) },
		Close: func(ctx context.Context) error {
			left, err := jobs.Close(ctx)
			for _, p := range left {
				err = errors.Join(err, fmt.Errorf("process %d (%s) was not ended: %s", p.PID, p.Command, p.Why))
			}
			return err
		},
	}, nil
}
