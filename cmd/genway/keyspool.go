package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// spool is a temporary file that is encrypted under a key that only this process has: new keys
// and what operators feed to a pipe are in no file in the clear. It is written once, then read
// from any place on.
type spool struct {
	file  *os.File
	block cipher.Block
	size  int64
	at    int64 // of the next byte that is read
}

func newSpool() (*spool, error) {
	var key [32]byte
	if _, err := rand.Read(key[:]); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp("", "genway-import-*")
	if err != nil {
		return nil, err
	}
	return &spool{file: file, block: block}, nil
}

// xor encrypts or decrypts the bytes from a place of the file on: AES in counter mode, whose
// counter begins at 0 since the key encrypts nothing else.
func (s *spool) xor(p []byte, at int64) {
	var counter [aes.BlockSize]byte
	binary.BigEndian.PutUint64(counter[8:], uint64(at)/aes.BlockSize)
	stream := cipher.NewCTR(s.block, counter[:])
	var ahead [aes.BlockSize]byte
	stream.XORKeyStream(ahead[:at%aes.BlockSize], ahead[:at%aes.BlockSize])
	stream.XORKeyStream(p, p)
}

// Write appends p.
func (s *spool) Write(p []byte) (int, error) {
	sealed := append([]byte(nil), p...)
	s.xor(sealed, s.size)
	n, err := s.file.WriteAt(sealed, s.size)
	s.size += int64(n)
	return n, err
}

// Read reads on.
func (s *spool) Read(p []byte) (int, error) {
	n, err := s.file.ReadAt(p[:min(int64(len(p)), s.size-s.at)], s.at)
	s.xor(p[:n], s.at)
	s.at += int64(n)
	if err == nil && n == 0 && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// Seek goes to a place from the beginning.
func (s *spool) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart || offset < 0 || offset > s.size {
		return s.at, errors.New("seek: not a place of the file")
	}
	s.at = offset
	return s.at, nil
}

// copyTo gives all of it.
func (s *spool) copyTo(w io.Writer) error {
	if _, err := s.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(w, s)
	return err
}

// Close removes the file.
func (s *spool) Close() error {
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
