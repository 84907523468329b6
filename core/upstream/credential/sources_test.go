package credential

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/clouds"
)

// sent returns the header that a credential sets on a request.
func sent(t *testing.T, c Credential, header string) (string, error) {
	t.Helper()
	t.Cleanup(func() { _ = c.Close() })
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://upstream.test/v1/x", http.NoBody)
	_, err := c.Authorize(req, nil)
	return req.Header.Get(header), err
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return server.URL
}

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secret")
	write(t, name, text)
	return name
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// entra demands the form of a client credentials grant.
func entra(form map[string]string) *clouds.Issuer {
	return &clouds.Issuer{Check: func(r *http.Request) error {
		if r.Method != http.MethodPost || r.URL.Path != "/tenant-1/oauth2/v2.0/token" {
			return fmt.Errorf("no endpoint %s %s", r.Method, r.URL.Path)
		}
		if err := r.ParseForm(); err != nil {
			return err
		}
		for name, want := range form {
			if got := r.PostForm.Get(name); got != want {
				return fmt.Errorf("invalid_client: %s is %q", name, got)
			}
		}
		if len(r.PostForm) != len(form) || r.Header.Get("Authorization") != "" {
			return fmt.Errorf("invalid_request: %d members", len(r.PostForm))
		}
		return nil
	}}
}

func TestEntra(t *testing.T) {
	common := func(more map[string]string) map[string]string {
		more["grant_type"], more["client_id"], more["scope"] = "client_credentials", "app-1", EntraScope
		return more
	}
	secret := common(map[string]string{"client_secret": "s3cret-value"})
	federated := common(map[string]string{"client_assertion": "the.token.file", "client_assertion_type": assertionType})
	for name, test := range map[string]struct {
		form   map[string]string
		config Entra
	}{
		"client secret":      {secret, Entra{ClientSecret: "s3cret-value"}},
		"client secret file": {secret, Entra{ClientSecretFile: file(t, " s3cret-value\r\n")}},
		"federated token":    {federated, Entra{TokenFile: file(t, "the.token.file\n")}},
	} {
		t.Run(name, func(t *testing.T) {
			test.config.Authority, test.config.Tenant, test.config.ClientID = serve(t, entra(test.form)), "tenant-1", "app-1"
			c := NewEntra("auth.entra of upstream u", test.config)
			if got, err := sent(t, c, "Authorization"); got != "Bearer token-1-of-the-issuer" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// What fails names the credential and why, and holds no secret.
func TestEntraFailures(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		config Entra
		want   string
	}{
		"refused": {func(w http.ResponseWriter, _ *http.Request) {
			reply(w, 401, `{"error":"invalid_client","error_description":"s3cret-value"}`)
		}, Entra{}, "the issuer answered 401: invalid_client"},
		"repeats": {func(w http.ResponseWriter, _ *http.Request) { reply(w, 400, `you sent s3cret-value`) }, Entra{}, "the issuer answered 400"},
		"page":    {func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, `<html>s3cret-value`) }, Entra{}, ""},
		"empty":   {func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, `{"access_token":"","expires_in":3600}`) }, Entra{}, ""},
		"two lines": {func(w http.ResponseWriter, _ *http.Request) {
			reply(w, 200, `{"access_token":"a\nb: s3cret-value","expires_in":3600}`)
		}, Entra{}, "more than one line"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, Entra{}, "the issuer answered 307"},
		"no file":     {nil, Entra{ClientSecretFile: filepath.Join(t.TempDir(), "none")}, "no such file"},
		"empty file":  {nil, Entra{ClientSecretFile: file(t, "\n")}, "is empty"},
		"unreachable": {nil, Entra{Authority: "http://127.0.0.1:1"}, "the issuer could not be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.answer != nil {
				test.config.Authority = serve(t, test.answer)
			}
			if test.config.ClientSecretFile == "" {
				test.config.ClientSecret = "s3cret-value"
			}
			test.config.Tenant, test.config.ClientID = "tenant-1", "app-1"
			_, err := sent(t, NewEntra("auth.entra of upstream u", test.config), "Authorization")
			var failed *Error
			if !errors.As(err, &failed) || failed.Name != "auth.entra of upstream u" || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "s3cret-value") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

