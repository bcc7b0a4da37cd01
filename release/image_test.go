package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// An archive has one image, which lists its platforms: skopeo and docker load take an archive with several top-level
// entries for several images, and skopeo refuses to choose.
func TestArchiveHasOneImage(t *testing.T) {
	r := release{out: t.TempDir(), scratch: t.TempDir(), version: version, at: time.Unix(1e9, 0).UTC()}
	for _, machine := range []string{"amd64", "arm64"} {
		program := filepath.Join(t.TempDir(), settle)
		if err := os.WriteFile(program, []byte(machine), 0o755); err != nil {
			t.Fatal(err)
		}
		r.binaries = append(r.binaries, binary{settle, "linux", machine, program})
	}
	if err := r.archiveImage(settle, "image", func(binary) ([]v1.Layer, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(r.out, "settle_"+version+"_image.tar")
	if got := machines(t, images(t, archive)); !slices.Equal(got, []string{"amd64", "arm64"}) {
		t.Errorf("the image is for %q", got)
	}
}

// images returns the index of an archive's only image.
func images(t *testing.T, archive string) v1.ImageIndex {
	t.Helper()
	dir := t.TempDir()
	run(t, dir, nil, "tar", "-xf", archive)
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || !manifest.Manifests[0].MediaType.IsIndex() {
		t.Fatalf("the archive has %+v, %v", manifest, err)
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// machines returns the architectures of an index's images, whose files are all there.
func machines(t *testing.T, index v1.ImageIndex) (names []string) {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifest.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil || m.Platform == nil || config.Architecture != m.Platform.Architecture {
			t.Fatalf("%+v, %+v, %v", m, config, err)
		}
		names = append(names, m.Platform.Architecture)
	}
	return names
}
