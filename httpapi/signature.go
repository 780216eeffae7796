package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// skew is how far a signature's time may be from ours.
const skew = 5 * time.Minute

const signatureHeader = "X-Deft-Signature"

// Why a request does not prove itself. What answers is the same for all but the first.
var (
	errNoProof  = errors.New("neither a signature nor a token")
	errBadProof = errors.New("the proof does not hold")
)

// Sign returns the value of the header X-Deft-Signature for a body sent at that time.
func Sign(secret string, at time.Time, body []byte) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	return "t=" + stamp + ",v1=" + hex.EncodeToString(digest(secret, stamp, body))
}

func digest(secret, stamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// proof is what a signed request may be used for once; zero for a bearer token.
type proof struct {
	nonce string
	until time.Time
}

// proven checks a request of a webhook against the job's secret.
func proven(r *http.Request, secret string, body []byte, now time.Time) (proof, error) {
	signed, bearer := r.Header.Values(signatureHeader), r.Header.Values("Authorization")
	switch {
	case secret == "" || len(signed)+len(bearer) > 1:
		return proof{}, errBadProof
	case len(signed) == 1:
		return signature(signed[0], secret, body, now)
	case len(bearer) == 1:
		return proof{}, token(bearer[0], secret)
	}
	return proof{}, errNoProof
}

func signature(header, secret string, body []byte, now time.Time) (proof, error) {
	stamp, sum, ok := strings.Cut(strings.TrimSpace(header), ",")
	stamp, timed := strings.CutPrefix(strings.TrimSpace(stamp), "t=")
	sum, versioned := strings.CutPrefix(strings.TrimSpace(sum), "v1=")
	got, err := hex.DecodeString(sum)
	seconds, notNumber := strconv.ParseInt(stamp, 10, 64)
	if !ok || !timed || !versioned || err != nil || notNumber != nil || len(stamp) > 12 {
		return proof{}, errBadProof
	}
	if !hmac.Equal(got, digest(secret, stamp, body)) {
		return proof{}, errBadProof
	}
	at := time.Unix(seconds, 0)
	if d := now.Sub(at); d > skew || d < -skew {
		return proof{}, errBadProof
	}
	// Kept for as long as the signature could be sent again.
	return proof{nonce: hex.EncodeToString(got), until: at.Add(2*skew + time.Minute)}, nil
}

// token compares digests, so that the time says nothing of the secret, its length neither.
func token(header, secret string) error {
	scheme, value, _ := strings.Cut(header, " ")
	a, b := sha256.Sum256([]byte(value)), sha256.Sum256([]byte(secret))
	if subtle.ConstantTimeCompare(a[:], b[:]) != 1 || !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return errBadProof
	}
	return nil
}
