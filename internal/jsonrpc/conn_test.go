package jsonrpc_test

import (
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/settle-agent/settle/internal/jsonrpc"
)

func TestScripts(t *testing.T) {
	small := jsonrpc.Options{
		MaxFrame:    100,
		MaxInFlight: 2,
		MaxQueue:    100,
		Overloaded:  &jsonrpc.Error{Code: -32001, Message: "busy"},
	}
	tests := []struct {
		name  string
		o     jsonrpc.Options
		steps string
	}{
		{name: "a request, answered at once and once", steps: `
			> {‹v›"id":1,"method":"echo","params":{"a":"<&>"}}
			handled echo {"a":"<&>"} 1
			< {‹v›"id":1,"result":{"a":"<&>"}}
			reply 1 "again"
			fail 1 again
			<nothing
			eof
			done well`},
		{
			name: "a connection that lingers goes on speaking after the end of its input",
			o:    jsonrpc.Options{Linger: true},
			steps: `
			call a ask
			< {‹v›"id":1,"method":"ask","params":{"n":1}}
			eof
			ended
			not done
			result a the connection is closed
			notify b later
			< {‹v›"method":"later"}
			close
			done well`,
		},
		{name: "one that lingers is done when nobody reads", o: jsonrpc.Options{Linger: true}, steps: `
			gone
			notify a lost
			ended
			done cannot write a message: nobody reads`},
		{name: "requests, answered later and in another order", steps: `
			> {‹v›"id":"a","method":"x"}
			> {‹v›"id":2,"method":"y","params":null}
			handled x "a"
			handled y 2
			reply 2 null
			< {‹v›"id":2,"result":null}
			fail "a" no luck
			< {‹v›"id":"a","error":{"code":-32603,"message":"no luck"}}`},
		{name: "notifications are not answered", steps: `
			> {‹v›"method":"n","params":[1]}
			handled n [1]
			<nothing`},
		{name: "several messages in one piece, one in several, lines of Windows, no newline at the end", steps: `
			>> {‹v›"method":"a"}
			handled
			> 
			handled a
			>> {‹v›"meth
			>> od":"b"}
			>   
			handled b
			>> {‹v›"method":"c"}
			eof
			handled c`},
		{name: "malformed lines are answered and the next one is read", steps: `
			> nonsense
			< {‹v›"id":null,"error":{"code":-32700,"message":"cannot parse the message: it is no JSON"}}
			> {‹v›"id":1,"method":"echo"
			< {‹v›"id":null,"error":{"code":-32700,"message":"cannot parse the message: it is no JSON"}}
			> 7
			< {‹v›"id":null,"error":{"code":-32600,"message":"a message is a JSON object"}}
			> null
			< {‹v›"id":null,"error":{"code":-32600,"message":"a message is a JSON object"}}
			> {‹v›"id":3}
			< {‹v›"id":3,"error":{"code":-32600,"message":"the message has neither a method nor a result"}}
			> {‹v›"id":{},"method":"x"}
			< {‹v›"id":null,"error":{"code":-32600,"message":"an id is a string or a number"}}
			> {‹v›"id":4,"method":5}
			< {‹v›"id":4,"error":{"code":-32600,"message":"a method is a string that is not empty"}}
			> {‹v›"id":5,"METHOD":"echo"}
			< {‹v›"id":5,"error":{"code":-32600,"message":"the message has neither a method nor a result"}}
			handled
			> {‹v›"id":6,"method":"echo"}
			< {‹v›"id":6,"result":null}`},
		{
			name: "what is not UTF-8 is not sent back",
			steps: "> {‹v›\"id\":\"a\xff\",\"method\":\"echo\",\"params\":\"b\xfe\"}\n" + `
			handled echo "b�" "a�"
			< {‹v›"id":"a�","result":"b�"}`,
		},
		{name: "batches are refused as a whole", steps: `
			> [{‹v›"id":1,"method":"echo"},{‹v›"id":2,"method":"echo"}]
			< {‹v›"id":null,"error":{"code":-32600,"message":"batches are not supported: send one message on a line"}}
			<nothing
			handled`},
		{name: "an id that is in use is not answered with that id", steps: `
			> {‹v›"id":1,"method":"x"}
			> {‹v›"id":1,"method":"y"}
			< {‹v›"id":null,"error":{"code":-32600,"message":"the id 1 is in use already"}}
			reply 1 "x"
			< {‹v›"id":1,"result":"x"}
			> {‹v›"id":1,"method":"z"}
			handled x 1
			handled z 1`},
		{name: "long lines are refused, by their id if it is at the beginning", o: small, steps: `
			> {‹v›"id":1,"method":"x","params":"0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789"}
			< {‹v›"id":1,"error":{"code":-32600,"message":"the message has more than 100 bytes"}}
			> {‹v›"method":"x","params":["0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789"],"id":2}
			< {‹v›"id":null,"error":{"code":-32600,"message":"the message has more than 100 bytes"}}
			call a ask
			< {‹v›"id":1,"method":"ask","params":{"n":1}}
			> {‹v›"id":1,"result":"0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789"}
			<nothing
			result a the message has more than 100 bytes (-32600)
			handled
			> {‹v›"id":3,"method":"echo"}
			< {‹v›"id":3,"result":null}`},
		{name: "too many open requests", o: small, steps: `
			> {‹v›"id":1,"method":"x"}
			> {‹v›"id":2,"method":"x"}
			> {‹v›"id":3,"method":"x"}
			< {‹v›"id":3,"error":{"code":-32001,"message":"busy"}}
			> {‹v›"method":"n"}
			handled x 1
			handled x 2
			handled n
			reply 1 1
			< {‹v›"id":1,"result":1}
			> {‹v›"id":3,"method":"x"}
			handled x 3`},
		{name: "cancel ends the context, and the request is still answered", steps: `
			> {‹v›"id":"a","method":"x"}
			ctx "a" open
			cancel "a" true
			ctx "a" the request was cancelled
			fail "a" cancelled
			< {‹v›"id":"a","error":{"code":-32603,"message":"cancelled"}}
			cancel "a" false`},
		{name: "calls", steps: `
			call a ask
			< {‹v›"id":1,"method":"ask","params":{"n":1}}
			call b ask
			< {‹v›"id":2,"method":"ask","params":{"n":1}}
			> {‹v›"id":2,"result":"two"}
			result b two
			result a pending
			> {‹v›"id":1,"error":{"code":7,"message":"no"}}
			result a no (7)
			call c ask
			> {‹v›"id":3,"result":4}
			result c cannot read the answer to "ask": json: cannot unmarshal number into Go value of type string
			call d ask
			> {‹v›"id":4,"result":"four","error":null}
			result d four`},
		{name: "answers that nobody waits for are dropped, and never answered", steps: `
			> {‹v›"id":1,"result":1}
			> {‹v›"id":"x","error":{"code":1,"message":"y"}}
			> {‹v›"id":null,"error":{"code":1,"message":"y"}}
			> {‹v›"id":[],"result":1}
			> {‹v›"error":{"code":1,"message":"y"}}
			call a ask
			< {‹v›"id":1,"method":"ask","params":{"n":1}}
			stop a
			result a "ask" was not answered: stopped
			> {‹v›"id":1,"result":"late"}
			<nothing
			handled`},
		{name: "the end of the input: open requests are answered first, calls will not be", steps: `
			> {‹v›"id":1,"method":"x"}
			call a ask
			< {‹v›"id":1,"method":"ask","params":{"n":1}}
			not ended
			eof
			ended
			not done
			result a the connection is closed
			ctx 1 open
			notify n last
			< {‹v›"method":"last"}
			call b ask
			result b cannot send "ask": the connection is closed
			reply 1 1
			< {‹v›"id":1,"result":1}
			done well
			notify m late
			result m cannot send "late": the connection is closed`},
		{name: "close ends contexts and waits for the answers", steps: `
			> {‹v›"id":1,"method":"x"}
			close
			ended
			ctx 1 the connection is closed
			not done
			reply 1 1
			< {‹v›"id":1,"result":1}
			done well
			> {‹v›"id":2,"method":"x"}
			<nothing`},
		{name: "close does not wait for ever", steps: `
			> {‹v›"id":1,"method":"x"}
			close
			hours 2
			done cannot write the remaining messages before the connection closed: context deadline exceeded
			reply 1 1
			<nothing`},
		{name: "close does not wait for ever for a reader", steps: `
			stall
			notify a b
			close
			not done
			hours 2
			done cannot write the remaining messages before the connection closed: context deadline exceeded`},
		{name: "nobody reads any more", steps: `
			> {‹v›"id":1,"method":"x"}
			call a ask
			gone
			notify n one
			ended
			done cannot write a message: nobody reads
			result a the connection is closed
			ctx 1 cannot write a message: nobody reads
			notify m two
			result m cannot send "two": cannot write a message: nobody reads
			reply 1 1`},
		{name: "a slow reader holds up notifications and calls, but no answer and no cancel", o: small, steps: `
			stall
			notify a 0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789
			result a sent
			notify b held
			result b pending
			call c ask
			result c pending
			notify d never
			stop d
			result d cannot send "never": stopped
			> {‹v›"id":1,"method":"echo"}
			> {‹v›"id":2,"method":"x"}
			cancel 2 true
			go on
			< {‹v›"method":"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"}
			< {‹v›"id":1,"result":null}
			result b sent`},
		{name: "one who asks and does not read", o: jsonrpc.Options{MaxQueue: 8}, steps: `
			stall
			> {‹v›"id":1,"method":"echo","params":"01234567890123456789012345678901234567890123456789012345678901234567890123456789"}
			> {‹v›"id":2,"method":"echo","params":"01234567890123456789012345678901234567890123456789012345678901234567890123456789"}
			not done
			> {‹v›"id":3,"method":"echo"}
			done the peer does not read`},
	}
	for _, test := range tests {
		for _, d := range []jsonrpc.Dialect{jsonrpc.V2, jsonrpc.Bare} {
			t.Run(test.name+"/"+string(d), func(t *testing.T) { play(t, d, test.o, test.steps) })
		}
	}
}

