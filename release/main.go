package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// release is the input and the output folders of one release.
type release struct {
	root    string // the checkout
	out     string
	scratch string
	version string // without the leading v
	commit  string
	at      time.Time // of the commit: of every file
	url     string    // where the files will be
	base    string    // a root file system, as a tar archive, for images that have more than the program
	sources string    // APT sources, for images with Debian's packages
	debs    string    // a folder that keeps these packages
	keys    []string  // the lines of release_keys: who may sign
	signKey string    // a file with the key that signs, or with the public half of one that an agent has

	noTemporal bool // settle-fleet comes without Temporal's development server

	binaries    []binary // of settle
	fleet       []binary // of settle-fleet
	temporal    []binary // of settle-fleet-temporal
	extras      []file   // files that every archive has besides settle
	fleetExtras []file   // and beside settle-fleet
	artifacts   []string
}

func main() {
	var r release
	var platforms string
	flag.StringVar(&r.out, "o", "dist", "write to `DIR`, which must be empty or not exist")
	flag.StringVar(
		&r.version,
		"version",
		"",
		"`VERSION` to release, such as v1.2.3; default: the commit's tag, or 0.0.0 with its date and hash",
	)
	flag.StringVar(
		&r.url,
		"url",
		"https://github.com/settle-agent/settle/releases/download",
		"`URL` of the folder that will have a folder with the files, named after the version",
	)
	flag.StringVar(
		&r.base,
		"image-base",
		"",
		"make a second image on top of the root file system in `TAR`, for the one Linux platform that is built",
	)
	flag.StringVar(
		&r.sources,
		"image-tools",
		"",
		"make an image with git, ripgrep and a shell, of Debian packages from the APT sources in `FILE`",
	)
	flag.StringVar(
		&r.signKey,
		"sign-key",
		os.Getenv("SETTLE_SIGN_KEY"),
		"sign the release with the private key in `FILE`, or with the agent's key whose public half is in it; default: SETTLE_SIGN_KEY",
	)
	flag.BoolVar(
		&r.noTemporal, "no-temporal", false,
		"leave out settle-fleet-temporal, whose first build takes 8 minutes of processor time for each machine",
	)
	flag.StringVar(&platforms, "platforms", strings.Join(allPlatforms, ","), "`NAMES` of the platforms to build for")
	flag.Parse()
	if err := r.make(strings.Split(platforms, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r *release) make(platforms []string) (err error) {
	if err := r.prepare(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.scratch)) }()
	steps := []struct {
		name string
		run  func() error
	}{
		{"build", func() error { return r.build(platforms) }},
		{"manual, completions, licences", r.collect},
		{"archives", r.archives},
		{"deb, rpm", r.packages},
		{"npm", r.npm},
		{"image", r.image},
		{"SBOM", r.sbom},
		{"checksums", r.checksums},
		{"signature", r.sign},
	}
	for _, s := range steps {
		begin := time.Now()
		if err := s.run(); err != nil {
			return fmt.Errorf("cannot make %s: %w", s.name, err)
		}
		fmt.Printf("%-32s %s\n", s.name, time.Since(begin).Round(10*time.Millisecond))
	}
	if r.noTemporal && len(r.fleet) > 0 {
		fmt.Fprintln(os.Stderr, withoutTemporal)
	}
	if r.signKey == "" {
		fmt.Fprintln(os.Stderr, r.unsigned())
	}
	return nil
}

// withoutTemporal is the warning for the maker of a release without Temporal's server.
const withoutTemporal = "WITHOUT TEMPORAL: the archives and the image of settle-fleet have no settle-fleet-temporal; " +
	"settle-fleet dev needs the program temporal there (https://docs.temporal.io/cli). " +
	"Leave out -no-temporal to include it."

// prepare finds the commit and version of the release and makes the folders.
func (r *release) prepare() (err error) {
	if r.root, err = git(".", "rev-parse", "--show-toplevel"); err != nil {
		return err
	}
	if r.commit, err = git(r.root, "rev-parse", "HEAD"); err != nil {
		return err
	}
	seconds, err := git(r.root, "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return err
	}
	r.at = time.Unix(unix, 0).UTC()
	if err := r.trust(); err != nil {
		return err
	}
	if r.version == "" {
		if r.version, err = git(r.root, "describe", "--tags", "--exact-match", "--match", "v*"); err != nil {
			r.version = fmt.Sprintf("0.0.0-%s.%s", r.at.Format("20060102150405"), r.commit[:12])
		}
	}
	r.version = strings.TrimPrefix(r.version, "v")
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	if left, _ := os.ReadDir(r.out); len(left) > 0 {
		return fmt.Errorf("%s is not empty", r.out)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	r.scratch, err = os.MkdirTemp("", "settle-release-")
	return err
}

func git(dir string, args ...string) (string, error) {
	return output(dir, nil, "git", append([]string{"-c", "safe.directory=*"}, args...)...)
}

// output runs a program and returns its standard output, without the white space around it.
func output(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// add records a file of the release.
func (r *release) add(name string) string {
	r.artifacts = append(r.artifacts, name)
	return filepath.Join(r.out, name)
}
