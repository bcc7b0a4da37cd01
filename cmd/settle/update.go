package main

import (
	_ "embed"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/frontend/about"
	"github.com/settle-agent/settle/model/transport"
)

// index is the address of the description of the newest release.
const index = "https://github.com/settle-agent/settle/releases/latest/download/latest.json"

// releaseKeys are the public keys that may sign a release.
//
//go:embed release_keys
var releaseKeys []byte

// codeNewer is the exit code of --check if there is a newer version.
const codeNewer = 4

func newUpdate(s *streams) *cobra.Command {
	url, check, install := index, false, false
	cmd := &cobra.Command{
		Use: "update", Short: "Ask for a newer version", Args: cobra.NoArgs,
		Long: `Look for a newer version, and print how to install it with the method by which this
version was installed. settle never looks by itself. Without --install, the command
changes nothing.

If this build has release keys, the command verifies that one of them signed the
checksums of the newer version. If the signature is missing or wrong, or if it is for
another version, the command fails and prints no way to install that version. A build
without release keys says that it did not verify the release.

With --install, the command downloads the archive for this machine, verifies it, and
replaces this program. It refuses an unverified, an equal and an older release, and a
program that a package manager or Go installed. All addresses must be https.

Exit codes:
  0  the newest version is known, or was installed
  1  it could not be determined, verified or installed
  4  with --check: there is a newer version`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, err := about.ReleaseKeys(releaseKeys)
			if err != nil {
				return failed(err)
			}
			client := transport.NewClient(
				transport.Config{Proxy: http.ProxyFromEnvironment, DialTimeout: 10 * time.Second},
			)
			newest, err := about.Newest(cmd.Context(), client, url)
			if err != nil {
				return failed(err)
			}
			here, err := installed()
			if err != nil {
				return failed(err)
			}
			updater := about.Updater{Client: client, Keys: keys, Installed: here, Out: s.stdout}
			if install {
				return failed(updater.Install(cmd.Context(), newest))
			}
			err = updater.Check(cmd.Context(), newest)
			if errors.Is(err, about.ErrNewer) {
				err = nil
				if check {
					return &exitError{code: codeNewer}
				}
			}
			return failed(err)
		},
	}
	cmd.Flags().StringVar(&url, "index", index, "`URL` of the index of releases")
	cmd.Flags().BoolVar(&check, "check", false, "exit with 4 if there is a newer version")
	cmd.Flags().BoolVar(&install, "install", false,
		"replace this program by the newer version, if a release key signed it")
	cmd.MarkFlagsMutuallyExclusive("check", "install")
	return cmd
}

// installed returns the version and the source of this program.
func installed() (about.Installed, error) {
	path, err := os.Executable()
	if err != nil {
		return about.Installed{}, err
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	// Only modules of the module cache have a checksum.
	info, ok := debug.ReadBuildInfo()
	module := ok && info.Main.Sum != ""
	return about.Installed{
		Version:  strings.TrimPrefix(version(), "v"),
		Checkout: releaseVersion == unreleased && !module,
		Module:   releaseVersion == unreleased && module,
		Program:  path,
		System:   runtime.GOOS,
		Machine:  runtime.GOARCH,
		Exists:   func(path string) bool { _, err := os.Stat(path); return err == nil },
	}, nil
}
