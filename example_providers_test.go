package settle_test

import (
	"context"
	"fmt"
	"log"
	"net"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/anthropic"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/openai"
	"github.com/settle-agent/settle/model/transport"
	"github.com/settle-agent/settle/modeltest"
)

// OpenAI's Responses API. Without a BaseURL it is api.openai.com; here it is a
// model server for tests, as strict as the real one.
func Example_openAI() {
	server, stop := modelServer()
	defer stop()
	provider := openai.New(openai.Options{Endpoint: transport.Endpoint{
		BaseURL: server + "/v1",                               // leave it out
		Key:     transport.StaticKey("sk-0123456789abcdefgh"), // os.Getenv("OPENAI_API_KEY")
	}})
	ask(provider.Model("gpt-5.2"))
	// Output: openai/gpt-5.2 says: Hello. (completed)
}

// Anthropic's Messages API. Without a BaseURL it is api.anthropic.com.
func Example_anthropic() {
	server, stop := modelServer()
	defer stop()
	provider := anthropic.New(anthropic.Options{Endpoint: transport.Endpoint{
		BaseURL: server,                                           // leave it out
		Key:     transport.StaticKey("sk-ant-0123456789abcdefgh"), // os.Getenv("ANTHROPIC_API_KEY")
	}})
	ask(provider.Model("claude-sonnet-4-5"))
	// Output: anthropic/claude-sonnet-4-5 says: Hello. (completed)
}

// Any server with Chat Completions: vLLM, Ollama, llama.cpp, OpenRouter. Set the model's
// traits if the catalogue does not have them.
func Example_chat() {
	server, stop := modelServer()
	defer stop()
	provider := chat.New(chat.Options{Endpoint: transport.Endpoint{BaseURL: server + "/v1"}})
	m := provider.Model("qwen3-coder")
	m.ProviderName, m.Window = "vllm", 131_072
	ask(m)
	// Output: vllm/qwen3-coder says: Hello. (completed)
}

// ask lets the model answer once.
func ask(m model.Config) {
	ctx := context.Background()
	host, err := settle.Open(ctx, settle.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close(ctx)
	session, err := host.Session(ctx, "", settle.SessionConfig{Model: m})
	if err != nil {
		log.Fatal(err)
	}
	outcome, err := session.Run(ctx, "Say hello.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s/%s says: %s (%v)\n", m.ProviderName, m.Name, outcome.Answer, outcome.Cause)
}

// modelServer is a model that answers "Hello." in each wire format.
func modelServer() (url string, stop func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- modeltest.Serve(ctx, modeltest.Script(modeltest.Say("Hello.")), listener) }() // ends with stop
	return "http://" + listener.Addr().String(), func() {
		cancel()
		if err := <-done; err != nil {
			log.Print(err)
		}
	}
}
