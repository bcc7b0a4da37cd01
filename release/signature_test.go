package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// newKey makes a key with ssh-keygen, and returns its file and its line of release_keys.
func newKey(dir, name string) (file, line string, err error) {
	file = filepath.Join(dir, name)
	if _, err := output(dir, nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "for tests", "-f", file); err != nil {
		return "", "", err
	}
	public, err := os.ReadFile(file + ".pub")
	return file, `settle-release namespaces="settle-release" ` + strings.TrimSpace(string(public)), err
}

func testKey(t *testing.T) (file, line string) {
	t.Helper()
	file, line, err := newKey(t.TempDir(), "key")
	if err != nil {
		t.Fatal(err)
	}
	return file, line
}

// small makes a release for this machine whose program is a script. It trusts a key, and
// is signed with another or the same, or with none.
func small(t *testing.T, version, trusted, signKey string) release {
	t.Helper()
	r := release{
		out:     t.TempDir(),
		scratch: t.TempDir(),
		version: version,
		url:     "https://example.com/download",
		signKey: signKey,
	}
	if trusted != "" {
		r.keys = []string{trusted}
	}
	folder := folderOf(version)
	err := create(r.add(folder+".tar.gz"), func(to io.Writer) error {
		z := gzip.NewWriter(to)
		files := tar.NewWriter(z)
		program := "#!/bin/sh\necho settle v" + version + "\n"
		err := files.WriteHeader(
			&tar.Header{Typeflag: tar.TypeReg, Name: folder + "/settle", Mode: 0o755, Size: int64(len(program))},
		)
		if err == nil {
			_, err = io.WriteString(files, program)
		}
		return errors.Join(err, files.Close(), z.Close())
	})
	if err := errors.Join(err, r.checksums(), r.sign()); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r release) file(name string) string { return filepath.Join(r.out, name) }

func (r release) archive() string { return r.file(r.artifacts[0]) }

// secure serves files over https. The environment has curl, wget and settle trust it.
func secure(t *testing.T, handler http.Handler) (url string, env []string) {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	roots, wgetrc := filepath.Join(dir, "roots.pem"), filepath.Join(dir, "wgetrc")
	err := errors.Join(
		os.WriteFile(roots, certificate(server), 0o644),
		os.WriteFile(wgetrc, []byte("ca_certificate = "+roots+"\n"), 0o644),
	)
	if err != nil {
		t.Fatal(err)
	}
	return server.URL, []string{"CURL_CA_BUNDLE=" + roots, "WGETRC=" + wgetrc, "SSL_CERT_FILE=" + roots}
}

func certificate(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// programs returns a PATH with the programs that the install script needs, and the named ones.
func programs(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append(names, strings.Fields("sh cat chmod cp grep gzip mkdir mktemp mv rm sha256sum tar uname")...) {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return "PATH=" + dir
}

// install runs a release's install script, and returns its output and the installed program.
func install(t *testing.T, r release, env ...string) (printed, installed string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "bin")
	cmd := exec.CommandContext(t.Context(), "/bin/sh", r.file("install.sh"))
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "SETTLE_INSTALL_DIR=" + to}, env...)
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	program, _ := os.ReadFile(filepath.Join(to, "settle"))
	if (err == nil) != (len(program) > 0) {
		t.Errorf("%v, and %q is installed: %s", err, program, out)
	}
	return string(out), string(program)
}

