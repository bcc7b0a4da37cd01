package assemble

import (
	"encoding/json"
	"strings"

	"github.com/settle-agent/settle"

	"github.com/settle-agent/settle/internal/disk"
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
