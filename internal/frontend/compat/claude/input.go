package claude

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// maxLine bounds a line that comes in: pictures are in it.
const maxLine = 64 << 20

// incoming is a line of the client's.
type incoming struct {
	Type      string          `json:"type"`
	UUID      string          `json:"uuid"`
	Message   json.RawMessage `json:"message"`
	Priority  string          `json:"priority"`
	Query     *bool           `json:"shouldQuery"`
	Parent    *string         `json:"parent_tool_use_id"`
	RequestID string          `json:"request_id"`
	Request   json.RawMessage `json:"request"`
	Response  clientReply     `json:"response"`

	// bad reports that the line is none of the protocol's.
	bad error
}

// read hands on the client's lines until the input ends, or take says so.
func read(r io.Reader, take func(incoming) bool) error {
	in := jsonrpc.NewLineReader(r, maxLine)
	for {
		line, err := in.Next()
		if err != nil {
			return err
		}
		msg := incoming{bad: errTooLong}
		if !line.Cut {
			msg = incoming{}
			msg.bad = decode("a line of standard input", line.Text, &msg)
		}
		if !take(msg) {
			return nil
		}
	}
}

var errTooLong = errors.New("a line of standard input has more than 64 MiB and was ignored")

// prompt is a message of the user.
type prompt struct {
	text      string
	images    []event.Image
	documents []event.Document
	bad       error // error that keeps the prompt from a turn; results keep the order of the prompts

	// fetched, if set, ends when the prompt is refused because of a server's answer or a document.
	fetched context.Context // bounds the interrupts that name it
}

// content takes a user's message apart: a text, or blocks.
func content(raw json.RawMessage) (*prompt, error) {
	var message struct {
		Content json.RawMessage `json:"content"`
	}
	if err := decode("the message", raw, &message); err != nil {
		return nil, err
	}
	var text string
	if json.Unmarshal(message.Content, &text) == nil {
		return &prompt{text: text}, nil
	}
	var blocks []inputBlock
	if err := decode("the message's content", message.Content, &blocks); err != nil {
		return nil, err
	}
	p := &prompt{}
	var texts, contexts []string // the contexts of PDFs are at the end, as the PDFs
	for _, b := range blocks {
		switch {
		case b.Type == "text":
			texts = append(texts, b.Text)
		case b.Type == "image" && b.Source.Type == "base64":
			data, err := base64.StdEncoding.DecodeString(b.Source.Data)
			if err != nil {
				return nil, fmt.Errorf("cannot read an image: %w", err)
			}
			p.images = append(p.images, event.Image{MediaType: b.Source.MediaType, Data: data})
		case b.Type == "document" && b.Source.Type == "base64":
			data, err := base64.StdEncoding.DecodeString(b.Source.Data)
			if err != nil {
				return nil, fmt.Errorf("cannot read a document: %w", err)
			}
			p.documents = append(p.documents, event.Document{Data: data, Name: b.Title})
			contexts = append(contexts, b.framed("The context", b.Context)...)
		case b.Type == "document" && b.Source.Type == "text":
			texts = append(texts, b.framed("The text", b.Source.Data)...)
			texts = append(texts, b.framed("The context", b.Context)...)
		default:
			return nil, fmt.Errorf(
				"cannot use a block of type %q with a source of type %q: send text, or images and PDFs in base64",
				b.Type,
				b.Source.Type,
			)
		}
	}
	p.text = strings.Join(append(texts, contexts...), "\n\n")
	return p, nil
}

// inputBlock is a block of a user's message.
type inputBlock struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Title   string `json:"title"`
	Context string `json:"context"`
	Source  struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
	} `json:"source"`
}

// framed returns a text of a document, which is not the user's own words; nothing if it is empty.
func (b inputBlock) framed(what, text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	name := "the document"
	if b.Title != "" {
		name += " " + strconv.Quote(b.Title)
	}
	return []string{history.Framed(what+" of "+name, name, text)}
}
