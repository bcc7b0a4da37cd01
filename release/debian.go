package main

import (
	"archive/tar"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// debian is a root file system of Debian packages, without Debian: apt chooses and
// verifies them, dpkg-deb opens them, and nothing in them is run.
type debian struct {
	sources  string // a file of APT sources, which say which packages there are
	cache    string // a folder for indexes and packages, used again
	machine  string // as Go calls it, which is as Debian does
	packages []deb
	digest   string // SHA-256 of the signed indexes: the state of the archive that was used
}

// deb is a package.
type deb struct {
	name, version, source, path, sum string
	control                          string
	licences                         []string // as its copyright file calls them
}

// toolPackages are the packages of an image for commands: a shell, the programs that scripts
// expect, git and ripgrep.
var toolPackages = strings.Fields(
	"base-files bash coreutils dash diffutils findutils git grep gzip mawk ripgrep sed tar",
)

// options make apt ignore the packages of this machine, and use the cache as the present
// user.
func (d *debian) options() []string {
	state := filepath.Join(d.cache, d.machine)
	options := []string{"-qq", "--yes", "--no-install-recommends"}
	for _, o := range []string{
		"Dir::State=" + state, "Dir::State::status=" + filepath.Join(state, "status"), "Dir::Cache=" + state, "Debug::NoLocking=true",
		"Dir::Etc::sourcelist=" + d.sources, "Dir::Etc::sourceparts=-", "APT::Architecture=" + d.machine, "APT::Architectures=" + d.machine,
		"APT::Sandbox::User=", "Acquire::Languages=none", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
	} {
		options = append(options, "-o", o)
	}
	return options
}

// fetch finds the packages with all their dependencies, and downloads the packages that are not in
// the cache.
func (d *debian) fetch(names ...string) error {
	state := filepath.Join(d.cache, d.machine)
	for _, dir := range []string{"lists/partial", "archives/partial", "empty/partial"} {
		if err := os.MkdirAll(filepath.Join(state, dir), 0o755); err != nil {
			return err
		}
	}
	status, err := os.OpenFile(filepath.Join(state, "status"), os.O_CREATE|os.O_RDONLY, 0o644) // nothing is installed
	if err != nil {
		return err
	}
	if err := status.Close(); err != nil {
		return err
	}
	apt := func(args ...string) (string, error) {
		return output("/", nil, "apt-get", append(d.options(), args...)...)
	}
	if _, err := apt("update"); err != nil {
		return err
	}
	if err := d.state(filepath.Join(state, "lists")); err != nil {
		return err
	}
	// With an empty folder of archives, apt lists all packages, not only missing ones.
	list, err := apt(
		append(
			[]string{"install", "--print-uris", "-o", "Dir::Cache::archives=" + filepath.Join(state, "empty")},
			names...)...)
	if err != nil {
		return err
	}
	var files []string
	for line := range strings.Lines(list) {
		fields := strings.Fields(line) // 'URI' FILE SIZE HASH
		if len(fields) < 3 {
			return fmt.Errorf("apt-get --print-uris says %q", line)
		}
		files = append(files, filepath.Join(state, "archives", fields[1]))
	}
	present := func(name string) bool { _, err := os.Stat(name); return err == nil }
	if !slices.ContainsFunc(files, func(name string) bool { return !present(name) }) {
		return d.open(files)
	}
	if _, err := apt(append([]string{"install", "--download-only"}, names...)...); err != nil {
		return err
	}
	return d.open(files)
}

// open reads the descriptions of the packages in the files.
func (d *debian) open(files []string) error {
	d.packages = nil
	for _, file := range files {
		p, err := open(file)
		if err != nil {
			return err
		}
		d.packages = append(d.packages, p)
	}
	slices.SortFunc(d.packages, func(a, b deb) int { return strings.Compare(a.name, b.name) })
	return nil
}

// state notes which state of the archive is used.
func (d *debian) state(lists string) error {
	indexes, err := filepath.Glob(filepath.Join(lists, "*Release"))
	if err != nil || len(indexes) == 0 {
		return cmp.Or(err, fmt.Errorf("there is no signed index of %s", d.sources))
	}
	h := sha256.New()
	for _, name := range indexes { // Glob sorts
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		h.Write(data)
	}
	d.digest = fmt.Sprintf("%x", h.Sum(nil))
	return nil
}

// open reads the description in a package.
func open(file string) (deb, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return deb{}, err
	}
	control, err := output("/", nil, "dpkg-deb", "--field", file)
	if err != nil {
		return deb{}, err
	}
	p := deb{path: file, sum: fmt.Sprintf("%x", sha256.Sum256(data)), control: control + "\n"}
	for line := range strings.Lines(control) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "Package":
			p.name = value
		case "Version":
			p.version = value
		case "Source":
			p.source = value
		}
	}
	if p.source == "" {
		p.source = p.name
	}
	if p.name == "" || p.version == "" {
		return deb{}, fmt.Errorf("%s names no package", file)
	}
	return p, nil
}

// leftOut matches files that images leave out: documents for people, except licences.
var leftOut = regexp.MustCompile(
	`^usr/share/(man|info|locale|lintian|bug|bash-completion|zsh|fish|menu|doc-base)/|^usr/share/doc/[^/]+/[^/]*(/|$)`,
)