// The install script verifies a signed release, and reports the checks that it could not make.
func TestInstallScriptVerifies(t *testing.T) {
	file, line := testKey(t)
	signed, keyless := small(t, "1.2.3", line, file), small(t, "1.2.3", "", "")
	old := t.TempDir()
	if err := write(filepath.Join(old, "ssh-keygen"), []byte("#!/bin/sh\necho 'unknown option -- Y' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	const good, onlySum = `Good "settle-release" signature`, "only the checksum of the archive is verified"
	for name, c := range map[string]struct {
		r          release
		path, want string
	}{
		"curl":                 {signed, programs(t, "curl", "ssh-keygen"), good},
		"wget":                 {signed, programs(t, "wget", "ssh-keygen"), good},
		"without ssh-keygen":   {signed, programs(t, "curl"), "ssh-keygen (OpenSSH 8.0 or later) is missing: " + onlySum + ", not the release's signature"},
		"with an old one":      {signed, programs(t, "curl") + ":" + old, "ssh-keygen (OpenSSH 8.0 or later) is missing: " + onlySum},
		"release without keys": {keyless, programs(t, "curl", "ssh-keygen"), "has no release key: " + onlySum},
	} {
		t.Run(name, func(t *testing.T) {
			url, env := secure(t, http.FileServer(http.Dir(c.r.out)))
			for _, url := range []string{url, c.r.out} { // a folder as well
				printed, installed := install(t, c.r, append(env, c.path, "SETTLE_INSTALL_URL="+url)...)
				if !strings.Contains(printed, c.want) || strings.Contains(printed, good) != (c.want == good) ||
					!strings.Contains(installed, "v1.2.3") {
					t.Errorf("from %s: it installed %q and printed %s", url, installed, printed)
				}
			}
		})
	}
}

// The owner of the download location cannot make an authentic install script install a file that no
// release key signed.
func TestInstallScriptRefuses(t *testing.T) {
	file, line := testKey(t)
	wrong, wrongLine := testKey(t)
	old := small(t, "1.2.2", line, file)
	take := func(from, to release, names ...string) error {
		var errs []error
		for _, name := range names {
			data, err := os.ReadFile(from.file(name))
			errs = append(errs, err, os.WriteFile(to.file(name), data, 0o644))
		}
		return errors.Join(errs...)
	}
	spoil := func(path string) error {
		data, err := os.ReadFile(path)
		if err == nil {
			data[len(data)/2] ^= 1
			err = os.WriteFile(path, data, 0o644)
		}
		return err
	}
	for name, c := range map[string]struct {
		change func(r release) error
		want   string
	}{
		"a key that is not trusted": {func(r release) error {
			return take(small(t, "1.2.3", wrongLine, wrong), r, "checksums.txt.sig")
		}, "no release key signed"},
		"no signature":         {func(r release) error { return os.Remove(r.file("checksums.txt.sig")) }, "checksums.txt.sig"},
		"a changed signature":  {func(r release) error { return spoil(r.file("checksums.txt.sig")) }, "no release key signed"},
		"a changed list":       {func(r release) error { return spoil(r.file("checksums.txt")) }, "no release key signed"},
		"a changed archive":    {func(r release) error { return spoil(r.archive()) }, "not the one that was released"},
		"a longer archive":     {func(r release) error { return appendTo(r.archive(), "more") }, "not the one that was released"},
		"no archive":           {func(r release) error { return os.Remove(r.archive()) }, folderOf("1.2.3") + ".tar.gz"},
		"an older signed list": {func(r release) error { return take(old, r, "checksums.txt", "checksums.txt.sig") }, "the list of another release than 1.2.3"},
		"an older archive under the new name": {func(r release) error {
			data, err := os.ReadFile(old.archive())
			return errors.Join(err, os.WriteFile(r.archive(), data, 0o644))
		}, "not the one that was released"},
	} {
		t.Run(name, func(t *testing.T) {
			r := small(t, "1.2.3", line, file)
			if err := c.change(r); err != nil {
				t.Fatal(err)
			}
			url, env := secure(t, http.FileServer(http.Dir(r.out)))
			printed, _ := install(t, r, append(env, "SETTLE_INSTALL_URL="+url)...)
			if !strings.Contains(printed, c.want) || !strings.Contains(printed, "nothing was installed") {
				t.Errorf("it says %s", printed)
			}
		})
	}
	t.Run("a release that was not signed", func(t *testing.T) {
		r := small(t, "1.2.3", line, "")
		if printed, _ := install(t, r, "SETTLE_INSTALL_URL="+r.out); !strings.Contains(
			printed, "cannot copy "+r.file("checksums.txt.sig"),
		) {
			t.Errorf("it says %s", printed)
		}
	})
}

// folderOf is the folder in the archive for this machine.
func folderOf(version string) string {
	return "settle_" + version + "_" + runtime.GOOS + "_" + runtime.GOARCH
}

func appendTo(path, text string) error {
	data, err := os.ReadFile(path)
	return errors.Join(err, os.WriteFile(path, append(data, text...), 0o644))
}

// The install script refuses http: as an address, and as the target of a redirect.
func TestInstallScriptRefusesHTTP(t *testing.T) {
	file, line := testKey(t)
	r := small(t, "1.2.3", line, file)
	asked := false
	files := http.FileServer(http.Dir(r.out))
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked = true
		files.ServeHTTP(w, q)
	}))
	defer plain.Close()
	for _, url := range []string{plain.URL, strings.ToUpper(plain.URL[:4]) + plain.URL[4:], "ftp://127.0.0.1", "file://" + r.out, "dist", "--help"} {
		if printed, _ := install(t, r, "SETTLE_INSTALL_URL="+url); !strings.Contains(
			printed, "must start with https://",
		) ||
			asked {
			t.Errorf("%s: asked: %t; %s", url, asked, printed)
		}
	}
	url, env := secure(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, plain.URL+q.URL.Path, http.StatusFound)
	}))
	for _, program := range []string{"curl", "wget"} {
		asked = false
		printed, _ := install(t, r, append(env, programs(t, program, "ssh-keygen"), "SETTLE_INSTALL_URL="+url)...)
		if want := map[string]string{"curl": "over https", "wget": "redirects to http"}[program]; !strings.Contains(
			printed, want,
		) {
			t.Errorf("%s: %s", program, printed)
		}
		if program == "curl" && asked {
			t.Error("curl followed the redirect")
		}
	}
	// A redirect to https is followed: GitHub keeps the files on another server.
	url, env = secure(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if path, ok := strings.CutPrefix(q.URL.Path, "/files"); ok {
			q.URL.Path = path
			files.ServeHTTP(w, q)
			return
		}
		http.Redirect(w, q, "https://"+q.Host+"/files"+q.URL.Path, http.StatusFound)
	}))
	for _, program := range []string{"curl", "wget"} {
		printed, installed := install(
			t,
			r,
			append(env, programs(t, program, "ssh-keygen"), "SETTLE_INSTALL_URL="+url)...)
		if !strings.Contains(installed, "v1.2.3") {
			t.Errorf("%s: %s", program, printed)
		}
	}
}

