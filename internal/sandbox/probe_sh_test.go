//go:build unix

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The probe in shell reports every escape if there is no sandbox, and reports if it could not even
// do an allowed operation.
func TestProbeScript(t *testing.T) {
	outside := []string{
		"reading a file", "listing a folder", "a signal", "a link to a file", "making a file", "making a folder", "a mode outside", "writing a file", "moving a file in",
	}
	for name, c := range map[string]struct {
		target ProbeTarget
		want   []string
	}{
		"reading": {ProbeTarget{Network: Online}, append(outside[:len(outside):len(outside)], "writing in the folder", "a mode in the folder")},
		"workspace": {ProbeTarget{Network: Online, Writes: true, View: true}, append(outside[:len(outside):len(outside)], "a symbolic link",
			"a protected file", "a mode of a protected file", "renaming a protected file", "replacing a protected file", "removing a protected file", "renaming the folder of a protected file")},
	} {
		t.Run(name, func(t *testing.T) {
			b := c.target
			b.Dir, b.Room, b.Host = filepath.Join(
				t.TempDir(),
				"it's out",
			), filepath.Join(
				t.TempDir(),
				"in",
			), os.Getpid()
			for _, path := range []string{filepath.Join(b.Dir, "target"), filepath.Join(b.Room, "file"), filepath.Join(b.Room, "keeper", "kept")} {
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			e := runScript(t, ProbeScript(b))
			if diff := cmp.Diff(c.want, e.Out); diff != "" || e.Stuck != "" || e.Tried < len(c.want) {
				t.Errorf("%+v\n%s", e, diff)
			}
			b.Room += "/none"
			if e := runScript(t, ProbeScript(b)); e.Stuck == "" {
				t.Error("it could work in a folder that is not there")
			}
		})
	}
}

func runScript(t *testing.T, script string) Escapes {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	return ReadProbe(string(out))
}
