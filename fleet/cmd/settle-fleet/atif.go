package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/index"
	"github.com/settle-agent/settle/fleet/pglog"
	"github.com/settle-agent/settle/internal/client/atif"
	"github.com/settle-agent/settle/internal/disk"
)

// trajectories writes the sessions of the tasks that have ended in the Agent Trajectory
// Interchange Format: each once, one a line, or into a file of its own in dir.
func (f *fleetOf) trajectories(ctx context.Context, out, errs io.Writer, dir string, filter index.Filter) error {
	lines := bufio.NewWriter(out)
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return failed(fmt.Errorf("cannot make the directory: %w", err))
		}
	}
	seen := map[string]bool{}
	empty := 0
	exitErr, err := f.eachEnded(ctx, filter, func(u fleet.TaskStatus) error {
		session := u.Task.Session
		if seen[session] {
			return nil
		}
		seen[session] = true
		state, err := fold(ctx, f.logs, session)
		if err != nil {
			return err
		}
		if len(state.Turns)+len(state.Waiting) == 0 {
			empty++
			return nil
		}
		trajectory := atif.Of(state, func(child string) (event.State, error) { return fold(ctx, f.logs, child) })
		line, err := encode(trajectory)
		if err != nil {
			return err
		}
		if dir != "" {
			return disk.Replace(filepath.Join(dir, session+".json"), line)
		}
		_, err = lines.Write(line)
		return err
	})
	if err == nil {
		err = lines.Flush()
	}
	if err != nil {
		return failed(err)
	}
	if empty > 0 {
		fmt.Fprintf(errs, "%d sessions began no turn and are left out\n", empty)
	}
	return exitErr
}

// fold returns the state of a session from its log.
func fold(ctx context.Context, logs *pglog.Logs, session string) (event.State, error) {
	state := event.State{Session: session}
	for e, err := range logs.Read(ctx, session, 0) {
		if err == nil {
			state, err = event.Fold(state, e)
		}
		if err != nil {
			return state, err
		}
	}
	return state, context.Cause(ctx) // the reading may have ended early
}

// encode returns a trajectory as a line.
func encode(t atif.Trajectory) ([]byte, error) {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	err := e.Encode(t)
	return line.Bytes(), err
}
