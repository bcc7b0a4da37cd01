package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/settle-agent/settle/internal/redact"
)

const (
	key      = "sk-ant-api03-Zx81_secret-value"
	otherKey = "0123456789abcdef"
)

func TestString(t *testing.T) {
	tests := []struct {
		name, secrets, text, want string
	}{
		{"nothing to mask", key, "a text about settle and sk- keys", "a text about settle and sk- keys"},
		{"alone", key, key, redact.Mask},
		{"within", key, "<" + key + ">", "<" + redact.Mask + ">"},
		{"twice", key, key + key, redact.Mask + redact.Mask},
		{"short values stay", "EMPTY short-value-15", "EMPTY short-value-15", "EMPTY short-value-15"},
		{"two secrets", key + " " + otherKey, otherKey + "," + key, redact.Mask + "," + redact.Mask},
		{"one within another", otherKey + " xx" + otherKey + "yy", "xx" + otherKey + "yy", redact.Mask},
		{
			"one within the beginning of another", otherKey + " xx" + otherKey + "yy", "xx" + otherKey + "yz",
			"xx" + redact.Mask + "yz",
		},
		{
			"one begins another", otherKey + " " + otherKey + "ghi", otherKey + "ghi " + otherKey + "gh",
			redact.Mask + " " + redact.Mask,
		},
		{
			"overlap is one mask", "aaaaaaaaaaaaaaaaBBBB BBBBcccccccccccccccc", "aaaaaaaaaaaaaaaaBBBBcccccccccccccccc!",
			redact.Mask + "!",
		},
		{"cut at the end", key, "key: " + key[:20], "key: " + redact.Mask},
		{"cut too early to tell", key, "key: " + key[:15], "key: " + key[:15]},
		{"cut in the middle of a text", key, key[:20] + " and so on", key[:20] + " and so on"},
		{"not ASCII", "пароль-пароль-пароль", "а: пароль-пароль-пароль.", "а: " + redact.Mask + "."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := redact.New(strings.Fields(tt.secrets)...)
			if got := r.String(tt.text); got != tt.want {
				t.Errorf("String(%q) = %q, want %q", tt.text, got, tt.want)
			}
			if got := string(r.Bytes([]byte(tt.text))); got != tt.want {
				t.Errorf("Bytes(%q) = %q, want %q", tt.text, got, tt.want)
			}
			if got := split(r, tt.text, 1); got != tt.want {
				t.Errorf("byte by byte: %q, want %q", got, tt.want)
			}
		})
	}
}

// C15: an encoded secret is masked.
func TestForms(t *testing.T) {
	secret := `p4$$/"wo+rd" & <more>\=end`
	encoded, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"JSON":  string(encoded),
		"query": "?x=" + url.QueryEscape(secret),
		"query, lower case": "?x=" + strings.NewReplacer("%2F", "%2f", "%2B", "%2b", "%3C", "%3c", "%3D", "%3d",
			"%3E", "%3e", "%5C", "%5c").Replace(url.QueryEscape(secret)),
		"path":            "/" + url.PathEscape(secret),
		"userinfo":        "https://" + url.UserPassword("me", secret).String() + "@host",
		"basic auth, 0":   base64.StdEncoding.EncodeToString([]byte("us:" + secret)),
		"basic auth, 1":   base64.StdEncoding.EncodeToString([]byte("use:" + secret)),
		"basic auth, 2":   base64.StdEncoding.EncodeToString([]byte("user:" + secret)),
		"base64 for URLs": base64.URLEncoding.EncodeToString([]byte(":" + secret + secret)),
	}
	r := redact.New(secret)
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			got := r.String(text)
			if !r.Masked(got) {
				t.Errorf("String(%q) = %q, not masked", text, got)
			}
			for i := range len(text) - redact.MinLength {
				if piece := text[i : i+redact.MinLength]; i > 10 && strings.Contains(got, piece) {
					t.Errorf("%q is still in %q", piece, got)
				}
			}
		})
	}
}

