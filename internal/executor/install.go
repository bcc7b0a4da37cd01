package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

// executorCommand is the command that the dialer's command starts on the other machine.
const executorCommand = "settle executor"

// Install copies settle to a machine without it.
//
// The dialer's command then starts sh there instead of settle executor. sh receives one line,
// which finds settle or reads it from the stream, and then executes settle executor. A shell
// that can read ahead receives no other data.
type Install struct {
	// Program is the file to copy: settle for the other machine.
	Program string
	// GOOS and GOARCH are the platform of Program; this machine's if they are empty.
	GOOS, GOARCH string
}

// The answers of the line, each at the start of a line.
const (
	installReady   = "settle-ready"
	installMissing = "settle-missing" // and the output of uname
	installFailed  = "settle-failed"
)

// installTimeout bounds the wait for each answer, and installBytes the text before it.
const (
	installTimeout = 30 * time.Second
	installBytes   = maxNoise
)

// command returns the dialer's command with sh in place of settle executor.
func (i *Install) command(way string) (string, error) {
	at := strings.LastIndex(way, executorCommand)
	if at < 0 {
		return "", fmt.Errorf("cannot install settle by %q: the command has to contain %q", way, executorCommand)
	}
	return way[:at] + "sh" + way[at+len(executorCommand):], nil
}

// line returns the line for sh. It renames the new file only after the file is complete and has
// run once.
func (i *Install) line(size int64) string {
	return fmt.Sprintf(`p=$(command -v settle 2>/dev/null) || p=; [ -x "$p" ] || p=${HOME:?}/.local/bin/settle; `+
		`if ! [ -x "$p" ]; then t=$p.$$; echo "%[2]s $(uname -s) $(uname -m)"; `+
		`if mkdir -p "${p%%/*}" && head -c %[1]d >"$t" && [ "$(wc -c <"$t")" -eq %[1]d ] && chmod 755 "$t" && "$t" version >/dev/null && mv -f "$t" "$p"; `+
		`then :; else rm -f "$t"; echo %[3]s; exit 1; fi; fi; echo %[4]s; exec "$p" executor`+"\n", size, installMissing, installFailed, installReady)
}

// prepare starts settle executor at the other end of a stream that leads to sh.
func (i *Install) prepare(ctx context.Context, stream io.ReadWriteCloser) error {
	file, info, err := disk.OpenRegular(i.Program)
	if err != nil {
		return fmt.Errorf("cannot install settle: %w", err)
	}
	defer file.Close()
	stop := context.AfterFunc(ctx, func() { _ = stream.Close() }) // ends the reads below
	defer stop()
	if _, err := io.WriteString(stream, i.line(info.Size())); err != nil {
		return err
	}
	answer, err := awaitAnswer(stream)
	if err == nil && answer[0] == installMissing {
		if err = i.check(answer[1:]); err == nil {
			if _, err = io.Copy(stream, file); err == nil {
				answer, err = awaitAnswer(stream)
			}
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("cannot install settle: %w", err)
	case answer[0] != installReady:
		return errors.New("cannot install settle at the other end")
	}
	return nil
}

// check refuses to copy to another platform.
func (i *Install) check(uname []string) error {
	goos, goarch := i.GOOS, i.GOARCH
	if goos == "" {
		goos, goarch = runtime.GOOS, runtime.GOARCH
	}
	there := strings.ToLower(strings.Join(uname, "/"))
	if name, found := map[string]string{
		"linux/x86_64": "linux/amd64", "linux/amd64": "linux/amd64", "linux/aarch64": "linux/arm64", "linux/arm64": "linux/arm64",
		"darwin/x86_64": "darwin/amd64", "darwin/arm64": "darwin/arm64",
	}[there]; found {
		there = name
	}
	if there != goos+"/"+goarch {
		return fmt.Errorf(
			"the other machine is %s, and this settle is for %s/%s; copy the right one there yourself", there, goos,
			goarch,
		)
	}
	return nil
}

// awaitAnswer reads up to the line with an answer, and no byte more, and returns its words.
func awaitAnswer(stream io.ReadCloser) ([]string, error) {
	timer := time.AfterFunc(installTimeout, func() { _ = stream.Close() }) // ends the reads
	defer timer.Stop()
	var line []byte
	for range installBytes {
		var b [1]byte
		if _, err := io.ReadFull(stream, b[:]); err != nil {
			return nil, fmt.Errorf("no shell answered: %w", err)
		}
		if b[0] != '\n' {
			line = append(line, b[0])
			continue
		}
		words := strings.Fields(string(line))
		if len(words) > 0 && (words[0] == installReady || words[0] == installMissing || words[0] == installFailed) {
			return words, nil
		}
		line = nil
	}
	return nil, errNoPreface
}
