package about

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/frontend/about/sshsig"
)

const (
	maxProgram  = 256 << 20 // bytes, unpacked
	releasePage = "https://github.com/settle-agent/settle/blob/main/docs/release.md"
)

// Updater reports whether a release is newer than this settle, and installs it.
type Updater struct {
	Client    *http.Client
	Keys      []sshsig.Signer // see [ReleaseKeys]
	Installed Installed
	Out       io.Writer
}

// ErrNewer reports that there is a newer version.
var ErrNewer = errors.New("there is a newer version")

// Check prints whether a release is newer and how to get it. It verifies a newer release
// before it prints a command, if this build has release keys. The error is [ErrNewer] if
// the release is newer.
func (u Updater) Check(ctx context.Context, r Release) error {
	if newer, err := u.newer(r); err != nil || !newer {
		return err
	}
	note := "This build has no release key, so it could not verify the release."
	command := u.Installed.command(r)
	if len(u.Keys) > 0 {
		v, err := verify(ctx, u.Client, u.Keys, r)
		if err != nil {
			return fmt.Errorf("cannot verify settle %s: %w; do not install it from there", r.Version, err)
		}
		note = "A release key signed its checksums: " + v.signer.Fingerprint() + "."
		if u.Installed.standalone() {
			command = "settle update --install"
		} else {
			note += "\nThe command below does not check that signature; " + releasePage + " says how to do it by hand."
		}
	}
	_, err := fmt.Fprintf(u.Out, "settle %s is available; this is %s. %s To get it:\n\n  %s\n",
		r.Version, u.Installed.Version, note, command)
	if err != nil {
		return err
	}
	return ErrNewer
}

// Install replaces this program by the release's, if the release is newer and a trusted
// key signed it. If not, it changes nothing.
func (u Updater) Install(ctx context.Context, r Release) error {
	newer, err := u.newer(r)
	if err != nil || !newer {
		return err
	}
	if err := u.install(ctx, r); err != nil {
		return fmt.Errorf("cannot install settle %s: %w; nothing was changed", r.Version, err)
	}
	_, err = fmt.Fprintf(u.Out, "settle %s is now %s. Running sessions continue with %s.\n",
		r.Version, u.Installed.Program, u.Installed.Version)
	return err
}

func (u Updater) install(ctx context.Context, r Release) error {
	if !u.Installed.standalone() {
		return fmt.Errorf("this settle is not from the install script or an archive; use: %s", u.Installed.command(r))
	}
	if len(u.Keys) == 0 {
		return errors.New("this build has no release key, so it cannot verify the release")
	}
	v, err := verify(ctx, u.Client, u.Keys, r)
	if err != nil {
		return err
	}
	folder := "settle_" + r.Version + "_" + u.Installed.System + "_" + u.Installed.Machine
	archive, err := v.fetch(ctx, u.Client, folder+".tar.gz")
	if err != nil {
		return err
	}
	program, err := unpack(archive, folder+"/settle")
	if err != nil {
		return fmt.Errorf("cannot unpack %s.tar.gz: %w", folder, err)
	}
	return disk.ReplaceProgram(u.Installed.Program, program)
}

// newer reports whether the release is newer than this settle. If not, it prints so.
func (u Updater) newer(r Release) (bool, error) {
	have, known := parseVersion(u.Installed.Version)
	latest, _ := parseVersion(r.Version) // Newest has checked it
	var err error
	switch {
	case u.Installed.Checkout || !known:
		_, err = fmt.Fprintf(u.Out, "This settle was built from a checkout (%s); the newest release is %s.\n",
			u.Installed.Version, r.Version)
	case have.newer(latest):
		_, err = fmt.Fprintf(u.Out, "settle %s is newer than the newest release, %s.\n",
			u.Installed.Version, r.Version)
	case !latest.newer(have):
		_, err = fmt.Fprintf(u.Out, "settle %s is the newest version.\n", u.Installed.Version)
	default:
		return true, nil
	}
	return false, err
}

// unpack returns a regular file of a tar archive that is compressed by gzip.
func unpack(archive []byte, name string) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("it has no file %s", name)
		}
		if err != nil {
			return nil, err
		}
		if h.Name != name {
			continue
		}
		if h.Typeflag != tar.TypeReg || h.Size > maxProgram {
			return nil, fmt.Errorf("%s is no file of at most %d bytes", name, maxProgram)
		}
		return io.ReadAll(files)
	}
}