const copyrights = "usr/share/doc/"

// layer writes the files of all packages as a layer of an image, as root's, at the
// time given; which packages they are is in var/lib/dpkg/status.d, where scanners look.
func (d *debian) layer(to io.Writer, at time.Time) error {
	t := &root{Writer: tar.NewWriter(to), at: at, seen: map[string]bool{}}
	// One tree below usr, as Debian has it since bookworm; some packages still have paths without
	// usr.
	for _, name := range []string{"bin", "lib", "lib64", "sbin"} {
		t.add(&tar.Header{Typeflag: tar.TypeDir, Name: "usr/" + name, Mode: 0o755}, nil)
		t.add(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: "usr/" + name, Mode: 0o777}, nil)
	}
	copyright := map[string]string{} // file -> its text, or the file that it is a link to
	for _, p := range d.packages {
		if err := t.unpack(p, copyright); err != nil {
			return fmt.Errorf("cannot unpack %s: %w", p.path, err)
		}
		t.add(
			&tar.Header{Typeflag: tar.TypeReg, Name: "var/lib/dpkg/status.d/" + p.name, Mode: 0o644}, []byte(p.control),
		)
	}
	// update-alternatives would make these.
	if t.seen["usr/bin/mawk"] {
		t.add(&tar.Header{Typeflag: tar.TypeSymlink, Name: "usr/bin/awk", Linkname: "mawk", Mode: 0o777}, nil)
	}
	for n := range d.packages {
		p := &d.packages[n]
		if p.licences = licencesOf(copyright, p.name); len(p.licences) == 0 {
			t.err = errors.Join(t.err, fmt.Errorf("package %s says nothing about its licence", p.name))
		}
	}
	return errors.Join(t.err, t.Close())
}

// root writes a file system; the first error stays.
type root struct {
	*tar.Writer
	at   time.Time
	seen map[string]bool
	err  error
}

func (t *root) add(h *tar.Header, data []byte) {
	if t.err != nil || (h.Typeflag == tar.TypeDir && t.seen[h.Name]) {
		return
	}
	t.seen[h.Name] = true
	h.Size, h.ModTime, h.Format, h.Uid, h.Gid, h.Uname, h.Gname = int64(len(data)), t.at, tar.FormatPAX, 0, 0, "", ""
	h.AccessTime, h.ChangeTime, h.PAXRecords = time.Time{}, time.Time{}, nil
	h.Mode &= 0o1777 // no program of an image has another one's rights
	if h.Typeflag == tar.TypeDir {
		h.Name += "/"
	}
	if t.err = t.WriteHeader(h); t.err == nil {
		_, t.err = t.Write(data)
	}
}

// unpack adds the files of a package.
func (t *root) unpack(p deb, copyright map[string]string) (err error) {
	cmd := exec.Command("dpkg-deb", "--fsys-tarfile", p.path)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	defer func() {
		_, drained := io.Copy(io.Discard, out)
		err = errors.Join(err, drained, cmd.Wait())
	}()
	from := tar.NewReader(out)
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			return t.err
		}
		if err != nil {
			return err
		}
		name := merged(h.Name)
		isCopyright := strings.HasPrefix(name, copyrights) &&
			(path.Base(name) == "copyright" || path.Dir(name)+"/" == copyrights && h.Typeflag == tar.TypeSymlink)
		if name == "." || name == "" || t.seen[name] && h.Typeflag == tar.TypeSymlink ||
			leftOut.MatchString(name) && !isCopyright {
			continue
		}
		data, err := io.ReadAll(from)
		if err != nil {
			return err
		}
		h.Name = name
		switch h.Typeflag {
		case tar.TypeLink:
			h.Linkname = merged(h.Linkname)
		case tar.TypeSymlink:
			copyright[name] = path.Join(path.Dir(name), h.Linkname)
		}
		if isCopyright && h.Typeflag == tar.TypeReg {
			copyright[name] = string(data)
		}
		t.add(h, data)
	}
}

// merged returns where a file of a package is when all programs are below usr.
func merged(name string) string {
	name = path.Clean(strings.TrimPrefix(name, "/"))
	if top, _, _ := strings.Cut(name, "/"); slices.Contains([]string{"bin", "lib", "lib64", "sbin"}, top) {
		return "usr/" + name
	}
	return name
}

var licenceField = regexp.MustCompile(`(?m)^License: *(\S.*)$`)

// licencesOf returns the names of a package's licences. They come from the fields of a
// machine-readable copyright file (DEP 5). In an older file, they are the licences whose
// words or files in /usr/share/common-licenses it contains.
func licencesOf(copyright map[string]string, name string) (names []string) {
	text := copyright[copyrights+name+"/copyright"]
	if known := copyright[copyrights+name]; known != "" {
		text = copyright[known+"/copyright"]
	}
	if next, ok := copyright[text]; ok {
		text = next
	}
	for _, found := range licenceField.FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	if names == nil {
		for _, found := range regexp.MustCompile(`/usr/share/common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])`).FindAllStringSubmatch(text, -1) {
			names = append(names, found[1])
		}
	}
	if known := spdx([]byte(text)); names == nil && known != "" {
		names = []string{known}
	}
	if names == nil && text != "" {
		names = []string{"see /" + copyrights + name + "/copyright"}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
