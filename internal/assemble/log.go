package assemble

import (
	"log/slog"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/redact"
)

// Log returns the function that opens the diagnostic log in the data directory, whose lines
// pass a redactor; nil without a data directory.
func Log(r *config.Resolved) func(*redact.Redactor) *slog.Logger {
	if r.DataDir == "" {
		return nil
	}
	return func(mask *redact.Redactor) *slog.Logger {
		return disk.NewLog(disk.LogPath(r.DataDir), disk.LogLevel(r.LogLevel), mask.Diagnostic)
	}
}
