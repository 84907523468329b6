package model

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The numbers of GGUF, version 3, as llama.cpp's documentation of the format states
// them. Everything is little-endian.
const (
	magic     = "GGUF"
	version   = 3
	alignment = 32

	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9

	tensorFloat32 = 0
)

// A file is a GGUF file in the making.
type file struct {
	keys    int
	values  bytes.Buffer
	tensors []tensor
}

// A tensor is a matrix of columns × rows, row by row; with one row, a vector.
type tensor struct {
	name          string
	columns, rows int
	data          []float32
}

// set adds a value of the metadata: a string, bool, int32, uint32, float32, or a
// slice of strings, int32 or float32.
func (f *file) set(key string, value any) {
	f.keys++
	text(&f.values, key)
	switch v := value.(type) {
	case string:
		number(&f.values, uint32(typeString))
		text(&f.values, v)
	case bool:
		number(&f.values, uint32(typeBool))
		number(&f.values, v)
	case int32:
		number(&f.values, uint32(typeInt32))
		number(&f.values, v)
	case uint32:
		number(&f.values, uint32(typeUint32))
		number(&f.values, v)
	case float32:
		number(&f.values, uint32(typeFloat32))
		number(&f.values, v)
	case []string:
		f.array(typeString, len(v))
		for _, s := range v {
			text(&f.values, s)
		}
	case []int32:
		f.array(typeInt32, len(v))
		number(&f.values, v)
	case []float32:
		f.array(typeFloat32, len(v))
		number(&f.values, v)
	default:
		panic(fmt.Sprintf("model: no GGUF type for %T", value))
	}
}

func (f *file) array(of uint32, length int) {
	number(&f.values, uint32(typeArray))
	number(&f.values, of)
	number(&f.values, uint64(length))
}

// matrix adds a tensor of zeros and returns it, to be filled.
func (f *file) matrix(name string, columns, rows int) tensor {
	t := tensor{name: name, columns: columns, rows: rows, data: make([]float32, columns*rows)}
	f.tensors = append(f.tensors, t)
	return t
}

// bytes is the whole file.
func (f *file) bytes() []byte {
	var b bytes.Buffer
	b.WriteString(magic)
	number(&b, uint32(version))
	number(&b, uint64(len(f.tensors)))
	number(&b, uint64(f.keys))
	b.Write(f.values.Bytes())
	offset := 0
	for _, t := range f.tensors {
		text(&b, t.name)
		shape := []uint64{uint64(t.columns)}
		if t.rows > 1 {
			shape = append(shape, uint64(t.rows))
		}
		number(&b, uint32(len(shape)))
		number(&b, shape)
		number(&b, uint32(tensorFloat32))
		number(&b, uint64(offset))
		offset += padded(4 * len(t.data))
	}
	for _, t := range f.tensors {
		b.Write(make([]byte, padded(b.Len())-b.Len()))
		number(&b, t.data)
	}
	return b.Bytes()
}

// padded is the next multiple of the alignment.
func padded(n int) int { return (n + alignment - 1) / alignment * alignment }

func text(b *bytes.Buffer, s string) {
	number(b, uint64(len(s)))
	b.WriteString(s)
}

// number writes a number or a slice of them; a bytes.Buffer takes everything.
func number(b *bytes.Buffer, v any) {
	if err := binary.Write(b, binary.LittleEndian, v); err != nil {
		panic(fmt.Sprintf("model: %v", err))
	}
}
