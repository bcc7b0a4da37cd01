package main

import (
	"path/filepath"
	"strings"
)

var allPlatforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// binary is the program for one platform.
type binary struct{ system, machine, path string }

func (b binary) name() string {
	if b.system == "windows" {
		return "settle.exe"
	}
	return "settle"
}

// build builds the program for each platform. It is static and stripped; neither the
// folder it was built in nor the state of the checkout leaves a trace.
func (r *release) build(platforms []string) error {
	for _, platform := range platforms {
		system, machine, _ := strings.Cut(platform, "/")
		b := binary{system: system, machine: machine}
		b.path = filepath.Join(r.scratch, system+"_"+machine, b.name())
		env := []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + machine, "GOFLAGS=-buildvcs=false -trimpath", "GOAMD64=v1", "GOARM64=v8.0"}
		if _, err := output(r.root, env, "go", "build", "-ldflags", "-s -w -buildid= -X main.released=v"+r.version, "-o", b.path, "./cmd/settle"); err != nil {
			return err
		}
		r.binaries = append(r.binaries, b)
	}
	return nil
}

// host returns the program for the machine that this runs on, built if need be: the
// manual and the completions are what it says of itself.
func (r *release) host() (string, error) {
	path := filepath.Join(r.scratch, "host", "settle")
	_, err := output(r.root, []string{"CGO_ENABLED=0", "GOFLAGS=-buildvcs=false -trimpath"}, "go", "build", "-ldflags", "-s -w", "-o", path, "./cmd/settle")
	return path, err
}
