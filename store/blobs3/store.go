package blobs3

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/deftskills/deft/internal/fault"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
)

// Options are how a bucket is spoken to; the zero value has every default, and asks
// without credentials.
type Options struct {
	// Env gives AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, and what
	// the address leaves out; nil = none of them is set.
	Env func(string) string
	// Patience is how long a server may say nothing; 0 = 5 s.
	Patience time.Duration
	// Backoff bounds the wait before the first further try; it doubles. 0 = 200 ms.
	Backoff time.Duration
}

// Widths of package blobs' PutMany and GetMany: that many connections stay open.
const getWidth = 16

// attempts bounds how often Put begins again because others took away what it found.
const attempts = 3

// errThere is a conditional put of what is there already.
var errThere = errors.New("blob is there")

// Store is a blobs.Store in a bucket. Safe for concurrent use.
type Store struct {
	address Address
	client  minio.Core
	http    *http.Transport
	backoff time.Duration
}

// Open returns the Store at s3://BUCKET?region=…&endpoint=…&prefix=…. It sends nothing: a
// bucket that is not there is said by the calls that meet it (blobs.ErrUnavailable). An
// address that is none is blobs.ErrDSN. Close lets go of its connections.
func Open(address string, o Options) (*Store, error) {
	a, err := ParseAddress(address)
	if err != nil {
		return nil, err
	}
	if o.Env == nil {
		o.Env = func(string) string { return "" }
	}
	a.Region = first(a.Region, o.Env("AWS_REGION"), o.Env("AWS_DEFAULT_REGION"), "us-east-1")
	a.Endpoint = first(a.Endpoint, o.Env("AWS_ENDPOINT_URL_S3"), o.Env("AWS_ENDPOINT_URL"))
	host, secure, err := a.server()
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupPath
	if host == "" {
		host, lookup = "s3."+a.Region+".amazonaws.com", minio.BucketLookupAuto
	}
	id, secret := o.Env("AWS_ACCESS_KEY_ID"), o.Env("AWS_SECRET_ACCESS_KEY")
	if (id == "") != (secret == "") {
		return nil, fmt.Errorf("%w: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together: one of them is not set", blobs.ErrDSN)
	}
	t := transport(cmpOr(o.Patience, 5*time.Second))
	client, err := minio.NewCore(host, &minio.Options{
		Creds: credentials.NewStaticV4(id, secret, o.Env("AWS_SESSION_TOKEN")), Secure: secure, Region: a.Region,
		Transport: t, BucketLookup: lookup, MaxRetries: 1, // what is tried again says retry.go
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", blobs.ErrDSN, err)
	}
	return &Store{address: a, client: *client, http: t, backoff: cmpOr(o.Backoff, 200*time.Millisecond)}, nil
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

func cmpOr(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// String is the address, for people.
func (s *Store) String() string { return s.address.String() }

// Close lets go of the connections that no call uses. The Store can still be used.
func (s *Store) Close() error {
	s.http.CloseIdleConnections()
	return nil
}

// key is the name of d's object.
func (s *Store) key(d skill.Digest) (string, error) {
	if err := blobs.CheckDigest(d); err != nil {
		return "", err
	}
	hex := strings.TrimPrefix(string(d), "sha256:")
	return s.address.Prefix + "sha256/" + hex[:2] + "/" + hex[2:], nil
}

// Put implements blobs.Store. What is there already is read: damaged bytes are replaced.
func (s *Store) Put(ctx context.Context, b []byte) (skill.Digest, error) {
	if err := blobs.CheckSize(len(b)); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	d := skill.FileDigest(b)
	if err := fault.Err("blob.put.temp"); err != nil {
		return "", fmt.Errorf("blob %s: %w", d, err)
	}
	err := s.do(ctx, d, func() error { return s.upload(ctx, d, b, true) })
	for n := 0; errors.Is(err, errThere) && n < attempts; n++ {
		switch _, err = s.Get(ctx, d); {
		case errors.Is(err, blobs.ErrDamaged):
			err = s.do(ctx, d, func() error { return s.upload(ctx, d, b, false) })
		case errors.Is(err, blobs.ErrMissing): // another one has deleted it since
			err = s.do(ctx, d, func() error { return s.upload(ctx, d, b, true) })
		}
	}
	if err == nil {
		err = fault.Err("blob.put.rename")
	}
	if err != nil {
		return "", err
	}
	return d, nil
}

// upload sends b once. If absent, a server that can refuses what is there with errThere.
func (s *Store) upload(ctx context.Context, d skill.Digest, b []byte, absent bool) error {
	key, err := s.key(d)
	if err != nil {
		return err
	}
	sum, err := hex.DecodeString(strings.TrimPrefix(string(d), "sha256:"))
	if err != nil {
		return err
	}
	o := minio.PutObjectOptions{
		// The server compares what has come with both: the signed hash of the request, and
		// the checksum that it keeps with the object.
		DisableContentSha256: true, // of parts: the whole is signed
		UserMetadata:         map[string]string{"x-amz-checksum-sha256": base64.StdEncoding.EncodeToString(sum)},
	}
	if absent {
		o.SetMatchETagExcept("*")
	}
	_, err = s.client.PutObject(ctx, s.address.Bucket, key, bytes.NewReader(b), int64(len(b)), "", hex.EncodeToString(sum), o)
	if err == nil || !absent {
		return err
	}
	var answer minio.ErrorResponse
	answered := errors.As(err, &answer)
	switch {
	case answer.StatusCode == http.StatusPreconditionFailed, answer.StatusCode == http.StatusConflict:
		return errThere
	case answer.StatusCode == http.StatusNotImplemented: // it has no conditions: the same bytes are written again
		return s.upload(ctx, d, b, false)
	case passing(err) && (!answered || answer.StatusCode == http.StatusBadGateway):
		// A server may refuse before it has read all and end the connection with its answer,
		// which the sender then does not see.
		if _, e := s.client.StatObject(ctx, s.address.Bucket, key, minio.StatObjectOptions{}); e == nil {
			return errThere
		}
	}
	return err
}

// Get implements blobs.Store. A damaged object stays where it is.
func (s *Store) Get(ctx context.Context, d skill.Digest) (b []byte, err error) {
	key, err := s.key(d)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = s.do(ctx, d, func() error {
		body, _, _, err := s.client.GetObject(ctx, s.address.Bucket, key, minio.GetObjectOptions{})
		if err != nil {
			return err
		}
		defer body.Close()
		if b, err = io.ReadAll(io.LimitReader(body, blobs.MaxSize+1)); err != nil {
			return err
		}
		if skill.FileDigest(b) != d {
			return fmt.Errorf("%w: %s", blobs.ErrDamaged, d)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Has implements blobs.Store.
func (s *Store) Has(ctx context.Context, d skill.Digest) (bool, error) {
	key, err := s.key(d)
	if err != nil {
		return false, err
	}
	err = s.do(ctx, d, func() error {
		_, err := s.client.StatObject(ctx, s.address.Bucket, key, minio.StatObjectOptions{})
		return err
	})
	if errors.Is(err, blobs.ErrMissing) {
		return false, nil
	}
	return err == nil, err
}

// Delete implements blobs.Store. Of two that delete at once both may be told true.
func (s *Store) Delete(ctx context.Context, d skill.Digest) (bool, error) {
	if there, err := s.Has(ctx, d); !there {
		return false, err
	}
	key, err := s.key(d)
	if err != nil {
		return false, err
	}
	err = s.do(ctx, d, func() error {
		return s.client.RemoveObject(ctx, s.address.Bucket, key, minio.RemoveObjectOptions{})
	})
	return err == nil, err
}

// page is how many names are asked for at once, the most that a server gives.
const page = 1000

// List implements blobs.Store. Objects that are no blobs are left out.
func (s *Store) List(ctx context.Context, after skill.Digest, n int) (out []blobs.Info, err error) {
	from := ""
	if after != "" {
		if from, err = s.key(after); err != nil {
			return nil, err
		}
	}
	if n < 1 {
		return nil, ctx.Err()
	}
	root := s.address.Prefix + "sha256/"
	err = s.do(ctx, after, func() error {
		out = out[:0]
		pages, cancel := context.WithCancel(ctx) // what asks for the next page ends with it
		defer cancel()
		for o := range s.client.ListObjectsIter(pages, s.address.Bucket, minio.ListObjectsOptions{
			Prefix: root, Recursive: true, StartAfter: from, MaxKeys: min(n, page),
		}) {
			if o.Err != nil {
				return o.Err
			}
			head, rest, _ := strings.Cut(strings.TrimPrefix(o.Key, root), "/")
			d := skill.Digest("sha256:" + head + rest)
			if len(head) != 2 || blobs.CheckDigest(d) != nil || d <= after {
				continue
			}
			if out = append(out, blobs.Info{Digest: d, Size: o.Size, At: o.LastModified.UnixMicro()}); len(out) == n {
				return nil
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
