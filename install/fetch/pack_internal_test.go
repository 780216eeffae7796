package fetch

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// packer writes packs as a server would, also such as no server should.
type packer struct {
	bytes.Buffer
	n uint32
}

func (p *packer) add(kind byte, before, data []byte) string {
	n := len(data)
	b := kind<<4 | byte(n&15)
	for n >>= 4; n > 0; n >>= 7 {
		p.WriteByte(b | 0x80)
		b = byte(n & 0x7f)
	}
	p.WriteByte(b)
	p.Write(before)
	z := zlib.NewWriter(&p.Buffer)
	_, _ = z.Write(data)
	_ = z.Close()
	p.n++
	return plumbing.ComputeHash(plumbing.ObjectType(kind), data).String()
}

func (p *packer) bytes() []byte {
	head := append([]byte("PACK\x00\x00\x00\x02"), binary.BigEndian.AppendUint32(nil, p.n)...)
	all := append(head, p.Bytes()...)
	sum := sha1.Sum(all)
	return append(all, sum[:]...)
}

const commitKind, treeKind, blobKind, changeKind = 1, 2, 3, 7

// entry is one line of a tree.
func entry(mode, name, id string) []byte {
	raw, _ := hex.DecodeString(id)
	return append([]byte(mode+" "+name+"\x00"), raw...)
}

func (p *packer) commit(tree string) string {
	return p.add(commitKind, nil, []byte("tree "+tree+"\nauthor a <a> 0 +0000\n\nx\n"))
}

// Trees that no sound repository has, each small on the wire.
func TestHostileObjectsEndInAnError(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		make func(p *packer) string
		want error
	}{
		"a tree of trees of trees": {func(p *packer) string {
			id := p.add(treeKind, nil, entry("100644", "f", p.add(blobKind, nil, []byte("x"))))
			for range 12 {
				var tree []byte
				for _, name := range "abcdefgh" {
					tree = append(tree, entry("40000", string(name), id)...)
				}
				id = p.add(treeKind, nil, tree)
			}
			return p.commit(id)
		}, ErrLimit},
		"a tree a thousand deep": {func(p *packer) string {
			id := p.add(treeKind, nil, nil)
			for range 1000 {
				id = p.add(treeKind, nil, entry("40000", "d", id))
			}
			return p.commit(id)
		}, ErrLimit},
		"a file named as a way out": {func(p *packer) string {
			return p.commit(p.add(treeKind, nil, entry("100644", "..", p.add(blobKind, nil, []byte("x")))))
		}, ErrUnreachable},
		"a name with a slash": {func(p *packer) string {
			return p.commit(p.add(treeKind, nil, entry("100644", "a/b", p.add(blobKind, nil, []byte("x")))))
		}, ErrUnreachable},
		"a file that is a tree": {func(p *packer) string {
			return p.commit(p.add(treeKind, nil, entry("100644", "f", p.add(treeKind, nil, nil))))
		}, ErrUnreachable},
		"an object that was left out": {func(p *packer) string {
			return p.commit(p.add(treeKind, nil, entry("100644", "f", strings.Repeat("b", 40))))
		}, ErrUnreachable},
		"a tree that is cut off":  {func(p *packer) string { return p.commit(p.add(treeKind, nil, []byte("100644 f\x00abc"))) }, ErrUnreachable},
		"a commit without a tree": {func(p *packer) string { return p.add(commitKind, nil, []byte("x")) }, ErrUnreachable},
		"a change of nothing": {func(p *packer) string {
			p.add(changeKind, bytes.Repeat([]byte{7}, 20), []byte("\x01\x01\x01x"))
			return p.commit(p.add(treeKind, nil, nil))
		}, ErrUnreachable},
		"a change that announces terabytes": {func(p *packer) string {
			base, _ := hex.DecodeString(p.add(blobKind, nil, []byte("x")))
			p.add(changeKind, base, []byte("\x01\xff\xff\xff\xff\xff\x7f\x90\x01"))
			return p.commit(p.add(treeKind, nil, nil))
		}, ErrLimit},
	} {
		var p packer
		id := c.make(&p)
		l := Limits{Entries: 1000}.withDefaults()
		objects, err := readPack(bytes.NewReader(p.bytes()), l)
		if err == nil {
			err = walk(objects, id, l, func(object) error { return nil })
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Only addresses that were looked at are dialled, each in turn.
func TestPinnedAddressesAreDialledInTurn(t *testing.T) {
	t.Parallel()
	p := pinned{"files.example", "443", []netip.Addr{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("2606:2800:21f::1")}}
	var tried []string
	_, err := p.dial(t.Context(), "tcp", func(_ context.Context, _, address string) (net.Conn, error) {
		tried = append(tried, address)
		return nil, ErrPrivate
	})
	if !errors.Is(err, ErrPrivate) || strings.Join(tried, " ") != "93.184.215.14:443 [2606:2800:21f::1]:443" {
		t.Errorf("%v %v", tried, err)
	}
}

func FuzzReadPack(f *testing.F) {
	var p packer
	base, _ := hex.DecodeString(p.add(blobKind, nil, []byte("text")))
	p.add(changeKind, base, []byte("\x04\x05\x90\x04\x01!"))
	p.commit(p.add(treeKind, nil, entry("100644", "f", hex.EncodeToString(base))))
	f.Add(p.bytes())
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\xbf\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := Limits{Bytes: 1 << 20, Entries: 100}.withDefaults()
		objects, err := readPack(bytes.NewReader(data), l)
		if err != nil {
			return
		}
		for id := range objects.objects {
			_ = walk(objects, id.String(), l, func(o object) error {
				_, err := objects.read(o.id)
				return err
			})
		}
	})
}
