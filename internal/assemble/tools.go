package assemble

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/shell"
)

// kept stores the earlier contents of files, and the intended changes of calls, beside the
// outputs of a session that is kept.
func kept(outputDir string, c file.Config) file.Config {
	if outputDir != "" {
		store := disk.SessionContents(outputDir)
		c.Keep = store.Keep
		c.Intend = func(call tool.Call, files json.RawMessage) error { return store.Intend(call.ID, call.Args, files) }
	}
	return c
}

// variable returns the value of an environment variable; the last entry wins.
func variable(env []string, name string) string {
	value := ""
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// masker returns the function that masks the session's secrets in a command's output.
func masker(info settle.SessionInfo) func() shell.Masker {
	if info.Mask == nil {
		return nil
	}
	return func() shell.Masker { return info.Mask() }
}

// spool returns the directory for long outputs of a session's commands, which lives as long
// as the session.
func spool(kept string) (dir string, discard func() error) {
	keep := func() error { return nil }
	if kept != "" {
		return kept, keep
	}
	disk.SweepScratch()
	made, err := disk.NewScratch("output")
	if err != nil {
		return "", keep // commands work without it; the middle of a long output is lost
	}
	return made.Path, made.Remove
}

// runner starts the programs that tools use themselves.
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
		Argv: argv, Dir: dir, Env: proc.TrustedEnv(r.env), Stdout: to, Stderr: io.Discard, Marker: r.marker, Lock: r.lock,
	})
	if err != nil {
		return 0, err
	}
	finished := make(chan error, 1)
	// ends with the pipe, which ends with the process
	go scope.Shield(func(err error) { _ = from.CloseWithError(err); cancel(err); finished <- err }, func() {
		err := read(from)
		_ = from.CloseWithError(io.ErrClosedPipe) // ends a blocked writer
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

// ripgrep finds rg outside of the folders that commands can change; "" if there is none.
func ripgrep(path string) string {
	file, err := proc.FindProgram("rg", path)
	if err != nil || !filepath.IsAbs(file) {
		return ""
	}
	return file
}
