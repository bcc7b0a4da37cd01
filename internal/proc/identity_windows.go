package proc

import "golang.org/x/sys/windows"

// startOf returns when a process started, in 100 ns since 1601.
func startOf(pid int) (started uint64, ok bool) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return 0, false
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var code uint32
	const stillActive = 259
	if err := windows.GetExitCodeProcess(h, &code); err != nil || code != stillActive {
		return 0, false
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return 0, false
	}
	return uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime), true
}

// bootOf identifies the machine: start times are unique across its boots.
func bootOf() string {
	name, _ := windows.ComputerName()
	return name
}

func namespace() string { return "" }
