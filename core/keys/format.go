package keys

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// A key is written as GitHub writes its tokens, so that scanners find a leaked one
// by its prefix and a typo is found without asking a store:
//
//	gwk_ | 30 random base62 characters, 178 bits | CRC-32 of all before, 6 base62 digits
//
// As a pattern: gwk_[0-9A-Za-z]{36}. The group is not part of it: the store knows
// that, and a key says nothing about what it opens.
const (
	// Prefix begins every key.
	Prefix = "gwk_"
	// Length is how many bytes every key has.
	Length = len(Prefix) + randomLength + checksumLength

	randomLength = 30
	// checksumLength digits hold any CRC-32, since 62^6 > 2^32.
	checksumLength = 6
)

// What Valid finds wrong. Neither names a byte of what it was given.
var (
	// ErrFormat is a text of another shape: length, prefix or alphabet.
	ErrFormat = errors.New("not a key: want " + Prefix + " and 36 letters or digits")
	// ErrChecksum is a key that was mistyped.
	ErrChecksum = errors.New("not a key: its checksum does not match, so it was mistyped")
)

const (
	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	// fairBytes is the largest multiple of 62 that bytes reach: those above would
	// make the first characters of the alphabet likelier than the rest.
	fairBytes = 256 - 256%len(base62)
)

// Generate makes a key from random, which is crypto/rand.Reader outside of tests.
// The error is the reader's.
func Generate(random io.Reader) (raw string, err error) {
	key := make([]byte, 0, Length)
	key, err = appendRandom(append(key, Prefix...), random, randomLength)
	if err != nil {
		return "", fmt.Errorf("make a key: %w", err)
	}
	sum := checksum(string(key))
	return string(append(key, sum[:]...)), nil
}

// Valid reports whether raw is written as a key is: nil, ErrFormat or ErrChecksum.
// That no such key may exist is for Authenticate to find out. Every change of one
// character is found, and every swap of two neighbours, because a CRC-32 finds
// every burst of errors within 32 bits.
func Valid(raw string) error {
	if len(raw) != Length || raw[:len(Prefix)] != Prefix {
		return ErrFormat
	}
	for i := len(Prefix); i < Length; i++ {
		if c := raw[i]; (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return ErrFormat
		}
	}
	body := raw[:Length-checksumLength]
	if sum := checksum(body); string(sum[:]) != raw[len(body):] {
		return ErrChecksum
	}
	return nil
}

// LabelForeign marks keys that another gateway made: its value is how their secrets came here, as sha256.
const LabelForeign = "foreign"

const (
	minForeignPrefix = 2
	maxForeign       = 256
)

// CheckForeign refuses what cannot be the beginning of keys that another gateway made: too short a text, one with bytes
// that no key has, and one that keys of our own begin with, whose checksum says whether they were mistyped.
func CheckForeign(prefix string) error {
	switch {
	case len(prefix) < minForeignPrefix || len(prefix) > maxForeign/2 || strings.ContainsFunc(prefix, invisible):
		return fmt.Errorf("%s cannot be the prefix of keys: want %d to %d visible ASCII characters", quote(prefix), minForeignPrefix, maxForeign/2)
	case strings.HasPrefix(Prefix, prefix), strings.HasPrefix(prefix, Prefix):
		return fmt.Errorf("%s cannot be the prefix of another gateway's keys: those of Genway begin with it", quote(prefix))
	}
	return nil
}

// foreign reports whether raw is written as a key of another gateway is: one of the prefixes, and up to 256 visible ASCII
// characters in all.
func foreign(raw string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(raw, prefix) {
			return len(raw) <= maxForeign && !strings.ContainsFunc(raw, invisible)
		}
	}
	return false
}

func invisible(r rune) bool { return r <= ' ' || r > '~' }

// Hash is what is stored of a key: its SHA-256. A key of another gateway is as hard to guess as that gateway
// made it.
//
// A fast hash without a salt is right here. Slow, salted ones protect passwords,
// which people choose and attackers list; a key is 178 random bits, so
// an attacker with the hash needs 2^177 tries at any speed, no two keys share a
// hash, and no table can be made in advance. A slow hash would only make each
// request cost milliseconds.
func Hash(raw string) [sha256.Size]byte {
	// A copy of known size stays on the stack, where Authenticate wants it.
	var key [Length]byte
	return sha256.Sum256(append(key[:0], raw...))
}

// Redact is what a log or an error may show in the place of raw: its prefix, if it
// has ours, and never more. Where the key is known, show its id instead.
func Redact(raw string) string {
	if strings.HasPrefix(raw, Prefix) {
		return Prefix + "[REDACTED]"
	}
	return "[REDACTED]"
}

// RedactIn returns a text in which keys, and the beginnings of keys, are replaced.
func RedactIn(text string) string {
	if !strings.Contains(text, Prefix) {
		return text
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, Prefix)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteString(Redact(Prefix))
		text = strings.TrimLeft(rest, base62+"_")
	}
}

// checksum is the CRC-32 (IEEE 802.3) of body in six base62 digits, the highest
// first. The loop is crc32.ChecksumIEEE's without its allocation: that one takes
// bytes by a function variable, for which the compiler must move them to the heap.
func checksum(body string) (digits [checksumLength]byte) {
	crc := ^uint32(0)
	for i := range len(body) {
		crc = crc32.IEEETable[byte(crc)^body[i]] ^ crc>>8
	}
	rest := ^crc
	for i := checksumLength - 1; i >= 0; i-- {
		digits[i] = base62[rest%uint32(len(base62))]
		rest /= uint32(len(base62))
	}
	return digits
}

// appendRandom appends n characters of base62, each as likely as the others.
func appendRandom(to []byte, random io.Reader, n int) ([]byte, error) {
	buf := make([]byte, n)
	for n > 0 {
		if _, err := io.ReadFull(random, buf[:n]); err != nil {
			return nil, fmt.Errorf("read randomness: %w", err)
		}
		for _, b := range buf[:n] {
			if int(b) < fairBytes {
				to = append(to, base62[int(b)%len(base62)])
				n--
			}
		}
	}
	return to, nil
}
