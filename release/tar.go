package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// layer writes the file system of an image: files, and folders of which some belong to
// the image's user.
func (r *release) layer(to io.Writer, files []file) error {
	t := tar.NewWriter(to)
	own := map[string]bool{"home/settle/": true, "work/": true, "data/": true}
	folders := map[string]bool{}
	folder := func(name string) error {
		if folders[name] {
			return nil
		}
		folders[name] = true
		h := &tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755, ModTime: r.at, Format: tar.FormatPAX}
		if own[name] {
			h.Uid, h.Gid, h.Mode = 1000, 1000, 0o700
		}
		if name == "tmp/" {
			h.Mode = 0o1777
		}
		return t.WriteHeader(h)
	}
	for _, name := range []string{"data/", "home/", "home/settle/", "tmp/", "work/"} {
		if err := folder(name); err != nil {
			return err
		}
	}
	for _, f := range files {
		for n, c := range f.name {
			if c == '/' {
				if err := folder(f.name[:n+1]); err != nil {
					return err
				}
			}
		}
		if err := r.entry(t, f.name, f.mode, f.data); err != nil {
			return err
		}
	}
	return t.Close()
}

func (r *release) entry(t *tar.Writer, name string, mode int64, data []byte) error {
	h := &tar.Header{
		Typeflag: tar.TypeReg,
		Name:     name,
		Mode:     mode,
		Size:     int64(len(data)),
		ModTime:  r.at,
		Format:   tar.FormatPAX,
	}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := t.Write(data)
	return err
}

// plainTar writes the files of a folder.
func (r *release) plainTar(to io.Writer, dir string) error {
	t := tar.NewWriter(to)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || e.IsDir() {
			return err
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a folder", path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return r.entry(t, filepath.ToSlash(name), 0o644, data)
	})
	return errors.Join(err, t.Close())
}
