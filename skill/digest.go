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
	return Digest("sha256:" + hex.EncodeToString(sum[:]))
}
