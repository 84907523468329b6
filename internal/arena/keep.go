//go:build !race

package arena

const spoil = false
