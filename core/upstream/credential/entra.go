package credential

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// Entra says how to obtain tokens of Microsoft Entra ID for an application.
//
// Sources, read 2026-11-22:
// learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow (client secret;
// federated credential), azure.github.io/azure-workload-identity/docs (the projected token
// file and its environment variables), github.com/anthropics/anthropic-sdk-go v1.84.0
// foundry.EntraIDScope.
type Entra struct {
	// Authority is the address of the directory service. Default
	// https://login.microsoftonline.com; the sovereign clouds have their own.
	Authority string
	// Tenant and ClientID name the application. Required.
	Tenant, ClientID string
	// Scope is what the tokens are for. Default https://cognitiveservices.azure.com/.default.
	Scope string
	// ClientSecret or ClientSecretFile proves the application; TokenFile instead holds the
	// token of a federated identity (workload identity). Files are read for each fetch.
	ClientSecret, ClientSecretFile, TokenFile string
	// Now is the machine's clock. Default time.Now.
	Now func() time.Time
}

const (
	// EntraAuthority is the default of Entra.Authority.
	EntraAuthority = "https://login.microsoftonline.com"
	// EntraScope is the default of Entra.Scope: that of Azure OpenAI. Claude in Microsoft
	// Foundry has https://ai.azure.com/.default.
	EntraScope = "https://cognitiveservices.azure.com/.default"
	// assertionType is the type of a federated token (RFC 7523, 2.2).
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
)

// NewEntra makes the credential of an application, named name in errors. Nothing is fetched
// before the first request.
func NewEntra(name string, config Entra) Credential {
	client := issuerClient(nil)
	address := cmp.Or(config.Authority, EntraAuthority) + "/" + url.PathEscape(config.Tenant) + "/oauth2/v2.0/token"
	b := newBearer(name, func(ctx context.Context) (string, time.Time, error) {
		ask := clientcredentials.Config{
			ClientID: config.ClientID, TokenURL: address, Scopes: []string{cmp.Or(config.Scope, EntraScope)},
			AuthStyle: oauth2.AuthStyleInParams, ClientSecret: config.ClientSecret,
		}
		var err error
		switch {
		case config.ClientSecretFile != "":
			ask.ClientSecret, err = readSecret(config.ClientSecretFile)
		case config.TokenFile != "":
			var assertion string
			assertion, err = readSecret(config.TokenFile)
			ask.EndpointParams = url.Values{"client_assertion_type": {assertionType}, "client_assertion": {assertion}}
		}
		if err != nil {
			return "", time.Time{}, err
		}
		token, expires, err := tokenOf(ask.Token(context.WithValue(ctx, oauth2.HTTPClient, client)))
		if err == nil && config.Now != nil && !expires.IsZero() {
			expires = config.Now().Add(time.Until(expires)) // the library reckons by time.Now
		}
		return token, expires, err
	})
	if config.Now != nil {
		b.tokens.now = config.Now
	}
	return b
}

// ManagedIdentity says how to obtain tokens of the identity that Azure assigns to a machine or
// an app.
//
// Source, read 2026-11-22: learn.microsoft.com/entra/identity/managed-identities-azure-resources/
// how-to-use-vm-token and learn.microsoft.com/azure/app-service/overview-managed-identity (REST).
type ManagedIdentity struct {
	// ClientID names a user-assigned identity; empty is the system-assigned one.
	ClientID string
	// Resource is what the tokens are for, without /.default. Default
	// https://cognitiveservices.azure.com.
	Resource string
	// Endpoint and Header configure App Service and Functions (IDENTITY_ENDPOINT,
	// IDENTITY_HEADER). Without them, the instance metadata service of a virtual machine is
	// asked.
	Endpoint, Header string
}

const (
	instanceIdentity = "http://169.254.169.254/metadata/identity/oauth2/token"
	instanceVersion  = "2018-02-01"
	appVersion       = "2019-08-01"
)

// NewManagedIdentity makes the credential of the identity of the machine or the app.
func NewManagedIdentity(name string, config ManagedIdentity) Credential {
	return newManagedIdentity(name, config, instanceIdentity)
}

func newManagedIdentity(name string, config ManagedIdentity, instance string) Credential {
	client := issuerClient(direct())
	query := url.Values{"resource": {cmp.Or(config.Resource, "https://cognitiveservices.azure.com")}}
	if config.ClientID != "" {
		query.Set("client_id", config.ClientID)
	}
	address, header, value := instance, "Metadata", "true"
	query.Set("api-version", instanceVersion)
	if config.Endpoint != "" {
		address, header, value = config.Endpoint, "X-Identity-Header", config.Header
		query.Set("api-version", appVersion)
	}
	return newBearer(name, func(ctx context.Context) (string, time.Time, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+query.Encode(), http.NoBody)
		if err != nil {
			return "", time.Time{}, err
		}
		req.Header.Set(header, value)
		return askToken(client, req)
	})
}