// All files of a release are in the signed list.
func TestListHasAllFiles(t *testing.T) {
	list, err := os.ReadFile(filepath.Join(dist(t), checksumsFile))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dist(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dist(t), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		listed := strings.Contains(string(list), fmt.Sprintf("%x  %s\n", sha256.Sum256(data), e.Name()))
		if listed == strings.HasPrefix(e.Name(), checksumsFile) {
			t.Errorf("%s: in the list: %t", e.Name(), listed)
		}
	}
}

// An agent signs with a key whose private half is in no file: a key on hardware, too.
func TestAgentSigns(t *testing.T) {
	file, line := testKey(t)
	socket := filepath.Join(t.TempDir(), "agent")
	agent := exec.Command("ssh-agent", "-D", "-a", socket)
	out, err := agent.StdoutPipe()
	if err == nil {
		err = agent.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = agent.Process.Signal(syscall.SIGTERM)
		_ = agent.Wait()
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil { // it listens
		t.Fatal(err)
	}
	t.Setenv("SSH_AUTH_SOCK", socket)
	run(t, t.TempDir(), []string{"SSH_AUTH_SOCK=" + socket}, "ssh-add", "-q", file)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	r := small(t, "1.2.3", line, file+".pub")
	if printed, _ := install(t, r, "SETTLE_INSTALL_URL="+r.out); !strings.Contains(
		printed, `Good "settle-release" signature`,
	) {
		t.Errorf("it says %s", printed)
	}
}

// The release command publishes no signature that nobody accepts, and says loudly that a
// release is not signed.
func TestSigningFailsLoudly(t *testing.T) {
	file, _ := testKey(t)
	_, other := testKey(t)
	r := small(t, "1.2.3", other, "")
	r.signKey = file
	if err := r.sign(); err == nil || !strings.Contains(err.Error(), "is not in cmd/settle/release_keys") {
		t.Errorf("a key that is not in the list: %v", err)
	}
	if _, err := os.Stat(r.file("checksums.txt.sig")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the signature is there: %v", err)
	}
	for text, want := range map[string]string{
		"# none\n": "has no key, so no user could verify", other + "\n": "", "ada " + other: "is not a release key",
		strings.Replace(other, "settle-release", "ada", 1): "is not a release key", other + "' $(id)": "is not a release key",
	} {
		r := release{root: t.TempDir(), signKey: file}
		if err := write(filepath.Join(r.root, keysFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := r.trust(); want == "" && err != nil ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, c := range []struct {
		keys []string
		want string
	}{{nil, "say that they verified no signature"}, {[]string{other}, `Its install.sh and "settle update" refuse it`}} {
		r.keys = c.keys
		if got := r.unsigned(); !strings.Contains(got, "NOT SIGNED") || !strings.Contains(got, c.want) {
			t.Error(got)
		}
	}
}

// The commands by hand of docs/release.md accept a release and refuse a changed one.
func TestVerifyByHand(t *testing.T) {
	file, line := testKey(t)
	page, err := os.ReadFile("../docs/release.md")
	if err != nil {
		t.Fatal(err)
	}
	section := regexp.MustCompile("(?s)## Verify a release by hand\n.*?```sh\n(.*?)```").FindSubmatch(page)
	if section == nil {
		t.Fatal("docs/release.md has no commands to verify by hand")
	}
	commands := string(section[1])
	r := small(t, "1.2.3", line, file)
	if err := os.WriteFile(r.file("release_keys"), []byte("# keys\n"+line+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := run(t, r.out, nil, "sh", "-euc", commands)
	for _, want := range []string{`Good "settle-release" signature`, folderOf("1.2.3") + ".tar.gz: OK", "install.sh: OK"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	for _, name := range []string{"install.sh", "provenance.json", checksumsFile, r.artifacts[0]} {
		before, err := os.ReadFile(r.file(name))
		if err := errors.Join(err, appendTo(r.file(name), "\n")); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-euc", commands)
		cmd.Dir = r.out
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("%s was changed: %s", name, out)
		}
		if err := os.WriteFile(r.file(name), before, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
