package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/session"
)

func (s *Server) input(w http.ResponseWriter, r *http.Request) error {
	var in newInput
	if err := s.decode(w, r, s.Limits.InputBytes, &in); err != nil {
		return err
	}
	options, err := in.options(client(r))
	if err != nil {
		return err
	}
	ctx, cancel := s.bounded(r)
	defer cancel()
	return s.with(ctx, r.PathValue("id"), func(session *settle.Session) error {
		turn, err := session.Submit(ctx, in.Text, append(options, expanded(session)...)...)
		if err != nil {
			return refusedInput(err)
		}
		if o, ok := session.Value().(*assemble.Opened); ok {
			o.KeepStarted()
		}
		reply(w, http.StatusAccepted, receipt{Input: turn.Input(), Seq: turn.Seq(), Duplicate: turn.Seq() == 0})
		return nil
	})
}

// expanded returns the option that expands an input that is a command.
func expanded(session *settle.Session) []settle.InputOption {
	if o, ok := session.Value().(*assemble.Opened); ok {
		return []settle.InputOption{commands.Expander(o.Commands())}
	}
	return nil
}

// modes returns the modes of an input that arrives while a turn runs.
func modes() []event.Mode { return []event.Mode{event.Queue, event.Steer, event.Replace} }

// mediaTypes returns the media types of images that models accept.
func mediaTypes() []mediaType {
	return []mediaType{"image/png", "image/jpeg", "image/gif", "image/webp"}
}

// longestInputID is the maximum length of an input's ID, in bytes.
const longestInputID = 128

func (in newInput) options(by string) ([]settle.InputOption, error) {
	options := []settle.InputOption{settle.From(by)}
	if in.Mode != "" {
		if !slices.Contains(modes(), in.Mode) {
			return nil, newProblem(http.StatusBadRequest, "mode", "the mode is one of queue, steer and replace")
		}
		options = append(options, settle.WithMode(in.Mode))
	}
	if len(in.Input) > longestInputID {
		return nil, newProblem(
			http.StatusBadRequest, "input-id",
			fmt.Sprintf("an input's id has at most %d bytes; nothing was done", longestInputID),
		)
	}
	if in.Input != "" {
		options = append(options, settle.WithID(in.Input))
	}
	for _, i := range in.Images {
		if !slices.Contains(mediaTypes(), i.MediaType) || len(i.Data) == 0 {
			return nil, newProblem(
				http.StatusBadRequest, "image",
				"an image has data, and a media_type that is one of image/png, image/jpeg, image/gif and image/webp",
			)
		}
		options = append(
			options, settle.WithImages(event.Image{MediaType: string(i.MediaType), Data: i.Data, Name: i.Name}),
		)
	}
	for _, d := range in.Documents {
		options = append(options, settle.WithDocuments(event.Document{Data: d.Data, Name: d.Name}))
	}
	return options, nil
}

// refusedInput returns the error of a refused input for the client.
func refusedInput(err error) error {
	if errors.Is(err, session.ErrEmpty) {
		return newProblem(http.StatusBadRequest, "input", "the input is empty; nothing was done")
	}
	if image := (*session.ImageError)(nil); errors.As(err, &image) {
		return newProblem(http.StatusBadRequest, "image", err.Error()+"; nothing was done")
	}
	if document := (*session.DocumentError)(nil); errors.As(err, &document) {
		return newProblem(http.StatusBadRequest, "document", err.Error()+"; nothing was done")
	}
	failed, cause := (*commands.FailedError)(nil), (*event.Cause)(nil)
	switch {
	case errors.As(err, &failed):
		return newProblem(http.StatusConflict, "command", err.Error()+"; nothing was done")
	case errors.As(err, &cause) && cause.Reason == event.Shutdown:
		return settle.ErrClosed
	case errors.As(err, &cause):
		return newProblem(http.StatusConflict, "interrupted", err.Error()+"; nothing was done")
	}
	return err
}

func (s *Server) drop(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := s.bounded(r)
	defer cancel()
	return s.with(ctx, r.PathValue("id"), func(session *settle.Session) error {
		dropped, err := session.Drop(r.PathValue("input"), client(r))
		if err != nil {
			return err
		}
		if !dropped {
			return newProblem(
				http.StatusConflict, "not-waiting",
				"the input is not waiting: it is running, has run, was withdrawn, or never arrived",
			)
		}
		reply(w, http.StatusNoContent, nil)
		return nil
	})
}
