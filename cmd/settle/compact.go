package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/rewind"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/sessions"
)

const compactHelp = `Make the history that the model is sent shorter. Without an ID, settle takes the
last session of this directory. A unique prefix of a generated ID is enough.

The model writes a summary. settle adds a digest of the log: what you said, files,
commands, jobs. The latest part of the conversation stays as it is. The log keeps
everything. With --compact mechanical, no model is asked.

settle also compacts by itself when the model's window is nearly full; --compact off
turns that off.`

func newCompact(s *streams) *cobra.Command {
	var (
		project projectFlags
		work    string
		take    bool
	)
	cmd := &cobra.Command{
		Use: "compact [flags] [ID]", Short: "Make the history of a session shorter", Long: compactHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := directory(work)
			if err != nil {
				return err
			}
			settings := func(given map[string]string) (*config.Resolved, error) {
				return s.settings(dir, given, project.project())
			}
			r, err := settings(given(cmd.Flags()))
			if err != nil {
				return err
			}
			dataDir, err := r.NeedDataDir()
			if err != nil {
				return err
			}
			id, err := sessionIn(cmd, dataDir, dir, args)
			if err != nil {
				return err
			}
			if r, _, err = r.Continue(id, given(cmd.Flags()), settings); err != nil {
				return err
			}
			sig := catch(cmd.Context())
			defer sig.release()
			defer sig.watchParent()()
			o := s.options(r, dir)
			o.Logger = assemble.Log(r)
			o.HostOptions = assemble.HostOptions{Frontend: "compact", Take: take, Releasable: true}
			o.PermissionOptions = assemble.PermissionOptions{Permission: settle.Allow, Release: "allow"}
			project.apply(&o)
			a, err := assemble.New(sig.ctx, o)
			if err != nil {
				return sig.instead(err)
			}
			host, err := s.telemetry.Open(cmd.Context(), a.Host)
			if err != nil {
				return err
			}
			code, err := sessions.Compaction{
				Host:    host,
				Config:  a.Session,
				Session: id,
				Stops:   sig.stops,
			}.Run(cmd.Context(), s.stdout)
			if code == stdio.CodeCompleted {
				return failed(err)
			}
			return &exitError{code, err}
		},
	}
	settingFlags(cmd.Flags())
	cmd.Flags().StringVarP(&work, "cwd", "C", ".", "work in `DIR`")
	cmd.Flags().BoolVar(&take, "take", false, takeHelp)
	project.define(cmd.Flags())
	return cmd
}

// sessionIn returns the session that an argument names; without an argument, the last
// session of the directory.
func sessionIn(cmd *cobra.Command, dataDir, dir string, args []string) (string, error) {
	if len(args) == 1 {
		id, err := store.Resolve(dataDir, args[0])
		if err != nil {
			return "", failed(err)
		}
		return id, nil
	}
	id, err := rewind.LastSession(cmd.Context(), dataDir, dir)
	if err == nil && id == "" {
		err = errors.New("this directory has no session")
	}
	return id, failed(err)
}
