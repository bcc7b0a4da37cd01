package main

import "github.com/settle-agent/settle/internal/config"

// storedSettings returns the settings of a command about sessions on disk, with the value of
// its flag --data-dir. A project's settings do not apply.
func (s *streams) storedSettings(dataDir string) (*config.Resolved, error) {
	flags := map[string]string{}
	if dataDir != "" {
		flags["data_dir"] = dataDir
	}
	dir, err := directory(".")
	if err != nil {
		return nil, err
	}
	return s.settings(dir, flags, config.IgnoreProject)
}

// storedIn returns the directory of the sessions; see storedSettings.
func (s *streams) storedIn(dataDir string) (string, error) {
	r, err := s.storedSettings(dataDir)
	if err != nil {
		return "", err
	}
	return r.NeedDataDir()
}
