package main

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// image makes an OCI archive with an image for each Linux platform: the program, the
// roots of TLS, a user without rights and a place for sessions. It has no shell. For
// commands in the container, a second image adds a base of the caller, a third has git,
// ripgrep and a shell from Debian, and a fourth also has settle-fleet.
func (r *release) image() error {
	err := r.archiveImage(settle, "image", func(binary) ([]v1.Layer, error) { return nil, nil })
	if err == nil && r.base != "" {
		err = r.archiveImage(settle, "image_base", func(binary) ([]v1.Layer, error) {
			base, err := tarball.LayerFromFile(r.base, tarball.WithMediaType(types.OCILayer))
			return []v1.Layer{base}, err
		})
	}
	if err == nil && r.sources != "" {
		layers := map[string][]v1.Layer{}
		tools := func(b binary) (_ []v1.Layer, err error) {
			if layers[b.machine] == nil {
				layers[b.machine], err = r.tools(b)
			}
			return layers[b.machine], err
		}
		err = errors.Join(r.archiveImage(settle, "image_tools", tools), r.archiveImage(settleFleet, "image", tools))
	}
	return err
}

// fleetFiles returns the files of settle-fleet for a machine: the program, Temporal's development
// server, and their licences.
func (r *release) fleetFiles(machine string) (files []file, err error) {
	programs := [][]binary{r.fleet}
	if !r.noTemporal {
		programs = append(programs, r.temporal)
	}
	for _, binaries := range programs {
		b, found := on(machine, binaries)
		if !found {
			return nil, fmt.Errorf("the programs of the fleet were not built for %s", machine)
		}
		program, err := os.ReadFile(b.path)
		if err != nil {
			return nil, err
		}
		files = append(files, file{"usr/bin/" + b.program, program, 0o755})
	}
	for _, f := range r.fleetExtras {
		files = append(files, file{"usr/share/doc/settle-fleet/" + f.name, f.data, f.mode})
	}
	return files, err
}

// tools makes the layer of packages from Debian, and lists them in an SBOM.
func (r *release) tools(b binary) ([]v1.Layer, error) {
	d := debian{sources: r.sources, cache: r.debs, machine: b.machine}
	if d.cache == "" {
		d.cache = filepath.Join(r.scratch, "debian")
	}
	if err := d.fetch(toolPackages...); err != nil {
		return nil, err
	}
	path := filepath.Join(r.scratch, "tools_"+b.machine+".tar")
	if err := create(path, func(to io.Writer) error { return d.layer(to, r.at) }); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromFile(path, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	return []v1.Layer{layer}, r.toolsSBOM(b, &d)
}

// archiveImage writes an OCI archive of images that have layers below the program's. The archive's index has one entry,
// the index of the platforms: tools take each of its entries for another image.
func (r *release) archiveImage(program, name string, base func(binary) ([]v1.Layer, error)) error {
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	images := 0
	for _, b := range r.binaries {
		if b.system != "linux" {
			continue
		}
		below, err := base(b)
		if err != nil {
			return err
		}
		image, err := r.platformImage(program, b, below)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: b.machine}},
		})
		images++
	}
	if images == 0 {
		return nil
	}
	if name == "image_base" && images > 1 {
		return errors.New("the base of an image is for one platform, and several are built; choose one with -platforms")
	}
	dir := filepath.Join(r.scratch, program+"_"+name)
	outer := mutate.AppendManifests(
		mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: index},
	)
	if _, err := layout.Write(dir, outer); err != nil {
		return err
	}
	return create(r.add(program+"_"+r.version+"_"+name+".tar"), func(to io.Writer) error { return r.plainTar(to, dir) })
}

// platformImage makes an image that starts the program. Every image has settle.
func (r *release) platformImage(program string, b binary, below []v1.Layer) (v1.Image, error) {
	data, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if err := pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	files := []file{
		{
			"etc/passwd",
			[]byte("root:x:0:0:root:/root:/sbin/nologin\nsettle:x:1000:1000:settle:/home/settle:/sbin/nologin\n"),
			0o644,
		},
		{"etc/group", []byte("root:x:0:\nsettle:x:1000:\n"), 0o644},
		{"etc/ssl/certs/ca-certificates.crt", roots.Bytes(), 0o644},
		{"usr/bin/settle", data, 0o755},
	}
	for _, f := range slices.Concat(r.extra("licences/"), r.extra("LICENSE")) {
		files = append(files, file{"usr/share/doc/settle/" + f.name, f.data, f.mode})
	}
	if program == settleFleet {
		fleet, err := r.fleetFiles(b.machine)
		if err != nil {
			return nil, err
		}
		files = append(files, fleet...)
	}
	var layer bytes.Buffer
	if err := r.layer(&layer, files); err != nil {
		return nil, err
	}
	made, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer),
	)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(
		mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		append(slices.Clone(below), made)...)
	if err != nil {
		return nil, err
	}
	at := v1.Time{Time: r.at}
	return mutate.ConfigFile(image, &v1.ConfigFile{
		Architecture: b.machine, OS: "linux", Created: at, RootFS: must(image.ConfigFile()).RootFS,
		History: slices.Repeat([]v1.History{{Created: at, CreatedBy: "settle " + r.version}}, len(below)+1),
		Config: v1.Config{
			User:       "1000:1000",
			WorkingDir: "/work",
			Entrypoint: []string{"/usr/bin/" + program},
			Cmd:        []string{"--help"},
			Env: []string{
				"PATH=/usr/local/bin:/usr/bin:/bin",
				"HOME=/home/settle",
				"SETTLE_DATA_DIR=/data/settle",
			},
			Volumes: map[string]struct{}{"/data": {}, "/work": {}},
			Labels: map[string]string{
				"org.opencontainers.image.title":       program,
				"org.opencontainers.image.description": about,
				"org.opencontainers.image.version":     r.version,
				"org.opencontainers.image.revision":    r.commit,
				"org.opencontainers.image.source":      homepage,
				"org.opencontainers.image.licenses":    "Apache-2.0",
			},
		},
	})
}

// must is for values in memory, whose access cannot fail.
func must(c *v1.ConfigFile, err error) *v1.ConfigFile {
	if err != nil {
		panic(err)
	}
	return c
}
