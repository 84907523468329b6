package credential

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
)

// AWS says where the keys are that requests to AWS are signed with.
//
// Source, read 2026-11-22: docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
// (the chain and its environment variables); github.com/aws/aws-sdk-go-v2/config v1.33.10.
type AWS struct {
	// Source is one of the AWS… words. Default AWSChain.
	Source string
	// Profile is the profile of AWSProfile, and of AWSChain if it is not empty.
	Profile string
	// AccessKeyID, SecretAccessKey and SessionToken are the keys of AWSKeys.
	AccessKeyID, SecretAccessKey, SessionToken string
	// RoleARN and TokenFile configure AWSWebIdentity. Default: the environment's
	// (AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE).
	RoleARN, TokenFile string
	// Region and Service are what signatures are for. Required.
	Region, Service string
	// Now is the machine's clock. Default time.Now.
	Now func() time.Time
}

// Where the keys of AWS are.
const (
	// AWSChain looks where AWS's own SDKs look, in their order: the environment, the shared
	// files, a web identity, the endpoint of containers and pods, the instance's metadata.
	AWSChain       = "chain"
	AWSKeys        = "keys"
	AWSEnvironment = "environment"
	AWSProfile     = "profile"
	AWSWebIdentity = "web_identity"
	AWSPodIdentity = "pod_identity"
	// AWSInstance asks the instance metadata service, only in its version 2.
	AWSInstance = "instance"
)

// NewAWS makes the credential that signs requests, named name in errors. Nothing is read or
// fetched before the first request.
func NewAWS(name string, config AWS) Credential {
	s := newSigner(name, config.Service, config.Region, func(ctx context.Context) (aws.Credentials, time.Time, error) {
		source, err := config.provider(ctx)
		if err != nil {
			return aws.Credentials{}, time.Time{}, unrepeated(err)
		}
		keys, err := source.Retrieve(ctx)
		if err == nil && !keys.HasKeys() {
			err = errors.New("there are no keys")
		}
		if err != nil {
			return aws.Credentials{}, time.Time{}, unrepeated(err)
		}
		if !keys.CanExpire {
			return keys, time.Time{}, nil
		}
		return keys, keys.Expires, nil
	})
	if config.Now != nil {
		s.now, s.keys.now = config.Now, config.Now
	}
	return s
}

// provider returns what obtains the keys. It is made for each fetch, since the SDK's own cache
// is then empty, and files and the environment are read again.
func (c AWS) provider(ctx context.Context) (aws.CredentialsProvider, error) {
	switch cmp.Or(c.Source, AWSChain) {
	case AWSKeys:
		return credentials.NewStaticCredentialsProvider(c.AccessKeyID, c.SecretAccessKey, c.SessionToken), nil
	case AWSEnvironment:
		found, err := config.NewEnvConfig()
		return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			if err == nil && !found.Credentials.HasKeys() {
				err = errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set")
			}
			return found.Credentials, err
		}), nil
	case AWSWebIdentity:
		return c.webIdentity(ctx)
	case AWSPodIdentity:
		return podIdentity()
	case AWSInstance:
		loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(c.Region), config.WithCredentialsProvider(aws.AnonymousCredentials{}))
		if err != nil {
			return nil, err
		}
		client := imds.NewFromConfig(loaded, func(o *imds.Options) { o.EnableFallback = aws.FalseTernary })
		return ec2rolecreds.New(func(o *ec2rolecreds.Options) { o.Client = client }), nil
	}
	options := []func(*config.LoadOptions) error{config.WithRegion(c.Region)}
	if c.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(c.Profile))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, err
	}
	return loaded.Credentials, nil
}

// webIdentity exchanges the token in a file for the keys of a role.
func (c AWS) webIdentity(ctx context.Context) (aws.CredentialsProvider, error) {
	role, file := cmp.Or(c.RoleARN, os.Getenv("AWS_ROLE_ARN")), cmp.Or(c.TokenFile, os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"))
	if role == "" || file == "" {
		return nil, errors.New("role_arn and token_file are missing, and so are AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE")
	}
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(c.Region), config.WithCredentialsProvider(aws.AnonymousCredentials{}))
	if err != nil {
		return nil, err
	}
	return stscreds.NewWebIdentityRoleProvider(sts.NewFromConfig(loaded), role, stscreds.IdentityTokenFile(file), func(o *stscreds.WebIdentityRoleOptions) {
		o.RoleSessionName = cmp.Or(os.Getenv("AWS_ROLE_SESSION_NAME"), "genway")
	}), nil
}

// podIdentity asks the endpoint that EKS and ECS give to containers.
func podIdentity() (aws.CredentialsProvider, error) {
	address := os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if relative := os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); relative != "" {
		address = "http://169.254.170.2" + relative
	}
	if address == "" {
		return nil, errors.New("AWS_CONTAINER_CREDENTIALS_FULL_URI is not set; the agent of EKS Pod Identity and ECS sets it")
	}
	return endpointcreds.New(address, func(o *endpointcreds.Options) {
		o.HTTPClient = issuerClient(direct())
		o.AuthorizationToken = os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
		if file := os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
			o.AuthorizationTokenProvider = endpointcreds.TokenProviderFunc(func() (string, error) { return readSecret(file) })
		}
	}), nil
}

// jwt is a token that an error might repeat.
var jwt = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]*`)
})

// unrepeated returns an error of AWS's SDK without what it might repeat of what was sent.
func unrepeated(err error) error {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return fmt.Errorf("AWS answered %s: %s", plain(api.ErrorCode()), jwt().ReplaceAllString(plain(api.ErrorMessage()), "[REDACTED]"))
	}
	return errors.New(jwt().ReplaceAllString(plain(err.Error()), "[REDACTED]"))
}
