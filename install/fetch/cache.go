package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/atomicfile"
)

// Cache keeps what was fetched, by its digest, and the mark by which a server tells
// whether an address still has it. It may be deleted at any time, several processes may
// use it at once, and nothing of it is believed unread: contents that are not those of
// their name are gone.
type Cache struct {
	Dir  string // made when something is kept
	Most int64  // bytes of all that is kept; 0 = 256 MiB. The oldest goes first.
}

const cacheBytes = 256 << 20

// held is one address, as the cache has it.
type held struct {
	Tag    string `json:"etag"`
	Digest string `json:"digest"`
	URL    string `json:"url"` // after redirects, without a query, which may hold a token
	body   Body
}

const recordPrefix = "at-"

func (c *Cache) record(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(c.Dir, recordPrefix+hex.EncodeToString(sum[:])+".json")
}

// entry is what is kept of an address, with its contents.
func (c *Cache) entry(key string) (e held, ok bool) {
	src, err := os.ReadFile(c.record(key))
	if err != nil || json.Unmarshal(src, &e) != nil {
		return held{}, false
	}
	data, ok := c.Contents(e.Digest)
	e.body = Body{Data: data, Digest: e.Digest, URL: e.URL}
	return e, ok
}

// Contents are bytes with a digest, sha256:hex, where the cache has them.
func (c *Cache) Contents(digest string) ([]byte, bool) {
	if c == nil || !sha256Form.MatchString(digest) {
		return nil, false
	}
	at := filepath.Join(c.Dir, strings.TrimPrefix(digest, "sha256:"))
	data, err := os.ReadFile(at)
	if err != nil {
		return nil, false
	}
	if digestOf(data) != digest {
		_ = os.Remove(at) // the next fetch brings it again
		return nil, false
	}
	return data, true
}

// keep notes an answer. What can't be written is fetched again.
func (c *Cache) keep(key string, b Body, tag string) {
	if os.MkdirAll(c.Dir, 0o700) != nil {
		return
	}
	if atomicfile.Write(filepath.Join(c.Dir, strings.TrimPrefix(b.Digest, "sha256:")), b.Data, 0o600) != nil {
		return
	}
	at, _, _ := strings.Cut(b.URL, "?")
	src, err := json.Marshal(held{Tag: tag, Digest: b.Digest, URL: at})
	if err == nil {
		_ = atomicfile.Write(c.record(key), src, 0o600) // likewise
	}
	c.prune()
}

// prune removes the oldest until what is left may stay.
func (c *Cache) prune() {
	most := c.Most
	if most == 0 {
		most = cacheBytes
	}
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return
	}
	var files []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
			total += info.Size()
		}
	}
	if total <= most {
		return
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if total <= most {
			return
		}
		if os.Remove(filepath.Join(c.Dir, f.Name())) == nil {
			total -= f.Size()
		}
	}
}
