package main

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// sources is the file that lists the package sources of Debian on this machine.
const sources = "/etc/apt/sources.list.d/debian.sources"

// debs returns the folder that keeps packages between runs: the folder of .ci/run's tools.
func debs() string { return filepath.Join(os.TempDir(), "settle-ci-"+uid(), "debs") }

func uid() string { out, _ := exec.Command("id", "-u").Output(); return strings.TrimSpace(string(out)) }

// roots are clean root file systems: nothing on them has ever seen settle or Go.
type roots struct{ debian, musl, bare string }

var rootsOnce = sync.OnceValues(func() (r roots, err error) {
	dir, err := made()
	if err != nil {
		return r, err
	}
	dir = filepath.Join(filepath.Dir(dir), "roots") // TestMain removes it
	r = roots{filepath.Join(dir, "debian"), filepath.Join(dir, "musl"), filepath.Join(dir, "bare")}
	d := debian{sources: sources, cache: debs(), machine: "amd64"}
	if err := d.fetch(strings.Fields("base-files bash coreutils dash diffutils dpkg grep gzip libc-bin nodejs sed tar wget")...); err != nil {
		return r, err
	}
	if err := layRoot(&d, r.debian); err != nil {
		return r, err
	}
	// The status file of dpkg, with itself and the other packages.
	var status strings.Builder
	for _, p := range d.packages {
		status.WriteString(strings.Replace(p.control, "\n", "\nStatus: install ok installed\n", 1) + "\n")
	}
	err = write(filepath.Join(r.debian, "var/lib/dpkg/status"), []byte(status.String()), 0o644)
	// base-files owns the folders; dpkg would remove an empty folder without an owner.
	var folders strings.Builder
	err = errors.Join(err, filepath.WalkDir(r.debian, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			folders.WriteString(strings.TrimPrefix(path, r.debian) + "\n")
		}
		return err
	}))
	err = errors.Join(
		err,
		write(filepath.Join(r.debian, "var/lib/dpkg/info/base-files.list"), []byte("/."+folders.String()), 0o644),
		os.MkdirAll(filepath.Join(r.debian, "var/lib/dpkg/updates"), 0o755),
	)
	for _, f := range []struct{ root, name, text string }{
		{r.debian, "etc/passwd", "root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000::/home/ada:/bin/bash\n"},
		{r.debian, "etc/group", "root:x:0:\nada:x:1000:\n"},
	} {
		err = errors.Join(err, write(filepath.Join(f.root, f.name), []byte(f.text), 0o644))
	}
	if err != nil {
		return r, err
	}
	if err := d.fetch("busybox-static", "musl"); err != nil {
		return r, err
	}
	for _, root := range []string{r.musl, r.bare} {
		err = errors.Join(err, layRoot(&d, root))
		for _, name := range strings.Fields("cat chmod cp date grep gzip id ls mkdir mktemp mv rm sh sha256sum sleep tar uname wget") {
			err = errors.Join(err, os.Symlink("busybox", filepath.Join(root, "usr/bin", name)))
		}
	}
	err = errors.Join(
		err,
		write(
			filepath.Join(r.musl, "etc/passwd"),
			[]byte("root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n"),
			0o644,
		),
		write(filepath.Join(r.musl, "etc/group"), []byte("root:x:0:\nada:x:1000:\n"), 0o644),
	)
	return r, err
})

// layRoot unpacks packages, and makes a home for Ada.
func layRoot(d *debian, root string) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	tar := exec.Command("tar", "-x", "-C", root)
	in, err := tar.StdinPipe()
	if err == nil {
		err = tar.Start()
	}
	if err != nil {
		return err
	}
	err = errors.Join(d.layer(in, time.Unix(0, 0)), in.Close(), tar.Wait())
	for _, name := range []string{"proc", "dev", "mnt", "home/ada", "tmp", "root"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(root, name), 0o755))
	}
	return errors.Join(
		err,
		os.Chown(filepath.Join(root, "home/ada"), 1000, 1000),
		os.Chmod(filepath.Join(root, "tmp"), 0o777|os.ModeSticky),
	)
}

// machine is a clean root file system with a layer of its own: all changes of a test are in the
// folder upper.
type machine struct {
	t                  *testing.T
	root, upper, mount string
	env                []string
	user               string
}

