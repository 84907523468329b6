// Package store is the database layer for keys, the ledger, the audit, captures and items. A database is opened
// with one call and brings its own schema. It is SQLite, in one file of the data directory,
// or PostgreSQL, for several cores.
//
// Each kind of record has its interface in the package whose noun it is
// (core/keys.Store). Both databases have one schema and one implementation of each
// interface; what they do not have in common is in a dialect. Package storetest holds
// both to the interfaces. The migrations are embedded and run as the database is
// opened.
//
// The package must not import codec, gateway, grpc or net/http, and decides
// nothing: what a record means is its owner's business.
package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// Config says which database to open.
type Config struct {
	// Location is a file's path, for SQLite, or the URL of a PostgreSQL database:
	// postgres://USER:PASSWORD@HOST:PORT/DATABASE. The file and its directory are
	// created where they are missing, accessible only to their owner (0600 and 0700). The
	// URL's parameters are libpq's; environment variables as PGPASSWORD and a
	// password file fill in what it leaves out.
	Location string
	// Existing has Open refuse a file that is not there, instead of creating it. It has no
	// meaning for PostgreSQL, whose databases are never created here.
	Existing bool
	// RelaxLedger has the ledger's commits not wait for the disk: a power cut, or the
	// end of PostgreSQL's server, may undo the last of them; the end of this process
	// cannot. Other records are not relaxed.
	RelaxLedger bool
	// Migrate is what is done about an older schema. Empty is MigrateAuto.
	Migrate Migrate
	// Waits is called when Open or MigrateUp begins to wait for another process that migrates a PostgreSQL database,
	// and once a minute while it waits. nil is silent.
	Waits func(Wait)
}

// Store is an open database. It is safe for concurrent use.
type Store struct {
	db     database
	writer database // only of the ledger, so that its stream of commits has a connection
	rows   *rowWriter
	file   string // the path of an SQLite database
}

// ErrMissing is a file that Config.Existing says must be there.
var ErrMissing = errors.New("it does not exist; set --data, --store or --config to where the data is, or make a new store by genway serve or genway keys create")

// Open opens the database and brings its schema up to date, unless Config.Migrate says
// otherwise; processes that open it at once take turns. Errors are one line and name the file, the directory or the
// server, never a password.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	switch kind := scheme.FindString(cfg.Location); {
	case cfg.Location == "":
		return nil, errors.New("open store: no path")
	case IsPostgres(cfg.Location):
		return openPostgres(ctx, cfg)
	case kind != "":
		return nil, fmt.Errorf("open store: %s is no kind of store: give a file's path, or postgres://USER:PASSWORD@HOST:PORT/DATABASE", kind)
	}
	return openFile(ctx, cfg)
}

// scheme is how a URL begins. A drive of Windows has one slash or none.
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// IsPostgres reports whether a Config.Location is a PostgreSQL URL.
func IsPostgres(location string) bool {
	return strings.HasPrefix(location, "postgres://") || strings.HasPrefix(location, "postgresql://")
}

// Close ends what is running and closes the database. Every use after it fails. The
// last to close a file folds the write-ahead log into it.
func (s *Store) Close() error {
	if err := errors.Join(s.writer.pool.Close(), s.db.pool.Close()); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

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
