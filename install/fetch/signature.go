package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"aead.dev/minisign"
)

// ErrSignature is a signature that is not one of what it lies beside, or one that is
// missing where none may.
var ErrSignature = errors.New("trust_signature")

// SignatureFile lies beside an archive or an index and signs it, in minisign's form.
const SignatureFile = "deft.sig"

// maxSignature is far more than two comments and two lines of base64.
const maxSignature = 8 << 10

// Keys are those whose signatures count. The zero value looks for none.
type Keys struct {
	keys []minisign.PublicKey
	// Require refuses what has no good signature.
	Require bool
}

// ReadKeys reads public keys in minisign's form, with or without the line of comment.
func ReadKeys(texts []string) (k Keys, err error) {
	for _, text := range texts {
		var key minisign.PublicKey
		if err := key.UnmarshalText([]byte(text)); err != nil {
			return Keys{}, fmt.Errorf("%q is no minisign key: %w", text, err)
		}
		k.keys = append(k.keys, key)
	}
	return k, nil
}

// Signature is what is known of who signed something.
type Signature struct {
	Key  string // the id of the key that signed it; "" = nobody that is known
	Note string // why it counts as unsigned; "" = it is signed, or nobody looked
}

// Check compares contents with a signature; sig nil = there is none. The error is
// ErrSignature.
func (k Keys) Check(data, sig []byte) (Signature, error) {
	if len(k.keys) == 0 && !k.Require {
		return Signature{}, nil
	}
	note := "unsigned"
	if sig != nil {
		var s minisign.Signature
		if err := s.UnmarshalText(sig); err != nil {
			return Signature{}, fmt.Errorf("%w: %s is no signature: %w", ErrSignature, SignatureFile, err)
		}
		for _, key := range k.keys {
			if key.ID() != s.KeyID {
				continue
			}
			if !minisign.Verify(key, data, sig) {
				return Signature{}, fmt.Errorf("%w: the signature of key %s is not one of these contents", ErrSignature, keyID(s.KeyID))
			}
			return Signature{Key: keyID(s.KeyID)}, nil
		}
		note = fmt.Sprintf("unsigned: the key %s is none of trust.keys", keyID(s.KeyID))
	}
	if k.Require {
		return Signature{}, fmt.Errorf("%w: %s, and trust.require_signature is set", ErrSignature, note)
	}
	return Signature{Note: note}, nil
}

// Demand is the error where every source must be signed and this one can't be.
func (k Keys) Demand(kind string) error {
	if !k.Require {
		return nil
	}
	return fmt.Errorf("%w: a %s source has no signature, and trust.require_signature is set", ErrSignature, kind)
}

func keyID(id uint64) string { return fmt.Sprintf("%016X", id) }

// beside looks for the signature of what was fetched.
func (k Keys) beside(ctx context.Context, h *HTTP, a ask, b Body) (Signature, error) {
	if len(k.keys) == 0 && !k.Require {
		return Signature{}, nil
	}
	base, err := url.Parse(b.URL)
	if err != nil {
		return Signature{}, fmt.Errorf("%w: %w", ErrSignature, err)
	}
	a.address, a.most, a.stored = base.ResolveReference(&url.URL{Path: SignatureFile}).String(), maxSignature, false
	sig, err := h.get(ctx, a)
	if err != nil && !errors.Is(err, ErrStatus) {
		return Signature{}, err
	}
	if err != nil {
		return k.Check(b.Data, nil)
	}
	return k.Check(b.Data, append([]byte{}, sig.Data...))
}

// Beside looks for the signature that lies beside an archive that was fetched.
func (k Keys) Beside(ctx context.Context, h *HTTP, b Body) (Signature, error) {
	return k.beside(ctx, h, ask{}, b)
}
