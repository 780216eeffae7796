package blobs3

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/deftskills/deft/store/blobs"
)

// Address is where a bucket is.
type Address struct {
	Bucket string
	Region string // "" = AWS_REGION, AWS_DEFAULT_REGION, else us-east-1
	// Endpoint is the server, as https://HOST[:PORT] or http://HOST[:PORT]; "" =
	// AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, else Amazon's of the region.
	Endpoint string
	Prefix   string // goes before every key as it stands
}

// ParseAddress reads s3://BUCKET?region=…&endpoint=…&prefix=…. It has no place for
// credentials. Errors are blobs.ErrDSN and repeat nothing of what may be a secret.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" {
		return Address{}, fmt.Errorf("%w: want s3://BUCKET?region=…&endpoint=…&prefix=…", blobs.ErrDSN)
	}
	if u.User != nil {
		return Address{}, fmt.Errorf("%w: credentials of a bucket stand in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, not in its address", blobs.ErrDSN)
	}
	if u.Port() != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return Address{}, fmt.Errorf("%w: a bucket's address has no port and no path; a folder is prefix=FOLDER/", blobs.ErrDSN)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, fmt.Errorf("%w: the query of the address cannot be read", blobs.ErrDSN)
	}
	a := Address{Bucket: u.Host}
	known := map[string]*string{"region": &a.Region, "endpoint": &a.Endpoint, "prefix": &a.Prefix}
	for key, values := range query {
		into, ok := known[key]
		if !ok || len(values) != 1 {
			return Address{}, fmt.Errorf("%w: %q is no single region, endpoint or prefix", blobs.ErrDSN, key)
		}
		*into = values[0]
	}
	return a, a.check()
}

func (a Address) check() error {
	if err := s3utils.CheckValidBucketNameStrict(a.Bucket); err != nil {
		return fmt.Errorf("%w: bucket %q: %w", blobs.ErrDSN, a.Bucket, err)
	}
	if strings.HasPrefix(a.Prefix, "/") || strings.ContainsFunc(a.Prefix, unicode.IsControl) ||
		slices.Contains(strings.Split(a.Prefix, "/"), "..") || strings.Contains(a.Prefix, "//") {
		return fmt.Errorf("%w: prefix %q: want FOLDER/ or NAME-", blobs.ErrDSN, a.Prefix)
	}
	_, _, err := a.server()
	return err
}

// server is the host of the endpoint and whether it is spoken to over TLS; "" = none said.
func (a Address) server() (host string, secure bool, err error) {
	if a.Endpoint == "" {
		return "", true, nil
	}
	text := a.Endpoint
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" ||
		u.Scheme != "https" && u.Scheme != "http" {
		return "", false, fmt.Errorf("%w: an endpoint is https://HOST:PORT or http://HOST:PORT", blobs.ErrDSN)
	}
	return u.Host, u.Scheme == "https", nil
}

// String is the address for people: it holds no secret.
func (a Address) String() string {
	query := url.Values{}
	for key, value := range map[string]string{"region": a.Region, "endpoint": a.Endpoint, "prefix": a.Prefix} {
		if value != "" {
			query.Set(key, value)
		}
	}
	return (&url.URL{Scheme: "s3", Host: a.Bucket, RawQuery: query.Encode()}).String()
}
