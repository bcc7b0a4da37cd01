package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers itself
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers itself
)

const (
	about      = "A coding agent and agent runtime: everything that starts, ends"
	homepage   = "https://github.com/settle-agent/settle"
	maintainer = "The settle authors <settle@users.noreply.github.com>"
)

// packages makes a deb and an rpm for each Linux platform.
func (r *release) packages() error {
	for _, b := range r.binaries {
		if b.system != "linux" {
			continue
		}
		contents, err := r.installed(b)
		if err != nil {
			return err
		}
		for _, format := range []string{"deb", "rpm"} {
			packager, err := nfpm.Get(format)
			if err != nil {
				return err
			}
			info := nfpm.WithDefaults(&nfpm.Info{
				Name: "settle", Arch: b.machine, Platform: "linux", Version: r.version, MTime: r.at,
				Section: "devel", Priority: "optional", Maintainer: maintainer, Vendor: "settle",
				Description: about, Homepage: homepage, License: "Apache-2.0",
				Overridables: nfpm.Overridables{
					Recommends: []string{"git"}, Suggests: []string{"ripgrep"}, Contents: contents,
					RPM: nfpm.RPM{BuildHost: "localhost"},
				},
			})
			if err := create(
				r.add(packager.ConventionalFileName(info)),
				func(to io.Writer) error { return packager.Package(info, to) },
			); err != nil {
				return err
			}
		}
	}
	return nil
}

// installed returns where a package puts the files of a platform.
func (r *release) installed(b binary) (files.Contents, error) {
	const docs = "/usr/share/doc/settle/"
	list := files.Contents{
		{Source: b.path, Destination: "/usr/bin/settle", FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.at}},
	}
	places := map[string]string{
		"completions/settle.bash": "/usr/share/bash-completion/completions/settle",
		"completions/_settle":     "/usr/share/zsh/vendor-completions/_settle",
		"completions/settle.fish": "/usr/share/fish/vendor_completions.d/settle.fish",
		"LICENSE":                 docs + "copyright",
		"CHANGELOG.md":            docs + "changelog.gz",
	}
	for _, f := range r.extras {
		place, data := places[f.name], f.data
		switch {
		case strings.HasPrefix(f.name, "man/"):
			place = "/usr/share/man/man1/" + path.Base(f.name) + ".gz"
		case f.name == "completions/settle.ps1":
			continue
		case place == "":
			place = docs + f.name
		}
		if strings.HasSuffix(place, ".gz") {
			var err error
			if data, err = compressed(data); err != nil {
				return nil, err
			}
		}
		source := filepath.Join(r.scratch, "package", place)
		if err := write(source, data, 0o644); err != nil {
			return nil, err
		}
		list = append(
			list,
			&files.Content{
				Source:      source,
				Destination: place,
				FileInfo:    &files.ContentFileInfo{Mode: 0o644, MTime: r.at},
			},
		)
	}
	return list, nil
}

func write(path string, data []byte, mode os.FileMode) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, mode))
}

func compressed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, fmt.Errorf("cannot compress: %w", err)
	}
	err = z.Close()
	return b.Bytes(), err
}
