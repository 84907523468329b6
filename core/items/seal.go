package items

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"fmt"
)

// rowID is the identifier under which the store has an item. Neither the key nor the item's
// identifier can be read from it.
func rowID(keyID, itemID string) [sha256.Size]byte { return digest("genway item id", keyID, itemID) }

func digest(use, keyID, itemID string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s\x00%s", use, len(keyID), keyID, itemID))
}

// sealer encrypts by AES-256-GCM under a key that is made of both identifiers.
func sealer(keyID, itemID string) (cipher.AEAD, error) {
	key := digest("genway item key", keyID, itemID)
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, fmt.Errorf("items: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func seal(keyID, itemID string, item []byte) ([]byte, error) {
	s, err := sealer(keyID, itemID)
	if err != nil {
		return nil, err
	}
	return s.Seal(nil, nil, item, nil), nil //nolint:gosec // the cipher makes its own nonce, at random
}

func open(keyID, itemID string, sealed []byte) ([]byte, error) {
	s, err := sealer(keyID, itemID)
	if err != nil {
		return nil, err
	}
	item, err := s.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, fmt.Errorf("items: open: %w", err)
	}
	return item, nil
}