func newMachine(t *testing.T, root, user string, env ...string) *machine {
	t.Helper()
	dir := t.TempDir()
	m := &machine{
		t:     t,
		root:  root,
		upper: filepath.Join(dir, "upper"),
		mount: filepath.Join(dir, "mount"),
		env:   env,
		user:  user,
	}
	for _, name := range []string{m.upper, m.mount, filepath.Join(dir, "work")} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// as runs a script of the shell as a user, with the release's files in /mnt, and returns its output
// and its exit code.
func (m *machine) as(user, script string) (string, int) {
	m.t.Helper()
	chroot, err := exec.LookPath("chroot")
	if err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.CommandContext(m.t.Context(), "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", `
mount -t overlay -o lowerdir="$1",upperdir="$2",workdir="${2%upper}work" none "$3"
mount -t proc none "$3/proc"; mount --rbind /dev "$3/dev"
mount -t tmpfs none "$3/mnt"; mkdir "$3/mnt/dist"; mount --bind "$4" "$3/mnt/dist"
chroot=$5 user=$6 root=$3 script=$7; shift 7
exec env -i "$@" "$chroot" --userspec="$user" "$root" /bin/sh -ec "cd; $script"`,
		"sh", m.root, m.upper, m.mount, dist(m.t), chroot, user, script)
	cmd.Args = append(cmd.Args, m.env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return string(out), 0
}

// must is as, for scripts that must succeed.
func (m *machine) must(user, script string) string {
	m.t.Helper()
	out, code := m.as(user, script)
	if code != 0 {
		m.t.Fatalf("%s: exit code %d\n%s", script, code, out)
	}
	return out
}

// tries settle where it is installed: its version, the demonstration, and a turn with
// a command of the fake model's.
func (m *machine) tries(settle, model string) {
	m.t.Helper()
	works(m.t, func(args ...string) string { return m.must(m.user, settle+" "+strings.Join(args, " ")) })
	out := m.must(
		m.user,
		"mkdir -p /tmp/project; cd /tmp/project; OPENAI_API_KEY=k "+settle+" run -m openai/gpt-5.2 --base-url "+model+" go on </dev/null; cat made; rm -r /tmp/project",
	)
	if !strings.Contains(out, "All done.\n") || !strings.HasSuffix(out, "made by a command\n") {
		m.t.Errorf("run: %s", out)
	}
}

// updates asks for a newer version: there is none, then there is one, then one that an
// unknown key signed, then nothing is there to be asked.
func (m *machine) updates(settle, url, want string) {
	m.t.Helper()
	for _, c := range []struct {
		index, want string
		code        int
	}{
		{url + "/latest.json", "settle " + version + " is the newest version.", 0},
		{url + "/newer.json", want, 4},
		{url + "/hostile.json", "is not one of the trusted keys", 1},
		{url + "/install.sh", "is not an index of releases", 1},
		{url + "/nothing", "404 Not Found", 1},
		{"https://127.0.0.1:1", "connection refused", 1},
		{"http://127.0.0.1:1", "must start with https://", 1},
	} {
		if out, code := m.as(m.user, settle+" update --check --index "+c.index); code != c.code ||
			!strings.Contains(out, c.want) {
			m.t.Errorf("update from %s: exit code %d: %s", c.index, code, out)
		}
	}
	if out, code := m.as(m.user, settle+" update --install --index "+url+"/hostile.json"); code != 1 ||
		!strings.Contains(out, "nothing was changed") {
		m.t.Errorf("a release of an unknown key: exit code %d: %s", code, out)
	}
	out, code := m.as(m.user, settle+" update --install --index "+url+"/newer.json")
	if want != "settle update --install" {
		if code != 1 || !strings.Contains(out, want) {
			m.t.Errorf("a package manager's program: exit code %d: %s", code, out)
		}
		return
	}
	if got := m.must(m.user, settle+" version"); code != 0 || !strings.Contains(out, "settle 1.3.0 is now /") ||
		got != "settle v1.3.0\n" {
		m.t.Errorf("installed: exit code %d: %s; now %s", code, out, got)
	}
}

// newer serves the release's files and two newer ones: of the same key, and of an unknown key.
func newer(t *testing.T) *httptest.Server {
	t.Helper()
	key, err := signing()
	if err != nil {
		t.Fatal(err)
	}
	file, line := testKey(t)
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(dist(t))))
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	for name, r := range map[string]release{"newer": small(t, "1.3.0", key.line, key.file), "hostile": small(t, "1.3.0", line, file)} {
		mux.Handle("/"+name+"/", http.StripPrefix("/"+name+"/", http.FileServer(http.Dir(r.out))))
		mux.HandleFunc("/"+name+".json", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"version":"1.3.0","files":"`+server.URL+"/"+name+`"}`)
		})
	}
	return server
}

// leaves compares the remaining files with docs/release.md.
func (m *machine) leaves(own ...string) {
	m.t.Helper()
	page, err := os.ReadFile("../docs/release.md")
	if err != nil {
		m.t.Fatal(err)
	}
	sentence := regexp.MustCompile(`Your data stays: .*?\.( |$)`).
		FindString(strings.ReplaceAll(string(page), "\n", " "))
	for _, found := range regexp.MustCompile("`~/([^`]+)`").FindAllStringSubmatch(sentence, -1) {
		own = append(own, "home/ada/"+found[1])
	}
	if len(own) < 2 {
		m.t.Errorf("docs/release.md does not list the data that stays: %q", sentence)
	}
	named := func(name string) bool {
		for _, o := range own {
			if name == o || strings.HasPrefix(name, o+"/") || strings.HasPrefix(o, name+"/") {
				return true
			}
		}
		return false
	}
	err = filepath.WalkDir(m.upper, func(path string, e fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, m.upper+"/")
		if err != nil || path == m.upper || named(name) {
			return err
		}
		if info, err := os.Lstat(filepath.Join(m.root, name)); err == nil && info.IsDir() && e.IsDir() {
			return nil // it was there
		}
		m.t.Errorf("%s is there after settle was removed, or was removed with it: %v", name, e)
		return nil
	})
	if err != nil {
		m.t.Error(err)
	}
}

const cleanTurns = `{"items": [{"call": "exec_command", "arguments": {"cmd": "echo made by a command >made"}}]}, {"items": [{"say": "All done."}]}`

// Each way to install works on a machine with only its requirements, and removing settle leaves
// only the documented files.
func TestCleanMachines(t *testing.T) {
	r, err := rootsOnce()
	if err != nil {
		t.Fatal(err)
	}
	files := newer(t)
	for _, root := range []string{r.debian, r.musl, r.bare} {
		err = errors.Join(err, write(filepath.Join(root, "etc/roots.pem"), certificate(files), 0o644),
			write(filepath.Join(root, "etc/roots.wgetrc"), []byte("ca_certificate = /etc/roots.pem\n"), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	folder := "settle_" + version + "_linux_amd64"
	script := "SETTLE_INSTALL_URL=" + files.URL + " sh /mnt/dist/install.sh"
	local := "SETTLE_INSTALL_URL=/mnt/dist sh /mnt/dist/install.sh" // Debian's busybox has no TLS that works
	archive := "tar -xzf /mnt/dist/" + folder + ".tar.gz"
	trust := []string{"SSL_CERT_FILE=/etc/roots.pem", "WGETRC=/etc/roots.wgetrc"}
	home := append([]string{"PATH=/usr/bin:/bin:/usr/sbin", "HOME=/home/ada"}, trust...)
	const updates = "settle update --install"
	ways := []struct {
		name, root              string
		by, install, at, remove string
		own, update             string
	}{
		{
			"debian script",
			r.debian,
			"1000:1000",
			script,
			"~/.local/bin/settle",
			"rm ~/.local/bin/settle",
			"home/ada/.local/bin",
			updates,
		},
		{"debian archive", r.debian, "1000:1000", archive, "~/" + folder + "/settle", "rm -r ~/" + folder, "", updates},
		{
			"debian deb",
			r.debian,
			"0:0",
			"dpkg --install /mnt/dist/settle_1.2.3~rc.1_amd64.deb",
			"settle",
			"dpkg --purge settle",
			"var/lib/dpkg var/log/dpkg.log",
			files.URL + "/newer/settle_1.3.0_<amd64 or arm64>.deb",
		},
		{
			"musl script",
			r.musl,
			"1000:1000",
			local,
			"~/.local/bin/settle",
			"rm ~/.local/bin/settle",
			"home/ada/.local/bin",
			updates,
		},
		{"musl archive", r.musl, "1000:1000", archive, "~/" + folder + "/settle", "rm -r ~/" + folder, "", updates},
	}
	t.Run("ways", func(t *testing.T) {
		for _, w := range ways {
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				m := newMachine(t, w.root, "1000:1000", home...)
				m.must(w.by, w.install)
				m.tries(w.at, fakeModel(t, cleanTurns))
				m.updates(w.at, files.URL, w.update)
				m.must(w.by, w.remove)
				m.leaves(strings.Fields(w.own)...)
			})
		}
		t.Run("debian npm", func(t *testing.T) {
			t.Parallel()
			npmInstalls(
				t,
				newMachine(
					t,
					r.debian,
					"1000:1000",
					append(slices.Clone(home), "PATH=/usr/local/bin:/usr/bin:/bin")...),
				files.URL,
			)
		})
		t.Run("no home and no user", func(t *testing.T) {
			t.Parallel()
			nobodyInstalls(
				t, newMachine(t, r.bare, "12345:12345", "PATH=/tmp/bin:/usr/bin"), "SETTLE_INSTALL_DIR=/tmp/bin "+local,
			)
		})
	})
}

// npmInstalls has this machine's npm install into the other's /usr/local; node is there.
func npmInstalls(t *testing.T, m *machine, url string) {
	npm := func(args ...string) {
		run(
			t,
			m.upper,
			nil,
			"npm",
			append(
				[]string{
					"--global",
					"--prefix",
					filepath.Join(m.upper, "usr/local"),
					"--no-audit",
					"--no-fund",
					"--offline",
					"--omit=optional",
				},
				args...)...)
	}
	if err := os.MkdirAll(filepath.Join(m.upper, "usr/local"), 0o755); err != nil {
		t.Fatal(err)
	}
	npm(
		"install",
		filepath.Join(dist(t), "settle-agent-settle-"+version+".tgz"),
		filepath.Join(dist(t), "settle-agent-settle-linux-x64-"+version+".tgz"),
	)
	m.tries("settle", fakeModel(t, cleanTurns))
	m.updates("settle", url, "npm install --global @settle-agent/settle@1.3.0")
	npm("uninstall", "@settle-agent/settle", "@settle-agent/settle-linux-x64")
	m.leaves("usr/local/bin", "usr/local/lib/node_modules") // npm's own folders
}

// nobodyInstalls is a container's case: a number for a user, and no home.
func nobodyInstalls(t *testing.T, m *machine, install string) {
	if out, code := m.as(m.user, strings.ReplaceAll(install, "SETTLE_INSTALL_DIR=/tmp/bin", "")); code == 0 ||
		!strings.Contains(out, "set HOME or SETTLE_INSTALL_DIR") {
		t.Errorf("without HOME: exit code %d: %s", code, out)
	}
	m.must(m.user, install)
	for _, env := range []string{"", "HOME=/ "} {
		out, code := m.as(
			m.user,
			"cd /tmp; "+env+"OPENAI_API_KEY=k settle run -m openai/gpt-5.2 --base-url http://127.0.0.1:1 hello </dev/null",
		)
		if code != 2 || !strings.Contains(out, "set SETTLE_DATA_DIR") {
			t.Errorf("%swithout a folder for data: exit code %d: %s", env, code, out)
		}
	}
	m.env = append(m.env, "SETTLE_DATA_DIR=/tmp/data")
	m.tries("settle", fakeModel(t, cleanTurns))
	m.must(m.user, "rm -r /tmp/bin /tmp/data")
	m.leaves()
}

// The image for commands has git and ripgrep, runs as an ordinary user and as process 1
// on a read-only root, and ends the children that others left to it. Two builds from
// the same packages are the same, and the SBOM names them.
func TestToolsImage(t *testing.T) {
	dir := t.TempDir()
	run(
		t, dir, nil, "tar", "-xzf", filepath.Join(dist(t), "settle_"+version+"_linux_amd64.tar.gz"),
		"--strip-components=1",
	)
	run(t, dir, nil, "mkdir", "fleet")
	run(
		t, dir, nil, "tar", "-xzf", filepath.Join(dist(t), "settle-fleet_"+version+"_linux_amd64.tar.gz"),
		"--strip-components=1", "-C", "fleet",
	)
	r := release{
		out: t.TempDir(), scratch: t.TempDir(), version: version, at: time.Unix(1e9, 0).UTC(), sources: sources, debs: debs(),
		binaries: []binary{
			{settle, "linux", "amd64", filepath.Join(dir, settle)},
		}, fleet: []binary{{settleFleet, "linux", "amd64", filepath.Join(dir, "fleet", settleFleet)}},
		temporal: []binary{{settleTemporal, "linux", "amd64", filepath.Join(dir, "fleet", settleTemporal)}},
	}
	files, err := r.fleetFiles("amd64")
	if err != nil || files[0].name != "usr/bin/settle-fleet" || files[1].name != "usr/bin/settle-fleet-temporal" {
		t.Errorf("the image of the fleet has %d files, %v", len(files), err)
	}
	below, err := r.tools(r.binaries[0])
	if err != nil {
		t.Fatal(err)
	}
	tools := func(binary) ([]v1.Layer, error) { return below, nil }
	if err := errors.Join(r.archiveImage(settle, "image_tools", tools), r.archiveImage(settleFleet, "image", tools)); err != nil {
		t.Fatal(err)
	}
	works(t, image(t, filepath.Join(r.out, "settle_"+version+"_image_tools.tar")))
	fleet := image(t, filepath.Join(r.out, "settle-fleet_"+version+"_image.tar"))
	if got := fleet("--version"); !strings.HasPrefix(got, "settle-fleet v"+version+"\nschema number ") {
		t.Errorf("settle-fleet --version: %q", got)
	}
	model := fakeModel(t, toolTurns)
	out := image(
		t, filepath.Join(r.out, "settle_"+version+"_image_tools.tar"), "OPENAI_API_KEY=k",
	)("run", "-C", "/work", "--json", "-m", "openai/gpt-5.2", "--base-url", model, "go on")
	for _, want := range []string{`one line with a needle`, `cloned and committed`, `user 1000`, `zombies: none`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	bom, err := os.ReadFile(filepath.Join(r.out, "settle_"+version+"_image_tools_amd64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"purl": "pkg:deb/debian/git@1:`, `"purl": "pkg:deb/debian/libc6@`, `"name": "GPL-2"`, `"debian:indexes:sha256"`, `"alg": "SHA-256"`} {
		if !strings.Contains(string(bom), want) {
			t.Errorf("no %s in the SBOM", want)
		}
	}
}

// toolTurns clone, commit and search; leave a child behind; and look for zombies.
const toolTurns = `
{"items": [{"call": "exec_command", "arguments": {"cmd": "set -e; git init -q origin; cd origin; git config --global --list 2>/dev/null || true; echo 'one line with a needle' >f; git add f; git -c user.name=a -c user.email=a@b commit -qm first; git clone -q . ../clone; cd ../clone; rg -N needle; echo >>f; git -c user.name=a -c user.email=a@b commit -qam second; [ $(git rev-list --count HEAD) = 2 ] && echo cloned and committed; echo user $(id -u)"}}]},
{"items": [{"call": "exec_command", "arguments": {"cmd": "(setsid true & setsid sh -c 'true &' &) >/dev/null 2>&1; sh -c 'sleep 0 & exec true'"}}]},
{"items": [{"call": "exec_command", "arguments": {"cmd": "cat /proc/[0-9]*/stat | grep ') Z' || echo 'zombies: none'"}}]},
{"items": [{"say": "All done."}]}`

// The same packages give the same layer.
func TestDebianLayer(t *testing.T) {
	d := debian{sources: sources, cache: debs(), machine: "amd64"}
	if err := d.fetch("busybox-static", "musl"); err != nil {
		t.Fatal(err)
	}
	var one, two strings.Builder
	if err := errors.Join(d.layer(&one, time.Unix(1e9, 0)), d.layer(&two, time.Unix(1e9, 0))); err != nil ||
		one.Len() == 0 ||
		one.String() != two.String() {
		t.Errorf("%d and %d bytes, %v", one.Len(), two.Len(), err)
	}
	for _, p := range d.packages {
		if p.name == "" || p.version == "" || p.source == "" || len(p.sum) != 64 || len(p.licences) == 0 {
			t.Errorf("%+v", p)
		}
	}
	if err := d.fetch("no-such-package-in-debian"); err == nil {
		t.Error("there is a package that is not")
	}
}
