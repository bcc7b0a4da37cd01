package assemble

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/changes"
	"github.com/settle-agent/settle/tool"
)

// recorder returns the recorder of a session's changed files; nil if there is none: in a session
// that is not kept, on another machine, or if the user does not want it.
func (b *toolFactory) recorder(info settle.SessionInfo, workDir *disk.WorkDir) *changes.Recorder {
	r := b.rewind
	if info.OutputDir == "" || b.remote != nil || workDir == nil || r.Commands == config.RewindOff {
		return nil
	}
	return changes.NewRecorder(context.Background(), changes.Config{
		Dir: workDir, Store: disk.SessionContents(info.OutputDir), DataDir: real(b.sandbox.dataDir),
		Limits: changes.Limits{
			Files: cmp.Or(r.MaxFiles, noLimit), Bytes: int64(cmp.Or(r.MaxBytes, noLimit)),
			Time: cmp.Or(r.Timeout, noTimeLimit),
		},
	})
}

// Values that no directory reaches, for limits that the user set to 0.
const (
	noLimit     = 1 << 30
	noTimeLimit = time.Hour
)

// recorded returns tools whose calls are recorded; the record of a tool that only reads is empty.
// isEdit reports that the tools record their changes themselves.
func recorded(r *changes.Recorder, isEdit bool, tools ...tool.Tool) []tool.Tool {
	if r == nil {
		return tools
	}
	out := make([]tool.Tool, len(tools))
	for i, t := range tools {
		out[i] = recordedTool{t, r, isEdit}
		if isEdit && t.Spec().ReadOnly {
			out[i] = t
		}
	}
	return out
}

// recordedTool is a tool whose results have the changed files, or that records of other calls
// name.
type recordedTool struct {
	tool.Tool
	recorder *changes.Recorder
	isEdit   bool
}

// Title implements tool.Titler.
func (t recordedTool) Title(args json.RawMessage) string {
	if titler, ok := t.Tool.(tool.Titler); ok {
		return titler.Title(args)
	}
	return t.Spec().Name
}

// Starts implements tool.Starter.
func (t recordedTool) Starts(args json.RawMessage) []tool.Program {
	if starter, ok := t.Tool.(tool.Starter); ok {
		return starter.Starts(args)
	}
	return nil
}

// Offered implements tool.Occasional.
func (t recordedTool) Offered() bool {
	occasional, ok := t.Tool.(tool.Occasional)
	return !ok || occasional.Offered()
}

// Run implements tool.Tool. An interrupted call does not wait for its record.
func (t recordedTool) Run(ctx context.Context, call tool.Call) (result tool.Result, err error) {
	if t.isEdit {
		defer t.recorder.Beside(call.ID)()
		return t.Tool.Run(ctx, call)
	}
	if t.Spec().ReadOnly || call.Sandbox == event.ReadOnly && call.Name == "shell" { // which changes nothing there
		result, err = t.Tool.Run(ctx, call)
		result.Detail = changes.Record{At: time.Now().UTC(), Files: []changes.Change{}}.AddTo(result.Detail)
		return result, err
	}
	running := t.recorder.Begin(ctx, call.ID, call.Args)
	ended := false
	defer func() {
		if !ended { // interrupted, or a panic
			t.recorder.Leave(ctx, running)
		}
	}()
	result, err = t.Tool.Run(ctx, call)
	if ctx.Err() != nil {
		return result, err
	}
	record, ok := t.recorder.End(ctx, running)
	if ended = ok; ok {
		result.Detail = record.AddTo(result.Detail)
	}
	return result, err
}
