package blobs3

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
)

// retries is how often a request is sent again after a failure that may pass.
const retries = 3

// do calls f until it succeeds, fails for good, or has been called retries times more. The
// waits between double; each is a random part of its bound, so that many clients do not
// come back at once.
func (s *Store) do(ctx context.Context, d skill.Digest, f func() error) error {
	for n := 0; ; n++ {
		err := f()
		if err == nil || n == retries || ctx.Err() != nil || !passing(err) {
			return s.say(ctx, d, err)
		}
		timer := time.NewTimer(rand.N(s.backoff << n))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// passing reports whether the same request may succeed later. A server that did not answer
// in time is not asked again: the caller has waited once.
func passing(err error) bool {
	for _, final := range []error{errThere, blobs.ErrDamaged, blobs.ErrMissing, blobs.ErrTooLarge} {
		if errors.Is(err, final) {
			return false
		}
	}
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	if errors.As(err, &unknown) || errors.As(err, &invalid) || errors.As(err, &host) {
		return false
	}
	var answer minio.ErrorResponse
	if errors.As(err, &answer) {
		switch answer.StatusCode {
		case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		// Amazon ends a connection that stalls with 400 and this code.
		return answer.Code == "RequestTimeout"
	}
	var slow net.Error
	return !errors.As(err, &slow) || !slow.Timeout()
}

// say puts an error into the words of package blobs.
func (s *Store) say(ctx context.Context, d skill.Digest, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, blobs.ErrDamaged), errors.Is(err, blobs.ErrMissing), errors.Is(err, blobs.ErrTooLarge), errors.Is(err, errThere):
		return err
	}
	var answer minio.ErrorResponse
	if errors.As(err, &answer) {
		if answer.Code == minio.NoSuchKey {
			return fmt.Errorf("%w: %s", blobs.ErrMissing, d)
		}
		return fmt.Errorf("%w: %s: %s: %w", blobs.ErrUnavailable, s.address, answer.Code, err)
	}
	return fmt.Errorf("%w: %s: %w", blobs.ErrUnavailable, s.address, err)
}

// patient is a connection that fails when nothing goes in or out of it for a time. A long
// transfer that goes on has all the time it needs.
type patient struct {
	net.Conn
	patience time.Duration
}

func (c patient) Read(b []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.patience)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

func (c patient) Write(b []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.patience)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// transport is a client's own: no other one of the process shares its connections. It asks
// no proxy.
func transport(patience time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: patience}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return patient{conn, patience}, nil
		},
		TLSHandshakeTimeout:   patience,
		ResponseHeaderTimeout: patience,
		MaxIdleConnsPerHost:   getWidth,
		IdleConnTimeout:       30 * time.Second,
		// Contents are what they are: nothing is unpacked on the way.
		DisableCompression: true,
		ForceAttemptHTTP2:  true,
	}
}
