package about

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/frontend/about/sshsig/sshsigtest"
)

// releaseKey is the key that the settle of these tests trusts, and untrusted one that it
// does not.
var releaseKey, untrusted = sshsigtest.New(1), sshsigtest.New(2)

// origin is a server with the files of a release, which a test can change.
type origin map[string][]byte

// newOrigin makes the files of a signed release for linux/amd64.
func newOrigin(t *testing.T, version string) origin {
	t.Helper()
	folder := "settle_" + version + "_linux_amd64"
	o := origin{folder + ".tar.gz": archiveOf(t, folder+"/README.md", "read me", folder+"/settle", "settle "+version)}
	o.sign(releaseKey)
	return o
}

// sign lists the archives and signs the list.
func (o origin) sign(key sshsigtest.Key) {
	var names []string
	for name := range o {
		if strings.HasSuffix(name, ".tar.gz") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var list []byte
	for _, name := range names {
		list = fmt.Appendf(list, "%x  %s\n", sha256.Sum256(o[name]), name)
	}
	o["checksums.txt"], o["checksums.txt.sig"] = list, key.Sign(ReleaseSigner, list)
}

func (o origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, ok := o[strings.TrimPrefix(r.URL.Path, "/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(data)
}

func archiveOf(t *testing.T, namesAndTexts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	files := tar.NewWriter(z)
	var err error
	for pair := range slices.Chunk(namesAndTexts, 2) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: pair[0], Mode: 0o755, Size: int64(len(pair[1]))}
		if target, ok := strings.CutPrefix(pair[1], "-> "); ok {
			h.Typeflag, h.Linkname, h.Size, pair[1] = tar.TypeSymlink, target, 0, ""
		}
		_, write := files.WriteHeader(h), error(nil)
		if pair[1] != "" {
			_, write = files.Write([]byte(pair[1]))
		}
		err = errors.Join(err, write)
	}
	if err := errors.Join(err, files.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// updater returns a settle 1.2.3 in a folder of its own, and its output.
func updater(t *testing.T, client *http.Client) (Updater, *bytes.Buffer) {
	t.Helper()
	keys, err := ReleaseKeys([]byte(releaseKey.Line(ReleaseSigner, ReleaseSigner)))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "settle")
	if err := os.WriteFile(program, []byte("settle 1.2.3"), 0o755); err != nil {
		t.Fatal(err)
	}
	out := new(bytes.Buffer)
	here := Installed{
		Version: "1.2.3", Program: program, System: "linux", Machine: "amd64",
		Exists: func(string) bool { return false },
	}
	return Updater{Client: client, Keys: keys, Installed: here, Out: out}, out
}

// program returns the installed program, and fails if anything is beside it.
func (u Updater) program(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(u.Installed.Program))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	data, err := os.ReadFile(u.Installed.Program)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A signed release is announced and installed.
func TestSignedReleaseIsInstalled(t *testing.T) {
	o := newOrigin(t, "1.3.0")
	server := httptest.NewTLSServer(o)
	defer server.Close()
	u, out := updater(t, server.Client())
	r := Release{Version: "1.3.0", Files: server.URL}
	if err := u.Check(t.Context(), r); !errors.Is(err, ErrNewer) || !strings.Contains(
		out.String(), "A release key signed its checksums: "+u.Keys[0].Fingerprint(),
	) || !strings.Contains(out.String(), "\n  settle update --install\n") {
		t.Errorf("%v: %s", err, out)
	}
	if got := u.program(t); got != "settle 1.2.3" {
		t.Errorf("Check installed %q", got)
	}
	out.Reset()
	if err := u.Install(t.Context(), r); err != nil || !strings.Contains(
		out.String(), "settle 1.3.0 is now "+u.Installed.Program,
	) {
		t.Errorf("%v: %s", err, out)
	}
	info, err := os.Stat(u.Installed.Program)
	if got := u.program(t); got != "settle 1.3.0" || err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("%q, %v, %v", got, info, err)
	}
}

// The owner of the download origin cannot make settle install, or recommend, a file that no release
// key signed.
func TestHostileOriginInstallsNothing(t *testing.T) {
	const archive = "settle_1.3.0_linux_amd64.tar.gz"
	old := newOrigin(t, "1.2.4")
	for name, c := range map[string]struct {
		change func(o origin)
		want   string
		late   bool // the release is announced: its list is signed
	}{
		"a key that is not trusted": {func(o origin) { o.sign(untrusted) }, "is not one of the trusted keys", false},
		"no signature": {
			func(o origin) { delete(o, "checksums.txt.sig") }, "checksums.txt.sig answered 404", false,
		},
		"an empty signature": {func(o origin) { o["checksums.txt.sig"] = nil }, "not an OpenSSH signature", false},
		"a huge signature": {
			func(o origin) { o["checksums.txt.sig"] = make([]byte, maxSignature+1) }, "more than", false,
		},
		"a signature for another purpose": {func(o origin) {
			o["checksums.txt.sig"] = releaseKey.Sign("git", o["checksums.txt"])
		}, `is for the namespace "git"`, false},
		"no list": {func(o origin) { delete(o, "checksums.txt") }, "checksums.txt answered 404", false},
		"a changed list": {func(o origin) {
			o[archive] = []byte("evil")
			o["checksums.txt"] = fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(o[archive]), archive)
		}, "does not match the content", false},
		"a changed archive": {func(o origin) { o[archive] = []byte("evil") }, "is not the file that was signed", true},
		"no archive":        {func(o origin) { delete(o, archive) }, archive + " answered 404", true},
		"an older release, signed": {func(o origin) {
			clear(o)
			for name, data := range old {
				o[name] = data
			}
		}, `it is the list of another release than 1.3.0: it names "settle_1.2.4_linux_amd64.tar.gz"`, false},
		"the archive of an older release": {
			func(o origin) { o[archive] = old["settle_1.2.4_linux_amd64.tar.gz"] },
			"is not the file that was signed", true,
		},
		"another list, signed by a release key": {func(o origin) {
			list := []byte("not a list\n")
			o["checksums.txt"], o["checksums.txt.sig"] = list, releaseKey.Sign(ReleaseSigner, list)
		}, "is not a list of checksums", false},
		"no archive for this machine": {func(o origin) {
			o["settle_1.3.0_linux_arm64.tar.gz"] = o[archive]
			delete(o, archive)
			o.sign(releaseKey)
		}, "the release has no " + archive, true},
		"a link for a program": {func(o origin) {
			o[archive] = archiveOf(t, "settle_1.3.0_linux_amd64/settle", "-> /bin/sh")
			o.sign(releaseKey)
		}, "is no file", true},
		"no program": {
			func(o origin) { o[archive] = archiveOf(t, "settle", "settle"); o.sign(releaseKey) },
			"it has no file", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t, "1.3.0")
			c.change(o)
			server := httptest.NewTLSServer(o)
			defer server.Close()
			u, out := updater(t, server.Client())
			r := Release{Version: "1.3.0", Files: server.URL}
			if err := u.Install(t.Context(), r); err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.HasSuffix(
					err.Error(), "nothing was changed",
				) {
				t.Errorf("install: %v", err)
			}
			if err := u.Check(t.Context(), r); !c.late && (err == nil || !strings.Contains(
				err.Error(), c.want,
			) || out.Len() > 0) || c.late && !errors.Is(err, ErrNewer) {
				t.Errorf("check: %v: %s", err, out)
			}
			if got := u.program(t); got != "settle 1.2.3" {
				t.Errorf("%q was installed", got)
			}
		})
	}
}

