package executor

import (
	"os"
	"path/filepath"
	"runtime"
)

// findShell returns the program that runs commands and the option that
// precedes one: bash where it is found, since that is what models write for,
// else sh; on Windows, without either, cmd.exe.
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

// lookUp finds a program in PATH, or where it always is, for a process that
// was started without one.
func lookUp(name string) (string, bool) {
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/bin", "/usr/bin") {
		path := filepath.Join(dir, name+suffix)
		stat, err := os.Stat(path)
		if err == nil && filepath.IsAbs(path) && stat.Mode().IsRegular() && (suffix != "" || stat.Mode()&0o111 != 0) {
			return path, true
		}
	}
	return "", false
}
