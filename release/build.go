package main

import (
	"path/filepath"
	"slices"
	"strings"
)

var allPlatforms = []string{
	"linux/amd64",
	"linux/arm64",
	"darwin/amd64",
	"darwin/arm64",
	"windows/amd64",
	"windows/arm64",
}

// settle, settleFleet and settleTemporal are the programs of a release. The second and the
// third are for Linux, each in a module of its own; the third is Temporal's development
// server, which accompanies the second.
const (
	settle         = "settle"
	settleFleet    = "settle-fleet"
	settleTemporal = "settle-fleet-temporal"
)

// binary is a program for one platform.
type binary struct{ program, system, machine, path string }

func (b binary) name() string {
	if b.system == "windows" {
		return b.program + ".exe"
	}
	return b.program
}

// build builds the programs for each platform.
func (r *release) build(platforms []string) error {
	for _, platform := range platforms {
		system, machine, _ := strings.Cut(platform, "/")
		b, err := r.compile(settle, system, machine)
		if err != nil {
			return err
		}
		r.binaries = append(r.binaries, b)
		if system != "linux" {
			continue
		}
		if b, err = r.compile(settleFleet, system, machine); err != nil {
			return err
		}
		r.fleet = append(r.fleet, b)
		if r.noTemporal {
			continue
		}
		if b, err = r.compile(settleTemporal, system, machine); err != nil {
			return err
		}
		r.temporal = append(r.temporal, b)
	}
	return nil
}

// compile builds a program. It is static and stripped; neither the folder it was built
// in nor the state of the checkout leaves a trace.
func (r *release) compile(program, system, machine string) (binary, error) {
	b := binary{program: program, system: system, machine: machine}
	b.path = filepath.Join(r.scratch, system+"_"+machine, b.name())
	env := []string{
		"CGO_ENABLED=0",
		"GOOS=" + system,
		"GOARCH=" + machine,
		"GOFLAGS=-buildvcs=false -trimpath",
		"GOAMD64=v1",
		"GOARM64=v8.0",
	}
	args := []string{"build", "-ldflags", "-s -w -buildid= -X main.releaseVersion=v" + r.version, "-o", b.path}
	dir, pkg := r.module(program)
	_, err := output(dir, env, "go", append(args, pkg)...)
	return b, err
}

// module returns the folder of a program's module, and the package in it.
func (r *release) module(program string) (dir, pkg string) {
	switch program {
	case settleTemporal:
		return filepath.Join(r.root, "fleet/cmd", program), "."
	case settleFleet:
		return filepath.Join(r.root, "fleet"), "./cmd/" + program
	}
	return r.root, "./cmd/" + program
}

// on returns the program for a machine that runs Linux.
func on(machine string, binaries []binary) (binary, bool) {
	n := slices.IndexFunc(binaries, func(b binary) bool { return b.machine == machine })
	if n < 0 {
		return binary{}, false
	}
	return binaries[n], true
}

// host builds the program for this machine, and returns its path. The manual and the completions
// come from its output.
func (r *release) host() (string, error) {
	path := filepath.Join(r.scratch, "host", "settle")
	_, err := output(
		r.root, []string{"CGO_ENABLED=0", "GOFLAGS=-buildvcs=false -trimpath"}, "go", "build", "-ldflags", "-s -w",
		"-o", path, "./cmd/settle",
	)
	return path, err
}
