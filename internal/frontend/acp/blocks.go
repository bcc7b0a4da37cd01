package acp

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/image"
	"github.com/settle-agent/settle/internal/proc/pdf"
)

// read joins the blocks of a prompt. A block that the model cannot receive is an error;
// it is not left out. https://agentclientprotocol.com/protocol/v1/content
func read(blocks []block) (text string, files image.Attached, err error) {
	var texts []string
	for n, b := range blocks {
		text, more, err := b.read()
		if err != nil {
			return "", files, invalid("cannot use block %d of the prompt: %v", n+1, err)
		}
		files.Images = append(files.Images, more.Images...)
		files.Documents = append(files.Documents, more.Documents...)
		if text != "" {
			texts = append(texts, text)
		}
	}
	text = strings.Join(texts, "\n\n")
	if strings.TrimSpace(text) == "" && len(files.Images) == 0 && len(files.Documents) == 0 {
		return "", files, invalid("the prompt is empty")
	}
	return text, files, nil
}

func (b block) read() (text string, files image.Attached, err error) {
	switch b.Type {
	case "text":
		return b.Text, files, nil
	case "image":
		i, err := image.New(b.MimeType, b.Data, b.URI)
		return "", image.Attached{Images: []event.Image{i}}, err
	case "resource_link":
		return b.link(), files, nil
	case "resource":
		if b.Resource == nil {
			return "", files, fmt.Errorf("a resource is missing")
		}
		return b.Resource.read()
	default:
		return "", files, fmt.Errorf(
			"content of type %q is not supported; text, image, resource_link and resource are", b.Type,
		)
	}
}

// link names a resource that the model may read with its tools.
func (b block) link() string {
	where := place(b.URI)
	if b.Name == "" || strings.HasSuffix(where, "/"+b.Name) {
		return "@" + where
	}
	return fmt.Sprintf("[@%s](%s)", b.Name, where)
}

// place returns the path of a file URI.
func place(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return uri
	}
	return u.Path
}

func (r *resource) read() (text string, files image.Attached, err error) {
	switch {
	case r.Text != nil:
		return fmt.Sprintf("<resource uri=%q>\n%s\n</resource>", r.URI, strings.TrimSuffix(*r.Text, "\n")), files, nil
	case strings.HasPrefix(r.MimeType, "image/"):
		i, err := image.New(r.MimeType, r.Blob, r.URI)
		return "", image.Attached{Images: []event.Image{i}}, err
	case r.MimeType == pdf.MediaType:
		d, err := image.NewDocument(r.Blob, r.URI)
		return "", image.Attached{Documents: []event.Document{d}}, err
	default:
		return "", files, fmt.Errorf(
			"the resource %q of type %q is neither text nor a picture nor a PDF", r.URI, r.MimeType,
		)
	}
}
