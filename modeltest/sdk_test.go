//go:build !fuzzing

package modeltest_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/settle-agent/settle/modeltest"
)

// The tests of this file show with the official SDKs that the wire formats are correct.

func fullTurn() modeltest.Turn {
	return modeltest.Reply(
		modeltest.Think("The user wants the date, so I call the tool."),
		modeltest.Text("Let me look — 日本語 too."),
		modeltest.Call("shell", `{"command":"date"}`),
		modeltest.Call("read", `{"path":"a.txt"}`),
	).Using(modeltest.Usage{Input: 1000, CacheRead: 600, CacheWrite: 100, Output: 50, Reasoning: 20})
}

func openaiClient(srv *modeltest.Server) openai.Client {
	return openai.NewClient(openaioption.WithBaseURL(srv.OpenAI()), openaioption.WithAPIKey("sk-test"),
		openaioption.WithHTTPClient(srv.Client()), openaioption.WithMaxRetries(0))
}

func anthropicClient(srv *modeltest.Server) anthropic.Client {
	return anthropic.NewClient(anthropicoption.WithBaseURL(srv.Anthropic()), anthropicoption.WithAPIKey("sk-test"),
		anthropicoption.WithHTTPClient(srv.Client()), anthropicoption.WithMaxRetries(0))
}

func responsesInput(items ...responses.ResponseInputItemUnionParam) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: "gpt-test", Store: openai.Bool(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Input:   responses.ResponseNewParamsInputUnion{OfInputItemList: items},
		Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
			Name: "shell", Parameters: map[string]any{"type": "object"}, Strict: openai.Bool(false),
		}}},
	}
}

func TestResponsesWithOfficialSDK(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(fullTurn(), modeltest.Say("done")))
	client := openaiClient(srv)
	ask := responses.ResponseInputItemParamOfMessage("what is the date?", responses.EasyInputMessageRoleUser)

	stream := client.Responses.NewStreaming(t.Context(), responsesInput(ask))
	var text, arguments string
	var final responses.Response
	for stream.Next() {
		switch e := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += e.Delta
		case responses.ResponseFunctionCallArgumentsDeltaEvent:
			arguments += e.Delta
		case responses.ResponseCompletedEvent:
			final = e.Response
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if text != "Let me look — 日本語 too." || arguments != `{"command":"date"}{"path":"a.txt"}` {
		t.Errorf("text %q, arguments %q", text, arguments)
	}
	if len(final.Output) != 4 || final.Output[0].EncryptedContent == "" ||
		final.Output[2].AsFunctionCall().Name != "shell" {
		t.Fatalf("output: %s", final.RawJSON())
	}
	if u := final.Usage; u.InputTokens != 1000 || u.InputTokensDetails.CachedTokens != 600 ||
		u.OutputTokensDetails.ReasoningTokens != 20 {
		t.Errorf("usage: %s", u.RawJSON())
	}

	// The received items go back unchanged, with the outputs.
	items := []responses.ResponseInputItemUnionParam{ask}
	for _, it := range final.Output {
		items = append(items, param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(it.RawJSON())))
	}
	for _, it := range final.Output[2:] {
		items = append(items, param.Override[responses.ResponseInputItemUnionParam](map[string]any{
			"type": "function_call_output", "call_id": it.CallID, "output": "ok",
		}))
	}
	again, err := client.Responses.New(t.Context(), responsesInput(items...))
	if err != nil {
		t.Fatal(err)
	}
	if got := again.OutputText(); got != "done" {
		t.Errorf("second answer %q", got)
	}
}

func TestMessagesWithOfficialSDK(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(fullTurn(), modeltest.Say("done")))
	client := anthropicClient(srv)
	params := anthropic.MessageNewParams{
		Model: "claude-test", MaxTokens: 4096,
		Thinking: anthropic.ThinkingConfigParamOfEnabled(2048),
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("what is the date?"))},
	}
	stream := client.Messages.NewStreaming(t.Context(), params)
	var got anthropic.Message
	for stream.Next() {
		if err := got.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, b := range got.Content {
		kinds = append(kinds, b.Type)
	}
	if diff := cmp.Diff([]string{"thinking", "text", "tool_use", "tool_use"}, kinds); diff != "" {
		t.Fatal(diff)
	}
	if got.Content[1].Text != "Let me look — 日本語 too." || string(got.Content[2].Input) != `{"command":"date"}` ||
		got.StopReason != "tool_use" {
		t.Errorf("message: %+v", got)
	}
	if u := got.Usage; u.InputTokens != 300 || u.CacheReadInputTokens != 600 || u.CacheCreationInputTokens != 100 ||
		u.OutputTokens != 50 {
		t.Errorf("usage: %+v", u)
	}

	params.Messages = append(params.Messages, got.ToParam(), anthropic.NewUserMessage(
		anthropic.NewToolResultBlock(got.Content[2].ID, "ok", false),
		anthropic.NewToolResultBlock(got.Content[3].ID, "no such file", true),
	))
	again, err := client.Messages.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Content) != 1 || again.Content[0].Text != "done" {
		t.Errorf("second answer %+v", again.Content)
	}
}

func TestChatWithOfficialSDK(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(fullTurn(), modeltest.Say("done")))
	client := openaiClient(srv)
	params := openai.ChatCompletionNewParams{
		Model:         shared.ChatModel("local"),
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.UserMessage("what is the date?")},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Fatalf("the accumulator refused %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	message := acc.Choices[0].Message
	if message.Content != "Let me look — 日本語 too." || len(message.ToolCalls) != 2 ||
		acc.Choices[0].FinishReason != "tool_calls" {
		t.Fatalf("message: %+v", acc.Choices[0])
	}
	if got := message.ToolCalls[1].Function; got.Name != "read" || got.Arguments != `{"path":"a.txt"}` {
		t.Errorf("second call: %+v", got)
	}
	if acc.Usage.PromptTokens != 1000 || acc.Usage.PromptTokensDetails.CachedTokens != 600 {
		t.Errorf("usage: %+v", acc.Usage)
	}

	params.Messages = append(params.Messages, message.ToParam(),
		openai.ToolMessage("ok", message.ToolCalls[0].ID), openai.ToolMessage("ok", message.ToolCalls[1].ID))
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	again, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Choices[0].Message.Content; got != "done" {
		t.Errorf("second answer %q", got)
	}
}

func TestModelsWithOfficialSDKs(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Scenario{Rules: modeltest.Rules{
		Keys: []string{"sk-test"}, Models: []modeltest.Model{{ID: "local", Window: 32768}},
	}})
	oc, ac := openaiClient(srv), anthropicClient(srv)
	list, err := oc.Models.List(context.Background())
	if err != nil || len(list.Data) != 1 || list.Data[0].ID != "local" {
		t.Fatalf("%v, %v", list, err)
	}
	var extra struct {
		Window int `json:"max_model_len"`
	}
	if err := json.Unmarshal([]byte(list.Data[0].RawJSON()), &extra); err != nil || extra.Window != 32768 {
		t.Errorf("window %d, %v", extra.Window, err)
	}
	page, err := ac.Models.List(context.Background(), anthropic.ModelListParams{})
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != "local" {
		t.Fatalf("%v, %v", page, err)
	}
}
