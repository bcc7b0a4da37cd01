package setup

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/scope"
)

// Server is a model server on this machine.
type Server struct {
	Name  string // as people know it
	ID    string // the name of its provider
	Base  string // its address, with /v1
	Start string // how to get a first model
	// Answers reports that the server lists models, or requests a key to do so.
	Answers, NeedsKey bool
	Models            []string
}

// LocalServers are the usual addresses of model servers on this machine.
func LocalServers() []Server {
	return []Server{
		{Name: "Ollama", ID: "ollama", Base: "http://127.0.0.1:11434/v1", Start: "ollama pull qwen3-coder"},
		{Name: "LM Studio", ID: "lmstudio", Base: "http://127.0.0.1:1234/v1", Start: "lms get"},
		{Name: "vLLM", ID: "vllm", Base: "http://127.0.0.1:8000/v1", Start: "vllm serve MODEL"},
		{Name: "llama.cpp", ID: "llamacpp", Base: "http://127.0.0.1:8080/v1", Start: "llama-server -m MODEL.gguf"},
	}
}

const (
	// askTimeout bounds the request to one server; the servers are asked in parallel.
	askTimeout = 300 * time.Millisecond
	// maxList bounds a list of models, in bytes.
	maxList = 1 << 20
)

// Find asks the servers for their models. Other programs use the same ports: only a list of
// models counts as an answer.
func Find(ctx context.Context, servers []Server) []Server {
	found := make([]Server, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		found[i] = s
		wg.Go(scope.Shield(func(error) {}, func() { found[i] = ask(ctx, s) })) // ends within the timeout
	}
	wg.Wait()
	return found
}

func ask(ctx context.Context, s Server) Server {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Base+"/models", nil)
	if err != nil {
		return s
	}
	transport := &http.Transport{} // without a proxy
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return s
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if response.StatusCode == http.StatusUnauthorized && s.ID == "vllm" {
		s.Answers, s.NeedsKey = true, true
		return s
	}
	if response.StatusCode != http.StatusOK ||
		json.NewDecoder(io.LimitReader(response.Body, maxList)).Decode(&list) != nil {
		return s
	}
	s.Answers = list.Data != nil || s.ID == "ollama" // which has no list without models
	for _, m := range list.Data {
		s.Models = append(s.Models, m.ID)
	}
	return s
}
