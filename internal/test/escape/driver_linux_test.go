package escape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/sandbox"
)

// The roles that the test's own program plays, by its first argument.
const (
	driverRole = "escape-driver"
	attackRole = "escape-attack"
	childRole  = "escape-child"
)

// scene is the environment in which a driver builds its sandboxes.
type scene struct {
	Name string
	// Program is the test's binary at a path where all users can execute it. Setuid is a setuid
	// program of root.
	Program, Setuid string
	Top             string // for the driver's files
	Chroot          string // root directory of the driver; "" for none
	// Bare has the driver work without user namespaces, as on machines that forbid them.
	Bare bool
	// Secluded has the driver deny other processes access to itself, as settle does.
	Secluded bool
	// Free attacks without a sandbox, which shows that the attempts can succeed.
	Free bool
}

// sandboxKind is a kind of sandbox.
type sandboxKind struct {
	Name   string
	Policy sandbox.Policy
	// Must reports that the kind is available on every machine with Landlock.
	Must bool
}

func sandboxKinds() []sandboxKind {
	work := []string{"/"}
	return []sandboxKind{
		{"read-only", sandbox.Policy{}, true},
		{"workspace", sandbox.Policy{Write: work}, true},
		{"workspace, viewing", sandbox.Policy{Write: work, View: true}, false},
		{"workspace, apart", sandbox.Policy{Write: work, View: true, OwnNetwork: true}, false},
		{"workspace, proxied", sandbox.Policy{Write: work, Network: sandbox.Proxied}, true},
		{
			"workspace, proxied apart",
			sandbox.Policy{Write: work, View: true, OwnNetwork: true, Network: sandbox.Proxied},
			false,
		},
		{"read-only, proxied", sandbox.Policy{Network: sandbox.Proxied}, true},
		{"read-only, with its own processes", sandbox.Policy{OwnProcesses: true}, false},
		{
			"workspace, apart, with its own processes",
			sandbox.Policy{Write: work, View: true, OwnNetwork: true, OwnProcesses: true},
			false,
		},
		{
			"workspace, proxied apart, with its own processes",
			sandbox.Policy{Write: work, View: true, OwnNetwork: true, OwnProcesses: true, Network: sandbox.Proxied},
			false,
		},
		{
			"workspace, online, viewing, with its own processes",
			sandbox.Policy{Write: work, View: true, OwnProcesses: true, Network: sandbox.Online},
			false,
		},
		{"workspace, online", sandbox.Policy{Write: work, Network: sandbox.Online}, true},
		{"workspace, online, viewing", sandbox.Policy{Write: work, Network: sandbox.Online, View: true}, false},
	}
}

// attack is the result of attacking a sandbox.
type attack struct {
	Sandbox string
	// Unclaimed is the reason why the sandbox is not available. If it is empty, Held has an entry
	// for each attempt, which is empty if the attempt escaped.
	Unclaimed string            `json:",omitempty"`
	Held      map[string]string `json:",omitempty"`
}

// playDriver attacks every sandbox, and prints the results.
func playDriver(raw string) int {
	var s scene
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		return fail(err)
	}
	if err := s.prepare(); err != nil {
		return fail(err)
	}
	list := sandboxKinds()
	if s.Free {
		list = []sandboxKind{
			{
				Name:   "none",
				Policy: sandbox.Policy{Write: []string{"/"}, View: true, OwnNetwork: true, OwnProcesses: true},
			},
		}
	}
	var all []attack
	for i, b := range list {
		a, err := s.attack(b, filepath.Join(s.Top, fmt.Sprint(i)))
		if err != nil {
			return fail(fmt.Errorf("%s: %w", b.Name, err))
		}
		all = append(all, a)
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		return fail(err)
	}
	return 0
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// prepare sets up the machine for the scene.
func (s scene) prepare() error {
	if s.Secluded {
		if err := proc.Seclude(); err != nil {
			return err
		}
	}
	if s.Chroot != "" {
		if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("/", s.Chroot, "", unix.MS_BIND|unix.MS_REC, ""), unix.Chroot(s.Chroot), unix.Chdir("/")); err != nil {
			return fmt.Errorf("cannot make a chroot: %w", err)
		}
	}
	if s.Free {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil && os.Getuid() == 0 {
			return fmt.Errorf("cannot keep mounts private: %w", err)
		}
	}
	if s.Bare { // in a namespace of its own, which may have no others
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			return fmt.Errorf("cannot forbid user namespaces: %w", err)
		}
		return s.withoutPrivileges()
	}
	return nil
}

