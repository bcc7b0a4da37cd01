package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/about"
)

func newConfig(s *streams) *cobra.Command {
	var place placeFlags
	cmd := &cobra.Command{
		Use: "config", Short: "Print the settings in force and where each comes from", Args: cobra.NoArgs,
		Long: "Print the settings in force in a directory, and where each value comes from.\nSecrets are masked.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, r, err := place.settings(s, cmd.Flags())
			if err != nil {
				return err
			}
			return failed(about.Settings(s.stdout, r))
		},
	}
	settingFlags(cmd.Flags())
	place.define(cmd.Flags())
	return cmd
}

func newDoctor(s *streams) *cobra.Command {
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check that settle can work here", Args: cobra.NoArgs,
		Long: `Check that settle can work here: that it can read its configuration, has a key and
a model, can write and lock its data directory, can start and end commands, and
finds git. It sends no prompt and runs no key_command; only a model server on this
machine is asked for its list of models. The first lines have the verdict and what
to do; a line for each check follows.

The exit code is 1 if something does not work.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := directory(".")
			if err != nil {
				return err
			}
			m := about.Machine{
				JSON: asJSON, Verbose: verbose, Environ: s.environ, Getenv: s.getenv, Version: version(), Dir: at,
			}
			m.Settings, m.Broken = s.settings(at, given(cmd.Flags()), config.UseProject)
			return failed(about.Doctor(cmd.Context(), s.stdout, m))
		},
	}
	settingFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object: ok, verdict, do, checks")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "list each mode of the sandbox")
	return cmd
}

func newVersion(s *streams) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Long: "Print the version, the platform, and the Go version that settle was built with.",
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(s.stdout, versionLine())
			return failed(err)
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("settle %s (%s/%s, %s)\n", version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
