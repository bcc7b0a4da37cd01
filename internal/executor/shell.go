package executor

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/settle-agent/settle/internal/proc"
)

// findShell returns the program that runs commands and the option before the script: bash if it
// exists, because models write for bash, else sh; on Windows without both, cmd.exe.
func findShell() ([]string, bool) {
	for _, name := range []string{"bash", "sh"} {
		if path, ok := lookUp(name); ok {
			return []string{path, "-c"}, true
		}
	}
	if runtime.GOOS == "windows" {
		return []string{"cmd.exe", "/D", "/S", "/C"}, true
	}
	return nil, false
}

// lookUp finds a program outside of the folders that commands can change: in PATH, or where
// the system has it, for a process that was started without PATH.
func lookUp(name string) (string, bool) {
	path := strings.Join([]string{os.Getenv("PATH"), "/bin", "/usr/bin"}, string(os.PathListSeparator))
	file, err := proc.FindProgram(name, path)
	return file, err == nil && filepath.IsAbs(file)
}
