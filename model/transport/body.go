package transport

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/settle-agent/settle/model"
)

// Body returns v as JSON with extra merged in: a member of extra replaces the member of
// v, a nil member removes it. Equal inputs give equal bytes.
func Body(v any, extra map[string]any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, model.NewError(model.ErrInvalid, "cannot encode the request: %w", err)
	}
	if len(extra) == 0 {
		return body, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, model.NewError(model.ErrInvalid, "cannot encode the request: %w", err)
	}
	for name, value := range extra {
		if value == nil {
			delete(members, name)
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, model.NewError(model.ErrInvalid, "cannot encode extra_body.%s: %w", name, err)
		}
		members[name] = raw
	}
	if body, err = json.Marshal(members); err != nil {
		return nil, model.NewError(model.ErrInvalid, "cannot encode the request: %w", err)
	}
	return body, nil
}

// Arguments returns a call's arguments as the JSON object that every wire
// format demands. Invalid arguments, for which the model received
// an error, are quoted unchanged.
func Arguments(text string) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return json.RawMessage("{}")
	}
	if trimmed[0] == '{' && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	quoted, err := json.Marshal(map[string]string{"invalid_json": text})
	if err != nil {
		return json.RawMessage("{}")
	}
	return quoted
}

// DataURL returns an image as a data URL.
func DataURL(image model.Image) string {
	return "data:" + image.MediaType + ";base64," + Base64(image)
}

// Base64 returns an image's bytes in base64.
func Base64(image model.Image) string {
	return base64.StdEncoding.EncodeToString(image.Data)
}

// DocumentURL returns a PDF as a data URL.
func DocumentURL(d model.Document) string {
	return "data:" + d.MediaType + ";base64," + DocumentBase64(d)
}

// DocumentBase64 returns a PDF's bytes in base64.
func DocumentBase64(d model.Document) string { return base64.StdEncoding.EncodeToString(d.Data) }

// Filename returns the PDF's name, which OpenAI demands.
func Filename(d model.Document) string { return cmp.Or(d.Name, "document.pdf") }
