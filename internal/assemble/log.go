package assemble

import (
	"log/slog"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/redact"
)

// Log returns what makes the diagnostic log in the data directory, whose lines go
// through a redactor; nil where there is no such directory.
func Log(r *config.Resolved) func(*redact.Redactor) *slog.Logger {
	if r.DataDir == "" {
		return nil
	}
	return func(mask *redact.Redactor) *slog.Logger {
		return disk.NewLog(disk.LogPath(r.DataDir), disk.LogLevel(r.LogLevel), mask.Diagnostic)
	}
}
