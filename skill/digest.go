package skill

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest is "sha256:" and 64 lower-case hexadecimal digits.
type Digest string

// FileDigest returns the digest of src's raw bytes.
func FileDigest(src []byte) Digest {
	sum := sha256.Sum256(src)
	return digestOf(sum)
}

func digestOf(sum [sha256.Size]byte) Digest {
	const prefix = "sha256:"
	var text [len(prefix) + 2*sha256.Size]byte
	copy(text[:], prefix)
	hex.Encode(text[len(prefix):], sum[:])
	return Digest(text[:])
}
