package settletest_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"
)

// TestMain counts goroutines: whatever a server started has ended with it. The
// fuzzing engine has its own, which stay.
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := m.Run()
	if fuzzing := flag.Lookup("test.fuzz"); fuzzing != nil && fuzzing.Value.String() != "" {
		os.Exit(code)
	}
	http.DefaultClient.CloseIdleConnections()
	for start := time.Now(); runtime.NumGoroutine() > before && time.Since(start) < 5*time.Second; {
		runtime.Gosched()
	}
	if now := runtime.NumGoroutine(); now > before && code == 0 {
		fmt.Printf("%d goroutines were left:\n", now-before)
		_ = pprof.Lookup("goroutine").WriteTo(os.Stdout, 1)
		code = 1
	}
	os.Exit(code)
}
