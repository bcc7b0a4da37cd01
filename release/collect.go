package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// file is a file of an archive or a package.
type file struct {
	name string // below the archive's folder
	data []byte
	mode int64
}

// collect returns the files that every archive has besides the program.
func (r *release) collect() error {
	for _, name := range []string{"README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md"} {
		data, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return err
		}
		r.extras = append(r.extras, file{name, data, 0o644})
	}
	host, err := r.host()
	if err != nil {
		return err
	}
	env := []string{"HOME=" + r.scratch, "SETTLE_DATA_DIR=" + r.scratch}
	for shell, name := range map[string]string{"bash": "settle.bash", "zsh": "_settle", "fish": "settle.fish", "powershell": "settle.ps1"} {
		script, err := output(r.scratch, env, host, "completion", shell)
		if err != nil {
			return err
		}
		r.extras = append(r.extras, file{"completions/" + name, []byte(script + "\n"), 0o644})
	}
	reference, err := output(r.scratch, env, host, "help", "--json")
	if err != nil {
		return err
	}
	var root command
	if err := json.Unmarshal([]byte(reference), &root); err != nil {
		return err
	}
	r.extras = append(r.extras, r.manual(root)...)
	licences, err := r.licences(r.binaries)
	if err != nil {
		return err
	}
	r.extras = append(r.extras, licences...)
	slices.SortFunc(r.extras, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return r.collectFleet()
}

// collectFleet returns the files that accompany settle-fleet: deployment files and
// licences.
func (r *release) collectFleet() error {
	if len(r.fleet) == 0 {
		return nil
	}
	r.fleetExtras = append(r.extra("LICENSE"), r.extra("CHANGELOG.md")...)
	for _, pattern := range []string{"compose.yaml", "kubernetes/*.yaml"} {
		paths, err := filepath.Glob(filepath.Join(r.root, "fleet/deploy", pattern))
		if err != nil || len(paths) == 0 {
			return fmt.Errorf("cannot find %s: %w", pattern, err)
		}
		for _, p := range paths {
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			r.fleetExtras = append(
				r.fleetExtras, file{"deploy/" + strings.Replace(pattern, "*.yaml", filepath.Base(p), 1), data, 0o644},
			)
		}
	}
	licences, err := r.licences(slices.Concat(r.fleet, r.temporal))
	r.fleetExtras = append(r.fleetExtras, licences...)
	return err
}

// module is a Go module that is part of a program.
type module struct {
	Path, Version, Dir string
}

// mainModule is settle's, whose licence is in every archive.
const mainModule = "github.com/settle-agent/settle"

// modules returns the modules of a program for any of the platforms.
func (r *release) modules(binaries []binary) ([]module, error) {
	var all []module
	for _, b := range binaries {
		env := []string{"CGO_ENABLED=0", "GOOS=" + b.system, "GOARCH=" + b.machine}
		dir, pkg := r.module(b.program)
		list, err := output(dir, env, "go", "list", "-deps", "-f",
			`{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}`, pkg)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(list) {
			if f := strings.Fields(line); len(f) == 3 && f[0] != mainModule {
				all = append(all, module{f[0], f[1], f[2]})
			}
		}
	}
	slices.SortFunc(all, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	all = slices.Compact(all)
	licensed(all)
	return all, nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|authors)([.-].*)?$`)

// licences returns the licence texts of everything that a program consists of, Go's
// among them. A module without one is an error: it may not be passed on.
func (r *release) licences(binaries []binary) ([]file, error) {
	modules, err := r.modules(binaries)
	if err != nil {
		return nil, err
	}
	goroot, err := output(r.root, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	modules = append(modules, module{Path: "std", Dir: goroot})
	var files []file
	for n, m := range modules {
		texts, err := m.licences()
		if err != nil {
			return nil, err
		}
		if n > 0 && modules[n-1].Path == m.Path { // two programs have two versions
			for n := range texts {
				texts[n].name = path.Join("licences", m.Path+"@"+m.Version, path.Base(texts[n].name))
			}
		}
		if m.licence(texts) == "" {
			return nil, fmt.Errorf("no known licence in %s", m.Path)
		}
		files = append(files, texts...)
	}
	return files, nil
}

// annotations is a module of Temporal's without a licence file. The same file is in
// go.temporal.io/api, under the licence that is there.
const annotations, annotationsSource = "github.com/nexus-rpc/nexus-proto-annotations", "go.temporal.io/api"

// licensed has that module take its licence from where the same file is.
func licensed(all []module) {
	from := slices.IndexFunc(all, func(m module) bool { return m.Path == annotationsSource })
	for n := range all {
		if all[n].Path == annotations && from >= 0 {
			all[n].Dir = all[from].Dir
		}
	}
}

// statsd is a module in a folder of its repository. The licence is in the folder above, which
// is not a part of the module.
const statsd = "github.com/cactus/go-statsd-client/statsd"

//go:embed statsd_license.md
var statsdLicence []byte

// licences returns the files that a module's licence is in.
func (m module) licences() ([]file, error) {
	if m.Path == statsd {
		return []file{{path.Join("licences", m.Path, "LICENSE.md"), statsdLicence, 0o644}}, nil
	}
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, err
	}
	var files []file
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, file{path.Join("licences", m.Path, e.Name()), text, 0o644})
	}
	return files, nil
}

// licence returns the first licence in the files that is known, or "".
func (m module) licence(files []file) string {
	for _, f := range files {
		if name := spdx(f.data); name != "" {
			return name
		}
	}
	return ""
}

// spdx returns the SPDX name of a usual licence, which it recognises by unique words, and "" for
// others.
func spdx(text []byte) string {
	words := strings.Join(strings.Fields(string(text)), " ")
	for _, known := range []struct{ name, words string }{
		{"Apache-2.0", "Apache License Version 2.0"},
		{"MPL-2.0", "Mozilla Public License Version 2.0"},
		{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
		{"ISC", "Permission to use, copy, modify, and"},
		{"BSD-3-Clause", "Neither the name of"},
		{"BSD-2-Clause", "Redistributions in binary form must reproduce the above copyright notice"},
	} {
		if strings.Contains(words, known.words) {
			return known.name
		}
	}
	return ""
}
