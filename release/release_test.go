package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

const version = "1.2.3-rc.1"

// made is a signed release of the commit, for Linux on amd64.
var made = sync.OnceValues(func() (string, error) {
	dir, err := from("one")
	wasMade = dir
	return dir, err
})

// wasMade is the folder of made, if a test asked for it.
var wasMade string

// signing is a key for tests, and the line of release_keys that trusts it.
var signing = sync.OnceValues(func() (k struct{ dir, file, line string }, err error) {
	if k.dir, err = os.MkdirTemp("", "settle-release-key-"); err == nil {
		k.file, k.line, err = newKey(k.dir, "key")
	}
	return k, err
})

// from makes a release from a checkout of the commit in a folder of its own. A commit on
// top of it trusts the key of these tests.
func from(name string) (out string, err error) {
	scratch, err := os.MkdirTemp("", "settle-release-test-")
	if err != nil {
		return "", err
	}
	work, out := filepath.Join(scratch, name), filepath.Join(scratch, "dist")
	if _, err := git(".", "worktree", "add", "--detach", work, "HEAD"); err != nil {
		return "", err
	}
	defer func() {
		_, removed := git(".", "worktree", "remove", "--force", work)
		err = errors.Join(err, removed)
	}()
	key, err := signing()
	if err == nil {
		err = trustIn(work, key.line)
	}
	if err != nil {
		return "", err
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.Chdir(here)) }()
	if err := os.Chdir(work); err != nil {
		return "", err
	}
	r := release{
		out:     out,
		version: "v" + version,
		url:     "https://example.com/download",
		base:    filepath.Join(scratch, "base.tar"),
		signKey: key.file,
	}
	if err := base(r.base); err != nil {
		return "", err
	}
	return out, r.make([]string{"linux/amd64"})
}

// trustIn commits a release key in a checkout. The same key makes the same commit.
func trustIn(work, line string) error {
	path := filepath.Join(work, keysFile)
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(text, line+"\n"...), 0o644)
	}
	if err != nil {
		return err
	}
	date, err := git(work, "log", "-1", "--format=%cI")
	if err != nil {
		return err
	}
	_, err = output(
		work, []string{"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date}, "git", "-c", "safe.directory=*", "-c",
		"user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet",
		"--no-verify", "-m", "trust the key of the tests", keysFile,
	)
	return err
}

func dist(t *testing.T) string {
	t.Helper()
	dir, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestMain(m *testing.M) {
	code := m.Run()
	if wasMade != "" {
		os.RemoveAll(filepath.Dir(wasMade))
	}
	if key, err := signing(); err == nil {
		os.RemoveAll(key.dir)
	}
	os.Exit(code)
}

// run runs a program in a bare environment and returns its output.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// works tries a settle that is installed: its version, and a turn that is interrupted.
func works(t *testing.T, settle func(args ...string) string) {
	t.Helper()
	if got := settle("version"); !strings.HasPrefix(got, "settle v"+version+" ") {
		t.Errorf("version: %q", got)
	}
	if got := settle("demo"); !strings.Contains(got, "no process is left") || !strings.Contains(got, "Completed, ") {
		t.Errorf("demo: %s", got)
	}
}

// The same commit gives the same bytes in another folder.
func TestReproducible(t *testing.T) {
	one := dist(t)
	two, err := from("two")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(filepath.Dir(two))
	entries, err := os.ReadDir(one)
	if err != nil || len(entries) < 10 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		a, err := os.ReadFile(filepath.Join(one, e.Name()))
		b, err2 := os.ReadFile(filepath.Join(two, e.Name()))
		if err := errors.Join(err, err2); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %d and %d bytes, %v", e.Name(), len(a), len(b), err)
		}
	}
}

