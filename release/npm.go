package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

//go:embed npm.js
var launcher []byte

// scope is the scope of the packages with the programs.
const scope = "@settle-agent"

// npm makes the package @settle-agent/settle, which starts the program of the one package that npm
// installed for the platform. Nothing runs when it is installed.
func (r *release) npm() error {
	optional := map[string]string{}
	for _, b := range r.binaries {
		system, machine := map[string]string{"windows": "win32"}[b.system], map[string]string{"amd64": "x64"}[b.machine]
		if system == "" {
			system = b.system
		}
		if machine == "" {
			machine = b.machine
		}
		name := fmt.Sprintf("%s/settle-%s-%s", scope, system, machine)
		optional[name] = r.version
		program, err := os.ReadFile(b.path)
		if err != nil {
			return err
		}
		manifest := r.manifest(name)
		manifest["os"], manifest["cpu"] = []string{system}, []string{machine}
		files := append(r.extra("licences/"), r.extra("LICENSE")...)
		files = append(files, file{"bin/" + b.name(), program, 0o755})
		if err := r.pack(
			fmt.Sprintf("settle-agent-settle-%s-%s-%s.tgz", system, machine, r.version), manifest, files,
		); err != nil {
			return err
		}
	}
	manifest := r.manifest(scope + "/settle")
	manifest["bin"] = map[string]string{"settle": "bin/settle.js"}
	manifest["engines"] = map[string]string{"node": ">=18"}
	manifest["optionalDependencies"] = optional
	files := append(r.extra("LICENSE"), r.extra("README.md")...)
	return r.pack(
		"settle-agent-settle-"+r.version+".tgz", manifest, append(files, file{"bin/settle.js", launcher, 0o755}),
	)
}

func (r *release) manifest(name string) map[string]any {
	return map[string]any{
		"name": name, "version": r.version, "description": about, "license": "Apache-2.0", "homepage": homepage,
		"repository": map[string]string{"type": "git", "url": "git+" + homepage + ".git"}, "preferUnplugged": true,
	}
}

// pack writes a package as npm pack does.
func (r *release) pack(name string, manifest map[string]any, files []file) error {
	data, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return err
	}
	files = append([]file{{"package.json", append(data, '\n'), 0o644}}, files...)
	return create(r.add(name), func(to io.Writer) error { return r.tarball(to, "package", files) })
}
