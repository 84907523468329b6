package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
)

// FileName is the database's file in the data directory.
const FileName = "genway.db"

// DataDir returns the absolute path of the directory in which Genway keeps its
// data. It does not create it. The first of these that is set:
//
//	flag                                what the command line says
//	GENWAY_DATA                         likewise in the environment
//	%LOCALAPPDATA%\genway               on Windows
//	$XDG_DATA_HOME/genway               elsewhere (XDG Base Directory Specification,
//	                                    which has relative paths ignored)
//	~/Library/Application Support/genway   on macOS
//	~/.local/share/genway               elsewhere
//
// Relative paths of the first two are taken from the working directory. getenv is
// os.Getenv outside of tests. The error says what to set.
func DataDir(flag string, getenv func(string) string) (string, error) {
	return dataDir(runtime.GOOS, flag, getenv)
}

func dataDir(goos, flag string, getenv func(string) string) (string, error) {
	for _, dir := range []string{flag, getenv("GENWAY_DATA")} {
		if dir == "" {
			continue
		}
		path, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("data directory %s: %w", dir, err)
		}
		return path, nil
	}
	if dir := userDataDir(goos, getenv); filepath.IsAbs(dir) {
		return filepath.Join(dir, "genway"), nil
	}
	return "", errors.New("no data directory: set --data or GENWAY_DATA, since there is no home directory")
}

// userDataDir is where programs of the user keep data, or "" where that is unknown.
func userDataDir(goos string, getenv func(string) string) string {
	if goos == "windows" {
		return getenv("LOCALAPPDATA")
	}
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	home := getenv("HOME")
	switch {
	case home == "":
		return ""
	case goos == "darwin":
		return filepath.Join(home, "Library", "Application Support")
	default:
		return filepath.Join(home, ".local", "share")
	}
}
