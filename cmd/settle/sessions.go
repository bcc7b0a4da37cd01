package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func lastSession(dataDir, dir string) (string, error) { return "", errors.New("TODO") }

func newSessions(s *streams) *cobra.Command { return &cobra.Command{Use: "sessions"} }
func newConfig(s *streams) *cobra.Command   { return &cobra.Command{Use: "config"} }
func newDoctor(s *streams) *cobra.Command   { return &cobra.Command{Use: "doctor"} }
func platform() string                      { return "" }
