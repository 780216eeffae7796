//go:build unix && !linux

package source

import (
	"io"
	"os"
)

func openBeneath(fd int, rel string, flags int) (int, error) { return openStepwise(fd, rel, flags) }

// listFD lists an open directory and closes it.
func listFD(fd int, rel string, max int64) (items []item, cut bool, err error) {
	f := os.NewFile(uintptr(fd), rel)
	defer f.Close()
	var size int64
	for {
		batch, err := f.ReadDir(1024)
		for _, e := range batch {
			if size += int64(len(e.Name())); size > max {
				return items, true, nil
			}
			items = append(items, item{e.Name(), typeOf(e.Type())})
		}
		if err == io.EOF {
			return items, false, nil
		}
		if err != nil {
			return items, false, err
		}
	}
}

func isNative(int) bool { return false }
