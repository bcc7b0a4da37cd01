package acp

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// input is what a prompt says to the model.
type input struct {
	text   string
	images []event.Image
}

// read puts the blocks of a prompt together. What the model cannot be told is
// an error, not left out. https://agentclientprotocol.com/protocol/v1/content
func read(blocks []block) (input, error) {
	var in input
	var texts []string
	for n, b := range blocks {
		text, image, err := b.read()
		if err != nil {
			return input{}, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "cannot use block %d of the prompt: %v", n+1, err)
		}
		if image != nil {
			in.images = append(in.images, *image)
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	in.text = strings.Join(texts, "\n\n")
	if strings.TrimSpace(in.text) == "" && len(in.images) == 0 {
		return input{}, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the prompt is empty")
	}
	return in, nil
}

// mediaTypes are those of pictures that models see.
func mediaTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

func (b block) read() (text string, image *event.Image, err error) {
	switch b.Type {
	case "text":
		return b.Text, nil, nil
	case "image":
		image, err := picture(b.MimeType, b.Data, b.URI)
		return "", image, err
	case "resource_link":
		return b.link(), nil, nil
	case "resource":
		if b.Resource == nil {
			return "", nil, fmt.Errorf("a resource is missing")
		}
		return b.Resource.read()
	default:
		return "", nil, fmt.Errorf("content of type %q is not supported; text, image, resource_link and resource are", b.Type)
	}
}

func picture(mimeType string, data []byte, name string) (*event.Image, error) {
	if !slices.Contains(mediaTypes(), mimeType) {
		return nil, fmt.Errorf("pictures of type %q are not supported; %s are", mimeType, strings.Join(mediaTypes(), ", "))
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("the picture is empty")
	}
	return &event.Image{MediaType: mimeType, Data: data, Name: name}, nil
}

// link names a resource that the model may read with its tools.
func (b block) link() string {
	where := place(b.URI)
	if b.Name == "" || strings.HasSuffix(where, "/"+b.Name) {
		return "@" + where
	}
	return fmt.Sprintf("[@%s](%s)", b.Name, where)
}

// place is a path where the URI is that of a file.
func place(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return uri
	}
	return u.Path
}

func (r *resource) read() (text string, image *event.Image, err error) {
	switch {
	case r.Text != nil:
		return fmt.Sprintf("<resource uri=%q>\n%s\n</resource>", r.URI, strings.TrimSuffix(*r.Text, "\n")), nil, nil
	case strings.HasPrefix(r.MimeType, "image/"):
		image, err := picture(r.MimeType, r.Blob, r.URI)
		return "", image, err
	default:
		return "", nil, fmt.Errorf("the resource %q of type %q is neither text nor a picture", r.URI, r.MimeType)
	}
}
