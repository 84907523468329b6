package providers_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/bedrock"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/vertex"
	"github.com/aws/aws-sdk-go-v2/aws"
	awscredentials "github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/genway/genway/test/clouds"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

func awsConfig(p *place) aws.Config {
	return aws.Config{Region: region, Credentials: awscredentials.NewStaticCredentialsProvider(keyID, secret, session), HTTPClient: &http.Client{Transport: p}}
}

func verifier() *clouds.Verifier {
	return &clouds.Verifier{Region: region, Service: "bedrock", Keys: []clouds.AWSKeys{{ID: keyID, Secret: secret, Token: session}}}
}

// scope is what a signature is for, without its date.
func scope(h http.Header) string {
	_, rest, _ := strings.Cut(h.Get("Authorization"), "/")
	_, rest, _ = strings.Cut(rest, "/")
	rest, _, _ = strings.Cut(rest, ",")
	return rest
}

func TestBedrockInvoke(t *testing.T) {
	const upstream = "kind: messages, provider: bedrock, endpoint: invoke, region: us-east-1, auth: {aws: {}}"
	for _, streamed := range []bool{false, true} {
		p := &place{t: t, verifier: verifier(), answer: answered, typed: "application/json"}
		if streamed {
			p.answer, p.typed = framed(t), "application/vnd.amazon.eventstream"
		}
		asks(t, anthropic.NewClient(anthropicoption.WithHTTPClient(&http.Client{Transport: p}), bedrock.WithConfig(awsConfig(p))), claude, streamed)
		sdk := p.last
		ours := genway(t, upstream, p, claude, sent(t, claude, streamed), streamed)
		same(t, sdk, ours, signatures...)
		if a, b := scope(sdk.header), scope(ours.header); a != b || !strings.HasPrefix(b, region+"/bedrock/aws4_request") {
			t.Errorf("the SDK signs for %s, genway for %s", a, b)
		}
		// AWS's own client with the same body.
		client := bedrockruntime.NewFromConfig(awsConfig(p))
		if streamed {
			out, err := client.InvokeModelWithResponseStream(t.Context(), &bedrockruntime.InvokeModelWithResponseStreamInput{ModelId: aws.String(claude), Body: ours.body, ContentType: aws.String("application/json")})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for e := range out.GetStream().Events() {
				if chunk, ok := e.(*types.ResponseStreamMemberChunk); ok {
					got = append(got, string(chunk.Value.Bytes))
				}
			}
			if err := out.GetStream().Close(); err != nil || !reflect.DeepEqual(got, events) {
				t.Errorf("AWS's client reads %d events of %d, %v", len(got), len(events), err)
			}
		} else if out, err := client.InvokeModel(t.Context(), &bedrockruntime.InvokeModelInput{ModelId: aws.String(claude), Body: ours.body, ContentType: aws.String("application/json")}); err != nil || string(out.Body) != answered {
			t.Errorf("AWS's client: %v", err)
		}
		same(t, p.last, ours, signatures...)
	}
}

func TestVertexMessages(t *testing.T) {
	creds := &google.Credentials{TokenSource: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token, TokenType: "Bearer"})}
	for _, location := range []string{"us-east5", "global", "eu"} {
		for _, streamed := range []bool{false, true} {
			p := &place{t: t, answer: answered, typed: "application/json"}
			if streamed {
				p.answer, p.typed = sse(), "text/event-stream"
			}
			asks(t, anthropic.NewClient(anthropicoption.WithHTTPClient(&http.Client{Transport: p}), vertex.WithCredentials(t.Context(), location, "my-project", creds)), "claude-opus-4-7@20260416", streamed)
			sdk := p.last
			ours := genway(t, "kind: messages, provider: vertex, project: my-project, region: "+location+", auth: {google: {}}", p, "claude-opus-4-7@20260416", sent(t, "claude-opus-4-7@20260416", streamed), streamed)
			same(t, sdk, ours)
		}
	}
}