// withoutPrivileges replaces this process by a driver of the same scene without privileges.
func (s scene) withoutPrivileges() error {
	s.Bare = false
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the executing thread must drop its capabilities
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	for capability := range uintptr(unix.CAP_LAST_CAP + 1) {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
	}
	return syscall.Exec(s.Program, []string{s.Program, driverRole, string(raw)}, os.Environ())
}

// attack builds one world and attacks it from a sandbox.
func (s scene) attack(b sandboxKind, top string) (attack, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	open := egress.NewProxy(mustList("*:*"), egress.Dialer{})
	defer open.Close()
	proxy := egress.NewProxy(nil, egress.Dialer{})
	defer proxy.Close()
	if !s.Free {
		if _, err := proc.Prove(ctx, b.Policy, proxy); err != nil {
			return attack{Sandbox: b.Name, Unclaimed: err.Error()}, nil
		}
	}
	w, policy, leave, err := s.world(b, top)
	if err != nil {
		return attack{}, err
	}
	defer leave()
	datagrams, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: w.DatagramPath})
	if err != nil {
		return attack{}, err
	}
	defer datagrams.Close()
	if err := os.Chmod(w.DatagramPath, 0o777); err != nil {
		return attack{}, err
	}
	spec := proc.Command{
		Argv:          []string{s.Program, attackRole, ""},
		Dir:           w.Room,
		Env:           []string{"GOMAXPROCS=2"},
		Sandbox:       &policy,
		ProxyListener: open.ServeFile,
	}
	if policy.Network == sandbox.Proxied {
		if policy.Port, err = proc.ProxyPort(policy, open); err != nil {
			return attack{}, err
		}
		w.Proxy = open.URL(policy.Port)
		w.Elsewhere = [4]byte{127, 9, byte(os.Getpid() >> 8), byte(os.Getpid())} // nobody else's
		elsewhere, err := net.ListenTCP("tcp", &net.TCPAddr{IP: w.Elsewhere[:], Port: int(policy.Port)})
		if err != nil {
			return attack{}, err
		}
		defer elsewhere.Close()
	}
	raw, err := json.Marshal(w)
	if err != nil {
		return attack{}, err
	}
	if spec.Argv[2] = string(raw); s.Free {
		spec.Sandbox, spec.ProxyListener = nil, nil
	}
	out, err := proc.Run(ctx, spec)
	if err != nil {
		return attack{}, err
	}
	a := attack{Sandbox: b.Name, Held: map[string]string{}}
	if err := json.Unmarshal(out.Stdout, &a.Held); err != nil || !out.OK() {
		return attack{}, fmt.Errorf("the attacker broke (%+v): %w: %s%s", out.Exit, err, out.Stdout, out.Stderr)
	}
	if text := received(datagrams); text != "" && offline(w) && !s.Free {
		a.Held[fmt.Sprintf("the listener outside received %q, which", text)] = ""
	}
	return a, nil
}

// received returns the data that have arrived at a socket.
func received(conn *net.UnixConn) (text string) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err.Error()
	}
	_ = raw.Control(func(fd uintptr) {
		for buf := make([]byte, 64); ; {
			n, _, err := unix.Recvfrom(int(fd), buf, unix.MSG_DONTWAIT)
			if err != nil {
				return
			}
			text += string(buf[:n])
		}
	})
	return text
}

func mustList(texts ...string) egress.List {
	l, err := egress.ParseList(texts)
	if err != nil {
		panic(err)
	}
	return l
}

// targetFile returns the name of an attempt's own file.
func targetFile(i int) string { return fmt.Sprintf("b%d", i) }

