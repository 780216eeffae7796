package s3test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Bucket is an empty bucket of one test, or a prefix of its own in a bucket that was given.
type Bucket struct {
	// Address is as --blobs takes it. What is in it goes through Proxy.
	Address string
	// Env has the credentials.
	Env func(string) string
	// Proxy is what the test can have fail; nil in a given bucket.
	Proxy *Proxy

	name, prefix string
	direct       *minio.Client
}

// Each runs f as a sub-test for each server: the one in process, the gateway, and the
// bucket of DEFT_TEST_S3 if it is set.
func Each(t *testing.T, f func(t *testing.T, b func(testing.TB) *Bucket)) {
	t.Helper()
	for _, server := range []struct {
		name string
		make func(testing.TB) *Bucket
	}{{"in process", InProcess}, {"gateway", Gateway}} {
		t.Run(server.name, func(t *testing.T) { t.Parallel(); f(t, server.make) })
	}
	if given := os.Getenv("DEFT_TEST_S3"); given != "" && given != "auto" {
		t.Run("given", func(t *testing.T) { t.Parallel(); f(t, func(t testing.TB) *Bucket { return existing(t, given) }) })
	}
}

// buckets counts them, so that each has a name of its own on the shared gateway.
var buckets atomic.Int64

// InProcess returns a bucket on a server of this process, which ends with the test.
func InProcess(t testing.TB) *Bucket {
	t.Helper()
	server := httptest.NewServer(gofakes3.New(s3mem.New(), gofakes3.WithoutVersioning(), gofakes3.WithTimeSkewLimit(0),
		gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	t.Cleanup(func() {
		server.CloseClientConnections() // it would wait for those that the proxy opened in vain
		server.Close()
	})
	host := strings.TrimPrefix(server.URL, "http://")
	return newBucket(t, func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "tcp", host) })
}

// Gateway returns a bucket on the gateway, and skips t where that is not installed.
func Gateway(t testing.TB) *Bucket {
	t.Helper()
	return newBucket(t, running(t).dial)
}

func env(name string) string {
	return map[string]string{"AWS_ACCESS_KEY_ID": keyID, "AWS_SECRET_ACCESS_KEY": secret}[name]
}

func newBucket(t testing.TB, dial func(context.Context) (net.Conn, error)) *Bucket {
	t.Helper()
	b := &Bucket{Env: env, Proxy: newProxy(t, dial), name: fmt.Sprintf("deft-%d-%d", os.Getpid(), buckets.Add(1)), prefix: "some/folder/"}
	b.Address = "s3://" + b.name + "?region=us-east-1&endpoint=" + url.QueryEscape(b.Proxy.endpoint()) + "&prefix=" + url.QueryEscape(b.prefix)
	// Its own way to the server: a test that looks behind is not in the way of its proxy.
	b.direct = client(t, newProxy(t, dial).host(), false, env)
	if err := b.direct.MakeBucket(t.Context(), b.name, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return b
}

func existing(t testing.TB, given string) *Bucket {
	t.Helper()
	u, err := url.Parse(given)
	if err != nil {
		t.Fatal("DEFT_TEST_S3 is no address")
	}
	query := u.Query()
	b := &Bucket{Env: os.Getenv, name: u.Host, prefix: fmt.Sprintf("%sdeft-test-%d-%d/", query.Get("prefix"), os.Getpid(), buckets.Add(1))}
	query.Set("prefix", b.prefix)
	u.RawQuery = query.Encode()
	b.Address = u.String()
	endpoint, secure := strings.CutPrefix(query.Get("endpoint"), "https://")
	b.direct = client(t, strings.TrimPrefix(endpoint, "http://"), secure, os.Getenv)
	t.Cleanup(func() {
		for o := range b.direct.ListObjectsIter(context.Background(), b.name, minio.ListObjectsOptions{Prefix: b.prefix, Recursive: true}) {
			if err := b.direct.RemoveObject(context.Background(), b.name, o.Key, minio.RemoveObjectOptions{}); err != nil {
				t.Error(err)
			}
		}
	})
	return b
}

func client(t testing.TB, host string, secure bool, env func(string) string) *minio.Client {
	t.Helper()
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := minio.New(host, &minio.Options{
		Creds: credentials.NewStaticV4(env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY"), env("AWS_SESSION_TOKEN")), Secure: secure,
		Region: "us-east-1", BucketLookup: minio.BucketLookupPath, Transport: transport,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Write has an object below the prefix of the address hold other bytes, behind the back of
// who uses the address.
func (b *Bucket) Write(t testing.TB, key string, with []byte) {
	t.Helper()
	_, err := b.direct.PutObject(t.Context(), b.name, b.prefix+key, bytes.NewReader(with), int64(len(with)), minio.PutObjectOptions{DisableContentSha256: true})
	if err != nil {
		t.Fatal(err)
	}
}

// Keys are the names of all objects of the bucket below the prefix, without it.
func (b *Bucket) Keys(t testing.TB) (keys []string) {
	t.Helper()
	for o := range b.direct.ListObjectsIter(t.Context(), b.name, minio.ListObjectsOptions{Prefix: b.prefix, Recursive: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		keys = append(keys, strings.TrimPrefix(o.Key, b.prefix))
	}
	return keys
}
