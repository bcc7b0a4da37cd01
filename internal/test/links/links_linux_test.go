package links

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

var calls = flag.Int("calls", 600, "how many calls each user makes while names are swapped")

const (
	attackRole = "attack"
	nobody     = 65534
)

// C22: a decision about a path applies to the file that the call works on, for any later changes of
// the path by a command, as root and as an ordinary user.
func TestSwappedNamesLeadNowhere(t *testing.T) {
	users := map[string]*syscall.SysProcAttr{"as is": nil}
	if os.Geteuid() == 0 {
		users = map[string]*syscall.SysProcAttr{
			"root":          {Cloneflags: unix.CLONE_NEWNS}, // whose mounts are nobody else's
			"ordinary user": {Credential: &syscall.Credential{Uid: nobody, Gid: nobody}},
		}
	}
	for name, as := range users {
		t.Run(name, func(t *testing.T) {
			got := attack(t, as)
			t.Logf("%d calls: %d read, %d changed something, %d were refused or asked about, %d swaps; mounts: %t",
				got.Calls, got.Read, got.Changed, got.Refused, got.Swaps, got.Mounts)
			for _, escape := range got.Escapes {
				t.Error(escape)
			}
			if got.Read == 0 || got.Changed == 0 || got.Refused == 0 || got.Swaps == 0 {
				t.Error("the attack did not take place")
			}
		})
	}
}

// report is the result of an attack.
type report struct {
	Calls, Read, Changed, Refused int
	Swaps                         int64
	Mounts                        bool
	Escapes                       []string
}

// attack runs in a process of its own, as the user.
func attack(t *testing.T, as *syscall.SysProcAttr) (r report) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if as != nil && as.Credential != nil {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0], attackRole, dir, strconv.Itoa(*calls))
	cmd.Path, cmd.SysProcAttr, cmd.Stderr = "/proc/self/exe", as, os.Stderr // nobody may not see the test binary
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return r
}
