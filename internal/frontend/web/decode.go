package web

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"
)

// decode reads a request's body into v. An absent body leaves v unchanged.
func (s *Server) decode(w http.ResponseWriter, r *http.Request, limit int64, v any) error {
	if r.ContentLength == 0 {
		return nil
	}
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close") // the body is not read
		return &http.MaxBytesError{Limit: limit}
	}
	// A form of another site cannot send JSON without a preflight request.
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return newProblem(
			http.StatusUnsupportedMediaType, "media-type", "the body must be JSON, with Content-Type: application/json",
		)
	}
	if limit > s.Limits.BodyBytes && (r.ContentLength < 0 || r.ContentLength > s.Limits.BodyBytes) {
		select {
		case s.large <- struct{}{}:
			defer func() { <-s.large }() // never blocks: ours is in it
		case <-r.Context().Done():
			return r.Context().Err()
		}
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return badBody(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("something follows it")
		}
		return badBody(err)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // later reads have bounds of their own
	return nil
}

func badBody(err error) error {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return err
	}
	if errors.Is(err, io.EOF) {
		return nil // no body at all, of unknown length
	}
	return newProblem(http.StatusBadRequest, "body", "cannot read the body: "+err.Error()+"; nothing was done")
}
