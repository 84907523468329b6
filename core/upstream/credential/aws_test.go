package credential

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/genway/genway/test/clouds"
)

const (
	exampleID     = "AKIDEXAMPLE"
	exampleSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// AWS's published test suite for Signature Version 4 (aws-sig-v4-test-suite): the signer and
// the verifier of our fakes agree with it to the byte.
func TestPublishedVectors(t *testing.T) {
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	for name, test := range map[string]struct{ method, path, want string }{
		"get-vanilla":                      {"GET", "/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		"post-vanilla":                     {"POST", "/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		"get-vanilla-query-order-key-case": {"GET", "/?Param2=value2&Param1=value1", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		"post-vanilla-query":               {"POST", "/?Param1=value1", "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigner("n", "service", "us-east-1", nil)
			s.now = func() time.Time { return at }
			s.keys.end(aws.Credentials{AccessKeyID: exampleID, SecretAccessKey: exampleSecret}, time.Time{}, nil)
			req := httptest.NewRequestWithContext(t.Context(), test.method, "https://example.amazonaws.com"+test.path, http.NoBody)
			if _, err := s.Authorize(req, nil); err != nil {
				t.Fatal(err)
			}
			want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=" + test.want
			if got := req.Header.Get("Authorization"); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			verifier := clouds.Verifier{Region: "us-east-1", Service: "service", Keys: []clouds.AWSKeys{{ID: exampleID, Secret: exampleSecret}}, Now: func() time.Time { return at }}
			if err := verifier.Verify(req, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// bedrock is a service that checks signatures.
type bedrock struct {
	verifier clouds.Verifier
	now      func() time.Time
}

func (b *bedrock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if err := b.verifier.Verify(r, body); err != nil {
		code, text, _ := strings.Cut(err.Error(), ": ")
		w.Header().Set("X-Amzn-Errortype", code+":http://internal.amazon.com/coral/")
		if b.now != nil {
			w.Header().Set("Date", b.now().UTC().Format(http.TimeFormat))
		}
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"message":%q}`, text)
	}
}

// call sends a request as the adapter does, and returns its last status and how often it was sent.
func call(t *testing.T, c Credential, address, body string) (status, times int) {
	t.Helper()
	for times = 1; ; times++ {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		refused, err := c.Authorize(req, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		again := resp.StatusCode != http.StatusOK && times == 1 && refused(resp)
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
		_ = resp.Body.Close()
		if !again {
			return resp.StatusCode, times
		}
	}
}

func TestAWSSources(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", file(t, "[default]\nregion = eu-west-1\n"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file(t, "[prod]\naws_access_key_id = ID-profile\naws_secret_access_key = secret-of-profile\n"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "false")
	answer := func(source string) string {
		return fmt.Sprintf(`{"AccessKeyId":"ID-%[1]s","SecretAccessKey":"secret-of-%[1]s","Token":"session-of-%[1]s","Code":"Success","Expiration":%[2]q}`, source, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}
	pods := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "the-pods-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, answer("pod_identity"))
	}))
	instance := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token" && r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds") != "":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
			fmt.Fprint(w, "imds-session")
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "imds-session":
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "security-credentials"), strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "security-credentials-extended"):
			fmt.Fprint(w, "role")
		default:
			fmt.Fprint(w, answer("instance"))
		}
	}))
	roles := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("Action") != "AssumeRoleWithWebIdentity" || r.FormValue("WebIdentityToken") != "the.web.identity" || r.FormValue("RoleArn") != "arn:aws:iam::1:role/r" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>no</Message></Error></ErrorResponse>`)
			return
		}
		fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>
			<AccessKeyId>ID-web_identity</AccessKeyId><SecretAccessKey>secret-of-web_identity</SecretAccessKey><SessionToken>session-of-web_identity</SessionToken><Expiration>%s</Expiration>
			</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	token := file(t, "the.web.identity")
	for name, test := range map[string]struct {
		config      AWS
		environment map[string]string
		session     bool
	}{
		AWSKeys:        {AWS{AccessKeyID: "ID-keys", SecretAccessKey: "secret-of-keys", SessionToken: "session-of-keys"}, nil, true},
		AWSEnvironment: {AWS{}, map[string]string{"AWS_ACCESS_KEY_ID": "ID-environment", "AWS_SECRET_ACCESS_KEY": "secret-of-environment"}, false},
		AWSProfile:     {AWS{Profile: "prod"}, map[string]string{"AWS_ACCESS_KEY_ID": "ID-other", "AWS_SECRET_ACCESS_KEY": "secret-of-other"}, false},
		AWSWebIdentity: {AWS{RoleARN: "arn:aws:iam::1:role/r", TokenFile: token}, map[string]string{"AWS_ENDPOINT_URL_STS": roles}, true},
		AWSPodIdentity: {AWS{}, map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": pods + "/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": file(t, "the-pods-token")}, true},
		AWSInstance:    {AWS{}, map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": instance}, true},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range test.environment {
				t.Setenv(key, value)
			}
			keys := clouds.AWSKeys{ID: "ID-" + name, Secret: "secret-of-" + name}
			if test.session {
				keys.Token = "session-of-" + name
			}
			address := serve(t, &bedrock{verifier: clouds.Verifier{Region: "eu-west-1", Service: "bedrock", Keys: []clouds.AWSKeys{keys}}})
			test.config.Source, test.config.Region, test.config.Service = name, "eu-west-1", "bedrock"
			for _, source := range []string{name, AWSChain} {
				if source == AWSChain && (name == AWSKeys || name == AWSWebIdentity) {
					continue // whose keys are of the configuration alone
				}
				test.config.Source = source
				c := NewAWS("n", test.config)
				t.Cleanup(func() { _ = c.Close() })
				if status, times := call(t, c, address+"/model/a.b-v1%3A0/invoke?x=1", `{"a":"b"}`); status != http.StatusOK || times != 1 {
					t.Errorf("%s: got %d after %d", source, status, times)
				}
				if secrets := strings.Join(c.Secrets(), " "); !strings.Contains(secrets, "secret-of-"+name) {
					t.Errorf("the secrets are %s", secrets)
				}
			}
		})
	}
}

func TestAWSSourcesThatAreNone(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", file(t, ""))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file(t, ""))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for _, source := range []string{AWSChain, AWSEnvironment, AWSProfile, AWSWebIdentity, AWSPodIdentity, AWSInstance} {
		c := NewAWS("auth.aws of upstream u", AWS{Source: source, Profile: map[string]string{AWSProfile: "none"}[source], Region: "r", Service: "s"})
		_, err := sent(t, c, "Authorization")
		if err == nil || !strings.HasPrefix(err.Error(), "auth.aws of upstream u: ") {
			t.Errorf("%s: got %v", source, err)
		}
		t.Logf("%s: %v", source, err)
	}
}

// A clock that is wrong by more than AWS takes is corrected by the answer that says so, and
// stays corrected. Keys that are no longer known are looked for once more.
func TestClocksAndKeysThatAreWrong(t *testing.T) {
	keys := clouds.AWSKeys{ID: exampleID, Secret: exampleSecret}
	for _, wrong := range []time.Duration{-time.Hour, time.Hour, 0} {
		t.Run(wrong.String(), func(t *testing.T) {
			service := &bedrock{now: time.Now, verifier: clouds.Verifier{Region: "r", Service: "s", Keys: []clouds.AWSKeys{keys}}}
			address := serve(t, service)
			s := NewAWS("n", AWS{Source: AWSKeys, AccessKeyID: exampleID, SecretAccessKey: exampleSecret, Region: "r", Service: "s"}).(*signer)
			t.Cleanup(func() { _ = s.Close() })
			s.now = func() time.Time { return time.Now().Add(wrong) }
			want := 2
			if wrong == 0 {
				want = 1
			}
			for range 3 {
				if status, times := call(t, s, address, "{}"); status != http.StatusOK || times != want {
					t.Fatalf("got %d after %d", status, times)
				}
				want = 1
			}
			service.verifier.Keys = nil
			if status, times := call(t, s, address, "{}"); status != http.StatusForbidden || times != 2 {
				t.Errorf("unknown keys: got %d after %d", status, times)
			}
			if status, times := call(t, s, address, "{}"); status != http.StatusForbidden || times != 1 {
				t.Errorf("unknown keys again: got %d after %d", status, times)
			}
		})
	}
}

// A signature that is wrong for another reason is not sent again, and the caller gets all of
// the answer.
func TestOtherRefusals(t *testing.T) {
	s := newSigner("n", "s", "r", nil)
	s.keys.end(aws.Credentials{AccessKeyID: exampleID, SecretAccessKey: exampleSecret}, time.Time{}, nil)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://h/", http.NoBody)
	refused, err := s.Authorize(req, nil)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("AccessDeniedException ", 1000)
	resp := &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"Date": {time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}}, Body: io.NopCloser(strings.NewReader(long))}
	if refused(resp) {
		t.Error("it would be sent again")
	}
	if body, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(body, []byte(long)) {
		t.Errorf("got %d bytes, %v", len(body), err)
	}
}
