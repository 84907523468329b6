package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// Google says how to obtain access tokens of Google Cloud.
//
// Sources, read 2026-11-22: cloud.google.com/docs/authentication/application-default-credentials
// (the order of the places), google.aip.dev/auth/4112 (service accounts), 4115 (the metadata
// server), 4117 (workload identity federation); golang.org/x/oauth2/google v0.37.0.
type Google struct {
	// File holds a service account's key, a user's credentials or the configuration of
	// workload identity federation. It is read for each fetch. Empty takes the application
	// default credentials: the file that GOOGLE_APPLICATION_CREDENTIALS names, the file that
	// gcloud writes, or the metadata server.
	File string
	// Metadata asks only the metadata server.
	Metadata bool
}

// googleScope is the scope of all of Google Cloud; what a token may do is up to IAM.
const googleScope = "https://www.googleapis.com/auth/cloud-platform"

// googleTypes are the kinds of credentials that a file may hold.
var googleTypes = []google.CredentialsType{
	google.ServiceAccount, google.AuthorizedUser, google.ExternalAccount,
	google.ExternalAccountAuthorizedUser, google.ImpersonatedServiceAccount,
}

// NewGoogle makes the credential, named name in errors. Nothing is read or fetched before the
// first request.
func NewGoogle(name string, config Google) Credential {
	client, metadata := issuerClient(nil), issuerClient(direct())
	return newBearer(name, func(ctx context.Context) (string, time.Time, error) {
		file := config.File
		if file == "" && !config.Metadata {
			file = os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")
		}
		if file == "" && !config.Metadata {
			if known := wellKnown(); exists(known) {
				file = known
			}
		}
		if file == "" {
			return fromMetadata(ctx, metadata)
		}
		return fromFile(context.WithValue(ctx, oauth2.HTTPClient, client), file)
	})
}

// fromFile obtains a token by what a file holds.
func fromFile(ctx context.Context, file string) (string, time.Time, error) {
	text, err := readFile(file)
	if err != nil {
		return "", time.Time{}, err
	}
	var head struct {
		Type google.CredentialsType `json:"type"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return "", time.Time{}, fmt.Errorf("%s is no JSON", filepath.Base(file))
	}
	if !slices.Contains(googleTypes, head.Type) {
		return "", time.Time{}, fmt.Errorf("%s holds no credentials of a known type: its type is %q", filepath.Base(file), plain(string(head.Type)))
	}
	found, err := google.CredentialsFromJSONWithTypeAndParams(ctx, text, head.Type, google.CredentialsParams{Scopes: []string{googleScope}})
	if err != nil {
		// The text of the error may repeat a part of the file.
		return "", time.Time{}, fmt.Errorf("%s holds no usable credentials of type %s", filepath.Base(file), head.Type)
	}
	return tokenOf(found.TokenSource.Token())
}

// wellKnown is where gcloud leaves a user's credentials.
func wellKnown() string {
	const file = "application_default_credentials.json"
	if runtime.GOOS == "windows" {
		return filepath.Join(os.Getenv("APPDATA"), "gcloud", file)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".config", "gcloud", file)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return file != "" && !errors.Is(err, fs.ErrNotExist)
}

// fromMetadata obtains the token of the service account that the machine, the pod or the
// function has. GCE_METADATA_HOST names another server, as for Google's own libraries.
func fromMetadata(ctx context.Context, client *http.Client) (string, time.Time, error) {
	host := os.Getenv("GCE_METADATA_HOST")
	if host == "" {
		host = "169.254.169.254"
	}
	address := "http://" + host + "/computeMetadata/v1/instance/service-accounts/default/token?" + url.Values{"scopes": {googleScope}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody) //nolint:gosec // the operator's environment names the host
	if err != nil {
		return "", time.Time{}, err
	}
	req.Header.Set("Metadata-Flavor", "Google")
	return askToken(client, req)
}
