//go:build unix

package store

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openToOthers says why somebody else may write there, "" when nobody may.
func openToOthers(info fs.FileInfo) string {
	if m := info.Mode().Perm(); m&0o022 != 0 {
		return fmt.Sprintf("mode %04o lets others write", m)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Sprintf("it belongs to user %d", st.Uid)
	}
	return ""
}
