package sandbox

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/disk"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// macWorkspace is a policy as a Mac has it.
func macWorkspace() Policy {
	p := Workspace(
		"/Users/me",
		"/opt/homebrew/bin:/usr/bin",
		[]string{"/Users/me/w"},
		[]string{"/Users/me/w", "/var/folders/xy/T/settle-box-1/tmp", "/tmp/box"},
	)
	p.Protect = []string{"/Users/me/w/.git/hooks", "/Users/me/w/.git/config", "/tmp/box/.settle"}
	p.Hide = []Hidden{{Path: "/Users/me/w/api/.env"}, {Path: "/Users/me/w/.ssh"}}
	return p
}

func profileOf(t testing.TB, p Policy) []form {
	t.Helper()
	forms, err := readProfile(Seatbelt(p))
	if err != nil {
		t.Fatalf("%v in\n%s", err, Seatbelt(p))
	}
	return forms
}

// The profile of macOS changes only on purpose.
func TestSeatbeltText(t *testing.T) {
	proxied := macWorkspace()
	proxied.Network, proxied.Port = Proxied, 3128
	for name, p := range map[string]Policy{
		"reading": {Read: []string{"/Users/me/w"}}, "proxied": proxied,
		"online": {Read: []string{"/Users/me/w"}, Write: []string{"/Users/me/w"}, Network: Online},
	} {
		path := filepath.Join("testdata", "seatbelt-"+name+".sb")
		if *update {
			if err := os.WriteFile(path, []byte(Seatbelt(p)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), Seatbelt(p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The profile has the same permissions for each file as the policy.
func TestSeatbeltFiles(t *testing.T) {
	const w = "/Users/me/w"
	profile := profileOf(t, macWorkspace())
	only := ReadOnly("/Users/me", "/usr/bin", w)
	only.Hide = macWorkspace().Hide
	reading := profileOf(t, only)
	for _, c := range []struct {
		operation, path string
		work, read      bool // with the workspace, and with a read-only policy
	}{
		{"file-read-data", w + "/main.go", true, true},
		{"file-read-data", "/Users/me/.gitconfig", true, true},
		{"file-read-data", "/private/etc/hosts", true, true},
		{"file-read-data", "/usr/lib/libSystem.B.dylib", true, true},
		{"file-read-data", "/System/Library/Frameworks/Security.framework/Security", true, true},
		{"file-map-executable", "/System/Cryptexes/OS/System/Library/dyld/dyld_shared_cache_arm64e", true, true},
		{"file-read-data", "/opt/homebrew/bin/git", true, true},
		{"process-exec", "/opt/homebrew/bin/git", true, true},
		{"process-exec-interpreter", "/bin/sh", true, true},
		{"process-exec", w + "/configure", true, true},
		{"file-write-data", "/dev/null", true, true},
		{"file-ioctl", "/dev/ttys003", true, true},
		{"file-read-data", "/Users/me/.cargo/registry/cache/x", true, false},
		{"file-write-data", w + "/main.go", true, false},
		{"file-write-create", w + "/new", true, false},
		{"file-write-mode", w + "/main.go", true, false},
		{"file-write-unlink", w + "/.git/index.lock", true, false},
		{"file-write-create", "/private/var/folders/xy/T/settle-box-1/tmp/x", true, false},
		{"file-write-create", "/private/tmp/box/x", true, false},
		{"file-read-data", w + "/.git/hooks/pre-commit", true, true},

		{"file-read-metadata", w + "/api/.env", true, true},
		{"file-read-data", w + "/api/.env2", true, true},

		{"file-read-data", w + "/api/.env", false, false},
		{"file-read-data", w + "/.ssh/id_x", false, false},
		{"file-write-data", w + "/api/.env", false, false},
		{"file-write-unlink", w + "/api/.env", false, false},
		{"file-write-unlink", w + "/api", false, false},
		{"file-write-create", w + "/.git/hooks/pre-commit", false, false},
		{"file-write-mode", w + "/.git/hooks/pre-commit", false, false},
		{"file-write-data", w + "/.git/config", false, false},
		{"file-write-unlink", w + "/.git/config", false, false},
		{"file-write-unlink", w + "/.git", false, false}, // with another name, .git/hooks would be elsewhere
		{"file-write-unlink", w, false, false},
		{"file-write-unlink", "/private/tmp/box", false, false},
		{"file-write-data", "/private/tmp/box/.settle/config.toml", false, false},
		{"file-write-create", "/private/tmp/x", false, false},
		{"file-write-create", "/Users/me/w2", false, false},
		{"file-read-data", "/Users/me/w2/x", false, false},
		{"file-read-data", "/Users/me/.ssh/id_ed25519", false, false},
		{"file-read-data", "/System/Volumes/Data/Users/me/.ssh/id_ed25519", false, false},
		{"file-read-data", "/private/etc/master.passwd", false, false},
		{"file-read-data", "/Users/me/Library/Keychains/login.keychain-db", false, false},
		{"file-write-mode", "/Users/me/.zshrc", false, false},
		{"file-link", w + "/main.go", false, false},
		{"process-exec", "/Users/me/Downloads/tool", false, false},
		{"mach-lookup", "com.apple.coreservices.launchservicesd", false, false},
		{"mach-lookup", "com.apple.SecurityServer", false, false},
		{"appleevent-send", "com.apple.Terminal", false, false},
		{"sysctl-read", "kern.procargs2", false, false},
		{"signal", "1", false, false},
		{"system-privilege", "", false, false},
	} {
		ask := request{operation: c.operation, path: c.path}
		if got := allowed(t, profile, ask); got != c.work {
			t.Errorf("workspace: %s %s: allowed %v", c.operation, c.path, got)
		}
		if got := allowed(t, reading, ask); got != c.read {
			t.Errorf("reading: %s %s: allowed %v", c.operation, c.path, got)
		}
	}
}

// The network is none, one port of this machine, or all but other programs' sockets.
func TestSeatbeltNetwork(t *testing.T) {
	off, proxied, on := Policy{}, Policy{Network: Proxied, Port: 3128}, Policy{Network: Online}
	for _, c := range []struct {
		request
		off, proxied, on bool
	}{
		{request{"network-outbound", "", "localhost:3128"}, false, true, true},
		{request{"network-outbound", "", "localhost:3129"}, false, false, true},
		{request{"network-outbound", "", "192.0.2.1:3128"}, false, false, true},
		{request{"network-bind", "", "localhost:8080"}, false, false, true},
		{request{"network-inbound", "", "localhost:8080"}, false, false, true},
		{request{"network-outbound", "/private/var/run/mDNSResponder", ""}, false, false, true},
		{request{"mach-lookup", "com.apple.dnssd.service", ""}, false, false, true},
		{request{"mach-lookup", "com.apple.trustd.agent", ""}, false, false, true},
		{request{"network-outbound", "/private/var/run/docker.sock", ""}, false, false, false},
		{request{"network-bind", "/Users/me/w/socket", ""}, false, false, false},
	} {
		for name, want := range map[string]struct {
			p   Policy
			yes bool
		}{"off": {off, c.off}, "proxy": {proxied, c.proxied}, "on": {on, c.on}} {
			if got := allowed(t, profileOf(t, want.p), c.request); got != want.yes {
				t.Errorf("%s: %+v: allowed %v", name, c.request, got)
			}
		}
	}
	if got := Seatbelt(Policy{Network: Proxied}); strings.Contains(got, "network") {
		t.Errorf("a proxy without a port:\n%s", got)
	}
}

// No path changes the profile's permissions for other paths.
func FuzzSeatbelt(f *testing.F) {
	for _, path := range []string{
		"plain", `a"b`, `a\b`, `a\`, `\"`, "a\nb", `x")) (allow default) ((literal "`, `") (allow file-write* (subpath "/`, "; comment", "#|", "tmp", "../tmp/x", "a\x00b", "\xff", "..", "",
	} {
		f.Add(path)
	}
	plain := profileOf(
		f, Policy{Read: []string{"/w/plain"}, Write: []string{"/w/plain"}, Protect: []string{"/w/plain/kept"}},
	)
	f.Fuzz(func(t *testing.T, name string) {
		path := "/w/" + name
		profile := profileOf(t, Policy{Read: []string{path}, Write: []string{path}, Protect: []string{path + "/kept"}})
		want := places([]string{path})
		if len(want) == 0 { // it cannot be a path
			want = []string{}
			if len(profile) != len(plain)-3 {
				t.Fatalf("%d forms, and %d without a path", len(profile), len(plain)-3)
			}
		} else if len(profile) != len(plain) && want[0] != "/" { // nothing is above /
			t.Fatalf("%d forms, and %d with a plain path", len(profile), len(plain))
		}
		for i, form := range profile[:len(plain)-4] {
			if !reflect.DeepEqual(form, plain[i]) {
				t.Fatalf("another form: %+v", form)
			}
		}
		for _, form := range profile[len(plain)-4:] {
			var paths []string
			for _, filter := range form.list {
				if filter.list != nil {
					paths = append(paths, filter.list[1].text)
				}
			}
			if form.list[1].word == "file-write*" && form.head() == "allow" {
				if diff := cmp.Diff(want, paths); diff != "" {
					t.Fatal(diff)
				}
			}
		}
		for _, secret := range []string{"/Users/me/.ssh/id", "/private/etc/master.passwd"} {
			if allowed(
				t, profile, request{operation: "file-write-data", path: secret},
			) != (len(want) > 0 && disk.Within(want[0], secret)) {
				t.Fatalf("%q decides about %s", path, secret)
			}
		}
	})
}
