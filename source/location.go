package source

import (
	"path/filepath"
	"strings"
)

// The schemes of files on the disk; dialect minimax spells the second.
const (
	fileScheme = "file://"
	realScheme = "files://"
)

// fileLocation returns the address of a file below dir and dir itself, cut out of
// the address where the two agree: ten thousand skills share one string each.
func fileLocation(dir, file string) (location, sharedDir string) {
	slashed := filepath.ToSlash(dir)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // C:/skills
	}
	if len(slashed) == len(dir) && plainPath(slashed) && plainPath(file) {
		loc := fileScheme + dir + "/" + file
		return loc, loc[len(fileScheme) : len(fileScheme)+len(dir)]
	}
	return fileScheme + escapePath(slashed) + "/" + escapePath(file), dir
}

func plainPath(s string) bool {
	for i := 0; i < len(s); i++ {
		if !plainByte[s[i]] {
			return false
		}
	}
	return true
}

// plainByte marks the bytes that stand for themselves in the path of a URI.
var plainByte = func() (t [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/!$&'()*+,;=:@") {
		t[c] = true
	}
	return t
}()

// escapePath percent-encodes every byte that a URI's path cannot hold.
func escapePath(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c := s[i]; plainByte[c] {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}