func TestManagedIdentity(t *testing.T) {
	for name, test := range map[string]struct {
		config          ManagedIdentity
		query           string
		header, proof   string
		instanceAddress bool
	}{
		"instance": {ManagedIdentity{ClientID: "id-1"}, "api-version=2018-02-01&client_id=id-1&resource=https%3A%2F%2Fcognitiveservices.azure.com", "Metadata", "true", true},
		"app":      {ManagedIdentity{Resource: "https://ai.azure.com", Header: "proof"}, "api-version=2019-08-01&resource=https%3A%2F%2Fai.azure.com", "X-Identity-Header", "proof", false},
	} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, &clouds.Issuer{Check: func(r *http.Request) error {
				if r.Method != http.MethodGet || r.URL.RawQuery != test.query || r.Header.Get(test.header) != test.proof {
					return fmt.Errorf("got %s %s %s", r.Method, r.URL.RawQuery, r.Header)
				}
				return nil
			}})
			instance := address
			if !test.instanceAddress {
				test.config.Endpoint, instance = address, "http://127.0.0.1:1"
			}
			c := newManagedIdentity("n", test.config, instance)
			if got, err := sent(t, c, "Authorization"); got != "Bearer token-1-of-the-issuer" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestGoogleServiceAccount(t *testing.T) {
	account, err := clouds.NewServiceAccount("genway@p.iam.gserviceaccount.com")
	if err != nil {
		t.Fatal(err)
	}
	var address string
	address = serve(t, &clouds.Issuer{Check: func(r *http.Request) error {
		if grant := r.FormValue("grant_type"); grant != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
			return fmt.Errorf("unsupported_grant_type: %s", grant)
		}
		return account.Verify(r.FormValue("assertion"), address+"/token", googleScope, time.Now())
	}})
	text, err := account.File(address + "/token")
	if err != nil {
		t.Fatal(err)
	}
	name := file(t, string(text))
	for where, config := range map[string]Google{"named": {File: name}, "environment": {}} {
		t.Run(where, func(t *testing.T) {
			if where == "environment" {
				t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", name)
			}
			if got, err := sent(t, NewGoogle("n", config), "Authorization"); !strings.HasPrefix(got, "Bearer token-") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	other, err := clouds.NewServiceAccount(account.Email)
	if err != nil {
		t.Fatal(err)
	}
	forged, err := other.File(address + "/token")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sent(t, NewGoogle("n", Google{File: file(t, string(forged))}), "Authorization"); err == nil {
		t.Errorf("a forged assertion got %q", got)
	}
}

// A pod's token is exchanged at the security token service.
func TestGoogleWorkloadIdentityFederation(t *testing.T) {
	subject := file(t, "the.subject.token")
	address := serve(t, &clouds.Issuer{Check: func(r *http.Request) error {
		if err := r.ParseForm(); err != nil {
			return err
		}
		for name, want := range map[string]string{
			"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": "the.subject.token",
			"audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/p",
			"scope":    googleScope, "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
		} {
			if got := r.PostForm.Get(name); got != want {
				return fmt.Errorf("invalid_grant: %s is %q", name, got)
			}
		}
		return nil
	}})
	config := fmt.Sprintf(`{"type":"external_account","audience":"//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/p",
		"subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":%q,"credential_source":{"file":%q}}`, address+"/v1/token", subject)
	if got, err := sent(t, NewGoogle("n", Google{File: file(t, config)}), "Authorization"); got != "Bearer token-1-of-the-issuer" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestGoogleMetadata(t *testing.T) {
	address := serve(t, &clouds.Issuer{Check: func(r *http.Request) error {
		if r.Header.Get("Metadata-Flavor") != "Google" || r.URL.Path != "/computeMetadata/v1/instance/service-accounts/default/token" || r.URL.Query().Get("scopes") != googleScope {
			return fmt.Errorf("got %s %s", r.URL, r.Header)
		}
		return nil
	}})
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(address, "http://"))
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	t.Setenv("HOME", t.TempDir())
	for _, config := range []Google{{}, {Metadata: true}} {
		if got, err := sent(t, NewGoogle("n", config), "Authorization"); !strings.HasPrefix(got, "Bearer token-") {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

func TestGoogleFilesThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "is no JSON",
		`{"type":"s3cret"}`:          "no credentials of a known type",
		`{}`:                         "no credentials of a known type",
		`{"type":"service_account"}`: "",
		`{"type":"service_account","client_email":"e","private_key":"s3cret-value","token_uri":"http://127.0.0.1:1"}`: "",
		strings.Repeat(" ", maxAnswer+1): "more than",
	} {
		_, err := sent(t, NewGoogle("n", Google{File: file(t, text)}), "Authorization")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret-value") {
			t.Errorf("%.60q: got %v", text, err)
		}
	}
}

func TestCommand(t *testing.T) {
	in := time.Now().Add(time.Hour).UTC()
	for name, test := range map[string]struct {
		script, header, want, fails string
	}{
		"token":       {script: "echo the-token", want: "Bearer the-token"},
		"kubectl":     {script: `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"the-token","expirationTimestamp":"` + in.Format(time.RFC3339) + `"}}'`, want: "Bearer the-token"},
		"git":         {script: fmt.Sprintf("echo username=u; echo password=the=token; echo password_expiry_utc=%d", in.Unix()), want: "Bearer the=token"},
		"header":      {script: "echo the-token", header: "api-key", want: "the-token"},
		"expired":     {script: "echo password=the-token; echo password_expiry_utc=1", fails: "has expired already"},
		"nothing":     {script: "true", fails: "empty"},
		"two lines":   {script: "echo a; echo b", fails: "more than one line"},
		"fails":       {script: "echo s3cret-value >&2; echo s3cret-value; exit 3", fails: "the command ended with exit status 3"},
		"other JSON":  {script: `echo '{"token":"s3cret-value"}'`, fails: "no ExecCredential"},
		"bad expiry":  {script: "echo password=s3cret-value; echo password_expiry_utc=soon", fails: "password_expiry_utc"},
		"prints much": {script: "yes s3cret-value", fails: "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			header := test.header
			if header == "" {
				header = "Authorization"
			}
			got, err := sent(t, NewCommand("n", Command{Args: []string{"sh", "-c", test.script}, Header: test.header}), header)
			switch {
			case test.fails == "" && got != test.want:
				t.Errorf("got %q, %v", got, err)
			case test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails) || strings.Contains(err.Error(), "s3cret-value")):
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := sent(t, NewCommand("n", Command{Args: []string{"/no/such/program"}}), "Authorization"); err == nil {
		t.Error("a program that is not there printed something")
	}
}
