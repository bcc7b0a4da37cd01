package escape

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) {
	proc.RunAsSupervisor()
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case driverRole:
			syscall.Exit(playDriver(os.Args[2]))
		case attackRole:
			syscall.Exit(playAttack(os.Args[2]))
		}
	}
	if len(os.Args) == 2 && os.Args[0] == childRole {
		syscall.Exit(playChild(os.Args[1]))
	}
	os.Exit(leak.Run(m))
}

const nobody = 65534

// C22: nothing that a probe calls enforced can be got around, by any user, with
// namespaces or without, in a container or not.
func TestEscapeTable(t *testing.T) {
	if err := proc.Confines(); err != nil {
		t.Logf("nothing is confined here, and nothing is said to be: %v", err)
		return
	}
	root := os.Geteuid() == 0
	scenes := []struct {
		scene
		as   *syscall.SysProcAttr
		need bool // it takes root
	}{
		{scene{Name: "as is"}, nil, false},
		{
			scene{Name: "ordinary user"},
			&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}},
			true,
		},
		{
			scene{Name: "ordinary user who is kept out", Secluded: true},
			&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}},
			true,
		},
		{scene{Name: "without user namespaces", Bare: true}, inNamespace(os.Geteuid(), os.Getegid()), false},
		{scene{Name: "chroot", Chroot: "root"}, &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}, true},
		{
			scene{Name: "ordinary user in a chroot"},
			&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Chroot: "root"},
			true,
		},
	}
	for _, s := range scenes {
		t.Run(s.Name, func(t *testing.T) {
			if s.need && !root {
				t.Log("it takes root")
				return
			}
			attacks, err := drive(t, s.scene, s.as)
			if err != nil {
				t.Logf("this machine does not let a test have that: %v", err)
				if !s.Bare && s.Chroot == "" {
					t.Fail()
				}
				return
			}
			judge(t, attacks)
			if s.Secluded && namespacesFor(t, s.as) &&
				slices.ContainsFunc(attacks, func(a attack) bool { return a.Unclaimed != "" }) {
				t.Error("it claims to have no namespaces where there are some")
			}
			if s.Bare && !slices.ContainsFunc(attacks, func(a attack) bool { return a.Unclaimed != "" }) {
				t.Error("it claims to have namespaces where there are none")
			}
		})
	}
}

// namespacesFor reports whether the kernel gives a user the namespaces of all sandboxes.
func namespacesFor(t *testing.T, as *syscall.SysProcAttr) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "unshare", "-Urmpnif", "--mount-proc", "true")
	cmd.Dir, cmd.SysProcAttr = "/", as
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("no namespaces: %v: %s", err, out)
	}
	return err == nil
}

// judge fails for every way out.
func judge(t *testing.T, attacks []attack) {
	t.Helper()
	for i, b := range sandboxKinds() {
		a := attacks[i]
		if a.Unclaimed != "" {
			t.Logf("%s is not to be had: %s", a.Sandbox, a.Unclaimed)
			if b.Must {
				t.Errorf("%s is not to be had", a.Sandbox)
			}
			continue
		}
		for name, held := range a.Held {
			if held == "" {
				t.Errorf("%s: %s leads out", a.Sandbox, name)
			}
		}
		t.Logf("%s: %d ways out, none leads out: %t", a.Sandbox, len(a.Held), !t.Failed())
	}
}

// The attempts are real: without a sandbox, root gets nearly everywhere.
func TestAttemptsAreReal(t *testing.T) {
	if n := len(attempts()); n < 60 {
		t.Errorf("%d attempts", n)
	}
	if os.Geteuid() != 0 {
		return
	}
	attacks, err := drive(
		t,
		scene{Name: "free", Free: true},
		&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWUTS},
	)
	if err != nil {
		t.Logf("this machine does not let a test have a namespace: %v", err)
		return
	}
	var out, held []string
	for name, why := range attacks[0].Held {
		if why == "" {
			out = append(out, name)
		} else {
			held = append(held, name+": "+why)
		}
	}
	slices.Sort(held)
	t.Logf("%d lead out; these do not, here:\n%s", len(out), strings.Join(held, "\n"))
	if len(out) < 60 {
		t.Errorf("only %d lead out without a sandbox", len(out))
	}
}

// inNamespace is a user namespace in which the user is who he is.
func inNamespace(uid, gid int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE, unix.CAP_SETPCAP},
	}
}

// drive runs a scene.
func drive(t *testing.T, s scene, as *syscall.SysProcAttr) ([]attack, error) {
	t.Helper()
	top, err := os.MkdirTemp("", "settle-escape-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	s.Top, s.Program, s.Setuid = filepath.Join(top, "work"), filepath.Join(top, "program"), filepath.Join(top, "setuid")
	for _, dir := range []string{s.Top, filepath.Join(top, "root")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, mode := range map[string]os.FileMode{s.Program: 0o755, s.Setuid: 0o755 | os.ModeSetuid} {
		if err := clone(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{top, s.Top} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if s.Chroot != "" {
		s.Chroot = filepath.Join(top, s.Chroot)
	}
	chroot := as != nil && as.Chroot != ""
	cmd := exec.CommandContext(t.Context(), s.Program)
	if chroot { // for an ordinary user, a process with privileges has to make it
		attr := *as
		as = &attr
		as.Chroot = filepath.Join(top, as.Chroot)
		as.Cloneflags = 0
		leave, err := container(as.Chroot)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd.Args, cmd.Dir, cmd.Env = []string{
		s.Program,
		driverRole,
		string(raw),
	}, "/", []string{
		"PATH=" + os.Getenv("PATH"),
		"TMPDIR=" + s.Top,
	}
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &stdout, &stderr, as
	if err := cmd.Run(); err != nil {
		t.Logf("%s%s", stdout.String(), stderr.String())
		return nil, err
	}
	var attacks []attack
	return attacks, json.Unmarshal(stdout.Bytes(), &attacks)
}

// container mounts this machine below a folder, as the root of a container is.
func container(root string) (leave func(), err error) {
	if err := unix.Mount("/", root, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return nil, err
	}
	_ = unix.Mount("", root, "", unix.MS_REC|unix.MS_PRIVATE, "")
	return func() { _ = unix.Unmount(root, unix.MNT_DETACH) }, nil
}

func clone(path string, mode os.FileMode) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o700)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		_ = to.Close()
		return err
	}
	if err := to.Close(); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}