// The archive has the program, its manual in a form that man takes, completions that
// bash takes, and the licences.
func TestArchive(t *testing.T) {
	dir := t.TempDir()
	run(
		t, dir, nil, "tar", "-xzf", filepath.Join(dist(t), "settle_"+version+"_linux_amd64.tar.gz"),
		"--strip-components=1",
	)
	works(t, func(args ...string) string { return run(t, dir, nil, filepath.Join(dir, "settle"), args...) })
	run(t, dir, nil, "bash", "-n", "completions/settle.bash")
	pages, err := filepath.Glob(filepath.Join(dir, "man", "*.1"))
	if err != nil || len(pages) < 25 {
		t.Errorf("%d manual pages, %v", len(pages), err)
	}
	if out := run(t, dir, nil, "groff", append([]string{"-man", "-Tutf8", "-ww", "-z"}, pages...)...); out != "" {
		t.Errorf("groff warns: %s", out)
	}
	if out := run(t, dir, nil, "groff", "-man", "-Tascii", "-P-c", "-P-b", "-P-o", "-P-u", "man/settle-run.1"); !strings.Contains(
		out, "--max-cost USD",
	) {
		t.Errorf("the manual: %s", out)
	}
	for _, name := range []string{"licences/std/LICENSE", "licences/github.com/spf13/cobra/LICENSE.txt", "LICENSE", "CHANGELOG.md"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// The archive of settle-fleet is enough for settle-fleet dev on a machine with Postgres: it has
// Temporal's server, which dev finds beside itself, and the licences of both.
func TestFleetArchive(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "settle-release-fleet-") // the path of a socket has less than 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // Postgres runs as another user
		t.Fatal(err)
	}
	archive := filepath.Join(dist(t), "settle-fleet_"+version+"_linux_amd64.tar.gz")
	run(t, dir, nil, "tar", "-xzf", archive, "--strip-components=1")
	for _, name := range []string{
		"licences/go.temporal.io/server/LICENSE", "licences/github.com/jackc/pgx/v5/LICENSE", "deploy/compose.yaml",
	} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	program, data := filepath.Join(dir, "settle-fleet"), filepath.Join(dir, "data")
	dev := exec.CommandContext(t.Context(), program, "dev", "--no-worker", "--dir", data)
	dev.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir}
	var errs strings.Builder
	dev.Stderr = &errs
	out, err := dev.StdoutPipe()
	if err == nil {
		err = dev.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for lines := bufio.NewScanner(out); !found && lines.Scan(); {
		found = strings.HasPrefix(lines.Text(), "temporal web UI: http://127.0.0.1:")
	}
	if err := dev.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := dev.Wait(); err != nil || !found {
		t.Errorf("dev has found Temporal: %v; %v\n%s", found, err, errs.String())
	}
}

// The package is installed and removed; nothing of it stays.
func TestDebianPackage(t *testing.T) {
	name := filepath.Join(dist(t), "settle_1.2.3~rc.1_amd64.deb")
	root := t.TempDir()
	for _, d := range []string{"updates", "info"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg", f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dpkg := func(args ...string) {
		run(
			t,
			root,
			nil,
			"dpkg",
			append(
				[]string{"--root=" + root, "--force-not-root", "--force-script-chrootless", "--log=/dev/null"},
				args...)...)
	}
	dpkg("--install", name)
	works(t, func(args ...string) string { return run(t, root, nil, filepath.Join(root, "usr/bin/settle"), args...) })
	dpkg("--purge", "settle")
	if _, err := os.Stat(filepath.Join(root, "usr")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("usr is still there: %v", err)
	}
}

func TestRPM(t *testing.T) {
	root := t.TempDir()
	rpm := func(args ...string) {
		run(t, root, nil, "rpm", append([]string{"--root", root, "--dbpath", "/var/lib/rpm", "--nodeps"}, args...)...)
	}
	rpm("--install", "--ignoreos", filepath.Join(dist(t), "settle-1.2.3~rc.1-1.x86_64.rpm"))
	works(t, func(args ...string) string { return run(t, root, nil, filepath.Join(root, "usr/bin/settle"), args...) })
	rpm("--erase", "settle")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/settle")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the program is still there: %v", err)
	}
}