// world returns the targets of an attack and the sandbox's policy.
func (s scene) world(b sandboxKind, top string) (w prey, policy sandbox.Policy, leave func(), err error) {
	w = prey{
		Dir: filepath.Join(top, "out"), Room: filepath.Join(top, "in"), Host: os.Getpid(), Setuid: s.Setuid,
		Writes: len(
			b.Policy.Write,
		) > 0, View: b.Policy.View, Apart: b.Policy.OwnNetwork, Network: string(b.Policy.Network),
		OwnProcesses: b.Policy.OwnProcesses,
	}
	if w.OwnProcesses && !s.Free {
		w.Host = 1
	}
	files := map[string]string{
		filepath.Join(w.Room, "file"):        "file",
		filepath.Join(w.Room, "other"):       "other",
		filepath.Join(w.Room, "folder", "x"): "",
	}
	policy = sandbox.ReadOnly("", os.Getenv("PATH"), w.Room, s.Program, s.Setuid)
	policy.Network, policy.View, policy.OwnNetwork, policy.OwnProcesses = b.Policy.Network, b.Policy.View, b.Policy.OwnNetwork, b.Policy.OwnProcesses
	if w.Writes {
		policy.Write = []string{w.Room}
	}
	for i, a := range attempts() {
		files[filepath.Join(w.Dir, targetFile(i))] = "target"
		if a.kept {
			hooks := filepath.Join(w.Room, targetFile(i), "hooks")
			files[filepath.Join(hooks, "file")] = "hook"
			if w.View {
				policy.Protect = append(policy.Protect, hooks)
			}
		}
	}
	for path, content := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(content), 0o666)); err != nil {
			return w, policy, nil, err
		}
	}
	var open []interface{ Close() error }
	leave = func() {
		for _, c := range open {
			_ = c.Close()
		}
	}
	defer func() {
		if err != nil {
			leave()
		}
	}()
	open, err = w.listen(open, top)
	if err != nil {
		return w, policy, leave, err
	}
	fd, err := unix.Open(filepath.Join(w.Dir, targetFile(0)), unix.O_RDWR, 0) // it is to be inherited
	if err != nil {
		return w, policy, leave, err
	}
	open = append(open, os.NewFile(uintptr(fd), "target"))
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	w.Inherited = st.Ino
	return w, policy, leave, err
}

// listen opens the servers outside of the sandbox.
func (w *prey) listen(open []interface{ Close() error }, top string) ([]interface{ Close() error }, error) {
	w.DatagramPath = filepath.Join(top, "d")
	w.Path, w.Abstract = filepath.Join(top, "s"), strings.ReplaceAll(top, "/", "-")
	four, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return open, err
	}
	open = append(open, four)
	w.TCP = four.Addr().(*net.TCPAddr).Port
	if six, err := net.Listen("tcp6", fmt.Sprintf("[::1]:%d", w.TCP)); err == nil { // there may be no IPv6
		open = append(open, six)
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return open, err
	}
	open = append(open, udp)
	w.UDP = udp.LocalAddr().(*net.UDPAddr).Port
	for _, at := range []string{w.Path, "@" + w.Abstract} {
		l, err := net.Listen("unix", at)
		if err != nil {
			return open, err
		}
		open = append(open, l)
	}
	datagrams, err := net.ListenPacket("unixgram", "@"+w.Abstract+"-datagram")
	if err != nil {
		return open, err
	}
	return append(open, datagrams), os.Chmod(w.Path, 0o777)
}

// playAttack tries everything, and prints the refusal of each attempt: "" means that the attempt
// escaped.
func playAttack(raw string) int {
	var w prey
	if err := json.Unmarshal([]byte(raw), &w); err != nil {
		return fail(err)
	}
	held := map[string]string{}
	for i, a := range attempts() {
		if a.when != nil && !a.when(w) {
			continue
		}
		held[a.name] = words(a.try(w, filepath.Join(w.Dir, targetFile(i))))
	}
	if err := json.NewEncoder(os.Stdout).Encode(held); err != nil {
		return fail(err)
	}
	return 0
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