func TestNothingToMaskIsTheSameString(t *testing.T) {
	r := redact.New(key, otherKey)
	text := strings.Repeat("so many skeins of silk, said settle. ", 100)
	data := []byte(text)
	stream := r.Stream()
	allocations := testing.AllocsPerRun(100, func() {
		if r.String(text) != text || &r.Bytes(data)[0] != &data[0] || stream.Write(text) != text {
			t.Error("changed")
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations, want 0", allocations)
	}
}

func TestMasked(t *testing.T) {
	r := redact.New(key)
	if r.Masked("key = " + key) {
		t.Error("a text with a secret is not masked yet")
	}
	if !r.Masked(r.String("key = " + key)) {
		t.Error("our own mask is not recognised")
	}
}

func TestNilMasksNothing(t *testing.T) {
	var r *redact.Redactor
	if got := r.String(key); got != key {
		t.Errorf("String = %q", got)
	}
	if s := r.Stream(); s.Write(key)+s.Flush() != key {
		t.Error("Stream changed the text")
	}
}

func TestStreamHoldsBackNoMoreThanNeeded(t *testing.T) {
	r := redact.New(key)
	s := r.Stream()
	steps := []struct {
		write, want string
		held        int
	}{
		{"hello s", "hello ", 1},
		{"ettle", "settle", 0},
		{" sk-", " ", 3},
		{"ant", "", 6},
		{"elope", "sk-antelope", 0},
		{key[:29], "", 29},
		{key[29:], redact.Mask, 0},
		{"done", "done", 0},
	}
	for _, step := range steps {
		if got := s.Write(step.write); got != step.want || s.Held() != step.held {
			t.Fatalf("Write(%q) = %q, %d held; want %q, %d held", step.write, got, s.Held(), step.want, step.held)
		}
	}
	if got := s.Flush(); got != "" {
		t.Errorf("Flush() = %q", got)
	}
}

func TestStreamFollowsAdd(t *testing.T) {
	r := redact.New(otherKey)
	s := r.Stream()
	got := s.Write("x " + otherKey[:10])
	r.Add("89abcdefghijklmno")
	got += s.Write("abcdefghijklmno") + s.Flush()
	if want := "x " + redact.Mask; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAddWhileMasking(t *testing.T) {
	r := redact.New()
	var group sync.WaitGroup
	for worker := range 4 {
		// ends after its rounds; Wait below waits for it
		group.Go(func() {
			s := r.Stream()
			for i := range 20 {
				secret := fmt.Sprintf("secret number %d of worker %d", i, worker)
				r.Add(secret)
				if got := r.String(secret); got != redact.Mask {
					t.Errorf("String(%q) = %q after Add", secret, got)
				}
				s.Write(secret)
			}
			s.Flush()
		})
	}
	group.Wait()
}

// Every split of a text gives the same output as the whole text, and never shows a secret.
func TestSplitIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// A small alphabet makes secrets overlap and repeat.
		word := rapid.StringOfN(rapid.SampledFrom([]rune("abü")), 16, 20, -1)
		secrets := rapid.SliceOfN(word, 1, 4).Draw(t, "secrets")
		piece := rapid.OneOf(
			rapid.SampledFrom(secrets),
			rapid.StringOfN(rapid.SampledFrom([]rune("abüx")), 0, 12, -1),
			rapid.Custom(func(t *rapid.T) string {
				secret := rapid.SampledFrom(secrets).Draw(t, "of")
				from := rapid.IntRange(0, len(secret)).Draw(t, "from")
				return secret[from:rapid.IntRange(from, len(secret)).Draw(t, "to")]
			}),
		)
		text := strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "")
		r := redact.New(secrets...)
		want := r.String(text)

		s := r.Stream()
		var got strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(0, len(rest)).Draw(t, "n")
			got.WriteString(s.Write(rest[:n]))
			rest = rest[n:]
		}
		got.WriteString(s.Flush())
		if got.String() != want {
			t.Fatalf("split: %q\nwhole: %q\ntext:  %q", got.String(), want, text)
		}
		if model := masked(text, secrets); want != model {
			t.Fatalf("String(%q) = %q, want %q", text, want, model)
		}
	})
}

// masked is the specification of String, byte by byte.
func masked(text string, secrets []string) string {
	type span struct{ start, end int }
	var spans []span
	for start := range text {
		for _, secret := range secrets {
			rest := text[start:]
			if strings.HasPrefix(rest, secret) {
				spans = append(spans, span{start, start + len(secret)})
			} else if len(rest) >= redact.MinLength && strings.HasPrefix(secret, rest) {
				spans = append(spans, span{start, len(text)})
			}
		}
	}
	var b strings.Builder
	done := 0
	for _, s := range spans {
		if s.start >= done {
			b.WriteString(text[done:s.start] + redact.Mask)
		}
		done = max(done, s.end)
	}
	return b.String() + text[done:]
}

func split(r *redact.Redactor, text string, size int) string {
	s := r.Stream()
	var b strings.Builder
	for len(text) > 0 {
		n := min(size, len(text))
		b.WriteString(s.Write(text[:n]))
		text = text[n:]
	}
	return b.String() + s.Flush()
}

func FuzzStream(f *testing.F) {
	f.Add("key "+key+" end", key, uint8(3))
	f.Add("0123456789abcdef0123456789abcdef", otherKey, uint8(5))
	f.Add("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa", uint8(2))
	f.Fuzz(func(t *testing.T, text, secret string, size uint8) {
		r := redact.New(secret, otherKey)
		complete := r.String(text)
		if got := split(r, text, int(size)+1); got != complete {
			t.Errorf("split %q, whole %q", got, complete)
		}
		secret = strings.TrimSpace(secret)
		if len([]rune(secret)) >= redact.MinLength && !strings.Contains(redact.Mask+redact.Mask, secret) &&
			strings.Contains(text, secret) && !r.Masked(complete) {
			t.Errorf("String(%q) = %q shows the secret", text, complete)
		}
	})
}

func BenchmarkDelta(b *testing.B) {
	r := redact.New(key, otherKey, strings.Repeat("k3y", 40))
	deltas := []string{" the", " quick", " brown", " fox", " jump", "ed", " over", " a", " lazy", " dog."}
	b.Run("stream", func(b *testing.B) {
		s := r.Stream()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			s.Write(deltas[i%len(deltas)])
		}
	})
	text := strings.Repeat("so many skeins of silk, said settle. ", 1000)
	b.Run("text", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			_ = r.String(text)
		}
	})
}

func TestBlank(t *testing.T) {
	r := redact.New("0123456789abcdef", "fedcba9876543210!")
	data := []byte("A=0123456789abcdef\x00B=https://u:fedcba9876543210%21@h\x00C=0123456789abcde\x00")
	r.Blank(data)
	want := "A=****************\x00B=https://u:*******************@h\x00C=0123456789abcde\x00"
	if string(data) != want {
		t.Errorf("Blank = %q, want %q", data, want)
	}
	(*redact.Redactor)(nil).Blank(data)
}
