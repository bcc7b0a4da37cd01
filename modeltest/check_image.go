package modeltest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	_ "image/gif" // providers take these four
	_ "image/jpeg"
	_ "image/png"
	"strings"
)

// unsupportedImage is in OpenAI's words, for Responses and Chat Completions.
func unsupportedImage(param string) *apiError {
	return invalid(
		"You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
	).
		at(param, "invalid_image_format")
}

// readableImage reports whether a provider could read the image. For WebP, only the signature is
// checked.
func readableImage(encoded string) bool {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return false
	}
	if bytes.HasPrefix(data, []byte("RIFF")) && len(data) > 12 && string(data[8:12]) == "WEBP" {
		return true
	}
	_, _, err = image.DecodeConfig(bytes.NewReader(data))
	return err == nil
}

// readablePart reports the same of a part of an OpenAI message: an input_image, whose image_url is
// text, or an image_url, which is an object. An image that the request only links to is not
// checked, and no other part is an image.
func readablePart(raw json.RawMessage) bool {
	var part struct {
		URL json.RawMessage `json:"image_url"`
	}
	if json.Unmarshal(raw, &part) != nil || len(part.URL) == 0 {
		return true
	}
	var url string
	var object struct{ URL string }
	if json.Unmarshal(part.URL, &url) != nil {
		if json.Unmarshal(part.URL, &object) != nil {
			return true
		}
		url = object.URL
	}
	_, encoded, ok := strings.Cut(url, ";base64,")
	return !ok || readableImage(encoded)
}