// Neither an equal nor an older release replaces this one, signed or not; and nothing is
// asked of its server.
func TestOlderReleaseIsNotInstalled(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.2": "is newer than the newest release, 1.2.2", "1.2.3-rc.1": "is newer than the newest release", "1.2.3": "is the newest version",
	} {
		asked := false
		o := newOrigin(t, version)
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = true
			o.ServeHTTP(w, r)
		}))
		u, out := updater(t, server.Client())
		if err := u.Install(
			t.Context(), Release{Version: version, Files: server.URL},
		); err != nil || !strings.Contains(out.String(), want) || asked || u.program(t) != "settle 1.2.3" {
			t.Errorf("%s: %v: %s (asked: %t)", version, err, out, asked)
		}
		server.Close()
	}
}

// A build without a key, and a program that a package manager owns, install nothing.
func TestInstallNeedsKeyAndOwnProgram(t *testing.T) {
	server := httptest.NewTLSServer(newOrigin(t, "1.3.0"))
	defer server.Close()
	r := Release{Version: "1.3.0", Files: server.URL}
	u, _ := updater(t, server.Client())
	keyless := u
	keyless.Keys = nil
	if err := keyless.Install(t.Context(), r); err == nil || !strings.Contains(
		err.Error(), "this build has no release key",
	) {
		t.Errorf("without a key: %v", err)
	}
	for want, change := range map[string]func(i *Installed){
		"use: go install":         func(i *Installed) { i.Module = true },
		"use: npm install":        func(i *Installed) { i.Program = "/x/node_modules/@settle-agent/settle-linux-x64/bin/settle" },
		"use: brew upgrade":       func(i *Installed) { i.Program = "/opt/homebrew/Cellar/settle/1.2.3/bin/settle" },
		"use: start a container":  func(i *Installed) { i.Program = "/usr/bin/settle" },
		"use: unpack the archive": func(i *Installed) { i.Program = `C:\settle\settle.exe` },
	} {
		owned := u
		change(&owned.Installed)
		if err := owned.Install(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
		var out bytes.Buffer
		owned.Out = &out
		if err := owned.Check(t.Context(), r); !errors.Is(err, ErrNewer) || !strings.Contains(
			out.String(), "does not check that signature",
		) {
			t.Errorf("want %q: %v: %s", want, err, out.String())
		}
	}
	if got := u.program(t); got != "settle 1.2.3" {
		t.Errorf("%q was installed", got)
	}
}

func TestParseChecksums(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	archive := sum + "  settle_1.3.0_linux_amd64.tar.gz\n"
	for list, want := range map[string]string{
		archive: "", archive + sum + "  install.sh": "", archive + sum + "  settle-fleet_1.3.0_linux_amd64.tar.gz\n": "",
		"": "names no archive", sum + "  install.sh\n": "names no archive",
		archive + archive: "is in the list twice",
		archive + sum + "  settle_1.2.9_linux_arm64.tar.gz\n":      "the list of another release than 1.3.0",
		archive + sum + "  settle_1.3.0-rc.1_linux_amd64.tar.gz\n": "the list of another release than 1.3.0",
		archive + "\n": "not a list", archive[2:]: "not a list", "zz" + archive[2:]: "not a list",
		sum + " *settle_1.3.0_linux_amd64.tar.gz\n": "not a list", sum + "  \n": "not a list",
	} {
		sums, err := parseChecksums([]byte(list), "1.3.0")
		if want == "" && (err != nil || sums["settle_1.3.0_linux_amd64.tar.gz"] != sum) || want != "" && (err == nil ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %v", list, sums, err)
		}
	}
}

func TestReleaseKeys(t *testing.T) {
	for text, want := range map[string]string{
		"# none\n": "", releaseKey.Line(ReleaseSigner, ReleaseSigner): "",
		releaseKey.Line(
			"ada", ReleaseSigner,
		): `it is of "ada"`, releaseKey.Line(ReleaseSigner, "git"): `for "git"`, "nonsense": "cannot read line 1",
	} {
		keys, err := ReleaseKeys([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %v", text, keys, err)
		}
	}
	// The file of the repository, which the binary embeds.
	file, err := os.ReadFile("../../../cmd/settle/release_keys")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReleaseKeys(file); err != nil {
		t.Error(err)
	}
}
