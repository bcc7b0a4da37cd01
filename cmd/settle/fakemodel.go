package main

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/modeltest"
)

const fakeModelHelp = `Serve a model that follows a scenario, for testing programs that call one. It
speaks OpenAI's Responses, Anthropic's Messages, Chat Completions and Gemini's API,
refuses the requests that the real providers would refuse, and fails as the
scenario says: errors, delays, cut and silent streams, and more.

docs/reference/scenarios.md describes the file. The URLs are printed on standard output.
SIGINT or SIGTERM ends it.`

const fakeModelExamples = `  settle fake-model --scenario scenario.json --listen 127.0.0.1:8080
  settle run -m chat/any --base-url http://127.0.0.1:8080/v1 "hello"`

// maxScenario is the maximum size of a scenario file in bytes.
const maxScenario = 64 << 20

// recordings is a folder of recordings, each a regular file of at most maxScenario
// bytes.
type recordings string

// Open implements [fs.FS].
func (r recordings) Open(name string) (fs.File, error) { return os.DirFS(string(r)).Open(name) }

// ReadFile implements [fs.ReadFileFS].
func (r recordings) ReadFile(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return disk.ReadRegular(filepath.Join(string(r), filepath.FromSlash(name)), maxScenario)
}

func newFakeModel(s *streams) *cobra.Command {
	var path, address string
	cmd := &cobra.Command{
		Use: "fake-model --scenario FILE", Short: "Serve a model that follows a scenario, for tests",
		Long: fakeModelHelp, Example: fakeModelExamples, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			raw, err := disk.ReadRegular(path, maxScenario)
			if err != nil {
				return fmt.Errorf("cannot read the scenario: %w", err)
			}
			scenario, err := modeltest.ParseScenario(raw)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if err := scenario.Load(recordings(filepath.Dir(path))); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			sig := catch(cmd.Context())
			defer sig.release()
			listener, err := net.Listen("tcp", address)
			if err != nil {
				return failed(fmt.Errorf("cannot serve the model: %w", err))
			}
			url := "http://" + listener.Addr().String()
			if _, err := fmt.Fprintf(
				s.stdout, "openai, chat  %s/v1\nanthropic     %s\ngemini        %s/v1beta\n", url, url, url,
			); err != nil {
				return failed(err)
			}
			return failed(modeltest.Serve(sig.ctx, scenario, listener))
		},
	}
	cmd.Flags().StringVar(&path, "scenario", "", "play the scenario in `FILE`")
	cmd.Flags().StringVar(&address, "listen", "127.0.0.1:0", "listen on `HOST:PORT`; port 0 picks a free one")
	_ = cmd.MarkFlagRequired("scenario") // the flag is there
	return cmd
}
