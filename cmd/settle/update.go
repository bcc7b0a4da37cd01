package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/frontend/about"
	"github.com/settle-agent/settle/model/transport"
)

// index is the address of the description of the newest release.
const index = "https://github.com/settle-agent/settle/releases/latest/download/latest.json"

// codeNewer is the exit code of --check if there is a newer version.
const codeNewer = 4

func newUpdate(s *streams) *cobra.Command {
	url, check := index, false
	cmd := &cobra.Command{
		Use: "update", Short: "Ask for a newer version", Args: cobra.NoArgs,
		Long: `Look for a newer version, and print how to install it with the method by which this
version was installed. The command changes nothing. settle never looks by itself.

Exit codes:
  0  the newest version is known
  1  it could not be determined
  4  with --check: there is a newer version`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client := transport.NewClient(transport.Config{Proxy: http.ProxyFromEnvironment, DialTimeout: 10 * time.Second})
			newest, err := about.Newest(cmd.Context(), client, url)
			if err != nil {
				return failed(err)
			}
			here, err := installed()
			if err != nil {
				return failed(err)
			}
			err = about.Update(s.stdout, here, newest)
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
	// Only what comes from the module cache has a checksum.
	info, ok := debug.ReadBuildInfo()
	module := ok && info.Main.Sum != ""
	return about.Installed{
		Version: strings.TrimPrefix(version(), "v"), Checkout: released == unreleased && !module, Module: released == unreleased && module, Program: path,
		Exists: func(path string) bool { _, err := os.Stat(path); return err == nil },
	}, nil
}
