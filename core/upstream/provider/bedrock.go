package provider

const (
	bedrockPage  = "docs.aws.amazon.com/bedrock/latest/userguide/inference-messages-api.html"
	bedrockChat  = "docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html; openai-go v3.95.0, bedrock/auth.go"
	amazonHeader = "X-Amzn-Bedrock-"
)

var bedrock = Provider{
	Name: "bedrock", Title: "Amazon Bedrock", Auth: []string{"aws"}, KeyEnv: "AWS_BEARER_TOKEN_BEDROCK",
	Endpoints: []Endpoint{
		{
			Name: "runtime", Kinds: []string{"chat"}, Base: "https://bedrock-runtime.{region}.amazonaws.com/openai/v1",
			KeyHeader: "Authorization", Service: "bedrock", NoList: true, Errors: "aws", Headers: []string{amazonHeader},
			Source: bedrockChat, Read: "2026-11-22",
		},
		{
			Name: "mantle", Kinds: []string{"chat", "responses"}, Base: "https://bedrock-mantle.{region}.api.aws/openai/v1",
			KeyHeader: "Authorization", Service: "bedrock-mantle", Errors: "aws", Headers: []string{amazonHeader},
			Source: bedrockChat, Read: "2026-11-22",
		},
		{
			Name: "runtime", Kinds: []string{"messages"}, Betas: claudeBetas, Base: "https://bedrock-runtime.{region}.amazonaws.com/anthropic",
			KeyHeader: "Authorization", Service: "bedrock", NoList: true, Errors: "aws", Headers: []string{amazonHeader},
			Source: bedrockPage, Read: "2026-11-22",
		},
		{
			Name: "mantle", Kinds: []string{"messages"}, Betas: claudeBetas, Base: "https://bedrock-mantle.{region}.api.aws/anthropic",
			KeyHeader: "Authorization", Service: "bedrock-mantle", NoList: true, Errors: "aws", Headers: []string{amazonHeader},
			Source: bedrockPage + "; anthropic-sdk-go v1.84.0, bedrock/bedrockmantle.go", Read: "2026-11-22",
		},
		{
			Name: "invoke", Kinds: []string{"messages"}, Betas: claudeBetas, Base: "https://bedrock-runtime.{region}.amazonaws.com",
			KeyHeader: "Authorization", Service: "bedrock", NoList: true, NoCount: true, Errors: "aws", Headers: []string{amazonHeader},
			Generate: "/model/{model}/invoke", Stream: "/model/{model}/invoke-with-response-stream",
			Version: "bedrock-2023-05-31", NoStream: true, EventStream: true,
			Source: "docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html; anthropic-sdk-go v1.84.0, bedrock/bedrock.go", Read: "2026-11-22",
		},
	},
	Notes: []string{
		"`endpoint: invoke` is InvokeModel, for models that the messages endpoint does not serve. Its streams come in AWS's event stream; callers get the protocol's own events.",
		"The key is a Bedrock API key. `auth: {aws: {}}` signs requests instead.",
	},
}