// registry serves packed packages as npm's registry does
// (github.com/npm/registry/blob/main/docs/responses/package-metadata.md).
func registry(t *testing.T, dir string, packages map[string]string) *httptest.Server {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if strings.HasSuffix(name, ".tgz") {
			http.ServeFile(w, r, filepath.Join(dir, filepath.Base(name)))
			return
		}
		file, found := packages[name]
		if !found {
			http.NotFound(w, r)
			return
		}
		var manifest map[string]any
		if err := json.Unmarshal([]byte(run(t, dir, nil, "tar", "-xzOf", file, "package/package.json")), &manifest); err != nil {
			t.Error(err)
			return
		}
		manifest["dist"] = map[string]string{"tarball": server.URL + "/" + file}
		json.NewEncoder(w).
			Encode(map[string]any{"name": name, "dist-tags": map[string]string{"latest": version}, "versions": map[string]any{version: manifest}})
	}))
	t.Cleanup(server.Close)
	return server
}

// npm installs the packages by one name from a registry, with the platform's, and npx
// runs them: exit codes and signals pass.
func TestNPM(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private":true}`), 0o644); err != nil {
		t.Fatal(err)
	}
	npm := registry(t, dist(t), map[string]string{
		"@settle-agent/settle":           "settle-agent-settle-" + version + ".tgz",
		"@settle-agent/settle-linux-x64": "settle-agent-settle-linux-x64-" + version + ".tgz",
	})
	run(t, dir, nil, "npm", "install", "--no-audit", "--no-fund", "--registry", npm.URL, "@settle-agent/settle")
	works(t, func(args ...string) string {
		return run(t, dir, nil, "npx", append([]string{"--no", "settle"}, args...)...)
	})
	cmd := exec.Command("node_modules/.bin/settle", "run", "--nonsense")
	cmd.Dir = dir
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("wrong usage: %v", err)
	}
	server := exec.Command("node_modules/.bin/settle", "exec-server")
	server.Dir = dir
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := server.Wait(); err != nil { // it does not end by the signal
		t.Errorf("after TERM: %v", err)
	}
}

// The install script installs released and signed files. TestInstallScriptRefuses has the files
// that it does not install.
func TestInstallScript(t *testing.T) {
	url, env := secure(t, http.FileServer(http.Dir(dist(t))))
	to := filepath.Join(t.TempDir(), "bin")
	env = append(env, "SETTLE_INSTALL_URL="+url, "SETTLE_INSTALL_DIR="+to)
	if got := run(t, t.TempDir(), env, "sh", filepath.Join(dist(t), "install.sh")); !strings.Contains(
		got, "settle "+version+" is now "+to+"/settle",
	) ||
		!strings.Contains(got, `Good "settle-release" signature`) {
		t.Errorf("it says %q", got)
	}
	works(t, func(args ...string) string { return run(t, to, nil, filepath.Join(to, "settle"), args...) })
	run(t, dist(t), nil, "sha256sum", "--check", "--quiet", checksumsFile)
}

// The image's program runs as an ordinary user and as process 1, where nothing can be
// written but /data, /work and /tmp; with a base below it, it runs commands.
func TestImage(t *testing.T) {
	settle := image(t, filepath.Join(dist(t), "settle_"+version+"_image.tar"))
	if got := settle("version"); !strings.HasPrefix(got, "settle v"+version+" ") {
		t.Errorf("version: %q", got)
	}
	works(t, image(t, filepath.Join(dist(t), "settle_"+version+"_image_base.tar")))
}

