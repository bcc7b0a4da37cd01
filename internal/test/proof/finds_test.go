package proof

import (
	"strings"
	"testing"
)

// TestFinds has the shrunk finds of the simulation, and cases that deserve to be tried every time.
func TestFinds(t *testing.T) {
	finds := map[string]string{
		"what is left out takes less room than the note that it is": `
wire messages
window 2000
compact auto
model
  call
  fault error at call 2
  fault pings at arguments 2 always every 1m0s
input "a"
on 37 input steer image "a"`,
		// history sent it unchanged, and Messages takes no text behind a call.
		"text between calls, on another wire": `
wire chat
model
  call
  say "a"
  unknown
input "a"`,
		// history gave the call another id and kept the thought that belongs to it.
		"thought before a call without id": `
wire responses
model
  redacted "a"
  invalid
  fault empty_ids first 1
input "a"`,
		// history dropped the second one and kept the first.
		"thought before one that was masked": `
wire responses
model
  redacted "a"
  think "xhunter2-hunter2-hunter2y"
  broken
input "a"`,
		"input is held over an interrupt": `
model paced 1s
  say "A long answer, in some deltas."
input "a"
after 1s input "b"
after 2s interrupt
after 3s input "c"`,
		"no room on the disk": `
model paced 1s
  say "A long answer, in some deltas."
  call print "a", take 2s
input "a"
after 3s fill`,
		"disk fails as a call starts": `
model
  call take 1s
input "a"
on 7 ruin`,
		// chat sent the details back with a signature of another text: each request
		// after that was refused.
		"each event of signed reasoning twice": `
wire chat
model
  think "a"
  call
  fault repeat
  fault reasoning_details
input "a"`,
		// the next turn continued the trial of the interrupted turn.
		"interrupted while less is tried": `
wire chat
model
model
  call
  call
  fault status first 2 status 422 retry "ms 250"
input "a"
after 1ms input steer "a"
on 20 interrupt
on 11 reject items 4`,
		"another account, messages":  anotherAccount("messages", ""),
		"another account, responses": anotherAccount("responses", ""),
		"another account, chat":      anotherAccount("chat", "fault reasoning_details"),
		"killed while it recovers": `
model paced 1s
  call take 5s
input "a"
on 8 crash
on 9 crash
on 10 crash
reader leaves 1 for 1s`,
	}
	for name, text := range finds {
		t.Run(name, func(t *testing.T) {
			s, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if problems := play(t, s).Problems; len(problems) > 0 {
				t.Error(strings.Join(problems, "\n"))
			}
		})
	}
}

// anotherAccount: each request after the change was refused, for the signatures of earlier
// reasoning.
func anotherAccount(wire, fault string) string {
	return `
wire ` + wire + `
model
  think "a"
  call take 1s
  ` + fault + `
model
  think "b"
  say "Done."
  ` + fault + `
input "a"
after 1s account
after 10s input "b"
after 20s account
after 30s input "c"
ends completed
ends completed
ends completed`
}
