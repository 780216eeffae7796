//go:build unix

package store

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openToOthers says why somebody else may write there, "" when nobody may. The
// superuser may use a person's state, as in a container that mounts it.
func openToOthers(info fs.FileInfo) string {
	if m := info.Mode().Perm(); m&0o022 != 0 {
		return fmt.Sprintf("mode %04o lets others write", m)
	}
	me := os.Geteuid()
	if st, ok := info.Sys().(*syscall.Stat_t); ok && me != 0 && st.Uid != 0 && int(st.Uid) != me {
		return fmt.Sprintf("it belongs to user %d", st.Uid)
	}
	return ""
}