func TestDialectsTakeEachOthersMark(t *testing.T) {
	play(t, jsonrpc.V2, jsonrpc.Options{}, `
		> {"id":1,"method":"echo"}
		< {‹v›"id":1,"result":null}
		> {"jsonrpc":"1.0","id":2,"method":"echo"}
		< {‹v›"id":2,"error":{"code":-32600,"message":"\"jsonrpc\" must be \"2.0\""}}`)
	play(t, jsonrpc.Bare, jsonrpc.Options{}, `
		> {"jsonrpc":"2.0","id":1,"method":"echo"}
		< {"id":1,"result":null}`)
}

func TestCloseBeforeStart(t *testing.T) {
	in, w := io.Pipe()
	c := jsonrpc.New(jsonrpc.Options{In: in, Out: io.Discard})
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	c.Start(t.Context()) // reads nothing: there is no handler
	if err := c.Notify(t.Context(), "late", nil); !errors.Is(err, jsonrpc.ErrClosed) {
		t.Errorf("sent after the end: %v", err)
	}
	_ = w.Close()
}

// Node's readline takes U+2028 for the end of a line.
func TestNoLineSeparatorsInLines(t *testing.T) {
	play(t, jsonrpc.V2, jsonrpc.Options{}, "> {\"id\":1,\"method\":\"echo\",\"params\":\"a\u2028b\u2029\"}\n"+
		`< {‹v›"id":1,"result":"a\u2028b\u2029"}`)
}