// image unpacks an image and returns a function that runs its program.
func image(t *testing.T, path string, env ...string) (settle func(args ...string) string) {
	t.Helper()
	root, index := t.TempDir(), images(t, path)
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Platform.Architecture != "amd64" {
		t.Fatalf("%+v, %v", manifest, err)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil || config.Config.User != "1000:1000" ||
		!strings.HasPrefix(filepath.Base(path), filepath.Base(config.Config.Entrypoint[0])+"_") {
		t.Errorf("%+v, %v", config, err)
	}
	files := mutate.Extract(image)
	defer files.Close()
	unpack(t, files, root)
	for _, d := range []string{"proc", "dev"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	chroot, err := exec.LookPath("chroot")
	if err != nil {
		t.Fatal(err)
	}
	return func(args ...string) string {
		return run(
			t,
			"/",
			slices.Concat(config.Config.Env, env, []string{"ROOT=" + root, "CHROOT=" + chroot}),
			"unshare",
			append([]string{
				"--mount", "--pid", "--fork", "--kill-child", "sh", "-ec",
				`mount --bind -o ro "$ROOT" "$ROOT"; for d in data work tmp; do mount -t tmpfs -o mode=1777 none "$ROOT/$d"; done
mount -t proc none "$ROOT/proc"; mount --rbind /dev "$ROOT/dev"
cd "$ROOT/work"; mount -o remount,bind,ro "$ROOT"; exec "$CHROOT" --userspec=1000:1000 "$ROOT" "$@"`, "sh", config.Config.Entrypoint[0],
			}, args...)...)
	}
}

// base writes a root file system with busybox alone.
func base(path string) error {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	libraries, err := output("/", nil, "ldd", busybox)
	if err != nil && !strings.Contains(err.Error(), "not a dynamic executable") {
		return err
	}
	return create(path, func(to io.Writer) error {
		t := tar.NewWriter(to)
		add := func(from, name string) error {
			data, err := os.ReadFile(from)
			if err != nil {
				return err
			}
			return errors.Join(
				t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(data))}),
				func() error { _, err := t.Write(data); return err }(),
			)
		}
		err := add(busybox, "bin/busybox")
		for _, name := range []string{"sh", "ls", "date", "sleep", "echo"} {
			err = errors.Join(
				err,
				t.WriteHeader(
					&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "busybox", Mode: 0o777},
				),
			)
		}
		for _, word := range strings.Fields(libraries) {
			if strings.HasPrefix(word, "/") {
				err = errors.Join(err, add(word, word[1:]))
			}
		}
		return errors.Join(err, t.Close())
	})
}

// unpack writes the files of a tar archive.
func unpack(t *testing.T, from io.Reader, dir string) {
	t.Helper()
	archive := tar.NewReader(from)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755)
		case tar.TypeSymlink:
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(h.Linkname, path))
		default:
			data, read := io.ReadAll(archive)
			err = errors.Join(read, write(path, data, os.FileMode(h.Mode)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Windows gets a zip with the same files.
func TestZip(t *testing.T) {
	r := release{at: time.Unix(1e9, 0).UTC()}
	var b bytes.Buffer
	if err := r.zip(&b, "settle", []file{{"settle.exe", []byte("program"), 0o755}, {"man/x.1", []byte("page"), 0o644}}); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(z.File) != 2 || z.File[0].Name != "settle/settle.exe" || z.File[0].Mode() != 0o755 ||
		!z.File[0].Modified.Equal(r.at) {
		t.Errorf("%+v, %v", z.File, err)
	}
}

// Compressed files have no time and no name of their own.
func TestCompressed(t *testing.T) {
	data, err := compressed([]byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil || !z.ModTime.IsZero() || z.Name != "" {
		t.Errorf("%+v, %v", z, err)
	}
	again, _ := compressed([]byte("text"))
	if sha256.Sum256(data) != sha256.Sum256(again) {
		t.Error("twice is not the same")
	}
}

func TestLicences(t *testing.T) {
	for text, want := range map[string]string{
		"MIT License\n\nPermission is hereby granted, free of charge, to any\nperson obtaining a copy": "MIT",
		"                    Apache License\n              Version 2.0, January 2004":                  "Apache-2.0",
		"all rights reserved": "",
	} {
		if got := spdx([]byte(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
