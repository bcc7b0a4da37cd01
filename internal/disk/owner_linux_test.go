package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/disk"
)

func TestCheckOwnedRefusesWhatOthersControl(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode][2]string{
		0o700: {"", ""}, 0o755: {"", "chmod go-rwx"}, 0o711: {"", "chmod go-rwx"},
		0o777: {"chmod go-w", "chmod go-rwx"}, 0o1777: {"chmod go-w", "chmod go-rwx"}, 0o702: {"chmod go-w", "chmod go-rwx"},
	} {
		if err := os.Chmod(dir, mode.Perm()|(mode&0o1000)<<11); err != nil {
			t.Fatal(err)
		}
		for n, err := range []error{disk.CheckOwned(dir), disk.CheckPrivate(dir)} {
			owner := (*disk.OwnerError)(nil)
			if refused := errors.As(err, &owner); refused != (want[n] != "") ||
				refused && !strings.Contains(err.Error(), want[n]+` '`+strings.ReplaceAll(dir, "'", `'\''`)+"'") {
				t.Errorf("mode %o, check %d: %v, want %q", mode, n, err, want[n])
			}
		}
	}
	if err := disk.CheckOwned(filepath.Join(dir, "missing")); err != nil {
		t.Errorf("missing: %v", err)
	}
	if os.Geteuid() != 0 {
		return // only root can give a directory away
	}
	if err := errors.Join(os.Chmod(dir, 0o700), os.Chown(dir, 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	if err := disk.CheckOwned(dir); err == nil || !strings.Contains(err.Error(), "uid 12345") ||
		!strings.Contains(err.Error(), "sudo chown -R 0 ") {
		t.Errorf("another's: %v", err)
	}
}