func TestDecode(t *testing.T) {
	type part struct {
		Text string `json:"text"`
	}
	type common struct {
		Cwd string `json:"cwd"`
	}
	for params, want := range map[string]string{
		`{"cwd":5}`:              `"cwd": a string was expected, not a number`,
		`{"limit":"x"}`:          `"limit": a number was expected, not a string`,
		`{"limit":1e99}`:         `"limit": a number was expected, not a number 1e99`,
		`{"all":[]}`:             `"all": a boolean was expected, not an array`,
		`{"parts":{}}`:           `"parts": an array was expected, not an object`,
		`{"parts":[true]}`:       `"parts": an object was expected, not a boolean`,
		`{"parts":[{"text":1}]}`: `"text": a string was expected, not a number`,
		`[]`:                     `an object was expected, not an array`,
		`"x"`:                    `an object was expected, not a string`,
		`{"data":"!"}`:           `illegal base64 data at input byte 0`,
	} {
		var into struct {
			common

			Limit int    `json:"limit"`
			All   bool   `json:"all"`
			Parts []part `json:"parts"`
			Data  []byte `json:"data"`
		}
		err := (&jsonrpc.Request{Method: "m", Params: json.RawMessage(params)}).Decode(&into)
		if want = `cannot read the parameters of "m": ` + want + ` (-32602)`; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", params, err, want)
		}
	}
}
